// The oracle: value and Bound of every operator.
//
// Kernels are templates over a number type (reference/number/): double, Bounded, Stochastic and, in
// reference/witness/, float128. They read unrounded numbers and return unrounded numbers; this file's
// functions round to the node's dtype where the pass demands it. Integers and booleans are exact int64 in
// every number type.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/contract/contract.h"
#include "core/graph/graph.h"
#include "core/opset/call.h"
#include "reference/array.h"

namespace assay::reference {

// `Wide` (reference/array.h) is one tensor of a wide evaluation: fp64 numbers for float dtypes, int64 for the
// others.

// Ways in which an element may differ from `value` and still be right, beside its Bound. Bits of
// BoundedWide::special.
enum Special : uint8_t {
  special_undefined =
      1,  // any bits are right (x / 0 on integers, NaN to integer, beyond a declared [lo, hi])
  special_overflow =
      2,  // the Bound straddles the overflow threshold: infinity of value's sign, or the finite value
  special_early_overflow =
      4,  // an intermediate may exceed the largest number: infinity, NaN, or what else is right
};

struct BoundedWide {
  Wide value;                 // fp64 value (complex: parts)
  std::vector<double> bound;  // same length as value.real; empty for integral dtypes
  // What the node's own rounding to the output dtype may add is included (u_out(|v|+b) + eta).
  std::vector<double>
      sigma;  // rms gate: standard error per element by the class's formula; empty: rms "none"
  // One byte an element (complex: a part), see Special; empty if there is none.
  std::vector<uint8_t> special;
  // No Bound exists under this Precision (a 16-bit accumulator of undeclared order): the result cannot pass.
  bool unmodelled = false;
};

// How single elements of a result may differ from `value` and still be right (NUMERICS, "One rule for each
// hard kind").
enum class Policy { bound, exact, any_of, nan, undefined_but_alive, topk_validity };

struct ErrorModel {
  std::string name;  // "exact", "bounded", "undefined_but_alive", "topk", ... ; "" means unmodelled
  bool correctly_rounded_class =
      false;                   // add, mul, div, sqrt, casts: bias gate applies if the Contract says so
  bool discontinuous = false;  // output may jump when an input moves by rounding (floor, compare, argmax)
  std::string authority;       // whose definition: "PyTorch", "IEEE 754", "C99"
  bool signed_zero = false;    // the sign of a zero result is defined; otherwise +0 and -0 are equally right
};

bool has_operator(std::string_view full_name);
std::vector<std::string> operator_names();
// Complex tensors are taken (operators that only move elements).
bool supports_complex(std::string_view full_name);
// Done by the walker on the host: _operator.*, sym_size, _local_scalar_dense, ...
bool is_host_scalar(const std::string& full_name);
const ErrorModel& error_model(std::string_view full_name);  // name "" if unmodelled
// Of a call: complex numbers have models of their own (abs is exact for real ones).
const ErrorModel& error_model(const OpCall& call);

// fp64 value, not rounded to the output dtype except that what rounds to infinity there is infinite.
std::vector<Wide> evaluate(const OpCall& call, const std::vector<const Wide*>& inputs);
// Value and Bound under the declared precision; inputs are exact bits.
std::vector<BoundedWide> evaluate_bounded(const OpCall& call, const std::vector<const Wide*>& inputs,
                                          const Precision& precision);
// float128 evaluation, rounded to f64 at the very end (the witness). nullopt where no float128 kernel exists.
std::optional<std::vector<Wide>> evaluate_witness(const OpCall& call, const std::vector<const Wide*>& inputs);

// One stochastic replay of a node; draws are keyed by (seed, replay, node number, element).
struct ReplayKey {
  uint64_t seed;
  uint32_t replay;
  uint32_t node;
};
std::vector<Wide> evaluate_stochastic(const OpCall& call, const std::vector<const Wide*>& inputs,
                                      const Precision& precision, const ReplayKey& key);

// How a choice (topk, sort, max.dim, min.dim, argmax, argmin, max_pool2d_with_indices) is judged where ties
// or NaN allow several answers: indices in range, no duplicates, values those at the indices, and nothing
// better left out. `inputs` are the exact bits that the device had. Returns "" or what is wrong; nullopt for
// operators that choose nothing.
std::optional<std::string> check_choice(const OpCall& call, const std::vector<const Wide*>& inputs,
                                        const std::vector<Tensor>& outputs);

// A graph made ready for many evaluations: calls resolved, last uses known. The graph must outlive it and be
// validated. Values that are symbolic scalars and _operator.* nodes are computed here, on the host. Values
// are freed after their last use. Throws Error as kernels do, naming the node.
class Walker {
 public:
  explicit Walker(const Graph& graph);
  ~Walker();
  Walker(Walker&&) noexcept;

  // Returns the outputs of node `node`, parallel to graph.nodes[node].outputs. Not called for host-scalar
  // nodes.
  using Evaluate =
      std::function<std::vector<Wide>(int node, const OpCall& call, const std::vector<const Wide*>& inputs)>;
  // `inputs` are in order of graph.inputs (those with a value). Returns the graph's outputs, in order; host
  // scalars are 0-d i64, f64 or bool; constant outputs are empty arrays of shape [0].
  std::vector<Wide> run(const std::vector<const Wide*>& inputs, const Evaluate& evaluate) const;

  // fp64, unrounded (range kept): the centre of the end-to-end gate.
  std::vector<Wide> run_wide(const std::vector<const Wide*>& inputs) const;
  // One stochastic replay; `precision` gives what holds for node i.
  using PrecisionOf = std::function<const Precision&(int node, const OpCall& call)>;
  std::vector<Wide> run_stochastic(const std::vector<const Wide*>& inputs, const PrecisionOf& precision,
                                   uint64_t seed, uint32_t replay) const;
  // The whole graph in float128, rounded to f64 at the outputs; nullopt where a node has no float128 kernel.
  std::optional<std::vector<Wide>> run_witness(const std::vector<const Wide*>& inputs) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Walker in one call. The hook sees each node's outputs and may replace them (rounding in the local chain,
// device results in a free chain).
struct WalkHooks {
  Walker::Evaluate evaluate;
};
std::vector<Wide> walk(const Graph& graph, const std::vector<Wide>& inputs, const WalkHooks& hooks);

// The eager local chain: each node in fp64 from already rounded inputs, rounded once to its dtype. All values
// of the graph, indexed by ValueId (host scalars as 0-d).
std::vector<Tensor> local_chain(const Graph& graph, const std::vector<Tensor>& inputs);

}  // namespace assay::reference
