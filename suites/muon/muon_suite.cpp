#include "suites/muon/muon_suite.h"

#include "suites/ops/op_case.h"

namespace assay::suites {

void register_muon_families(OpFamilies& table);  // generated from families/*.cpp

namespace {

class MuonSuite : public Suite {
 public:
  std::string name() const override { return "muon"; }
  std::string description() const override {
    return "Muon, AdamW and SGD: orthogonalisation, updates, spectra, bad input";
  }
  void make_cases(uint64_t /*seed*/, const CaseSink& sink) const override {
    OpFamilies families;
    register_muon_families(families);
    for (const auto& make : families.makers()) make(sink);
  }
};

}  // namespace

std::unique_ptr<Suite> make_muon_suite() { return std::make_unique<MuonSuite>(); }

}  // namespace assay::suites
