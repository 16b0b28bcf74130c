// Makes distributed cases: one program for each rank, inputs with recipes, what to check.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/graph/builder.h"
#include "harness/case/case.h"

namespace assay::suites {

class RankCase {
 public:
  // "distributed/n4/all_reduce/sum/f32/exact".
  RankCase(int ranks, const std::string& name);

  int ranks() const { return static_cast<int>(programs_.size()); }
  void group(const std::string& name, std::vector<int> members);
  const std::vector<int>& members(const std::string& name) const;  // of a group that was given, or "world"
  GraphBuilder& at(int rank) { return programs_.at(static_cast<std::size_t>(rank)); }
  Checks& checks() { return case_.checks; }

  // Inputs of one rank.
  ValueId fixed(int rank, const std::string& name, const Tensor& tensor);
  ValueId draw(int rank, const std::string& name, DType dtype, const Shape& shape, double center = 0,
               double scale = 1);
  ValueId integers(int rank, const std::string& name, DType dtype, const Shape& shape, int64_t low,
                   int64_t high);

  // A collective and the wait for its result. `line` is the call's source link, "" for none.
  ValueId call(int rank, const std::string& op, std::vector<NamedArgument> arguments,
               const std::string& line = "");
  // Without asking the shape rules, and without waiting: what is to be refused.
  ValueId declared(int rank, const std::string& op, std::vector<NamedArgument> arguments,
                   const TensorMeta& result);
  // For a result that is under way.
  ValueId wait(int rank, ValueId id);
  void barrier(int rank, const std::string& group = "world");
  void output(int rank, ValueId id) { at(rank).output(id); }

  // A whole program, whose user inputs are drawn.
  void program(int rank, Graph graph);

  void dies(int rank);   // here
  void stops(int rank);  // here

  // Throws Error{internal} if the programs do not fit: a defect of the suite.
  Case build();
  // Every rank must end with an error that mentions all of these.
  Case refused(std::vector<std::string> mentions);

 private:
  Case finish(bool checked);
  ValueId input(int rank, const std::string& name, TensorRecipe recipe);

  Case case_;
  std::vector<GraphBuilder> programs_;
  ProcessGroups groups_;
  std::vector<RankFault> faults_;
  std::vector<int> world_;
};

}  // namespace assay::suites
