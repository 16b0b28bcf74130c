// The oracle: value and Bound of every operator.
//
// Kernels are templates over a number type (reference/number/): double, Bounded, Stochastic and, in reference/witness/,
// float128. They read unrounded numbers and return unrounded numbers; this file's functions round to the node's dtype
// where the pass demands it. Integers and booleans are exact int64 in every number type.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/contract/contract.h"
#include "core/graph/graph.h"
#include "core/opset/call.h"

namespace assay::reference {

// One tensor of a wide evaluation: `real` for float dtypes (2 per element for complex), `integer` for the others.
struct Wide {
  TensorMeta meta;
  std::vector<double> real;
  std::vector<int64_t> integer;
  static Wide from(const Tensor& tensor);
  Tensor rounded() const;  // once, RNE, to meta.dtype
};

struct BoundedWide {
  Wide value;                 // fp64 value (complex: parts)
  std::vector<double> bound;  // same length as value.real; empty for integral dtypes
  // What the node's own rounding to the output dtype may add is included (u_out(|v|+b) + eta).
  std::vector<double> sigma;  // rms gate: standard error per element by the class's formula; empty: rms "none"
};

// How single elements of a result may differ from `value` and still be right (NUMERICS, "One rule for each hard kind").
enum class Policy { bound, exact, any_of, nan, undefined_but_alive, topk_validity };

struct ErrorModel {
  std::string name;       // "exact", "bounded", "undefined_but_alive", "topk", ... ; "" means unmodelled
  bool correctly_rounded_class = false;  // add, mul, div, sqrt, casts: bias gate applies if the Contract says so
  bool discontinuous = false;            // output may jump when an input moves by rounding (floor, compare, argmax)
  std::string authority;  // whose definition: "PyTorch", "IEEE 754", "C99"
};

bool has_operator(std::string_view full_name);
std::vector<std::string> operator_names();
const ErrorModel& error_model(std::string_view full_name);  // name "" if unmodelled

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

// Walks a graph. Values that are symbolic scalars and _operator.* nodes are handled here, on the host.
// `inputs` are in order of graph.inputs (those with a value). The hook sees each node's outputs and may replace them
// (rounding in the local chain, device results in a free chain). Values are freed after their last use.
struct WalkHooks {
  // Returns the outputs of node i. `call` is null for _operator.* and other host-scalar nodes, which the walker does.
  std::function<std::vector<Wide>(int node, const OpCall& call, const std::vector<const Wide*>& inputs)> evaluate;
};
std::vector<Wide> walk(const Graph& graph, const std::vector<Wide>& inputs, const WalkHooks& hooks);

// The eager local chain: each node in fp64 from already rounded inputs, rounded once to its dtype. All values of the
// graph, indexed by ValueId (host scalars as 0-d).
std::vector<Tensor> local_chain(const Graph& graph, const std::vector<Tensor>& inputs);

}  // namespace assay::reference
