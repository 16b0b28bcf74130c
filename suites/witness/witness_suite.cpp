#include "suites/witness/witness_suite.h"

#include <string_view>
#include <utility>

#include "core/io/pack.h"
#include "harness/case/packed_case.h"

extern "C" const char assay_asset_opinfo_begin[], assay_asset_opinfo_end[];

namespace assay::suites {
namespace {

class WitnessSuite : public Suite {
 public:
  std::string name() const override { return "witness"; }
  std::string description() const override {
    return "PyTorch's OpInfo samples against the fp64 values that PyTorch computed for them";
  }
  void make_cases(uint64_t /*seed*/, const CaseSink& sink) const override {
    const std::string_view pack(assay_asset_opinfo_begin, assay_asset_opinfo_end);
    read_pack(pack, "suites/witness/data/opinfo.jsonl.zst", [&](PackedModel packed) {
      Case c = case_of(std::move(packed), "opinfo.jsonl.zst");
      c.id = "witness/" + c.id;
      c.suite = "witness";
      sink(std::move(c));
    });
  }
};

}  // namespace

std::unique_ptr<Suite> make_witness_suite() { return std::make_unique<WitnessSuite>(); }

}  // namespace assay::suites
