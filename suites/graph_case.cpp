#include "suites/graph_case.h"

#include <cmath>
#include <utility>

#include "core/decompose/decompose.h"

namespace assay::suites {

GraphCase::GraphCase(const std::string& id, std::string subject) : builder_(id), emit_(builder_) {
  case_.id = id;
  case_.suite = id.substr(0, id.find('/'));
  case_.subject = std::move(subject);
}

ValueId GraphCase::draw(const std::string& name, DType dtype, const Shape& shape, double center,
                        double scale) {
  case_.inputs[name] = TensorRecipe{dtype, shape, UniformDraw{center, scale}};
  return builder_.input(name, dtype, shape);
}
ValueId GraphCase::integers(const std::string& name, DType dtype, const Shape& shape, int64_t low,
                            int64_t high) {
  case_.inputs[name] = TensorRecipe{dtype, shape, IntegerDraw{low, high}};
  return builder_.input(name, dtype, shape);
}
ValueId GraphCase::fixed(const std::string& name, const Tensor& tensor) {
  case_.inputs[name] = TensorRecipe{tensor.dtype(), tensor.shape(), tensor};
  return builder_.input(name, tensor.dtype(), tensor.shape());
}

Case GraphCase::build(bool parts) {
  Graph graph = builder_.build();
  decompose(graph, [parts](const std::string& op) { return !parts && op.starts_with("assay::"); });
  case_.graph = std::make_shared<const Graph>(std::move(graph));
  return std::move(case_);
}

Case GraphCase::refused(const std::string& mention) {
  case_.checks.negative = true;
  case_.checks.expect_error = mention;
  case_.graph = std::make_shared<const Graph>(builder_.build_unchecked());
  return std::move(case_);
}

Case case_of_graph(const std::string& id, std::string subject, Graph graph,
                   std::map<std::string, TensorRecipe> given) {
  Case c;
  c.id = id;
  c.suite = id.substr(0, id.find('/'));
  c.subject = std::move(subject);
  c.inputs = std::move(given);
  graph.id = id;
  for (GraphInput& input : graph.inputs) {
    if (input.value < 0) continue;
    const Value& value = graph.values.at(static_cast<std::size_t>(input.value));
    const std::string target = input.target;
    input.kind = InputKind::user;
    input.target = value.name;
    if (c.inputs.contains(value.name)) continue;
    UniformDraw draw;
    if (target.find("norm") != std::string::npos) {
      draw = {1, 0.5};
    } else if (value.shape.size() >= 2 && target.ends_with(".weight")) {
      draw = {0, std::sqrt(3 / static_cast<double>(element_count(value.shape) / value.shape[0]))};
    }
    c.inputs[value.name] = TensorRecipe{value.dtype, value.shape, draw};
  }
  c.graph = std::make_shared<const Graph>(std::move(graph));
  return c;
}

}  // namespace assay::suites
