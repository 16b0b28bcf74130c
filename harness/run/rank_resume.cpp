#include "harness/run/rank_resume.h"

#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "harness/judge/negative.h"
#include "harness/run/note.h"

namespace assay {
namespace {

[[noreturn]] void misfit(const std::string& what) {
  throw Error(ErrorCode::invalid_argument, "checkpoint of ranks: " + what);
}

std::string without_rank(const std::string& name) { return name.substr(name.find('_') + 1); }

int64_t rank_rows(const std::string& name, const Shape& shape) {
  if (shape.empty()) misfit(fmt::format("'{}' is a scalar; only rows can be shared out", name));
  return shape[0];
}
Shape row_of(const Shape& shape) { return {shape.begin() + 1, shape.end()}; }

Tensor behind_one_another(const std::string& name, const std::vector<Tensor>& parts) {
  const Tensor& first = parts.front();
  Shape shape = first.shape();
  shape.at(0) = 0;
  for (const Tensor& part : parts) {
    shape[0] += rank_rows(name, part.shape());
    if (part.dtype() == first.dtype() && row_of(part.shape()) == row_of(first.shape())) continue;
    misfit(fmt::format("ranks hold '{}' as {}{} and {}{}", name, name_of(first.dtype()),
                       to_string(first.shape()), name_of(part.dtype()), to_string(part.shape())));
  }
  Tensor whole(first.dtype(), shape);
  std::size_t at = 0;
  for (const Tensor& given : parts) {
    const Tensor part = given.contiguous();
    if (part.bytes() != 0)
      std::memcpy(static_cast<std::byte*>(whole.mutable_data()) + at, part.data(), part.bytes());
    at += part.bytes();
  }
  return whole;
}

Tensor rows(const Tensor& whole, int64_t begin, int64_t count) {
  Shape shape = whole.shape();
  const std::size_t row = shape[0] == 0 ? 0 : whole.bytes() / static_cast<std::size_t>(shape[0]);
  shape[0] = count;
  return Tensor::from_bytes(
      whole.dtype(), shape,
      static_cast<const std::byte*>(whole.data()) + static_cast<std::size_t>(begin) * row,
      static_cast<std::size_t>(count) * row);
}

}  // namespace

RankCheckpoint rank_checkpoint(const Case& c, const std::vector<Tensor>& given,
                               const std::vector<Tensor>& returned) {
  std::map<std::string, Tensor> held;  // by the joined graph's names
  std::vector<std::string> order;
  std::size_t next = 0;
  for (const GraphInput& input : c.graph->inputs) {
    if (input.value < 0) continue;
    order.push_back(input.target);
    held[input.target] = given.at(next++);
  }
  for (const auto& [output, name] : c.carry) held.at(name) = returned.at(static_cast<std::size_t>(output));
  std::map<std::string, std::vector<Tensor>> parts;
  for (const std::string& name : order) {
    if (!held.at(name).defined()) misfit(fmt::format("'{}' was not returned", name));
    parts[without_rank(name)].push_back(held.at(name));
  }
  RankCheckpoint checkpoint;
  for (const auto& [name, tensors] : parts) checkpoint[name] = behind_one_another(name, tensors);
  return checkpoint;
}

Case resumed_case(const Case& next, const RankCheckpoint& checkpoint) {
  Case made = next;
  std::map<std::string, int64_t> taken;
  for (auto& [name, recipe] : made.inputs) taken[without_rank(name)] += rank_rows(name, recipe.shape);
  for (const auto& [name, whole] : checkpoint) {
    const auto found = taken.find(name);
    if (found == taken.end()) misfit(fmt::format("it has '{}', which no program takes", name));
    if (found->second == whole.size(0)) continue;
    misfit(fmt::format("'{}' has {} rows; the programs of {} ranks take {}", name, whole.size(0),
                       next.world_size, found->second));
  }
  std::map<std::string, int64_t> at;
  for (const GraphInput& input : made.graph->inputs) {
    if (input.value < 0) continue;
    TensorRecipe& recipe = made.inputs.at(input.target);
    const std::string name = without_rank(input.target);
    const auto found = checkpoint.find(name);
    if (found == checkpoint.end()) misfit(fmt::format("it has no '{}', which the programs take", name));
    const Tensor& whole = found->second;
    if (whole.dtype() != recipe.dtype || row_of(whole.shape()) != row_of(recipe.shape)) {
      misfit(fmt::format("'{}' is {}{}; rank {} takes {}{}", name, name_of(whole.dtype()),
                         to_string(whole.shape()), rank_of(input.target), name_of(recipe.dtype),
                         to_string(recipe.shape)));
    }
    recipe.source = rows(whole, at[name], recipe.shape[0]);
    at[name] += recipe.shape[0];
  }
  return made;
}

std::optional<CaseOutcome> run_resumed(
    const Case& c, Record record, const std::function<std::optional<CaseOutcome>(const Case& c)>& attempt) {
  Case step = c;
  step.trials.clear();
  step.checks.negative = false;
  auto first = attempt(step);
  if (!first || !is_pass(first->record.status)) return first;
  const RankCheckpoint checkpoint = rank_checkpoint(c, first->given, first->returned);

  if (c.checks.negative) {
    CaseOutcome outcome{std::move(record), {}, {}, {}};
    RunResult refusal;
    try {
      resumed_case(*c.trials.back(), checkpoint);
    } catch (const Error& error) {
      refusal.failure = Status::rejected_bad_input;
      refusal.detail = error.what();
    }
    const NegativeVerdict verdict = judge_negative(c.checks, refusal);
    conclude(outcome.record, verdict.status, verdict.reason, verdict.detail);
    return outcome;
  }

  std::optional<RankCheckpoint> uninterrupted;
  std::optional<CaseOutcome> outcome;
  for (const std::shared_ptr<const Case>& next : c.trials) {
    const Case one = resumed_case(*next, checkpoint);
    outcome = attempt(one);
    if (!outcome) return std::nullopt;
    Record& made = outcome->record;
    const std::string where = fmt::format("second step on {} ranks: ", one.world_size);
    if (!made.detail.empty()) made.detail = where + made.detail;
    if (!is_pass(made.status)) return outcome;
    RankCheckpoint after = rank_checkpoint(one, outcome->given, outcome->returned);
    if (!uninterrupted) {
      uninterrupted = std::move(after);
      continue;
    }
    for (const auto& [name, tensor] : *uninterrupted) {
      if (after.at(name).bitwise_equal(tensor)) continue;
      conclude(made, Status::nondeterministic, "resume_differs",
               where + fmt::format("'{}' has other bits than on {} ranks without interruption", name,
                                   c.world_size));
      return outcome;
    }
  }
  return outcome;
}

}  // namespace assay
