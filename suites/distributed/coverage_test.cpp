// Every collective has a case of every dtype and, where it reduces, of every reduction: one that runs, or one
// that all must refuse.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "suites/distributed/distributed_suite.h"
#include "suites/distributed/families.h"

namespace assay::suites {
namespace {

struct Counted {
  int run = 0, refused = 0;
};
using Key = std::tuple<std::string, std::string, DType>;  // operator, reduction ("" for none), dtype

std::map<Key, Counted> counted(int ranks) {
  std::map<Key, Counted> all;
  std::set<std::string> ids;
  make_distributed_suite(ranks)->make_cases(0, [&](const Case& c) {
    EXPECT_TRUE(ids.insert(c.id).second) << c.id;
    if (c.ranks == nullptr || (c.checks.negative && c.id.find("/bad/") == std::string::npos)) return;
    const Graph& program = *c.ranks->graphs.at(0);
    for (const Node& node : program.nodes) {
      const NamedArgument* input = node.find("input");
      if (input == nullptr) input = node.find("tensor");
      const auto* tensor = input == nullptr ? nullptr : std::get_if<ValueArg>(&input->value);
      if (tensor == nullptr || node.find("group_name") == nullptr) continue;
      const NamedArgument* reduction = node.find("reduce_op");
      const std::string word = reduction == nullptr ? "" : std::get<std::string>(reduction->value);
      Counted& entry = all[{node.op, word, program.values.at(static_cast<std::size_t>(tensor->id)).dtype}];
      ++(c.checks.negative ? entry.refused : entry.run);
    }
  });
  return all;
}

// As NCCL and PyTorch have them (docs/distributed.md).
bool is_defined(const std::string& reduction, DType dtype) {
  if (reduction == "band" || reduction == "bor" || reduction == "bxor") return is_integral(dtype);
  if (reduction == "min" || reduction == "max") return !is_complex(dtype);
  if (dtype == DType::boolean) return false;
  if (reduction == "avg") return !is_integral(dtype);
  return reduction == "sum" || !is_complex(dtype);
}

TEST(DistributedCoverage, EveryCollectiveReductionAndDtype) {
  const char* moves[] = {"_c10d_functional::all_gather_into_tensor.default",
                         "_c10d_functional::all_to_all_single.default",
                         "_c10d_functional::broadcast.default",
                         "_c10d_functional::isend.default",
                         "_c10d_functional::irecv.default",
                         "assay::all_gather_v.default",
                         "assay::gather.default",
                         "assay::scatter.default"};
  const char* reduces[] = {"_c10d_functional::all_reduce.default",
                           "_c10d_functional::reduce_scatter_tensor.default", "assay::reduce.default",
                           "assay::reduce_scatter_v.default"};
  for (const int ranks : {1, 3, 4}) {
    std::map<Key, Counted> all = counted(ranks);
    for (const DType dtype : all_dtypes()) {
      for (const char* op : moves) {
        EXPECT_GT((all[{op, "", dtype}].run), 0) << ranks << " ranks, " << op << " of " << name_of(dtype);
      }
      for (const char* op : reduces) {
        for (const std::string& reduction : all_reductions()) {
          const Counted cases = all[{op, reduction, dtype}];
          const bool defined = is_defined(reduction, dtype);
          const std::string what =
              fmt::format("{} ranks, {}({}) of {}", ranks, op, reduction, name_of(dtype));
          EXPECT_EQ(cases.run > 0, defined) << what;
          EXPECT_TRUE(defined || cases.refused > 0) << what;
        }
      }
    }
  }
}

}  // namespace
}  // namespace assay::suites
