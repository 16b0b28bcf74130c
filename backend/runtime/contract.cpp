#include "backend/runtime/contract.h"

namespace assay::backend {

// Later rules override. Sources: "device" is documented behaviour (NKI ISA: fp32 inside, cast on write, round
// to nearest even), "invented" is Assay's own choice where nothing is public: the real activation tables are
// piece-wise polynomials of unknown accuracy, the simulated ones are the functions rounded from double.
const char* contract_json() {
  static const char text[] = R"json({
  "name": "trainium (simulated)",
  "source": "NKI ISA documentation where public; activation tables are invented: correctly rounded",
  "rules": [
    {"source": "device: fp32 in all engines and in PSUM, one rounding on write",
     "accumulator": "f32", "order": "any", "intermediate": "f32", "rounding": "rne"},
    {"source": "f64 is unsupported: the rule above must not speak for it",
     "dtype": "f64", "accumulator": "f64", "intermediate": "f64"},
    {"dtype": "c128", "accumulator": "f64", "intermediate": "f64"},
    {"source": "invented: functions rounded from double, then composed as in backend/kernels",
     "functions": {"*": {"ulp": 1}, "log": {"ulp": 2}, "sin": {"ulp": 2}, "rsqrt": {"ulp": 1},
                   "sqrt": {"ulp": 0.5}, "div": {"ulp": 0.5}, "reciprocal": {"ulp": 0.5}}},
    {"source": "device: one fp32 operation and one rounding", "op": "aten::add.Tensor", "correctly_rounded": true},
    {"op": "aten::sub.Tensor", "correctly_rounded": true},
    {"op": "aten::mul.Tensor", "correctly_rounded": true},
    {"op": "aten::div.Tensor", "correctly_rounded": true},
    {"op": "aten::_to_copy.default", "correctly_rounded": true},
    {"source": "the Tensor engine is modelled on AVX-512's bf16 dot product, which takes subnormals as zero",
     "op": "aten::*mm.default", "dtype": "bf16", "ftz_in": true, "ftz_out": true},
    {"op": "aten::convolution.default", "dtype": "bf16", "ftz_in": true, "ftz_out": true},
    {"op": "*scaled_dot_product*", "dtype": "bf16", "ftz_in": true, "ftz_out": true},
    {"op": "aten::*mm.default", "option": "auto_cast=matmult", "dtype": "f32", "input": "bf16",
     "products_exact": true, "ftz_in": true, "ftz_out": true},
    {"op": "aten::convolution.default", "option": "auto_cast=matmult", "dtype": "f32", "input": "bf16",
     "products_exact": true, "ftz_in": true, "ftz_out": true},
    {"op": "*scaled_dot_product*", "option": "auto_cast=matmult", "dtype": "f32", "input": "bf16",
     "products_exact": true, "ftz_in": true, "ftz_out": true},
    {"source": "follows from fp32 accumulation in any order: a partial sum, product or sum of squares may exceed fp32's largest number", "op": "aten::*mm.default", "early_overflow": true},
    {"op": "aten::convolution.default", "early_overflow": true},
    {"source": "invented: a collective's DMA adds in fp32 and rounds to the dtype at every hop (backend/collectives/execute.h)",
     "op": "ranks::*", "early_overflow": true},
    {"op": "ranks::*", "dtype": "bf16", "accumulator": "bf16", "intermediate": "bf16"},
    {"op": "ranks::*", "dtype": "f16", "accumulator": "f16", "intermediate": "f16"},
    {"op": "ranks::*", "dtype": "f8_e4m3fn", "accumulator": "f8_e4m3fn", "intermediate": "f8_e4m3fn"},
    {"op": "ranks::*", "dtype": "f8_e5m2", "accumulator": "f8_e5m2", "intermediate": "f8_e5m2"},
    {"op": "ranks::*", "dtype": "f8_e4m3", "accumulator": "f8_e4m3", "intermediate": "f8_e4m3"},
    {"op": "aten::avg_pool*", "early_overflow": true},
    {"op": "aten::_adaptive_avg_pool*", "early_overflow": true},
    {"op": "aten::sum.*", "early_overflow": true},
    {"op": "aten::mean.*", "early_overflow": true},
    {"op": "aten::cumsum.default", "early_overflow": true},
    {"op": "aten::prod.*", "early_overflow": true},
    {"op": "aten::cumprod.default", "early_overflow": true},
    {"op": "aten::linalg_vector_norm.default", "early_overflow": true},
    {"op": "aten::_cdist_forward.default", "early_overflow": true},
    {"op": "aten::_pdist_forward.default", "early_overflow": true},
    {"source": "device: no integer datapath for products and collectives (compiler errors EVRF035, 061, 063)",
     "op": "aten::*mm.default", "option": "implicit_integer_downcast=default", "int_exact_bits": 24},
    {"op": "ranks::*", "option": "implicit_integer_downcast=default", "int_exact_bits": 24},
    {"source": "device: NEURON_RT_STOCHASTIC_ROUNDING_EN", "option": "stochastic_rounding=1",
     "rounding": "stochastic", "correctly_rounded": false}
  ]
})json";
  return text;
}

}  // namespace assay::backend
