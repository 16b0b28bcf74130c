#include "core/opset/classify.h"

#include <gtest/gtest.h>

#include "core/opset/required.h"

namespace assay {
namespace {

TEST(Classify, MetadataFollowsTheAliasAnnotations) {
  for (const char* name :
       {"aten::view.default", "aten::permute.default", "aten::expand.default", "aten::unsqueeze.default",
        "aten::squeeze.dims", "aten::select.int", "aten::slice.Tensor", "aten::alias.default",
        "aten::detach.default", "aten::split_with_sizes.default", "aten::unbind.int",
        "aten::_assert_tensor_metadata.default", "aten::_assert_scalar.default", "aten::_unsafe_view.default",
        "aten::view_as_real.default", "_operator::getitem"}) {
    EXPECT_TRUE(is_metadata_op(name)) << name;
  }
  for (const char* name :
       {"aten::add_.Tensor", "aten::copy_.default", "aten::clone.default", "aten::_to_copy.default",
        "aten::to.dtype", "aten::mm.default", "aten::repeat.default", "_c10d_functional::all_reduce_.default",
        "aten::sym_size.int", "aten::atan2.out", "_operator::add", "unknown::op.default"}) {
    EXPECT_FALSE(is_metadata_op(name)) << name;
  }
}

TEST(Classify, RequiredOperatorsAreKnownAndCoverModelsAndTraining) {
  std::size_t required = 0;
  for (const Schema& schema : all_schemas()) {
    if (schema.name.starts_with("aten::") && is_required_operator(schema.full_name())) ++required;
  }
  EXPECT_EQ(required, 216U);  // every line of required_operators.txt is a schema's name
  for (const char* name : {"aten::add.Tensor", "aten::grid_sampler_2d.default", "aten::gelu_backward.default",
                           "aten::unfold.default", "assay::gla_chunk.default", "_operator::getitem"}) {
    EXPECT_TRUE(is_required_operator(name)) << name;
  }
  for (const char* name : {"aten::grid_sampler_3d.default", "aten::kthvalue.default", "aten::add", ""}) {
    EXPECT_EQ(is_required_operator(name), std::string_view(name).empty()) << name;
  }
}

TEST(Classify, HostScalars) {
  for (const char* name : {"aten::sym_size.int", "aten::_local_scalar_dense.default", "_operator::mul",
                           "torch::sym_ite", "aten::sym_is_contiguous.default"}) {
    EXPECT_TRUE(is_host_scalar_op(name)) << name;
  }
  for (const char* name :
       {"aten::mm.default", "_operator::getitem", "aten::_assert_scalar.default", "aten::max.dim"}) {
    EXPECT_FALSE(is_host_scalar_op(name)) << name;
  }
}

TEST(Classify, NamesInTheListsExist) {
  int random = 0;
  int copies = 0;
  for (const Schema& schema : all_schemas()) {
    random += is_random_op(schema.full_name());
    copies += is_copy_op(schema.full_name());
    EXPECT_LE(is_metadata_op(schema.full_name()) + is_host_scalar_op(schema.full_name()) +
                  is_copy_op(schema.full_name()) + is_random_op(schema.full_name()),
              1)
        << schema.full_name();
  }
  EXPECT_EQ(random, 34);
  EXPECT_EQ(copies, 66);
}

OpCall call(const char* op, std::vector<TensorMeta> inputs, std::vector<NamedArgument> arguments) {
  return OpCall(op, std::move(inputs), arguments);
}
TensorMeta f32(Shape shape) { return {DType::f32, std::move(shape)}; }

TEST(Classify, Flops) {
  const std::vector<NamedArgument> pair = {{"self", ValueArg{0}}, {"mat2", ValueArg{1}}};
  EXPECT_EQ(flops_of(call("aten::mm.default", {f32({2, 3}), f32({3, 5})}, pair)), 2 * 2 * 3 * 5);
  EXPECT_EQ(flops_of(call("aten::bmm.default", {f32({7, 2, 3}), f32({7, 3, 5})}, pair)), 7 * 2 * 2 * 3 * 5);
  EXPECT_EQ(flops_of(call("aten::addmm.default", {f32({5}), f32({2, 3}), f32({3, 5})},
                          {{"self", ValueArg{0}}, {"mat1", ValueArg{1}}, {"mat2", ValueArg{2}}})),
            2 * 2 * 3 * 5 + 2 * 5);
  const auto convolution = [](Shape weight, bool transposed, int64_t groups) {
    return flops_of(call("aten::convolution.default", {f32({2, 4, 8, 8}), f32(std::move(weight))},
                         {{"input", ValueArg{0}},
                          {"weight", ValueArg{1}},
                          {"bias", NoneArg{}},
                          {"stride", IntListArg{{2, 2}, {}}},
                          {"padding", IntListArg{{1, 1}, {}}},
                          {"dilation", IntListArg{{1, 1}, {}}},
                          {"transposed", transposed},
                          {"output_padding", IntListArg{{0, 0}, {}}},
                          {"groups", groups}}));
  };
  EXPECT_EQ(convolution({6, 4, 3, 3}, false, 1), 2.0 * (2 * 6 * 4 * 4) * (4 * 3 * 3));
  EXPECT_EQ(convolution({6, 2, 3, 3}, false, 2), 2.0 * (2 * 6 * 4 * 4) * (2 * 3 * 3));
  EXPECT_EQ(convolution({4, 6, 3, 3}, true, 1), 2.0 * (2 * 4 * 8 * 8) * (6 * 3 * 3));
  EXPECT_EQ(flops_of(call("aten::exp.default", {f32({2, 3})}, {{"self", ValueArg{0}}})), 6);
  EXPECT_EQ(flops_of(call("aten::clone.default", {f32({2, 3})}, {{"self", ValueArg{0}}})), 0);
  const auto muon = [](Shape shape) {
    return flops_of(
        call("assay::muon_orthogonalize.default", {f32(std::move(shape))}, {{"self", ValueArg{0}}}));
  };
  EXPECT_EQ(muon({4, 6}), 5 * (4 * 4 * 24 + 2 * 64));
  // Bad input whose result is declared is counted before it is refused.
  EXPECT_NO_THROW(
      flops_of(OpCall("assay::muon_orthogonalize.default", {f32({6})}, {{"self", ValueArg{0}}}, {f32({6})})));
  EXPECT_EQ(
      flops_of(call("aten::sum.dim_IntList", {f32({2, 3})}, {{"self", ValueArg{0}}, {"dim", NoneArg{}}})), 6);
}

TEST(Classify, Bytes) {
  EXPECT_EQ(bytes_of(call("aten::exp.default", {f32({2, 3})}, {{"self", ValueArg{0}}})), 2 * 24);
  EXPECT_EQ(bytes_of(call("aten::alias.default", {f32({2, 3})}, {{"self", ValueArg{0}}})), 0);
  // Two rows of four floats are read and written; the index has two i64.
  EXPECT_EQ(bytes_of(call("aten::embedding.default", {f32({1000, 4}), {DType::i64, {2}}},
                          {{"weight", ValueArg{0}}, {"indices", ValueArg{1}}})),
            32 + 32 + 16);

  // x * x reads x once.
  Graph graph;
  for (const char* name : {"x", "y"}) {
    Value value;
    value.name = name;
    value.shape = {2, 3};
    graph.values.push_back(value);
  }
  const Node node{.name = "mul",
                  .op = "aten::mul.Tensor",
                  .arguments = {{"self", ValueArg{0}}, {"other", ValueArg{0}}},
                  .outputs = {1},
                  .source = {}};
  EXPECT_EQ(bytes_of(OpCall(graph, node)), 24 + 24);
}

}  // namespace
}  // namespace assay
