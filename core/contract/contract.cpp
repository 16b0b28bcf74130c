#include "core/contract/contract.h"

#include <fmt/format.h>

#include <limits>

#include "core/contract/changes.h"
#include "core/philox.h"

namespace assay {
namespace {

bool option_matches(const std::string& pattern, const std::map<std::string, std::string>& options) {
  if (pattern == "*") return true;
  for (const auto& [key, value] : options) {
    if (glob_match(pattern, key + "=" + value)) return true;
  }
  return false;
}

template <class T>
void override_with(const std::optional<T>& change, T& field) {
  if (change) field = *change;
}

void apply(const PrecisionChanges& changes, Precision& p) {
  override_with(changes.input, p.input);
  override_with(changes.accumulator, p.accumulator);
  override_with(changes.order, p.order);
  override_with(changes.intermediate, p.intermediate);
  override_with(changes.store, p.store);
  override_with(changes.rounding, p.rounding);
  override_with(changes.ftz_in, p.ftz_in);
  override_with(changes.ftz_out, p.ftz_out);
  override_with(changes.early_overflow, p.early_overflow);
  override_with(changes.int_exact_bits, p.int_exact_bits);
  override_with(changes.correctly_rounded, p.correctly_rounded);
  for (const auto& [name, allowance] : changes.functions) p.functions.insert_or_assign(name, allowance);
}

// A product of two p-bit significands has at most 2p bits. It may still underflow below the accumulator's
// range, which a Bound accounts for by itself.
bool products_fit(const Precision& p, DType dtype) {
  const DType operand = p.input.value_or(dtype);
  if (is_integral(operand)) return true;
  return 2 * float_format(operand).precision <= float_format(p.accumulator).precision;
}

}  // namespace

FunctionAllowance::FunctionAllowance()
    : lo(-std::numeric_limits<double>::infinity()),
      hi(std::numeric_limits<double>::infinity()),
      outside("exact") {}

const FunctionAllowance& Precision::function(std::string_view name) const {
  if (const auto found = functions.find(name); found != functions.end()) return found->second;
  if (const auto found = functions.find("*"); found != functions.end()) return found->second;
  static const FunctionAllowance one_ulp = [] {
    FunctionAllowance allowance;
    allowance.ulp = 1;
    return allowance;
  }();
  return one_ulp;
}

bool ContractRule::in_force(std::string_view mode_in_use,
                            const std::map<std::string, std::string>& options) const {
  return glob_match(mode, mode_in_use) && option_matches(option, options);
}

const std::shared_ptr<const Contract::Rules>& Contract::no_rules() {
  static const auto none = std::make_shared<const Rules>();
  return none;
}

Precision Contract::precision(std::string_view op, DType dtype, std::string_view mode,
                              const std::map<std::string, std::string>& options) const {
  Precision p;
  const bool wide = dtype == DType::f64 || dtype == DType::c128;
  p.accumulator = p.intermediate = wide ? DType::f64 : DType::f32;
  std::optional<bool> products_exact;
  const std::vector<ContractRule>& rules = rules_->rules;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const ContractRule& rule = rules[i];
    if (!glob_match(rule.op, op) || !glob_match(rule.dtype, name_of(dtype)) || !rule.in_force(mode, options))
      continue;
    const PrecisionChanges& changes = *rules_->changes[i];
    apply(changes, p);
    if (changes.products_exact) products_exact = changes.products_exact;
  }
  p.products_exact = products_exact.value_or(products_fit(p, dtype));
  return p;
}

std::string Contract::hash() const { return fmt::format("{:016x}", fnv1a64(to_json())); }

}  // namespace assay
