#include "harness/judge/replay.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "harness/judge/decisions.h"
#include "harness/judge/node_rules.h"
#include "harness/judge/readings.h"
#include "harness/judge/selection.h"
#include "reference/overlap.h"

namespace assay {
namespace {

using reference::Wide;

// What is known of a value beside its centre.
struct Spread {
  std::vector<Wide> replays;       // empty: equal to the centre
  std::vector<Wide> extrapolated;  // as in ReplayedOutput
  bool rounding = false;
  bool zero_sign = true;
};

// A decision that the spread leaves open: other worlds take its alternative.
struct OpenDecision {
  int node = 0;
  Alternative alternative;
  double chosen = 0;     // value in the chain
  bool settled = false;  // the device showed its choice
};

// Kinds of decisions that are taken alone and in combination; more only all together.
constexpr std::size_t kCombined = 4;

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

std::vector<Wide> evaluate_centre(const OpCall& call, const std::vector<const Wide*>& inputs, bool witness) {
  if (witness) {
    if (auto values = reference::evaluate_witness(call, inputs)) return std::move(*values);
  }
  return reference::evaluate(call, inputs);
}

void force(std::vector<Wide>& outputs, const Alternative& a) {
  Wide& output = outputs[a.output];
  const auto e = static_cast<std::size_t>(a.element);
  if (!output.integer.empty()) {
    output.integer[e] = a.integer;
  } else {
    output.real[e] = a.real;
  }
}

class Replayer {
 public:
  explicit Replayer(const ReplayRequest& request) : request_(request), graph_(*request.graph) {
    uses_.assign(graph_.values.size(), 0);
    for (const Node& node : graph_.nodes) {
      for (const ValueId id : inputs_of(node)) ++uses_[static_cast<std::size_t>(id)];
    }
    for (const GraphOutput& output : graph_.outputs) {
      if (output.value >= 0) ++uses_[static_cast<std::size_t>(output.value)];
    }
  }

  Replay run() {
    reference::WalkHooks hooks;
    hooks.evaluate = [this](int node, const OpCall& call, const std::vector<const Wide*>& inputs) {
      return evaluate_node(node, call, inputs);
    };
    const std::vector<Wide> centres = reference::walk(graph_, *request_.inputs, hooks);
    result_.outputs.resize(graph_.outputs.size());
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      const ValueId id = graph_.outputs[i].value;
      if (id < 0) continue;
      ReplayedOutput& output = result_.outputs[i];
      output.centre = centres.at(i);
      if (const Spread* spread = find(id)) {
        output.replays = spread->replays;
        output.extrapolated = spread->extrapolated;
        output.rounding = spread->rounding;
        output.zero_sign = spread->zero_sign;
      }
      output.file_ties = file_ties_.contains(id);
    }
    if (request_.witness && result_.followed == 0) use_witness();
    explore(centres);
    if (request_.second_look) {
      mark_differences(centres, walk_overflowing(), &ReplayedOutput::overflowing, false);
      if (request_.expected) keep_widened();
      keep_flushed();
    }
    return std::move(result_);
  }

 private:
  const Spread* find(ValueId id) const {
    const auto found = spreads_.find(id);
    return found == spreads_.end() ? nullptr : &found->second;
  }

  std::vector<Wide> evaluate_node(int node, const OpCall& call, const std::vector<const Wide*>& inputs) {
    const reference::ErrorModel& model = reference::error_model(call);
    const Precision precision = precision_of(*request_.contract, call, request_.mode, *request_.options);
    result_.flushes = result_.flushes || precision.ftz_out;
    SpreadInputs spread = gather_inputs(call, inputs, &Spread::replays);
    bool rounding = is_rounding_point(call, model);
    bool zero_sign = model.signed_zero;
    for (const ValueId id : call.input_values()) {
      const Spread* known = find(id);
      rounding = rounding || (known && known->rounding);
      zero_sign = zero_sign && (known == nullptr || known->zero_sign);
    }

    std::vector<Wide> centre = evaluate_centre(call, inputs, request_.witness);
    const bool decision = is_decision(call, model);
    std::vector<Alternative> alternatives;
    if (decision) alternatives = decide(node, call, spread, centre);

    std::vector<std::vector<Wide>> replays;
    if (spread.any() || is_rounding_point(call, model)) {
      for (std::size_t r = 0; r < kReplays; ++r) {
        const reference::ReplayKey key{request_.seed, static_cast<uint32_t>(r), static_cast<uint32_t>(node)};
        replays.push_back(reference::evaluate_stochastic(call, spread.of_replay(r), precision, key));
        if (decision) take_decisions(call, spread, r, alternatives, centre, replays.back());
      }
    }
    std::vector<std::vector<Wide>> extrapolated;
    if (request_.second_look && !replays.empty()) {
      const SpreadInputs far = gather_inputs(call, inputs, &Spread::extrapolated);
      for (std::size_t r = 0; r < 2 * kReplays; ++r) {
        extrapolated.push_back(extrapolate(call, spread, far, r, replays[r / 2]));
        if (decision) take_decisions(call, far, r, alternatives, centre, extrapolated.back());
      }
    }
    store(call, centre, std::move(replays), std::move(extrapolated), rounding, zero_sign);
    release(graph_.nodes[static_cast<std::size_t>(node)]);
    return centre;
  }

  // The node from extrapolated inputs, and its own rounding of the replay as many times as large.
  static std::vector<Wide> extrapolate(const OpCall& call, const SpreadInputs& spread,
                                       const SpreadInputs& far, std::size_t number,
                                       const std::vector<Wide>& replay) {
    const std::vector<Wide> unrounded = reference::evaluate(call, spread.of_replay(number / 2));
    std::vector<Wide> outputs = reference::evaluate(call, far.of_replay(number));
    const double factor = number % 2 == 0 ? kExtrapolation : -kExtrapolation;
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      for (std::size_t i = 0; i < outputs[o].real.size(); ++i) {
        const double rounding = replay[o].real[i] - unrounded[o].real[i];
        if (std::isfinite(rounding)) outputs[o].real[i] += factor * rounding;
      }
    }
    return outputs;
  }

  SpreadInputs gather_inputs(const OpCall& call, const std::vector<const Wide*>& inputs,
                             std::vector<Wide> Spread::*walks) const {
    SpreadInputs spread;
    spread.centre = inputs;
    spread.replays.resize(inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Spread* known = find(call.input_values().at(i));
      if (known == nullptr) continue;
      for (const Wide& walk : known->*walks) spread.replays[i].push_back(&walk);
    }
    return spread;
  }

  // Settles the node's decisions in `centre` and remembers those that stay open. Returns all alternatives.
  std::vector<Alternative> decide(int node, const OpCall& call, const SpreadInputs& spread,
                                  std::vector<Wide>& centre) {
    const std::vector<Tensor>* device = nullptr;
    if (request_.device && static_cast<std::size_t>(node) < request_.device->size()) {
      const std::vector<Tensor>& free = (*request_.device)[static_cast<std::size_t>(node)].free;
      if (free.size() == centre.size()) device = &free;
    }
    if (device && is_selection(call.op())) {
      const std::vector<Wide> own = centre;
      if (follow_device_selection(call, spread, *device, centre)) {
        ++result_.followed;
        followed_[node] = centre;
        if (request_.expected) {
          remember_differences(node, centre, own);
          compare_file_choice(call, spread, centre);
        }
        return {};
      }
    }
    const std::vector<Wide> own = centre;
    if (device && !is_selection(call.op()) && follow_equal_choice(call, spread, *device, centre)) {
      ++result_.followed;
      followed_[node] = centre;
      if (request_.expected) remember_differences(node, centre, own);
      return {};
    }
    std::vector<Alternative> alternatives = uncertain_decisions(call, spread, centre);
    std::vector<bool> settled(alternatives.size(), false);
    if (device && !is_selection(call.op())) settled = follow_device(alternatives, *device, centre);
    for (std::size_t i = 0; i < alternatives.size(); ++i) {
      if (settled[i]) {
        ++result_.followed;
        followed_[node] = centre;
        if (!request_.expected) continue;
      } else {
        ++result_.uncertain;
      }
      remember(node, centre, alternatives[i], settled[i]);
    }
    if (request_.expected) remember_differences(node, centre, own);
    return alternatives;
  }

  // Positions among equal elements (kthvalue, mode, cummax): the device's, if they are as good.
  static bool follow_equal_choice(const OpCall& call, const SpreadInputs& spread,
                                  const std::vector<Tensor>& device, std::vector<Wide>& centre) {
    for (std::size_t o = 0; o < centre.size(); ++o) {
      if (device[o].dtype() != centre[o].meta.dtype || device[o].shape() != centre[o].meta.shape)
        return false;
    }
    if (reference::check_choice(call, spread.centre, device) != std::string()) return false;
    for (std::size_t o = 0; o < centre.size(); ++o) {
      if (centre[o].is_integral()) centre[o].integer = device[o].to_ints();
    }
    return true;
  }

  static double number_at(const Wide& tensor, std::size_t e) {
    return tensor.integer.empty() ? tensor.real[e] : static_cast<double>(tensor.integer[e]);
  }

  void remember(int node, const std::vector<Wide>& centre, const Alternative& alternative, bool settled) {
    const double chosen =
        number_at(centre[alternative.output], static_cast<std::size_t>(alternative.element));
    const double other = centre[alternative.output].integer.empty()
                             ? alternative.real
                             : static_cast<double>(alternative.integer);
    if (!same(chosen, other)) open_.push_back({node, alternative, chosen, settled});
  }

  // Among equal elements the writer of the file may have chosen others than the device; that choice must be
  // as good as the device's, to the bit.
  void compare_file_choice(const OpCall& call, const SpreadInputs& spread, const std::vector<Wide>& centre) {
    const auto o = static_cast<std::size_t>(index_output(call));
    const ValueId id = call.output_values().at(o);
    for (std::size_t i = 0; id >= 0 && i < request_.file_outputs.size(); ++i) {
      const Wide* file = request_.file_outputs[i];
      if (file == nullptr || graph_.outputs[i].value != id || file->meta.shape != centre[o].meta.shape)
        continue;
      std::vector<Tensor> choice(o + 1);
      choice[o] = file->rounded();
      const Wide& input = *spread.centre[static_cast<std::size_t>(call.tensor("self"))];
      if (judge_selection(call, input, centre, choice, Slack{}, CompareRule{}, false).ok)
        file_ties_.insert(id);
    }
  }

  // What fp64 itself would have chosen is an alternative to the device's choice.
  void remember_differences(int node, const std::vector<Wide>& centre, const std::vector<Wide>& own) {
    for (std::size_t o = 0; o < centre.size(); ++o) {
      const std::size_t count = std::max(centre[o].real.size(), centre[o].integer.size());
      for (std::size_t e = 0; e < count; ++e) {
        Alternative alternative{o, static_cast<int64_t>(e), 0, 0};
        if (own[o].integer.empty()) {
          alternative.real = own[o].real[e];
        } else {
          alternative.integer = own[o].integer[e];
        }
        remember(node, centre, alternative, true);
      }
    }
  }

  // One decision for all replays: the centre's.
  static void take_decisions(const OpCall& call, const SpreadInputs& spread, std::size_t r,
                             const std::vector<Alternative>& alternatives, const std::vector<Wide>& centre,
                             std::vector<Wide>& replay) {
    for (std::size_t o = 0; o < centre.size(); ++o) replay[o].integer = centre[o].integer;
    for (const Alternative& a : alternatives) {
      const auto e = static_cast<std::size_t>(a.element);
      if (!centre[a.output].real.empty()) replay[a.output].real[e] = centre[a.output].real[e];
    }
    if (is_selection(call.op()) && centre.size() == 2) {
      const Wide& input = *spread.of_replay(r)[static_cast<std::size_t>(call.tensor("self"))];
      gather_values(call, input, centre[1], replay[0]);
    }
  }

  void store(const OpCall& call, const std::vector<Wide>& centre, std::vector<std::vector<Wide>> replays,
             std::vector<std::vector<Wide>> extrapolated, bool rounding, bool zero_sign) {
    for (std::size_t o = 0; o < centre.size(); ++o) {
      if (!call.output_used(static_cast<int>(o))) continue;
      Spread spread;
      spread.rounding = rounding && !is_integral(centre[o].meta.dtype);
      spread.zero_sign = zero_sign;
      const auto keep = [&](std::vector<std::vector<Wide>>& walks, std::vector<Wide>& kept) {
        const bool differs = std::any_of(walks.begin(), walks.end(), [&](const std::vector<Wide>& walk) {
          return !std::equal(walk[o].real.begin(), walk[o].real.end(), centre[o].real.begin(), same);
        });
        for (std::size_t i = 0; differs && i < walks.size(); ++i) kept.push_back(std::move(walks[i][o]));
      };
      keep(replays, spread.replays);
      keep(extrapolated, spread.extrapolated);
      spreads_[call.output_values().at(o)] = std::move(spread);
    }
  }

  // Frees replays after their last use.
  void release(const Node& node) {
    for (const ValueId id : inputs_of(node)) {
      int& uses = uses_[static_cast<std::size_t>(id)];
      if (--uses == 0) {
        const auto found = spreads_.find(id);
        if (found == spreads_.end()) continue;
        found->second.replays.clear();
        found->second.extrapolated.clear();
      }
    }
  }

  // The whole graph in float128: roundings to fp64 between nodes are then no part of the centre.
  void use_witness() {
    std::vector<const Wide*> inputs;
    for (const Wide& input : *request_.inputs) inputs.push_back(&input);
    auto outputs = reference::Walker(graph_).run_witness(inputs);
    if (!outputs) return;
    for (std::size_t i = 0; i < result_.outputs.size(); ++i) {
      if (graph_.outputs[i].value >= 0) result_.outputs[i].centre = std::move(outputs->at(i));
    }
    result_.whole_witness = true;
  }

  // Walks worlds in which open decisions are taken the other way: what differs there depends on them through
  // live edges.
  void explore(const std::vector<Wide>& base) {
    if (open_.empty()) return;
    // Decisions of one kind (from one value to one other) fall together: they come from equal numbers.
    std::map<std::pair<double, double>, std::size_t> kinds;
    std::vector<std::size_t> kind_of;
    for (const OpenDecision& open : open_) {
      const Alternative& a = open.alternative;
      kind_of.push_back(
          kinds.emplace(std::pair(open.chosen, a.real + static_cast<double>(a.integer)), kinds.size())
              .first->second);
    }
    const auto mark = [&](bool settled_too) {
      return [&, settled_too](std::size_t i) { return settled_too || !open_[i].settled; };
    };
    mark_differences(base, walk_world(mark(false)), &ReplayedOutput::undetermined, false);
    const std::size_t combined = std::min(kinds.size(), kCombined);
    for (std::size_t bits = 1; bits < std::size_t{1} << combined; ++bits) {
      const std::vector<Wide> world = walk_world([&](std::size_t i) {
        return !open_[i].settled && kind_of[i] < combined && (bits >> kind_of[i] & 1) != 0;
      });
      mark_differences(base, world, &ReplayedOutput::undetermined, true);
    }
    for (ReplayedOutput& output : result_.outputs) output.contingent = output.undetermined;
    const bool any_settled =
        std::any_of(open_.begin(), open_.end(), [](const OpenDecision& open) { return open.settled; });
    if (any_settled) mark_differences(base, walk_world(mark(true)), &ReplayedOutput::contingent, false);
  }

  // What the fp64 chain goes on with: the device's decision where it was taken, else the centre.
  std::vector<Wide> outputs_in_chain(int node, const OpCall& call,
                                     const std::vector<const Wide*>& inputs) const {
    const auto known = followed_.find(node);
    return known != followed_.end() ? known->second : evaluate_centre(call, inputs, request_.witness);
  }

  // The fp64 chain with the alternatives of the open decisions for which `taken(number)` holds; where an
  // element has several, the last.
  template <class Taken>
  std::vector<Wide> walk_world(const Taken& taken) const {
    std::map<int, std::vector<const Alternative*>> by_node;
    for (std::size_t i = 0; i < open_.size(); ++i) {
      if (taken(i)) by_node[open_[i].node].push_back(&open_[i].alternative);
    }
    reference::WalkHooks hooks;
    hooks.evaluate = [&](int node, const OpCall& call, const std::vector<const Wide*>& inputs) {
      std::vector<Wide> outputs = outputs_in_chain(node, call, inputs);
      const auto found = by_node.find(node);
      if (found != by_node.end()) {
        for (const Alternative* alternative : found->second) force(outputs, *alternative);
      }
      return outputs;
    };
    return reference::walk(graph_, *request_.inputs, hooks);
  }

  void keep_widened() {
    auto outputs = walk_widened(graph_, *request_.inputs);
    for (std::size_t i = 0; outputs && i < outputs->size(); ++i)
      result_.outputs[i].widened = std::move((*outputs)[i]);
  }

  // The fp64 chain, each node with its inputs flushed where its device may flush anything.
  void keep_flushed() {
    bool any = false;
    reference::WalkHooks hooks;
    hooks.evaluate = [&](int node, const OpCall& call, const std::vector<const Wide*>& inputs) {
      const Precision precision = precision_of(*request_.contract, call, request_.mode, *request_.options);
      if ((precision.ftz_in || precision.ftz_out) && !followed_.contains(node)) {
        if (auto values = evaluate_flushed(call, inputs)) {
          any = true;
          return std::move(*values);
        }
      }
      return outputs_in_chain(node, call, inputs);
    };
    std::vector<Wide> outputs = reference::walk(graph_, *request_.inputs, hooks);
    for (std::size_t i = 0; any && i < outputs.size(); ++i)
      result_.outputs[i].flushed = std::move(outputs[i]);
  }

  // The fp64 chain with NaN wherever the device may have infinity, NaN or the right number.
  std::vector<Wide> walk_overflowing() const {
    reference::WalkHooks hooks;
    hooks.evaluate = [&](int node, const OpCall& call, const std::vector<const Wide*>& inputs) {
      std::vector<Wide> outputs = outputs_in_chain(node, call, inputs);
      const Precision precision = precision_of(*request_.contract, call, request_.mode, *request_.options);
      const auto bounded = reference::evaluate_bounded(call, inputs, precision);
      for (std::size_t o = 0; o < outputs.size() && o < bounded.size(); ++o) {
        for (std::size_t i = 0; i < outputs[o].real.size() && i < bounded[o].special.size(); ++i) {
          if ((bounded[o].special[i] & reference::special_early_overflow) != 0)
            outputs[o].real[i] = std::numeric_limits<double>::quiet_NaN();
        }
      }
      return outputs;
    };
    return reference::walk(graph_, *request_.inputs, hooks);
  }

  void mark_differences(const std::vector<Wide>& base, const std::vector<Wide>& other,
                        std::vector<bool> ReplayedOutput::*marks, bool keep) {
    for (std::size_t i = 0; i < result_.outputs.size(); ++i) {
      if (graph_.outputs[i].value < 0) continue;
      ReplayedOutput& output = result_.outputs[i];
      const Wide& centre = base.at(i);
      const std::size_t count = std::max(centre.real.size(), centre.integer.size());
      bool differs = false;
      for (std::size_t e = 0; e < count; ++e) {
        const bool equal = centre.integer.empty() ? same(centre.real[e], other.at(i).real[e])
                                                  : centre.integer[e] == other.at(i).integer[e];
        if (equal) continue;
        (output.*marks).resize(count, false);
        (output.*marks)[e] = true;
        differs = true;
      }
      if (differs && keep) output.worlds.push_back(other.at(i));
    }
  }

  const ReplayRequest& request_;
  const Graph& graph_;
  std::vector<int> uses_;
  std::map<ValueId, Spread> spreads_;
  std::vector<OpenDecision> open_;
  std::map<int, std::vector<Wide>> followed_;  // outputs of nodes at which the device's decision was taken
  std::set<ValueId> file_ties_;                // outputs whose file holds another choice among equals
  Replay result_;
};

}  // namespace

bool is_decision(const OpCall& call, const reference::ErrorModel& model) {
  if (reference::writes_may_meet(call)) return true;
  const auto floats = [](const TensorMeta& meta) { return !is_integral(meta.dtype); };
  const bool reads_floats = std::any_of(call.inputs().begin(), call.inputs().end(), floats);
  // Among equal integers the choice is free.
  if (!reads_floats) return makes_choice(call.op());
  const bool all_floats = std::all_of(call.outputs().begin(), call.outputs().end(), floats);
  if (!all_floats) return true;
  const bool cast = call.op().starts_with("aten::_to_copy") || call.op().starts_with("aten::to.");
  return model.discontinuous && !cast;
}

Replay replay(const ReplayRequest& request) { return Replayer(request).run(); }

}  // namespace assay
