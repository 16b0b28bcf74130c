// Gradients of tables that are no derivatives: a padding row gets none, and frequent rows may be scaled down.
#include <gtest/gtest.h>

#include "models/differentiate/differentiate.h"
#include "models/emitter.h"
#include "models/testing/finite_differences_test.h"

namespace assay::models {
namespace {

// Of the sum of all results, row by row; tables have one column.
std::vector<double> rows(const std::string& op, std::vector<NamedArgument> arguments,
                         const TensorMeta& result, const std::vector<Tensor>& more = {}) {
  GraphBuilder builder(op);
  std::vector<Tensor> inputs{drawn("weight", {4, 1}), Tensor::from_ints(DType::i64, {5}, {3, 0, 3, 1, 3})};
  arguments.push_back({"weight", ValueArg{builder.input("weight", DType::f64, {4, 1})}});
  arguments.push_back({"indices", ValueArg{builder.input("indices", DType::i64, {5})}});
  std::vector<TensorMeta> results{result};
  if (!more.empty()) {
    inputs.push_back(more[0]);
    arguments.push_back({"offsets", ValueArg{builder.input("offsets", DType::i64, {2})}});
    for (const Shape& shape : {Shape{5}, Shape{2}, Shape{2}}) results.push_back({DType::i64, shape});
  }
  const ValueId out = builder.declared_node(op, std::move(arguments), results).front();
  builder.output(Emitter(builder).sum_all(out));
  const Graph joint = joint_graph(builder.build(), {{"weight"}, {}, true});
  return in_float128(joint, inputs).back().real;
}

TEST(EmbeddingGradient, PaddingHasNoneAndFrequentRowsAreScaled) {
  const TensorMeta rows_read{DType::f64, {5, 1}};
  const NamedArgument scale{"scale_grad_by_freq", true}, padding{"padding_idx", int64_t{0}};
  const std::string op = "aten::embedding.default";
  EXPECT_EQ(rows(op, {}, rows_read), (std::vector<double>{1, 1, 0, 3}));
  EXPECT_EQ(rows(op, {padding}, rows_read), (std::vector<double>{0, 1, 0, 3}));
  EXPECT_EQ(rows(op, {scale, padding}, rows_read), (std::vector<double>{0, 1, 0, 1}));
  const TensorMeta bags{DType::f64, {2, 1}};
  const std::vector<Tensor> offsets{Tensor::from_ints(DType::i64, {2}, {0, 1})};
  const std::string bag = "aten::_embedding_bag.default";
  EXPECT_EQ(rows(bag, {}, bags, offsets), (std::vector<double>{1, 1, 0, 3}));
  EXPECT_EQ(rows(bag, {scale}, bags, offsets), (std::vector<double>{1, 1, 0, 1}));
}

}  // namespace
}  // namespace assay::models
