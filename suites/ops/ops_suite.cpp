#include "suites/ops/ops_suite.h"

#include "suites/ops/generate/generate.h"
#include "suites/ops/op_case.h"

namespace assay::suites {

void register_op_families(OpFamilies& table);  // generated from families/*.cpp
void register_op_facts(FactTable& table);      // generated from facts/*.cpp

namespace {

class OpsSuite : public Suite {
 public:
  std::string name() const override { return "ops"; }
  std::string description() const override {
    return "single operators: drawn inputs, exact probes, shapes, special values, bad input";
  }
  void make_cases(uint64_t /*seed*/, const CaseSink& sink) const override {
    OpFamilies families;
    register_op_families(families);
    for (const auto& make : families.makers()) make(sink);
    for (const OpFacts& facts : op_facts().facts()) generate_cases(facts, sink);
  }
};

}  // namespace

const FactTable& op_facts() {
  static const FactTable table = [] {
    FactTable out;
    register_op_facts(out);
    return out;
  }();
  return table;
}

std::unique_ptr<Suite> make_ops_suite() { return std::make_unique<OpsSuite>(); }

}  // namespace assay::suites
