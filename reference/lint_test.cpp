// Kernels add over reduced dimensions only through sum_any_order and its kin: a bare `+=` there would give a
// Bound that holds for one order of addition (NUMERICS §1).
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <string>

namespace assay::reference {
namespace {

// What may be added to: positions and sizes, and bounds in closed forms.
// Positions and sizes; exponents; what is asked about overflow alone.
const std::set<std::string> kAllowed = {"offset", "first",     "last",      "middle",      "start",     "to",
                                        "i",      "at",        "box",       "from_offset", "to_offset", "dim",
                                        "shape",  "exponent_", "magnitude", "bound"};

// The names that `line` adds to with += or with x = x + y.
std::set<std::string> sums_in(const std::string& line) {
  std::set<std::string> names;
  static const std::regex compound(R"((\w+)(?:\[[^=]*\]|\))?\s*\+=)");
  static const std::regex assigned(R"(\b(\w+)\s*=\s*\1\s*\+)");
  for (const std::regex& pattern : {compound, assigned}) {
    for (std::sregex_iterator it(line.begin(), line.end(), pattern), end; it != end; ++it)
      names.insert((*it)[1]);
  }
  return names;
}

TEST(Lint, FindsBareSums) {
  EXPECT_EQ(sums_in("  total += x[i];"), std::set<std::string>{"total"});
  EXPECT_EQ(sums_in("  out.real[at(i)] += x;"), std::set<std::string>{"real"});
  EXPECT_EQ(sums_in("  sum = sum + x[i];"), std::set<std::string>{"sum"});
  EXPECT_TRUE(sums_in("  y = x + y0;").empty());
}

TEST(Lint, KernelsHaveNoBareSums) {
  std::size_t files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(ASSAY_SOURCE_DIR) + "/reference/ops")) {
    if (entry.path().filename().string().find("_test") != std::string::npos) continue;
    ++files;
    std::ifstream in(entry.path());
    std::string line;
    for (int number = 1; std::getline(in, line); ++number) {
      for (const std::string& name : sums_in(line)) {
        // The remainder's correction by one divisor is a step, no sum.
        if (name == "r" && line.find("r = r + b") != std::string::npos) continue;
        EXPECT_TRUE(kAllowed.count(name) != 0) << entry.path() << ":" << number << ": bare sum into '" << name
                                               << "'; use sum_any_order or dot_any_order";
      }
    }
  }
  EXPECT_GT(files, 10U);
}

}  // namespace
}  // namespace assay::reference
