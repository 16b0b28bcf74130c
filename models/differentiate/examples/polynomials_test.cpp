#include "models/differentiate/examples/examples_test.h"

namespace assay::models {
namespace {

std::vector<Example> polynomials_examples() {
  std::vector<Example> examples;
  const auto add = [&](const char* name, double center, const std::vector<double>& ends) {
    const std::string op = std::string("aten::special_") + name + ".default";
    const Given degree{"n", {5, 1}, 0, 1, {0, 1, 2, 3, 6}};
    examples.push_back({op, {{"x", {4}, center, 0.5}, degree}});
    if (ends.empty()) return;
    Given end{"x", {static_cast<int64_t>(ends.size())}};
    end.reals = ends;
    examples.push_back({op, {end, degree}});
  };
  for (const char* kind : {"t", "u", "v", "w"}) {
    add((std::string("chebyshev_polynomial_") + kind).c_str(), 0.2, {1, -1, 0});
    add((std::string("shifted_chebyshev_polynomial_") + kind).c_str(), 0.5, {1, 0});
  }
  add("hermite_polynomial_h", 0.3, {});
  add("hermite_polynomial_he", 0.3, {});
  add("legendre_polynomial_p", 0.2, {1, -1});
  add("laguerre_polynomial_l", 1, {0});
  return examples;
}

const Examples added_polynomials_examples(polynomials_examples);

}  // namespace
}  // namespace assay::models
