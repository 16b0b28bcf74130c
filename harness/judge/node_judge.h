// Judges what a device returned for one node from exactly known inputs (NUMERICS, "Gates for one node" and
// "One rule for each hard kind").
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/contract/contract.h"
#include "core/opset/call.h"
#include "harness/judge/compare.h"
#include "harness/judge/random_draws.h"
#include "harness/record/record.h"
#include "reference/evaluate.h"
#include "reference/overlap.h"

namespace assay {

// How one node is to be judged.
struct NodeQuestion {
  const OpCall* call = nullptr;
  std::vector<const reference::Wide*> inputs;  // exact bits, in the call's numbering
  Precision precision;
  bool metadata = false;      // view, permute, ...: bit-exact whatever the Contract says
  bool need_witness = false;  // the device is the reference, or works in f64: `want` must come from float128
  bool exact_probe = false;   // every order gives the same bits
  bool suite_drawn = false;   // RMS and bias gates apply
  DrawHistory* draws = nullptr;  // of the run, for random operators
};

struct NodeVerdict {
  // pass, wrong, nan_mismatch, meta_mismatch, unmodelled, vacuous (no witness, stale, all zeros)
  Status status = Status::pass;
  std::string reason, detail;
  std::optional<double> margin;  // null where nothing was compared against a Bound
  std::optional<Worst> worst;
  std::map<std::string, Gate> gates;  // those that were applied
  bool exact = false;                 // an exact model: outside the looseness guard
  bool holds_number = false;          // of a graph's one node: what it should return is not NaN everywhere
};

// What is right, computed once for a node and used for one or more results of it.
class NodeStandard {
 public:
  explicit NodeStandard(NodeQuestion question);
  // `got` and `output_names` are parallel to call.outputs(); an output whose name is empty is not looked at.
  NodeVerdict judge(const std::vector<Tensor>& got, const std::vector<std::string>& output_names) const;
  // |got - expected| <= Bound + u_file |expected|: a one-node graph with an expected file.
  NodeVerdict judge_expected(int output, const Tensor& got, const reference::Wide& expected,
                             double file_roundoff, const std::string& output_name) const;

  const std::vector<reference::BoundedWide>& outputs() const { return outputs_; }
  const reference::ErrorModel& model() const { return *model_; }
  bool has_witness() const { return has_witness_; }
  // An output that has a name has an element that is a number once it is rounded.
  bool holds_number(const std::vector<std::string>& output_names) const;

 private:
  void compare_output(std::size_t i, const Tensor& got, const std::string& name, Comparison& total,
                      NodeVerdict& verdict) const;
  bool flushed_alternative(std::size_t i, const Tensor& got, const CompareRule& rule) const;
  void apply_statistics(std::size_t i, const Tensor& got, NodeVerdict& verdict) const;
  bool is_exact() const;
  bool is_equal_choice(int output, const Tensor& got, const reference::Wide& expected,
                       const CompareRule& rule) const;

  NodeQuestion question_;
  const reference::ErrorModel* model_;
  std::vector<reference::BoundedWide> outputs_;
  std::vector<reference::Wide>
      flushed_;                   // values from inputs with subnormals flushed, if the Contract declares it
  reference::Contests contests_;  // elements that the call writes more than once
  bool has_witness_ = true;
};

// Raises `into` by `other`: the first finding stays unless the new one is graver.
void raise(NodeVerdict& into, const NodeVerdict& other);

}  // namespace assay
