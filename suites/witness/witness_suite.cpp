#include "suites/witness/witness_suite.h"

#include <string>
#include <string_view>
#include <utility>

#include "core/io/pack.h"
#include "harness/case/packed_case.h"

extern "C" const char assay_asset_opinfo_begin[], assay_asset_opinfo_end[];
extern "C" const char assay_asset_writes_begin[], assay_asset_writes_end[];

namespace assay::suites {
namespace {

class WitnessSuite : public Suite {
 public:
  std::string name() const override { return "witness"; }
  std::string description() const override {
    return "PyTorch's OpInfo samples, and programs that write in place, against PyTorch's own fp64 values";
  }
  void make_cases(uint64_t /*seed*/, const CaseSink& sink) const override {
    read("opinfo.jsonl.zst", {assay_asset_opinfo_begin, assay_asset_opinfo_end}, sink);
    read("writes.jsonl.zst", {assay_asset_writes_begin, assay_asset_writes_end}, sink);
  }

 private:
  static void read(const std::string& file, std::string_view pack, const CaseSink& sink) {
    read_pack(pack, "suites/witness/data/" + file, [&](PackedModel packed) {
      Case c = case_of(std::move(packed), file);
      c.id = "witness/" + c.id;
      c.suite = "witness";
      sink(std::move(c));
    });
  }
};

}  // namespace

std::unique_ptr<Suite> make_witness_suite() { return std::make_unique<WitnessSuite>(); }

}  // namespace assay::suites
