// Builds graphs in code: single operators for suites, layers for models.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/opset/call.h"

namespace assay {

class GraphBuilder {
 public:
  explicit GraphBuilder(std::string id);
  // Goes on with a graph that is there already; new nodes get names that it does not have.
  explicit GraphBuilder(Graph graph);

  // A user input, or a parameter, buffer or constant with its fully qualified name.
  ValueId input(const std::string& name, DType dtype, const Shape& shape, InputKind kind = InputKind::user,
                const std::string& target = "");

  // Appends a node whose result metas come from the shape rules (core/opset/shapes.h); `arguments` are named
  // as in the schema. Throws Error as infer() does, and Error{unsupported} where the result's shape depends
  // on data.
  std::vector<ValueId> node(const std::string& op, std::vector<NamedArgument> arguments,
                            SourceLink source = {});
  // The same for an operator with one result.
  ValueId call(const std::string& op, std::vector<NamedArgument> arguments, SourceLink source = {});
  // What the shape rules say about a call, without appending it. A size that depends on data is -1. Throws
  // Error as infer() does, and Error{unsupported} where there is no rule.
  std::vector<TensorMeta> results_of(const std::string& op,
                                     const std::vector<NamedArgument>& arguments) const;
  // A node with declared results (-1: a size that depends on data), without asking the shape rules: for cases
  // that must be refused.
  std::vector<ValueId> declared_node(const std::string& op, std::vector<NamedArgument> arguments,
                                     const std::vector<TensorMeta>& results, SourceLink source = {});

  void output(ValueId value, OutputKind kind = OutputKind::user, const std::string& target = "");

  const Value& value(ValueId id) const { return graph_.values.at(static_cast<std::size_t>(id)); }
  const Graph& graph() const { return graph_; }  // as far as it is built
  Graph build();                                 // validated; the builder is empty afterwards
  Graph build_unchecked();

 private:
  Graph graph_;
  std::set<std::string> taken_;  // names of the graph that was there
};

}  // namespace assay
