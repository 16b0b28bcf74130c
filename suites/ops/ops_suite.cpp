#include "suites/ops/ops_suite.h"

#include <string>
#include <utility>

#include "core/error.h"
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
    for (const OpFacts& facts : op_facts().facts()) generate(facts, sink);
  }

 private:
  // A line of a table that cannot be read fails as one case: it does not take the suite with it.
  static void generate(const OpFacts& facts, const CaseSink& sink) {
    try {
      generate_cases(facts, sink);
    } catch (const Error& error) {
      Case c;
      c.id = std::string("ops/") + facts.op + "/facts";
      c.suite = "ops";
      c.subject = facts.op;
      set_graph_error(c, Error(ErrorCode::malformed_file, error.what()));
      sink(std::move(c));
    }
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
