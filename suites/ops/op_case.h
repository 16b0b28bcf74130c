// Makes cases of one operator: a graph of one node, recipes for its inputs, and what to check.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "core/graph/argument.h"
#include "core/io/model.h"
#include "harness/case/case.h"
#include "suites/ops/layouts.h"

namespace assay::suites {

// How one tensor argument is drawn.
struct TensorSpec {
  DType dtype = DType::f32;
  Shape shape;
  std::variant<UniformDraw, IntegerDraw, Tensor> source = UniformDraw{0, 1};
  // Other than contiguous: a larger tensor is drawn, and the operator gets a view of it.
  Layout layout = Layout::contiguous;
};

TensorSpec uniform(DType dtype, Shape shape, double center = 0, double scale = 1);
TensorSpec integers(DType dtype, Shape shape, int64_t low, int64_t high);
// Complex dtypes take the real parts, or both parts of each element.
TensorSpec values(DType dtype, Shape shape, const std::vector<double>& data);

// "ops/add.Tensor/f32/drawn": the namespace aten is left out.
class OpCase {
 public:
  OpCase(std::string op, std::string variant);

  OpCase& tensor(const std::string& argument, TensorSpec spec);
  OpCase& tensors(const std::string& argument, std::vector<TensorSpec> specs);
  OpCase& none_or_tensors(const std::string& argument, std::vector<std::optional<TensorSpec>> specs);
  OpCase& arg(const std::string& argument, Argument value);
  OpCase& ints(const std::string& argument, std::vector<int64_t> values);

  OpCase& drawn();  // inputs are exchangeable draws: RMS and bias gates apply
  OpCase& probe();  // every order of evaluation is exact: equal bit for bit
  // Must be refused with a message that contains `mention`.
  OpCase& negative(std::string mention);

  // Result metas come from the shape rules. An operator or dtype that they refuse is a defect of the suite:
  // it throws.
  Case build() const;
  // The same, but what the shape rules refuse is bad input, to be refused with their sentence.
  Case build_as_ruled() const;

 private:
  struct Given {
    std::string argument;
    std::vector<std::optional<TensorSpec>> specs;
    bool list = false;
  };
  Case empty_case() const;
  std::vector<NamedArgument> add_inputs(Case& c, GraphBuilder& builder) const;
  std::shared_ptr<const Graph> with_outputs(GraphBuilder& builder, const std::vector<ValueId>& outputs,
                                            bool checked) const;
  void add_refused_node(Case& c, GraphBuilder& builder, std::vector<NamedArgument> arguments) const;
  std::string op_;
  std::string variant_;
  std::vector<Given> tensors_;
  std::vector<NamedArgument> arguments_;
  Checks checks_;
};

// Table that suites/ops/families/*.cpp fill (cmake assay_registry).
class OpFamilies {
 public:
  using Maker = std::function<void(const CaseSink&)>;
  void add(Maker maker) { makers_.push_back(std::move(maker)); }
  const std::vector<Maker>& makers() const { return makers_; }

 private:
  std::vector<Maker> makers_;
};

// The float dtypes that accelerators compute in, and their short names in ids.
const std::vector<DType>& compute_floats();  // f32, bf16, f16
std::string dtype_tag(DType dtype);

// Shapes that every elementwise operator is tried on, beside the drawn one: 0-d, zero-size, one element, odd
// sizes, and sizes around the 128 partitions and 512 columns of a tile.
struct NamedShape {
  const char* name;
  Shape shape;
};
const std::vector<NamedShape>& edge_shapes();
// 1,024 elements: enough for the statistical gates, which need 256 to 4,096.
const Shape& drawn_shape();

}  // namespace assay::suites
