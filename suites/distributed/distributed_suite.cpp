#include "suites/distributed/distributed_suite.h"

#include "suites/distributed/families.h"

namespace assay::suites {
namespace {

class DistributedSuite : public Suite {
 public:
  explicit DistributedSuite(int ranks) : ranks_(ranks) {}
  std::string name() const override { return "distributed"; }
  std::string description() const override {
    return "collectives over --ranks ranks: values, bytes, process groups, bad calls, ranks that fail";
  }
  void make_cases(uint64_t /*seed*/, const CaseSink& sink) const override {
    make_reductions(ranks_, sink);
    make_movements(ranks_, sink);
    make_variants(ranks_, sink);
    make_programs(ranks_, sink);
    make_asynchronous(ranks_, sink);
    make_muon(ranks_, sink);
    make_bad_calls(ranks_, sink);
    make_faults(ranks_, sink);
  }

 private:
  int ranks_;
};

}  // namespace

std::unique_ptr<Suite> make_distributed_suite(int ranks) { return std::make_unique<DistributedSuite>(ranks); }

}  // namespace assay::suites
