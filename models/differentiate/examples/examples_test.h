// Calls at which rules are held to finite differences (differentiate/derivatives_test.cpp). One file a family
// of rules; a file adds itself.
#pragma once

#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/opset/call.h"
#include "core/tensor.h"

namespace assay::models {

struct Given {
  std::string name;
  Shape shape;
  double center = 0, scale = 1;        // reals are drawn from [center - scale, center + scale)
  std::vector<int64_t> integers = {};  // an i64 tensor (bool if `mask`) instead
  bool mask = false;
  std::vector<double> reals = {};  // these instead of drawn ones
  bool complex = false;            // the last dim, of size 2, holds the parts of complex numbers
};

struct Example {
  std::string op;
  std::vector<Given> tensors;
  std::vector<NamedArgument> arguments = {};
  std::string list = {};                 // all tensors are members of this list argument
  std::vector<int> outputs = {};         // results that the loss depends on; empty: all float ones
  std::vector<TensorMeta> results = {};  // where the operator's shapes depend on data
  bool gives_complex = false;            // of real numbers
  double tolerance = 1e-8;               // of the largest element of a gradient, or of 1
};

inline Argument ints(std::vector<int64_t> list) { return IntListArg{std::move(list), {}}; }

// A static object of a file of examples.
class Examples {
 public:
  using List = std::vector<Example> (*)();
  explicit Examples(List list) { lists().push_back(list); }
  static std::vector<Example> all() {
    std::vector<Example> out;
    for (const List list : lists()) {
      for (Example& example : list()) out.push_back(std::move(example));
    }
    return out;
  }

 private:
  static std::vector<List>& lists() {
    static std::vector<List> all;
    return all;
  }
};

}  // namespace assay::models
