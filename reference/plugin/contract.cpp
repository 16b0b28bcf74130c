#include "reference/plugin/contract.h"

namespace assay::reference {

// Kernels compute in fp64 and round once. The allowances are those of glibc's double functions (x86-64,
// manual, "Errors in Math Functions"), in ulps of fp64, and of the formulas over them that
// reference/number/functions.h has.
const char* contract_json() {
  return R"json({
  "name": "reference",
  "source": "fp64 arithmetic, one rounding to the node's dtype; reference/number/functions.h",
  "rules": [
    {
      "source": "https://www.gnu.org/software/libc/manual/html_node/Errors-in-Math-Functions.html (x86_64, double)",
      "accumulator": "f64",
      "intermediate": "f64",
      "order": "any",
      "rounding": "rne",
      "functions": {
        "*": {"ulp": 1},
        "div": {"ulp": 0.5},
        "reciprocal": {"ulp": 0.5},
        "sqrt": {"ulp": 0.5},
        "rsqrt": {"ulp": 1},
        "log2": {"ulp": 1.5},
        "log10": {"ulp": 2},
        "sinh": {"ulp": 2.5},
        "cosh": {"ulp": 2.5},
        "tanh": {"ulp": 2.5},
        "asinh": {"ulp": 2.5},
        "acosh": {"ulp": 2.5},
        "atanh": {"ulp": 2.5}
      }
    },
    {
      "source": "1 / (1 + exp(-x)) and x times that: exp 1, sum 0.5, quotient 0.5, product 0.5",
      "functions": {"sigmoid": {"ulp": 2.5}, "silu": {"ulp": 3}}
    },
    {
      "source": "computed in the 64-bit significand of long double, rounded to fp64 at the end",
      "functions": {"gelu": {"ulp": 1}, "gelu_tanh": {"ulp": 1}}
    },
    {"source": "IEEE 754; fp64 then a narrower format rounds as once (53 >= 2p + 2)", "op": "aten::add.*", "correctly_rounded": true},
    {"op": "aten::sub.*", "correctly_rounded": true},
    {"op": "aten::mul.*", "correctly_rounded": true},
    {"op": "aten::div.*", "correctly_rounded": true},
    {"op": "aten::sqrt.*", "correctly_rounded": true}
  ]
})json";
}

}  // namespace assay::reference
