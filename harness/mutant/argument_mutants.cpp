// Defects of arguments: keywords that a kernel ignores, takes the wrong way round or misses by one. The right
// formula is evaluated with the wrong argument.
#include <algorithm>
#include <string>
#include <variant>

#include "harness/mutant/families.h"

namespace assay {
namespace {

using Arguments = std::vector<NamedArgument>;

bool is_tensor(const Argument& value) {
  return std::holds_alternative<ValueArg>(value) || std::holds_alternative<ValueListArg>(value);
}

const Argument* find(const OpCall& call, std::string_view name) {
  for (const NamedArgument& given : call.arguments()) {
    if (given.name == name) return &given.value;
  }
  return nullptr;
}

// Arguments that are off their defaults and decide values, not dtypes or places.
Arguments chosen(const OpCall& call) {
  Arguments out;
  for (const NamedArgument& given : call.arguments()) {
    const SchemaArgument* argument = call.schema().find(given.name);
    if (argument == nullptr || !argument->default_value || is_tensor(given.value)) continue;
    if (std::holds_alternative<KeywordArg>(given.value) || std::holds_alternative<DTypeArg>(given.value))
      continue;
    if (given.value == *argument->default_value || given.name == "generator") continue;
    out.push_back({given.name, *argument->default_value});
  }
  return out;
}

template <class T>
void change(const OpCall& call, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs,
            const std::string& name, T value) {
  adopt(call, inputs, outputs, recompute_with(call, inputs, name, Argument(value)));
}

// A mutant of one argument: `edit` gives the wrong value, nullopt where there is none.
Mutant argument_mutant(std::string name, std::string description, std::vector<std::string> arguments,
                       std::function<std::optional<Argument>(const Argument&)> edit) {
  const auto which = [arguments, edit](const OpCall& call) {
    Arguments out;
    for (const std::string& argument : arguments) {
      const Argument* given = find(call, argument);
      if (given == nullptr || is_tensor(*given)) continue;
      if (auto wrong = edit(*given)) out.push_back({argument, std::move(*wrong)});
    }
    return out;
  };
  Mutant mutant;
  mutant.name = std::move(name);
  mutant.description = std::move(description);
  mutant.applies = [which](const OpCall& call) {
    return !call.outputs().empty() && !call.inputs().empty() && !which(call).empty();
  };
  mutant.plant = [which](const OpCall& call, const std::vector<Tensor>& inputs,
                         std::vector<Tensor>& outputs) {
    for (const NamedArgument& wrong : which(call)) {
      adopt(call, inputs, outputs, recompute_with(call, inputs, wrong.name, wrong.value));
    }
  };
  return mutant;
}

std::optional<Argument> flipped(const Argument& value) {
  const bool* flag = std::get_if<bool>(&value);
  return flag == nullptr ? std::nullopt : std::optional<Argument>(!*flag);
}

std::optional<Argument> scaled(const Argument& value, double factor) {
  if (const auto* number = std::get_if<double>(&value)) return Argument(*number * factor);
  return std::nullopt;
}

// The dimension before: -2 for -1, the last one for 0.
std::optional<Argument> neighbour(const Argument& value) {
  if (const auto* dim = std::get_if<int64_t>(&value))
    return Argument(*dim > 0 ? *dim - 1 : *dim == 0 ? 1 : *dim - 1);
  if (const auto* dims = std::get_if<IntListArg>(&value); dims != nullptr && dims->ints.size() == 1) {
    const int64_t dim = dims->ints[0];
    return Argument(IntListArg{{dim > 0 ? dim - 1 : dim == 0 ? 1 : dim - 1}, {}});
  }
  return std::nullopt;
}

}  // namespace

void add_argument_mutants(std::vector<Mutant>& table) {
  table.push_back({"keyword_ignored", "an argument that is off its default is taken to be at it",
                   [](const OpCall& call) {
                     return !call.outputs().empty() && !call.inputs().empty() && !chosen(call).empty();
                   },
                   [](const OpCall& call, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
                     for (const NamedArgument& ignored : chosen(call)) {
                       adopt(call, inputs, outputs,
                             recompute_with(call, inputs, ignored.name, ignored.value));
                     }
                   }});
  table.push_back(argument_mutant("dim_off_by_one", "the operation runs along the neighbouring dimension",
                                  {"dim", "dim0", "dims", "axis"}, neighbour));
  table.push_back(argument_mutant(
      "flag_inverted", "a flag is taken the wrong way round",
      {"count_include_pad", "align_corners", "largest", "descending", "unbiased", "reverse", "right", "upper",
       "accumulate", "sparse_grad", "training", "train", "log_target", "include_self", "half_pixel_centers"},
      flipped));
  table.push_back(argument_mutant("divisor_of_padded_window",
                                  "the mean over a window divides by other elements than it should",
                                  {"count_include_pad"}, flipped));
  table.push_back(argument_mutant("epsilon_tenfold", "eps is ten times what was asked for", {"eps"},
                                  [](const Argument& value) { return scaled(value, 10); }));
  table.push_back(argument_mutant("scale_missing", "the scale of scores is not applied", {"scale"},
                                  [](const Argument&) { return std::optional<Argument>(1.0); }));
  table.push_back(argument_mutant("alpha_ignored", "the factor alpha is taken to be 1", {"alpha"},
                                  [](const Argument& value) -> std::optional<Argument> {
                                    if (std::holds_alternative<double>(value)) return Argument(1.0);
                                    if (std::holds_alternative<int64_t>(value)) return Argument(int64_t{1});
                                    return std::nullopt;
                                  }));
  table.push_back(argument_mutant("beta_ignored", "the factor beta is taken to be 1", {"beta"},
                                  [](const Argument& value) -> std::optional<Argument> {
                                    if (std::holds_alternative<double>(value)) return Argument(1.0);
                                    if (std::holds_alternative<int64_t>(value)) return Argument(int64_t{1});
                                    return std::nullopt;
                                  }));
  table.push_back(argument_mutant("correction_off_by_one",
                                  "the variance is divided by one more than it should be", {"correction"},
                                  [](const Argument& value) -> std::optional<Argument> {
                                    if (const auto* n = std::get_if<int64_t>(&value)) return Argument(*n - 1);
                                    if (const auto* n = std::get_if<double>(&value)) return Argument(*n - 1);
                                    return std::nullopt;
                                  }));
  table.push_back(argument_mutant("last_step_missing", "an iteration stops one step early", {"steps"},
                                  [](const Argument& value) -> std::optional<Argument> {
                                    const auto* steps = std::get_if<int64_t>(&value);
                                    if (steps == nullptr || *steps < 1) return std::nullopt;
                                    return Argument(*steps - 1);
                                  }));
  table.push_back(argument_mutant(
      "causal_corner_mixed_up", "the causal mask is aligned to the other corner of the scores", {"causal"},
      [](const Argument& value) -> std::optional<Argument> {
        const auto* causal = std::get_if<std::string>(&value);
        if (causal == nullptr || *causal == "none") return std::nullopt;
        return Argument(std::string(*causal == "top_left" ? "bottom_right" : "top_left"));
      }));
  table.push_back(argument_mutant("causal_mask_lost", "queries see keys that come after them",
                                  {"causal", "is_causal"},
                                  [](const Argument& value) -> std::optional<Argument> {
                                    if (const auto* flag = std::get_if<bool>(&value)) {
                                      return *flag ? std::optional<Argument>(false) : std::nullopt;
                                    }
                                    const auto* causal = std::get_if<std::string>(&value);
                                    if (causal == nullptr || *causal == "none") return std::nullopt;
                                    return Argument(std::string("none"));
                                  }));
  table.push_back(
      argument_mutant("scalar_in_bf16", "a number in the arguments is rounded to bf16",
                      {"other", "value", "exponent", "negative_slope", "min", "max", "beta", "alpha",
                       "threshold", "lambd", "weight", "scale", "p", "fill_value", "self"},
                      [](const Argument& value) -> std::optional<Argument> {
                        const auto* number = std::get_if<double>(&value);
                        if (number == nullptr) return std::nullopt;
                        const double narrow = round_to(DType::bf16, *number);
                        if (narrow == *number) return std::nullopt;
                        return Argument(narrow);
                      }));
}

}  // namespace assay
