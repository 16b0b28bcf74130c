#include "models/differentiate/examples/examples_test.h"

namespace assay::models {
namespace {

std::vector<Example> special_examples() {
  std::vector<Example> examples;
  for (const char* op : {"erfinv"})
    examples.push_back({std::string("aten::") + op + ".default", {{"self", {5}, 0, 0.9}}});
  for (const char* op :
       {"erfc", "i0", "special_erfcx", "special_i0e", "special_i1", "special_i1e", "special_bessel_j0",
        "special_bessel_j1", "special_modified_bessel_i0", "special_modified_bessel_i1"}) {
    examples.push_back({std::string("aten::") + op + ".default", {{"self", {7}, 0, 3}}});
  }
  for (const char* op : {"lgamma", "digamma", "special_bessel_y0", "special_bessel_y1",
                         "special_modified_bessel_k0", "special_modified_bessel_k1"}) {
    examples.push_back({std::string("aten::") + op + ".default", {{"self", {7}, 2, 1.5}}});
  }
  // At 0 their slopes are limits. i1e turns there: central differences see the half of it, one step long.
  for (const char* op : {"special_i1", "special_i1e", "special_bessel_j1", "special_modified_bessel_i1"}) {
    Example at_zero{std::string("aten::") + op + ".default", {{"self", {1}}}};
    at_zero.tensors[0].reals = {0};
    if (std::string(op) == "special_i1e") at_zero.tolerance = 0x1p-20;
    examples.push_back(std::move(at_zero));
  }
  examples.push_back({"aten::special_spherical_bessel_j0.default", {{"x", {7}, 0, 3}}});
  for (const char* op : {"special_scaled_modified_bessel_k0", "special_scaled_modified_bessel_k1"})
    examples.push_back({std::string("aten::") + op + ".default", {{"x", {7}, 2, 1.5}}});
  examples.push_back({"aten::special_ndtri.default", {{"self", {5}, 0.5, 0.4}}});
  for (const int64_t n : {0, 1, 3})
    examples.push_back({"aten::polygamma.default", {{"self", {5}, 2, 1}}, {{"n", n}}});
  for (const char* op : {"igamma", "igammac"})
    examples.push_back({std::string("aten::") + op + ".default",
                        {{"other", {2, 3}, 2, 1.5}, {"self", {3}, 0, 1, {1, 2, 4}}}});
  examples.push_back(
      {"aten::special_zeta.default", {{"other", {2, 3}, 2, 1}, {"self", {3}, 0, 1, {2, 3, 5}}}});

  return examples;
}

const Examples added_special_examples(special_examples);

}  // namespace
}  // namespace assay::models
