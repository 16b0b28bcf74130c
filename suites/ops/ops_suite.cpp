#include "suites/ops/ops_suite.h"

#include "suites/ops/op_case.h"

namespace assay::suites {

void register_op_families(OpFamilies& table);  // generated from families/*.cpp

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
  }
};

}  // namespace

std::unique_ptr<Suite> make_ops_suite() { return std::make_unique<OpsSuite>(); }

}  // namespace assay::suites
