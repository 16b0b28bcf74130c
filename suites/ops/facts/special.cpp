// Special functions, bits, complex numbers and Fourier transforms.
#include "suites/ops/generate/facts.h"

namespace assay::suites {
namespace {

// PyTorch has the functions after torch.special's SciPy names, and the polynomials, for f32 and f64 alone.
constexpr const char* kWideNumbers = "bool u8 i8 i16 i32 i64 f32 f64";

constexpr OpFacts kFunctions[] = {
    {"aten::erfc.default", "@pointwise", {1, 3}, kDrawn},
    {"aten::erfinv.default", "@pointwise", {0, 0.99}, kDrawn},
    {"aten::lgamma.default", "@pointwise", {6, 5.5}, kDrawn},
    {"aten::digamma.default", "@pointwise", {8, 5.5}, kDrawn},
    {"aten::polygamma.default", "@pointwise n=1 | @pointwise n=2", {6, 5.5}, 0, "n=0 | n=3"},
    {"aten::igamma.default", "@pointwise", {6, 5.5}},
    {"aten::igammac.default", "@pointwise", {6, 5.5}},
    {"aten::i0.default", "@pointwise", {0, 8}, kDrawn},
    {"aten::special_i0e.default", "@pointwise", {0, 20}, kDrawn},
    {"aten::special_i1.default", "@pointwise", {0, 8}, kDrawn},
    {"aten::special_i1e.default", "@pointwise", {0, 20}, kDrawn},
    {"aten::special_erfcx.default", "@pointwise", {2, 4}, 0, "", kWideNumbers},
    {"aten::special_ndtri.default", "@pointwise", {0.5, 0.49}, 0, "", kWideNumbers},
    {"aten::special_zeta.default", "@pointwise self~4,2.5 other~4,3.5", {4, 2.5}, 0, "", kWideNumbers},
    {"aten::special_bessel_j0.default", "@pointwise", {0, 30}, 0, "", kWideNumbers},
    {"aten::special_bessel_j1.default", "@pointwise", {0, 30}, 0, "", kWideNumbers},
    {"aten::special_bessel_y0.default", "@pointwise", {15, 14}, 0, "", kWideNumbers},
    {"aten::special_bessel_y1.default", "@pointwise", {15, 14}, 0, "", kWideNumbers},
    {"aten::special_spherical_bessel_j0.default", "@pointwise", {0, 20}, 0, "", kWideNumbers},
    {"aten::special_modified_bessel_i0.default", "@pointwise", {0, 8}, 0, "", kWideNumbers},
    {"aten::special_modified_bessel_i1.default", "@pointwise", {0, 8}, 0, "", kWideNumbers},
    {"aten::special_modified_bessel_k0.default", "@pointwise", {8, 7.9}, 0, "", kWideNumbers},
    {"aten::special_modified_bessel_k1.default", "@pointwise", {8, 7.9}, 0, "", kWideNumbers},
    {"aten::special_scaled_modified_bessel_k0.default", "@pointwise", {8, 7.9}, 0, "", kWideNumbers},
    {"aten::special_scaled_modified_bessel_k1.default", "@pointwise", {8, 7.9}, 0, "", kWideNumbers},
    {"aten::special_airy_ai.default", "@pointwise", {-2, 6}, 0, "", kWideNumbers},
    {"aten::logaddexp2.default", "@pointwise", {0, 8}, kParts},
};

constexpr OpFacts kPolynomials[] = {
    {"aten::special_chebyshev_polynomial_t.default",
     "@pointwise n~4,3 | x[7,11] n[11]{0,1,2,3,4,5,6,7,8,9,20}",
     {0, 1},
     kNoEdges,
     "",
     kWideNumbers},
    {"aten::special_chebyshev_polynomial_u.default",
     "@pointwise n~4,3 | x[7,11] n[11]{0,1,2,3,4,5,6,7,8,9,20}",
     {0, 0.9},
     kNoEdges,
     "",
     kWideNumbers},
    {"aten::special_chebyshev_polynomial_v.default",
     "@pointwise n~4,3 | x[7,11] n[11]{0,1,2,3,4,5,6,7,8,9,20}",
     {0, 0.9},
     kNoEdges,
     "",
     kWideNumbers},
    {"aten::special_chebyshev_polynomial_w.default",
     "@pointwise n~4,3 | x[7,11] n[11]{0,1,2,3,4,5,6,7,8,9,20}",
     {0, 0.9},
     kNoEdges,
     "",
     kWideNumbers},
    {"aten::special_shifted_chebyshev_polynomial_t.default",
     "@pointwise n~4,3 | x[7,10] n[10]{0,1,2,3,4,5,6,7,8,9}",
     {0.5, 0.45},
     kNoEdges,
     "",
     kWideNumbers},
    {"aten::special_shifted_chebyshev_polynomial_u.default",
     "@pointwise n~4,3 | x[7,10] n[10]{0,1,2,3,4,5,6,7,8,9}",
     {0.5, 0.45},
     kNoEdges,
     "",
     kWideNumbers},
    {"aten::special_shifted_chebyshev_polynomial_v.default",
     "@pointwise n~4,3 | x[7,10] n[10]{0,1,2,3,4,5,6,7,8,9}",
     {0.5, 0.45},
     kNoEdges,
     "",
     kWideNumbers},
    {"aten::special_shifted_chebyshev_polynomial_w.default",
     "@pointwise n~4,3 | x[7,10] n[10]{0,1,2,3,4,5,6,7,8,9}",
     {0.5, 0.45},
     kNoEdges,
     "",
     kWideNumbers},
    {"aten::special_hermite_polynomial_h.default",
     "@pointwise n~4,3 | x[7,10] n[10]{0,1,2,3,4,5,6,7,8,9}",
     {0, 2},
     kNoEdges,
     "",
     kWideNumbers},
    {"aten::special_hermite_polynomial_he.default",
     "@pointwise n~4,3 | x[7,10] n[10]{0,1,2,3,4,5,6,7,8,9}",
     {0, 2},
     kNoEdges,
     "",
     kWideNumbers},
    {"aten::special_laguerre_polynomial_l.default",
     "@pointwise n~4,3 | x[7,10] n[10]{0,1,2,3,4,5,6,7,8,9}",
     {2, 2},
     kNoEdges,
     "",
     kWideNumbers},
    {"aten::special_legendre_polynomial_p.default",
     "@pointwise n~4,3 | x[7,10] n[10]{0,1,2,3,4,5,6,7,8,9}",
     {0, 1},
     kNoEdges,
     "",
     kWideNumbers},
};

constexpr OpFacts kBits[] = {
    {"aten::copysign.Tensor", "@pointwise", {0, 4}},
    {"aten::copysign.Scalar", "@pointwise other=-2.5", {0, 4}, 0, "other=0 | other=-0.0"},
    {"aten::nextafter.default", "@pointwise", {0, 4}, 0, "", "bf16 f32 f64"},
    {"aten::fmax.default", "@pointwise", {0, 4}, kParts},
    {"aten::fmin.default", "@pointwise", {0, 4}, kParts},
    {"aten::frexp.Tensor", "@pointwise", {0, 40}},
    {"aten::ldexp.Tensor", "@pointwise other~1,6", {0, 4}, kNoEdges | kParts},
    {"aten::signbit.default", "@pointwise", {0, 4}},
    {"aten::round.decimals", "@pointwise decimals=2 | @pointwise decimals=-1", {0, 40}, kParts, "decimals=1"},
    {"aten::bitwise_left_shift.Tensor", "@pointwise other~2,2", {0, 20}, kNoEdges},
    {"aten::bitwise_right_shift.Tensor", "@pointwise other~2,2", {0, 20}, kNoEdges},
    {"aten::bitwise_left_shift.Tensor_Scalar", "@pointwise other=3", {0, 20}, kNoEdges},
    {"aten::bitwise_right_shift.Tensor_Scalar", "@pointwise other=3", {0, 20}, kNoEdges},
    {"aten::__lshift__.Scalar", "@pointwise other=3", {0, 20}, kNoEdges},
    {"aten::__rshift__.Scalar", "@pointwise other=3", {0, 20}, kNoEdges},
};

constexpr OpFacts kComplexNumbers[] = {
    {"aten::angle.default", "@pointwise", {0, 4}},           {"aten::complex.default", "@pointwise", {0, 4}},
    {"aten::polar.default", "@pointwise", {0, 4}, kNoEdges}, {"aten::_conj.default", "@pointwise", {0, 4}},
    {"aten::_conj_physical.default", "@pointwise", {0, 4}},
};

constexpr OpFacts kFourier[] = {
    {"aten::_fft_c2c.default",
     "self[8] dim=[0] normalization=0 forward=true | self[3,12] dim=[1] normalization=0 forward=true | "
     "self[5,7,6] dim=[0,2] normalization=1 forward=true | self[4,31] dim=[1] normalization=2 forward=false "
     "| "
     "self[64,3] dim=[0] normalization=2 forward=false | self[1] dim=[0] normalization=0 forward=true | "
     "self[0,8] dim=[1] normalization=0 forward=true",
     {0, 4},
     kNoEdges},
    {"aten::_fft_r2c.default",
     "self[8] dim=[0] normalization=0 onesided=true | self[3,9] dim=[1] normalization=1 onesided=true | "
     "self[4,6,10] dim=[0,2] normalization=2 onesided=true | self[5,12] dim=[0,1] normalization=0 "
     "onesided=false",
     {0, 4},
     kNoEdges},
    {"aten::_fft_c2r.default",
     "self[5] dim=[0] normalization=2 last_dim_size=8 | self[3,5] dim=[1] normalization=2 last_dim_size=9 | "
     "self[4,6,6] dim=[0,2] normalization=1 last_dim_size=10",
     {0, 4},
     kNoEdges},
};

}  // namespace

void register_special(FactTable& table) {
  table.add(kFunctions);
  table.add(kPolynomials);
  table.add(kBits);
  table.add(kComplexNumbers);
  table.add(kFourier);
}

}  // namespace assay::suites
