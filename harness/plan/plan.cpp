#include "harness/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <variant>

#include "core/contract/contract.h"
#include "core/error.h"
#include "core/graph/json.h"
#include "core/philox.h"
#include "harness/record/utf8.h"

namespace assay {
namespace {

bool has_weights(const Graph& graph) {
  return std::any_of(graph.inputs.begin(), graph.inputs.end(), [](const GraphInput& input) {
    return input.value >= 0 && input.kind != InputKind::user;
  });
}

std::string text_of(const TensorRecipe& recipe) {
  std::string text = fmt::format("{}{}", name_of(recipe.dtype), to_string(recipe.shape));
  if (const auto* draw = std::get_if<UniformDraw>(&recipe.source)) {
    return text + fmt::format("u{:a},{:a}", draw->center, draw->scale);
  }
  if (const auto* draw = std::get_if<IntegerDraw>(&recipe.source))
    return text + fmt::format("i{},{}", draw->low, draw->high);
  const Tensor tensor = std::get<Tensor>(recipe.source).contiguous();
  const std::string_view bytes(reinterpret_cast<const char*>(tensor.data()), tensor.bytes());
  return text + fmt::format("t{:016x}", fnv1a64(bytes));
}

std::string inputs_text(const Case& c) {
  std::string text;
  for (const auto& [name, recipe] : c.inputs) text += "\n" + name + "=" + text_of(recipe);
  return text;
}

bool may_have_duplicates(const Case& c, uint64_t seed) {
  if (!c.graph || c.load_expected || !c.trials.empty() || c.ranks) return false;
  if (has_weights(*c.graph) && c.weights_key.empty()) return false;
  // Draws that depend on the id are nobody else's.
  return !has_drawn_inputs(c) || draw_seed(c, seed) == seed;
}

// Differs where duplicate_key does, mostly, and costs a hundredth of it.
uint64_t quick_key(const Case& c) {
  std::string text = inputs_text(c);
  for (const Node& node : c.graph->nodes) {
    text += "\n" + node.op;
    for (const NamedArgument& argument : node.arguments)
      text += " " + argument.name + to_string(argument.value);
  }
  return fnv1a64(text);
}

// Which earlier case a case equals. The whole key is made only where quick keys meet.
class Duplicates {
 public:
  explicit Duplicates(uint64_t seed) : seed_(seed) {}

  // Id of the first case equal to this one, "" if there is none.
  std::string find(const std::shared_ptr<const Case>& c) {
    if (!may_have_duplicates(*c, seed_)) return "";
    const auto [entry, first] = by_quick_key_.emplace(quick_key(*c), c);
    if (first) return "";
    if (entry->second != nullptr) insert(*std::exchange(entry->second, nullptr));
    return insert(*c);
  }

 private:
  std::string insert(const Case& c) {
    const std::string key = duplicate_key(c, seed_);
    // The hash keeps the map small; 128 bits, so that a collision is out of the question.
    const std::string hash = fmt::format("{:016x}{:016x}", fnv1a64(key), fnv1a64("assay" + key + "plan"));
    const auto [entry, inserted] = by_key_.emplace(hash, c.id);
    return inserted ? "" : entry->second;
  }

  uint64_t seed_;
  std::map<uint64_t, std::shared_ptr<const Case>> by_quick_key_;  // null once its whole key is known
  std::map<std::string, std::string> by_key_;
};

}  // namespace

std::string duplicate_key(const Case& c, uint64_t seed) {
  if (!may_have_duplicates(c, seed)) return "";
  std::string key = graph_to_json(*c.graph) + inputs_text(c);
  if (has_drawn_inputs(c)) key += fmt::format("\nseed {}", draw_seed(c, seed));
  key += fmt::format("\n{} {} {} {} {} {} {} {} {} {} {}", c.weights_key, c.golden, c.mutant, c.world_size,
                     c.steps, c.checks.suite_drawn, c.checks.exact_probe, c.checks.nan_policy,
                     c.checks.negative, c.checks.expect_error, c.carry.size());
  for (const auto& [from, to] : c.carry) key += fmt::format(" {}>{}", from, to);
  return key;
}

std::vector<PlannedCase> make_plan(std::vector<Case> cases, const RunOptions& options) {
  std::vector<PlannedCase> plan;
  std::set<std::string> ids;
  Duplicates duplicates(options.seed);
  for (Case& given : cases) {
    // Records hold valid UTF-8 only; --resume and --filter meet the id as it was written.
    given.id = valid_utf8(given.id);
    if (!ids.insert(given.id).second) {
      throw Error(ErrorCode::invalid_argument, fmt::format("two cases have the id \"{}\"", given.id));
    }
    if (!options.filter.empty() && given.id != options.filter && !glob_match(options.filter, given.id))
      continue;
    const auto shards = static_cast<uint64_t>(options.shards);
    if (case_hash(given.id) % shards != static_cast<uint64_t>(options.shard - 1)) continue;
    const auto c = std::make_shared<const Case>(std::move(given));
    const std::string same_as = duplicates.find(c);
    for (const std::string& mode : options.modes) plan.push_back({c, mode, same_as});
  }
  return plan;
}

}  // namespace assay
