// Makes cases of small graphs: inputs with recipes, nodes, outputs.
#pragma once

#include <functional>
#include <string>

#include "harness/case/case.h"
#include "models/emitter.h"

namespace assay::suites {

class GraphCase {
 public:
  // "gla/chunk/f32/129": the suite is the id's first part.
  GraphCase(const std::string& id, std::string subject);

  models::Emitter& emit() { return emit_; }
  GraphBuilder& builder() { return builder_; }
  Checks& checks() { return case_.checks; }

  // Inputs; `scale` as in UniformDraw.
  ValueId draw(const std::string& name, DType dtype, const Shape& shape, double center = 0, double scale = 1);
  ValueId integers(const std::string& name, DType dtype, const Shape& shape, int64_t low, int64_t high);
  ValueId fixed(const std::string& name, const Tensor& tensor);
  void output(ValueId id) { builder_.output(id); }

  // `parts`: composite operators are decomposed, fused ones of ours too.
  Case build(bool parts = false);
  // Must be refused with a message that contains `mention`.
  Case refused(const std::string& mention);

 private:
  Case case_;
  GraphBuilder builder_;
  models::Emitter emit_;
};

// A whole graph whose parameters become user inputs, drawn so that activations keep their size: weights
// [out, in] uniformly with variance 1 / in, norms around 1. `fixed` gives inputs that are not to be drawn.
Case case_of_graph(const std::string& id, std::string subject, Graph graph,
                   std::map<std::string, TensorRecipe> given = {});

}  // namespace assay::suites
