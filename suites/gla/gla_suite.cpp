#include "suites/gla/gla_suite.h"

#include "suites/ops/op_case.h"

namespace assay::suites {

void register_gla_families(OpFamilies& table);  // generated from families/*.cpp

namespace {

class GlaSuite : public Suite {
 public:
  std::string name() const override { return "gla"; }
  std::string description() const override {
    return "gated linear attention: values, gradients, states, packing, padding, layers, models, bad input";
  }
  void make_cases(uint64_t /*seed*/, const CaseSink& sink) const override {
    OpFamilies families;
    register_gla_families(families);
    for (const auto& make : families.makers()) make(sink);
  }
};

}  // namespace

std::unique_ptr<Suite> make_gla_suite() { return std::make_unique<GlaSuite>(); }

}  // namespace assay::suites
