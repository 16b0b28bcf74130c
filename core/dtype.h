// Element types and their single, correct rounding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace assay {

// The numbers are stable: they equal assay_dtype in abi/assay/backend.h (a test compares them).
enum class DType : int32_t {
  boolean = 1,
  u8 = 2,
  i8 = 3,
  i16 = 4,
  i32 = 5,
  i64 = 6,
  f8e4m3fn = 7,  // OCP: no infinity, maximum 448
  f8e5m2 = 8,    // OCP: IEEE-like, maximum 57344
  f8e4m3 = 9,    // Trainium's non-OCP e4m3: IEEE-like with infinity, maximum 240 (facts: trainium.md 1.3)
  f16 = 10,
  bf16 = 11,
  f32 = 12,
  f64 = 13,
  c64 = 14,
  c128 = 15,
};

// A binary floating-point format with at most 64 bits.
struct FloatFormat {
  int precision;      // significand bits with the implicit one: 24 for f32, 8 for bf16
  int max_exponent;   // of the largest finite number 1.xxx * 2^max_exponent
  int min_exponent;   // of the smallest normal number 2^min_exponent
  bool has_infinity;  // false: overflow gives NaN or the maximum
  double max;         // largest finite value
  // Unit roundoff 2^-precision.
  double unit_roundoff() const;
  // Smallest subnormal 2^(min_exponent - precision + 1) and smallest normal 2^min_exponent.
  double smallest_subnormal() const;
  double smallest_normal() const;
};

std::size_t size_of(DType dtype);  // bytes an element
bool is_float(DType dtype);        // real floating point, not complex
bool is_complex(DType dtype);
bool is_integral(DType dtype);  // integers and boolean
bool is_valid(DType dtype);     // false for a number that is no DType
// The format of a float dtype, or of the parts of a complex one. Throws Error for integral dtypes.
const FloatFormat& float_format(DType dtype);
DType part_dtype(DType complex_dtype);  // c64 -> f32, c128 -> f64
DType real_part(DType dtype);           // of a complex dtype, else itself
// Inclusive limits of an integral dtype (boolean: 0 and 1).
int64_t int_min(DType dtype);
int64_t int_max(DType dtype);

// Short name "f32", "i64", "bool", "f8_e4m3fn", ...: what records and `list` print.
std::string_view name_of(DType dtype);
// PyTorch's name "float32", "int64", "bool", "float8_e4m3fn", ...
std::string_view torch_name(DType dtype);
// safetensors' name "F32", "I64", "BOOL", "F8_E4M3", ...
std::string_view safetensors_name(DType dtype);
// Accepts any of the three spellings and PyTorch's aliases ("torch.float32", "half"). Case matters: "F8_E4M3"
// is what safetensors calls e4m3fn, "f8_e4m3" is Trainium's.
std::optional<DType> parse_dtype(std::string_view text);
// c10::ScalarType as exported graphs number it (torch/_export/serde/schema.py); nullopt if unknown to Assay.
// Trainium's e4m3 has no number there; 1009 is Assay's own.
std::optional<DType> dtype_from_export_code(int64_t code);
int64_t export_code(DType dtype);
// PyTorch's type promotion between two tensors of equal category rank (c10::promoteTypes). Throws Error for
// an 8-bit float with anything but itself, as PyTorch does.
DType promote_types(DType a, DType b);

enum class Overflow { to_infinity_or_nan, saturate };  // what a value beyond the largest finite one becomes

// Rounds once, to nearest, ties to even, with subnormals. The result is again a double (exact for <= f64).
// NaN stays NaN; formats without infinity give NaN. With `saturate`, infinities become the maximum as well
// (OCP OFP8).
double round_to(const FloatFormat& format, double value, Overflow overflow = Overflow::to_infinity_or_nan);
inline double round_to(DType dtype, double value) { return round_to(float_format(dtype), value); }

// Neighbours of a value in a format, for stochastic and directed rounding: the largest representable number
// that is
// <= value and the smallest that is >= value (equal if value is representable). Infinite beyond the finite
// range.
struct Neighbours {
  double below;
  double above;
};
Neighbours neighbours(const FloatFormat& format, double value);

// Bit patterns, little endian in the low size_of(dtype) bytes. encode rounds as round_to does; a NaN becomes
// the quiet NaN of the same sign. Real float dtypes only; Error otherwise.
uint64_t encode_float(DType dtype, double value, Overflow overflow = Overflow::to_infinity_or_nan);
double decode_float(DType dtype, uint64_t bits);

// Arrays, fast paths for all float dtypes. `src`/`dst` of the dtype side hold `count` packed elements
// (unaligned is fine). A complex element is two doubles, re and im. Integral dtypes are converted too:
// decoding to the nearest double, encoding by truncation (boolean: value != 0), which throws Error for NaN
// and for what does not fit.
void decode_floats(DType dtype, const void* src, double* dst, std::size_t count);
void encode_floats(DType dtype, const double* src, void* dst, std::size_t count);
void decode_ints(DType dtype, const void* src, int64_t* dst, std::size_t count);
// Wraps modulo 2^width; boolean stores value != 0.
void encode_ints(DType dtype, const int64_t* src, void* dst, std::size_t count);

}  // namespace assay
