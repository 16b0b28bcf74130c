// What precision a backend declares. The Contract decides the Bound of every result (NUMERICS, "Contract").
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"

namespace assay {

enum class Rounding { nearest_even, stochastic, truncate };
enum class ReductionOrder { any, ascending, undeclared };

struct PrecisionChanges;  // core/contract/changes.h

// Allowance of one elementary function: |error| <= ulp * ulp_of_result + abs for arguments in [lo, hi]. An
// ulp is one of the result in the node's `intermediate` format.
struct FunctionAllowance {
  double ulp = 0.5;
  double abs = 0;
  double lo;            // default -infinity
  double hi;            // default +infinity
  std::string outside;  // policy beyond [lo, hi]: "exact" (still holds), "undefined_but_alive"
  FunctionAllowance();
};

// What holds for one node, after the rules were applied.
struct Precision {
  std::optional<DType> input;  // operands are first rounded to this (auto-cast); nullopt: as they are
  DType accumulator = DType::f32;
  ReductionOrder order = ReductionOrder::any;
  DType intermediate = DType::f32;
  std::optional<DType> store;  // rounded to this before the graph's dtype; nullopt: graph's dtype only
  Rounding rounding = Rounding::nearest_even;
  bool ftz_in = false;
  bool ftz_out = false;
  bool early_overflow = false;
  std::optional<int> int_exact_bits;  // integers pass through floats exact to this many bits
  // Products of the inputs fit the accumulator without rounding (bf16 x bf16 in f32). Unless a rule sets it,
  // precision() derives it from the widths of `input` (or the node's dtype) and `accumulator`.
  bool products_exact = true;
  bool correctly_rounded = false;  // the result is the exact one rounded once: the bias gate applies
  std::map<std::string, FunctionAllowance, std::less<>> functions;
  // The function's entry, else the entry "*", else 1 ulp. Never throws.
  const FunctionAllowance& function(std::string_view name) const;
};

// One ordered rule: where all given patterns match, the given fields override.
struct ContractRule {
  std::string op = "*";      // glob on the full operator name
  std::string dtype = "*";   // glob on name_of(dtype) of the node's computation dtype
  std::string mode = "*";    // eager, compile
  std::string option = "*";  // glob on "key=value" of any backend option that is set
  std::string json;          // the fields that this rule sets, canonical JSON object
  std::string source;        // where the figures come from, for people; "" if not said

  // The mode and the options match (operator and dtype aside).
  bool in_force(std::string_view mode_in_use, const std::map<std::string, std::string>& options) const;
};

class Contract {
 public:
  // Declares nothing: precision() gives the defaults.
  Contract() = default;
  // Throws Error{malformed_file} naming origin and JSON place; the format is abi/contract.schema.json.
  static Contract parse(std::string_view json, const std::string& origin);

  const std::string& name() const { return name_; }
  const std::string& source() const { return source_; }
  const std::vector<ContractRule>& rules() const { return rules_->rules; }
  // `dtype` is the node's computation dtype. Later rules win, field by field, and in `functions` entry by
  // entry. Where no rule says otherwise: accumulator and intermediate f32 (f64 for f64 and c128), any order,
  // rounding to nearest even, no flushing.
  Precision precision(std::string_view op, DType dtype, std::string_view mode,
                      const std::map<std::string, std::string>& options = {}) const;
  std::string to_json() const;  // canonical: parses back to an equal Contract
  std::string hash() const;     // 16 hex digits of the canonical JSON

 private:
  friend class ContractReader;
  struct Rules {
    std::vector<ContractRule> rules;
    std::vector<std::shared_ptr<const PrecisionChanges>> changes;  // of `rules`, parsed
  };
  std::string name_ = "default";
  std::string source_;
  static const std::shared_ptr<const Rules>& no_rules();
  std::shared_ptr<const Rules> rules_ = no_rules();  // shared by copies: every case has one
};

// '*' and '?' globs, as used by Contracts, filters and waivers.
bool glob_match(std::string_view pattern, std::string_view text);

// Names of the precision fields that are looser than the floor (abi/contract_floor.json): the `loosened`
// badge. Sorted: "accumulator", "functions.exp.ulp". Every rule is tried on the nodes for which it is made,
// with what the rules that cover it say about them. With `options`, only rules in force under them count;
// without, each rule's option is taken as set. The floor's own rules must hold for all operators, modes and
// options; throws Error otherwise.
std::vector<std::string> looser_than_floor(const Contract& contract, std::string_view floor_json,
                                           const std::map<std::string, std::string>* options = nullptr);

}  // namespace assay
