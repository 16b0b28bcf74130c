// Bags of rows. Most nodes use the first result alone: which of the others PyTorch fills depends on the mode.
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>

#include "backend/compiler/eager.h"
#include "backend/simulator/simulator.h"
#include "core/graph/builder.h"

namespace assay::backend {
namespace {

constexpr int64_t kBagRows = 7, kWidth = 5, kCount = 9;

struct Bags {
  std::string op = "aten::_embedding_bag.default";
  int64_t mode = 0;
  std::vector<int64_t> offsets{0, 2, 2, 6};
  bool include_last = false;
  int64_t padding = -1;
};

double element(int64_t row, int64_t column) {
  return static_cast<double>((row * 31 + column * 17) % 23 - 11);
}

// The sums, means or maxima; the other three results as well if `others` is given.
std::vector<double> run(const Bags& bags, const std::vector<int64_t>& indices,
                        std::vector<std::vector<double>>* others = nullptr) {
  GraphBuilder builder("bags");
  const Shape weight{kBagRows, kWidth}, many{kCount}, few{static_cast<int64_t>(bags.offsets.size())};
  const int64_t count = few[0] - (bags.include_last ? 1 : 0);
  const ValueId w = builder.input("weight", DType::f32, weight),
                i = builder.input("indices", DType::i64, many), o = builder.input("offsets", DType::i64, few);
  const auto results = builder.declared_node(bags.op,
                                             {{"weight", ValueArg{w}},
                                              {"indices", ValueArg{i}},
                                              {"offsets", ValueArg{o}},
                                              {"scale_grad_by_freq", false},
                                              {"mode", bags.mode},
                                              {"sparse", false},
                                              {"per_sample_weights", NoneArg{}},
                                              {"include_last_offset", bags.include_last},
                                              {"padding_idx", bags.padding}},
                                             {{DType::f32, {count, kWidth}},
                                              {DType::i64, {kCount}},
                                              {DType::i64, {count}},
                                              {DType::i64, {count, kWidth}}});
  builder.output(results[0]);
  Graph graph = builder.build_unchecked();
  if (others == nullptr) std::fill(graph.nodes[0].outputs.begin() + 1, graph.nodes[0].outputs.end(), -1);
  const CompiledCall compiled = compile_call(OpCall(graph, graph.nodes[0]), core(Generation::trn2), {});
  std::vector<double> table;
  for (int64_t r = 0; r < kBagRows; ++r) {
    for (int64_t k = 0; k < kWidth; ++k) table.push_back(element(r, k));
  }
  const std::vector<double> at(indices.begin(), indices.end()),
      from(bags.offsets.begin(), bags.offsets.end());
  std::vector<Tensor> in{Tensor::from_doubles(DType::f32, weight, table),
                         Tensor::from_doubles(DType::i64, many, at),
                         Tensor::from_doubles(DType::i64, few, from)};
  Tensor out(DType::f32, {count, kWidth});
  std::vector<HbmBinding> bound;
  for (Tensor& t : in) bound.push_back({t.mutable_data(), t.bytes()});
  // Results that nobody uses are a number each.
  std::vector<Tensor> rest(3, Tensor(DType::f32, {}));
  if (others != nullptr)
    rest = {Tensor(DType::i64, {kCount}), Tensor(DType::i64, {count}), Tensor(DType::i64, {count, kWidth})};
  std::vector<HbmBinding> to{{out.mutable_data(), out.bytes()}};
  for (Tensor& t : rest) to.push_back({t.mutable_data(), t.bytes()});
  FunctionalSimulator(core(Generation::trn2)).run(compiled.program, bound, to);
  if (others != nullptr) {
    for (const Tensor& t : rest) others->push_back(t.to_doubles());
  }
  return out.to_doubles();
}

std::vector<double> right(const Bags& bags, const std::vector<int64_t>& indices) {
  const std::size_t count = bags.offsets.size() - (bags.include_last ? 1 : 0);
  std::vector<double> out;
  for (std::size_t b = 0; b < count; ++b) {
    const int64_t end = b + 1 < bags.offsets.size() ? bags.offsets[b + 1] : kCount;
    for (int64_t k = 0; k < kWidth; ++k) {
      double sum = 0, most = -HUGE_VAL, members = 0;
      for (int64_t i = bags.offsets[b]; i < end; ++i) {
        const int64_t row = indices[static_cast<std::size_t>(i)];
        if (row == bags.padding) continue;
        sum += element(row, k);
        most = std::max(most, element(row, k));
        ++members;
      }
      out.push_back(members == 0     ? 0
                    : bags.mode == 2 ? most
                    : bags.mode == 1
                        ? static_cast<double>(static_cast<float>(sum) / static_cast<float>(members))
                        : sum);
    }
  }
  return out;
}

TEST(EmbeddingBag, SumsMeansAndMaximaOfBagsSomeOfThemEmpty) {
  const std::vector<int64_t> indices{3, 2, 0, 6, 2, 2, 5, 1, 3};
  for (int64_t mode = 0; mode < 3; ++mode) {
    for (const int64_t padding : {-1, 2}) {
      Bags bags;
      bags.mode = mode;
      bags.padding = padding;
      EXPECT_EQ(run(bags, indices), right(bags, indices)) << mode << padding;
      bags.include_last = true;  // rows behind the last offset are in no bag
      bags.offsets = {0, 2, 6, 8};
      EXPECT_EQ(run(bags, indices), right(bags, indices)) << mode << padding;
    }
  }
  Bags late;
  late.offsets = {1, 2, 2, 6};
  EXPECT_THROW(run(late, indices), Trap);
  EXPECT_THROW(run(Bags{}, {3, 2, 0, 7, 2, 2, 5, 1, 3}), Trap);  // no such row
}

// Raw exports keep the other results, and so an eager run computes them.
TEST(EmbeddingBag, BagsOfIndicesSizesAndRowsOfMaxima) {
  const std::vector<int64_t> indices{3, 2, 0, 6, 2, 2, 5, 1, 3};
  Bags bags;
  bags.mode = 2;
  bags.padding = 2;
  std::vector<std::vector<double>> others;
  EXPECT_EQ(run(bags, indices, &others), right(bags, indices));
  EXPECT_EQ(others[0], (std::vector<double>{0, 0, 2, 2, 2, 2, 3, 3, 3}));
  EXPECT_EQ(others[1], (std::vector<double>{1, 0, 2, 3}));
  std::vector<double> rows;
  const std::vector<std::vector<int64_t>> members{{3}, {}, {0, 6}, {5, 1, 3}};
  for (const auto& bag : members) {
    for (int64_t k = 0; k < kWidth; ++k) {
      const auto most = std::max_element(bag.begin(), bag.end(),
                                         [&](int64_t a, int64_t b) { return element(a, k) < element(b, k); });
      rows.push_back(most == bag.end() ? 0 : static_cast<double>(*most));
    }
  }
  EXPECT_EQ(others[2], rows);
  bags.mode = 1;
  others.clear();
  EXPECT_EQ(run(bags, indices, &others), right(bags, indices));
  EXPECT_EQ(others[0], (std::vector<double>{0, 0, 2, 2, 2, 2, 3, 3, 3}));
  EXPECT_EQ(others[1], (std::vector<double>{1, 0, 2, 3}));
}

}  // namespace
}  // namespace assay::backend
