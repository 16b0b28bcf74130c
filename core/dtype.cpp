#include "core/dtype.h"

#include <array>
#include <cmath>
#include <limits>

#include "core/error.h"

namespace assay {
namespace {

enum class Kind { integral, real, complex };

struct Entry {
  DType dtype;
  Kind kind;
  std::size_t bytes;
  std::string_view name;
  std::string_view torch_name;
  std::string_view safetensors_name;
  int64_t export_code;
};

// Indexed by the dtype's number minus 1. Trainium's e4m3 has no c10::ScalarType and no safetensors name; both
// of its entries here are Assay's own, chosen so that they cannot be taken for PyTorch's e4m3fn ("F8_E4M3",
// 29).
constexpr std::array<Entry, 15> entries{{
    {DType::boolean, Kind::integral, 1, "bool", "bool", "BOOL", 12},
    {DType::u8, Kind::integral, 1, "u8", "uint8", "U8", 1},
    {DType::i8, Kind::integral, 1, "i8", "int8", "I8", 2},
    {DType::i16, Kind::integral, 2, "i16", "int16", "I16", 3},
    {DType::i32, Kind::integral, 4, "i32", "int32", "I32", 4},
    {DType::i64, Kind::integral, 8, "i64", "int64", "I64", 5},
    {DType::f8e4m3fn, Kind::real, 1, "f8_e4m3fn", "float8_e4m3fn", "F8_E4M3", 29},
    {DType::f8e5m2, Kind::real, 1, "f8_e5m2", "float8_e5m2", "F8_E5M2", 30},
    {DType::f8e4m3, Kind::real, 1, "f8_e4m3", "float8_e4m3", "F8_E4M3_IEEE", 1009},
    {DType::f16, Kind::real, 2, "f16", "float16", "F16", 6},
    {DType::bf16, Kind::real, 2, "bf16", "bfloat16", "BF16", 13},
    {DType::f32, Kind::real, 4, "f32", "float32", "F32", 7},
    {DType::f64, Kind::real, 8, "f64", "float64", "F64", 8},
    {DType::c64, Kind::complex, 8, "c64", "complex64", "C64", 10},
    {DType::c128, Kind::complex, 16, "c128", "complex128", "C128", 11},
}};

struct Alias {
  std::string_view text;
  DType dtype;
};
constexpr std::array<Alias, 8> aliases{{
    {"half", DType::f16},
    {"float", DType::f32},
    {"double", DType::f64},
    {"short", DType::i16},
    {"int", DType::i32},
    {"long", DType::i64},
    {"cfloat", DType::c64},
    {"cdouble", DType::c128},
}};

const Entry& entry(DType dtype) {
  if (!is_valid(dtype)) {
    throw Error(
        ErrorCode::invalid_argument,
        "element type number " + std::to_string(static_cast<int32_t>(dtype)) + " is not one of 1 to 15");
  }
  return entries[static_cast<std::size_t>(dtype) - 1];
}

bool is_kind(DType dtype, Kind kind) {
  const auto index = static_cast<std::size_t>(static_cast<int32_t>(dtype)) - 1;
  return index < entries.size() && entries[index].kind == kind;
}

// Of each dtype by its number, 0 for numbers that are none: executors of instructions ask for it all the
// time.
constexpr std::array<uint8_t, entries.size() + 1> widths = [] {
  std::array<uint8_t, entries.size() + 1> out{};
  for (std::size_t k = 0; k < entries.size(); ++k) out[k + 1] = static_cast<uint8_t>(entries[k].bytes);
  return out;
}();

// The largest finite value with `precision` significand bits, less `skipped` units in its last place.
FloatFormat make_format(int precision, int max_exponent, int min_exponent, bool has_infinity,
                        int skipped = 0) {
  const double ulp = std::ldexp(1.0, max_exponent - precision + 1);
  const double max = std::ldexp(2.0 - std::ldexp(1.0, 1 - precision), max_exponent) - skipped * ulp;
  return {precision, max_exponent, min_exponent, has_infinity, max};
}

}  // namespace

double FloatFormat::unit_roundoff() const { return std::ldexp(1.0, -precision); }
double FloatFormat::smallest_subnormal() const { return std::ldexp(1.0, min_exponent - precision + 1); }
double FloatFormat::smallest_normal() const { return std::ldexp(1.0, min_exponent); }

bool is_valid(DType dtype) {
  const auto number = static_cast<int32_t>(dtype);
  return number >= 1 && number <= static_cast<int32_t>(entries.size());
}

std::size_t size_of(DType dtype) {
  const auto number = static_cast<std::size_t>(static_cast<int32_t>(dtype));
  return number - 1 < entries.size() ? widths[number] : entry(dtype).bytes;  // which throws
}
bool is_float(DType dtype) { return is_kind(dtype, Kind::real); }
bool is_complex(DType dtype) { return is_kind(dtype, Kind::complex); }
bool is_integral(DType dtype) { return is_kind(dtype, Kind::integral); }

const FloatFormat& float_format(DType dtype) {
  static const FloatFormat e4m3fn = make_format(4, 8, -6, false, 1);  // the top pattern is NaN
  static const FloatFormat e5m2 = make_format(3, 15, -14, true);
  static const FloatFormat e4m3 = make_format(4, 7, -6, true);
  static const FloatFormat f16 = make_format(11, 15, -14, true);
  static const FloatFormat bf16 = make_format(8, 127, -126, true);
  static const FloatFormat f32 = make_format(24, 127, -126, true);
  static const FloatFormat f64 = make_format(53, 1023, -1022, true);
  switch (dtype) {
    case DType::f8e4m3fn:
      return e4m3fn;
    case DType::f8e5m2:
      return e5m2;
    case DType::f8e4m3:
      return e4m3;
    case DType::f16:
      return f16;
    case DType::bf16:
      return bf16;
    case DType::f32:
    case DType::c64:
      return f32;
    case DType::f64:
    case DType::c128:
      return f64;
    default:
      throw Error(ErrorCode::invalid_argument, std::string(name_of(dtype)) + " has no floating-point format");
  }
}

DType part_dtype(DType complex_dtype) {
  if (complex_dtype == DType::c64) return DType::f32;
  if (complex_dtype == DType::c128) return DType::f64;
  throw Error(ErrorCode::invalid_argument,
              std::string(name_of(complex_dtype)) + " is not a complex element type");
}

DType real_part(DType dtype) { return is_complex(dtype) ? part_dtype(dtype) : dtype; }

int64_t int_min(DType dtype) {
  switch (dtype) {
    case DType::boolean:
    case DType::u8:
      return 0;
    case DType::i8:
      return std::numeric_limits<int8_t>::min();
    case DType::i16:
      return std::numeric_limits<int16_t>::min();
    case DType::i32:
      return std::numeric_limits<int32_t>::min();
    case DType::i64:
      return std::numeric_limits<int64_t>::min();
    default:
      throw Error(ErrorCode::invalid_argument,
                  std::string(name_of(dtype)) + " is not an integral element type");
  }
}

int64_t int_max(DType dtype) {
  switch (dtype) {
    case DType::boolean:
      return 1;
    case DType::u8:
      return std::numeric_limits<uint8_t>::max();
    case DType::i8:
      return std::numeric_limits<int8_t>::max();
    case DType::i16:
      return std::numeric_limits<int16_t>::max();
    case DType::i32:
      return std::numeric_limits<int32_t>::max();
    case DType::i64:
      return std::numeric_limits<int64_t>::max();
    default:
      throw Error(ErrorCode::invalid_argument,
                  std::string(name_of(dtype)) + " is not an integral element type");
  }
}

std::string_view name_of(DType dtype) { return entry(dtype).name; }
std::string_view torch_name(DType dtype) { return entry(dtype).torch_name; }
std::string_view safetensors_name(DType dtype) { return entry(dtype).safetensors_name; }

std::optional<DType> parse_dtype(std::string_view text) {
  constexpr std::string_view prefix = "torch.";
  if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
  for (const Entry& e : entries) {
    if (text == e.name || text == e.torch_name || text == e.safetensors_name) return e.dtype;
  }
  for (const Alias& alias : aliases) {
    if (text == alias.text) return alias.dtype;
  }
  return std::nullopt;
}

std::optional<DType> dtype_from_export_code(int64_t code) {
  for (const Entry& e : entries) {
    if (code == e.export_code) return e.dtype;
  }
  return std::nullopt;
}

int64_t export_code(DType dtype) { return entry(dtype).export_code; }

namespace {

// Place in the chain in which each type holds all values of the ones before it, up to the two exceptions
// below.
int promotion_rank(DType dtype) {
  switch (dtype) {
    case DType::boolean:
      return 0;
    case DType::u8:
      return 1;
    case DType::i8:
      return 2;
    case DType::i16:
      return 3;
    case DType::i32:
      return 4;
    case DType::i64:
      return 5;
    case DType::f16:
      return 6;
    case DType::bf16:
      return 7;
    case DType::f32:
      return 8;
    case DType::f64:
      return 9;
    case DType::c64:
      return 10;
    case DType::c128:
      return 11;
    default:
      return -1;  // 8-bit floats promote with nothing but themselves
  }
}

}  // namespace

DType promote_types(DType a, DType b) {
  if (entry(a).dtype == entry(b).dtype) return a;
  const int rank_a = promotion_rank(a);
  const int rank_b = promotion_rank(b);
  if (rank_a < 0 || rank_b < 0) {
    throw Error(ErrorCode::invalid_argument, "PyTorch promotes no 8-bit float with another element type (" +
                                                 std::string(name_of(a)) + " with " +
                                                 std::string(name_of(b)) + "); cast one of them first");
  }
  const DType low = rank_a < rank_b ? a : b;
  const DType high = rank_a < rank_b ? b : a;
  if (low == DType::u8 && high == DType::i8) return DType::i16;
  if (low == DType::f16 && high == DType::bf16) return DType::f32;
  if (low == DType::f64 && high == DType::c64) return DType::c128;
  return high;
}

}  // namespace assay
