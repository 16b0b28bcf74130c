#include "suites/attention/attention_suite.h"

#include "suites/attention/attention_case.h"

namespace assay::suites {
namespace {

class AttentionSuite : public Suite {
 public:
  std::string name() const override { return "attention"; }
  std::string description() const override {
    return "scaled dot product attention and FlexAttention: lengths, masks, alignments, head maps, score "
           "functions, bad input, reported faults";
  }
  void make_cases(uint64_t /*seed*/, const CaseSink& sink) const override {
    make_sdpa_cases(sink);
    make_regression_cases(sink);
    make_refused_cases(sink);
    make_flex_cases(sink);
  }
};

}  // namespace

std::unique_ptr<Suite> make_attention_suite() { return std::make_unique<AttentionSuite>(); }

}  // namespace assay::suites
