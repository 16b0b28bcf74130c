// Reports about functions of elements and casts: special values, limits, integer corners.
#include "suites/ops/generate/report_case.h"
#include "suites/ops/op_case.h"

namespace assay::suites {
namespace {

constexpr char kGelu[] = "aten::gelu.default";
constexpr char kDivMode[] = "aten::div.Tensor_mode";

constexpr Report kValuesReports[] = {
    // gelu of infinities, by length: vector units take another path than single elements. Limit of x Phi(x).
    {"pytorch-185770", kGelu, "self[1]{inf}", "f32 bf16 f16", "inf", "n1"},
    {"pytorch-185770", kGelu, "self[2]{inf,-inf}", "f32 bf16 f16", "inf,0", "n2"},
    {"pytorch-185770", kGelu, "self[8]{inf,-inf,0,1e4,-1e4,inf,-inf,-inf}", "f32 bf16 f16",
     "inf,0,0,1e4,0,inf,0,0", "n8"},
    {"pytorch-185770", kGelu, "self[8]{inf,-inf,0,1e4,-1e4,inf,-inf,-inf} approximate=tanh", "f32 bf16 f16",
     "inf,0,0,1e4,0,inf,0,0", "tanh"},
    {"pytorch-cpu-silu", "aten::silu.default", "self[9]{inf,-inf,-inf,-inf,-inf,-inf,-inf,-inf,-inf}",
     "f32 bf16 f16", "inf,0,0,0,0,0,0,0,0"},
    // NaN passes clamp; where min > max the maximum wins (PyTorch, NumPy, ONNX, JAX).
    {"pytorch-15338", "aten::clamp.default", "self[3]{nan,-5,5} min=-1 max=2", "f32 bf16 f16 f64",
     "nan,-1,2"},
    {"pytorch-77306", "aten::clamp.default", "self[3]{-3,0,3} min=5 max=1", "f32 bf16 f16 f64 i32 i64",
     "1,1,1"},
    {"pytorch-77306", "aten::clamp.Tensor", "self[3]{-3,0,3} min[3]{5,5,5} max[3]{1,1,1}", "f32 i32",
     "1,1,1"},
    {"pytorch-clamp-nan", "aten::clamp.default", "self[3]{-3,0,3} min=nan max=2", "f32", "nan,nan,nan"},
    // C99 and IEEE 754: 0^0, NaN^0, 1^NaN, (-8)^(1/3), (-0)^-1, (-inf)^3, (-1)^inf.
    {"tt-metal-53759", "aten::pow.Tensor_Tensor",
     "self[7]{0,nan,1,-8,-0,-inf,-1} exponent[7]{0,0,nan,0.33,-1,3,inf}", "f32 bf16 f16 f64",
     "1,1,1,nan,-inf,-inf,1"},
    // The exponent is a number, not an element: it keeps its precision beside 16-bit elements.
    {"pytorch-pow-exponent", "aten::pow.Tensor_Scalar", "self[6]{0.5,0.75,1.5,2,3,7} exponent=1.7",
     "f32 bf16 f16"},
    {"mlx-4157", "aten::sin.default", "self[2]{1e10,1e-7}", "f64",
     "-0.48750602508751069153,9.999999999999982880814e-8"},
    {"mlx-4157", "aten::sin.default", "self[2]{1e10,1e-7}", "f32",
     "-0.48750602508751067488,1.0000000116860957025e-7"},
    {"mlx-4157", "aten::cos.default", "self[2]{1e10,0}", "f32"},
    // What a float beyond an integer's range becomes is undefined in C; nothing may break.
    {"pytorch-180159", "aten::_to_copy.default", "self[4]{nan,inf,-inf,3e9} dtype=i32", "f32 f64 bf16"},
    {"pytorch-180159", "aten::_to_copy.default", "self[4]{300,-1,nan,256} dtype=u8", "f32 f64 bf16", "",
     "u8"},
    {"pytorch-180159", "aten::_to_copy.default", "self[4]{255.9,-0.9,127.5,0.99} dtype=u8", "f32 f64",
     "255,0,127,0", "inside"},
    // One rounding, to nearest, ties to even.
    {"tt-metal-19882", "aten::_to_copy.default", "self[4]{3.14,0.26914,1.00390625,1.01171875} dtype=bf16",
     "f32 f64", "3.140625,0.26953125,1,1.015625"},
    {"tt-metal-19882", "aten::to.dtype", "self[4]{3.14,0.26914,1.00390625,1.01171875} dtype=bf16", "f32 f64",
     "3.140625,0.26953125,1,1.015625"},
    // 1 + 2^-11 + 2^-40 rounds up to f16, unless f32 comes between and makes it a tie.
    {"pytorch-double-rounding", "aten::_to_copy.default",
     "self[2]{1.0004882812509095,-1.0004882812509095} dtype=f16", "f64", "1.0009765625,-1.0009765625"},
    // 1 + 2^-8 + 2^-40.
    {"pytorch-double-rounding", "aten::_to_copy.default",
     "self[2]{1.0039062500009095,-1.0039062500009095} dtype=bf16", "f64", "1.0078125,-1.0078125", "bf16"},
    // e4m3fn has no infinity: it becomes NaN where nothing asks for saturation.
    {"pytorch-e4m3fn-inf", "aten::_to_copy.default", "self[4]{inf,-inf,448,nan} dtype=f8_e4m3fn", "f32 bf16",
     "nan,nan,448,nan"},
    {"pytorch-e4m3fn-inf", "aten::_to_copy.default", "self[4]{inf,-inf,57344,nan} dtype=f8_e5m2", "f32",
     "inf,-inf,57344,nan", "e5m2"},
    // Not by way of a cast to bytes.
    {"pytorch-117215", "aten::any.default", "self[2]{256,512}", "i32 i64 i16", "1"},
    {"pytorch-117215", "aten::logical_and.default", "self[2]{256,512} other[2]{512,256}", "i32 i64", "1,1"},
    {"pytorch-117215", "aten::_to_copy.default", "self[3]{256,0,-65536} dtype=bool", "i32 i64", "1,0,1"},
    // The smallest integer divided by -1 wraps; it must not end the process.
    {"pytorch-184406", kDivMode, "self[1]{-2147483648} other[1]{-1} rounding_mode=trunc", "i32",
     "-2147483648"},
    {"pytorch-184406", kDivMode, "self[1]{-2147483648} other[1]{-1} rounding_mode=floor", "i32",
     "-2147483648", "floor"},
    {"pytorch-184406", kDivMode, "self[1]{-9223372036854775808} other[1]{-1} rounding_mode=trunc", "i64",
     "-9223372036854775808"},
    {"pytorch-184406", "aten::remainder.Tensor", "self[1]{-2147483648} other[1]{-1}", "i32", "0"},
    {"pytorch-184406", "aten::fmod.Tensor", "self[1]{-2147483648} other[1]{-1}", "i32", "0"},
    // Division of integers by zero is undefined; it must not end the process, either.
    {"pytorch-178013", kDivMode, "self[2]{1,-7} other[2]{0,0} rounding_mode=trunc", "i32 i64"},
    {"pytorch-178013", "aten::remainder.Tensor", "self[2]{1,-7} other[2]{0,0}", "i32 i64"},
    // Not by way of floats.
    {"tt-metal-51476", kDivMode, "self[2]{-2147483648,2147483647} other[2]{2097152,3} rounding_mode=trunc",
     "i32", "-1024,715827882"},
    // Signs: Python's remainder and floor, C's fmod and trunc.
    {"pytorch-174889", "aten::remainder.Tensor", "self[3]{-7,7,-7} other[3]{3,-3,-3}",
     "f32 bf16 f16 f64 i32 i64", "2,-2,-1"},
    {"pytorch-174889", "aten::fmod.Tensor", "self[3]{-7,7,-7} other[3]{3,-3,-3}", "f32 bf16 f16 f64 i32 i64",
     "-1,1,-1"},
    {"pytorch-147206", kDivMode, "self[3]{-7,7,-7} other[3]{3,-3,-3} rounding_mode=floor",
     "f32 bf16 f16 f64 i32 i64", "-3,-3,2", "floor"},
    {"pytorch-147206", kDivMode, "self[3]{-7,7,-7} other[3]{3,-3,-3} rounding_mode=trunc",
     "f32 bf16 f16 f64 i32 i64", "-2,-2,2", "trunc"},
    // 1.0f // 0.1f is 9, since 0.1f is more than a tenth.
    {"numpy-floor-divide", kDivMode, "self[1]{1} other[1]{0.1} rounding_mode=floor", "f32 f64", "9"},
    // Array API: NaN has no sign.
    {"pytorch-sign-nan", "aten::sign.default", "self[4]{nan,-0,3,-inf}", "f32 bf16 f16 f64", "nan,0,1,-1"},
    // C99 Annex G.
    {"jax-37817", "aten::abs.default", "self[3]{inf,nan,nan,-inf,3,4}", "c64 c128", "inf,inf,5"},
    {"pytorch-92043", "aten::div.Tensor", "self[1]{0,0} other[1]{1e-36,0}", "c64", "0,0"},
    {"pytorch-47358", "aten::sqrt.default", "self[1]{-1,-0}", "c64 c128", "0,-1"},
    // Operands are converted to the promoted dtype before anything is computed: -3 as u8 is 253.
    {"pytorch-promotion-0d", "aten::minimum.default", "self[2]:u8{3,255} other[]:i8{-3}", "u8", "3,253"},
    {"pytorch-promotion-0d", "aten::le.Tensor", "self[2]:u8{3,255} other[]:i8{-3}", "u8", "1,0"},
    // So are integers to f32 before a function: 2147483647 is 2147483648.
    {"pytorch-integer-argument", "aten::cos.default", "self[1]{2147483647}", "i32", "0.23781619457280337"},
    // fmod is exact whatever the quotient (C99); eight elements, for vector units.
    {"pytorch-fmod-quotient", "aten::fmod.Tensor",
     "self[8]{3e38,3e38,3e38,3e38,1,1,1,1} other[8]{2.3509887e-38,1,2,0.5,2.3509887e-38,1,2,0.75}", "f32",
     "0,0,0,0,0,0,1,0.25"},
    // C99: pow(-inf, y) is +inf or +0 where y is no odd integer; a square root would be NaN.
    {"pytorch-pow-half", "aten::pow.Tensor_Scalar", "self[3]{-inf,inf,-0} exponent=0.5", "f32 bf16 f16 f64",
     "inf,inf,0"},
    {"pytorch-pow-half", "aten::pow.Tensor_Scalar", "self[3]{-inf,inf,-0} exponent=-0.5", "f32 bf16 f16 f64",
     "0,0,inf", "minus"},
    // The quotient, 2.996, must not be rounded to bf16 before it is floored; truncated, it may be 2 or 3.
    {"pytorch-trunc-quotient", kDivMode,
     "self[2]{11.9375,-11.9375} other[2]{3.984375,3.984375} rounding_mode=trunc", "bf16 f16 f32", "2,-2"},
    {"pytorch-trunc-quotient", kDivMode,
     "self[2]{11.9375,-11.9375} other[2]{3.984375,3.984375} rounding_mode=floor", "bf16 f16 f32", "2,-3",
     "floor"},
    // Subnormals are numbers unless the Contract says that they are flushed.
    {"jax-subnormal-product", "aten::mul.Tensor", "self[1]{1e-30} other[1]{1e-10}", "f32"},
};

}  // namespace

void register_reported_values(OpFamilies& table) {
  table.add([](const CaseSink& sink) { add_reports(sink, kValuesReports); });
}

}  // namespace assay::suites
