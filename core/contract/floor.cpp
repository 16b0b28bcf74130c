#include <algorithm>
#include <array>
#include <set>

#include "core/contract/contract.h"
#include "core/error.h"

namespace assay {
namespace {

// `a` cannot hold all that `b` holds: fewer bits, or a smaller range at either end.
bool is_coarser(DType a, DType b) {
  const FloatFormat& x = float_format(a);
  const FloatFormat& y = float_format(b);
  return x.precision < y.precision || x.max < y.max || x.smallest_subnormal() > y.smallest_subnormal();
}

int looseness(ReductionOrder order) {
  switch (order) {
    case ReductionOrder::ascending:
      return 0;
    case ReductionOrder::any:
      return 1;
    case ReductionOrder::undeclared:
      return 2;
  }
  return 2;
}

// Bits of the magnitudes of an integral dtype.
int width_of(DType dtype) {
  int bits = 0;
  while (bits < 63 && (int_max(dtype) >> bits) != 0) ++bits;
  return bits;
}

// Collects the names of loose fields for nodes of one dtype.
class Comparison {
 public:
  Comparison(const Precision& given, const Precision& floor, std::set<std::string>& names)
      : given_(given), floor_(floor), names_(names) {}

  void run(DType dtype) {
    if (is_integral(dtype)) {
      const int given = given_.int_exact_bits.value_or(63);
      note(given < std::min(width_of(dtype), floor_.int_exact_bits.value_or(63)), "int_exact_bits");
      return;
    }
    const DType part = real_part(dtype);
    const bool coarse_accumulator = is_coarser(given_.accumulator, floor_.accumulator);
    note(is_coarser(given_.input.value_or(part), floor_.input.value_or(part)), "input");
    note(coarse_accumulator, "accumulator");
    note(looseness(given_.order) > looseness(floor_.order), "order");
    note(is_coarser(given_.intermediate, floor_.intermediate), "intermediate");
    note(is_coarser(given_.store.value_or(part), floor_.store.value_or(part)), "store");
    note(given_.rounding != Rounding::nearest_even && given_.rounding != floor_.rounding, "rounding");
    note(given_.ftz_in && !floor_.ftz_in, "ftz_in");
    note(given_.ftz_out && !floor_.ftz_out, "ftz_out");
    note(given_.early_overflow && !floor_.early_overflow, "early_overflow");
    note(!given_.products_exact && floor_.products_exact && !coarse_accumulator, "products_exact");
    for (const auto& [name, allowance] : given_.functions) compare(name, allowance, bound_of(name));
  }

 private:
  void note(bool loose, const std::string& name) {
    if (loose) names_.insert(name);
  }

  // "*" stands for every function that is not named, so it is held against the strictest of those. Functions
  // with 0 ulp (fmod) are judged as exact whatever a Contract says.
  FunctionAllowance bound_of(const std::string& name) const {
    FunctionAllowance bound = floor_.function(name);
    if (name != "*") return bound;
    for (const auto& [other, allowance] : floor_.functions) {
      if (given_.functions.contains(other) || allowance.ulp == 0) continue;
      bound.ulp = std::min(bound.ulp, allowance.ulp);
      bound.abs = std::min(bound.abs, allowance.abs);
      bound.lo = std::min(bound.lo, allowance.lo);
      bound.hi = std::max(bound.hi, allowance.hi);
    }
    return bound;
  }

  void compare(const std::string& name, const FunctionAllowance& given, const FunctionAllowance& bound) {
    note(given.ulp > bound.ulp, "functions." + name + ".ulp");
    note(given.abs > bound.abs, "functions." + name + ".abs");
    const bool undefined = given.outside != "exact";
    note(undefined && given.lo > bound.lo, "functions." + name + ".lo");
    note(undefined && given.hi < bound.hi, "functions." + name + ".hi");
  }

  const Precision& given_;
  const Precision& floor_;
  std::set<std::string>& names_;
};

// The option for which a rule is made, as if it were set.
std::map<std::string, std::string> own_option(const ContractRule& rule) {
  const std::size_t equals = rule.option.find('=');
  if (equals == std::string::npos) return {};
  return {{rule.option.substr(0, equals), rule.option.substr(equals + 1)}};
}

}  // namespace

std::vector<std::string> looser_than_floor(const Contract& contract, std::string_view floor_json,
                                           const std::map<std::string, std::string>* options) {
  const Contract floor = Contract::parse(floor_json, "contract floor");
  for (const ContractRule& rule : floor.rules()) {
    if (rule.mode != "*" || rule.option != "*") {
      throw Error(ErrorCode::malformed_file,
                  "contract floor: a rule for " + rule.op + ", mode " + rule.mode + ", option " +
                      rule.option + "; the rules of a floor may differ by operator and dtype only");
    }
  }
  constexpr std::array<std::string_view, 2> modes{"eager", "compile"};
  std::set<std::string> names;
  for (int32_t number = 1; is_valid(static_cast<DType>(number)); ++number) {
    const auto dtype = static_cast<DType>(number);
    for (const ContractRule& rule : contract.rules()) {
      if (!glob_match(rule.dtype, name_of(dtype))) continue;
      const std::map<std::string, std::string> set = options != nullptr ? *options : own_option(rule);
      for (const std::string_view mode : modes) {
        if (!rule.in_force(mode, set)) continue;
        // The rule's pattern stands for a node that it matches: "aten::*" matches the text "aten::mm*" as it
        // matches every operator that "aten::mm*" does.
        const Precision bound = floor.precision(rule.op, dtype, "*");
        Comparison(contract.precision(rule.op, dtype, mode, set), bound, names).run(dtype);
      }
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace assay
