// Attention on shapes around and beyond what one tile holds, against the reference.
#include <limits>
#include <random>

#include "backend/kernels/against_reference_test.h"

namespace assay::backend {
namespace {

using reference::Wide;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

Tensor drawn(DType dtype, const Shape& shape, double scale = 2) {
  static std::mt19937 random(11);
  std::uniform_real_distribution<double> draw(-scale, scale);
  std::vector<double> values(static_cast<std::size_t>(element_count(shape)));
  for (double& v : values) v = draw(random);
  return Tensor::from_doubles(dtype, shape, values);
}

struct Attention {
  Shape query, key, value;
  std::vector<NamedArgument> arguments;
  std::optional<Tensor> mask;
};

void check(const std::string& op, DType dtype, const Attention& a,
           std::initializer_list<Generation> generations = {Generation::trn1, Generation::trn2}) {
  std::vector<Tensor> tensors = {drawn(dtype, a.query), drawn(dtype, a.key), drawn(dtype, a.value)};
  std::vector<NamedArgument> arguments = a.arguments;
  arguments.push_back({"query", ValueArg{0}});
  arguments.push_back({"key", ValueArg{1}});
  arguments.push_back({"value", ValueArg{2}});
  if (a.mask) {
    tensors.push_back(*a.mask);
    arguments.push_back({"attn_mask", ValueArg{3}});
  }
  std::vector<TensorMeta> metas;
  std::vector<Wide> wides;
  std::vector<const Wide*> operands;
  for (const Tensor& t : tensors) {
    metas.push_back({t.dtype(), t.shape()});
    wides.push_back(Wide::from(t));
  }
  for (const Wide& wide : wides) operands.push_back(&wide);
  const auto results = infer(OpCall(op, metas, arguments));
  ASSERT_TRUE(results) << op;
  SCOPED_TRACE(assay::to_string(a.query) + assay::to_string(a.key));
  for (const Generation generation : generations) {
    check_call(OpCall(op, metas, arguments, *results), operands, generation);
  }
}

const char* const kPlain = "aten::scaled_dot_product_attention.default";
const char* const kMath = "aten::_scaled_dot_product_attention_math.default";
const char* const kFlash = "aten::_scaled_dot_product_flash_attention_for_cpu.default";
const char* const kOwn = "assay::scaled_dot_product_attention.default";

TEST(AttentionKernel, TilesAndTails) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const auto& [rows, keys, depth, width] :
         std::initializer_list<std::array<int64_t, 4>>{{1, 1, 1, 1},
                                                       {127, 129, 16, 8},
                                                       {129, 513, 64, 64},
                                                       {3, 1030, 130, 5},
                                                       {5, 7, 4, 520},
                                                       {0, 3, 4, 4},
                                                       {4, 0, 4, 4},
                                                       {3, 5, 0, 2},
                                                       {3, 5, 4, 0}}) {
      check(kPlain, dtype, {{1, rows, depth}, {1, keys, depth}, {1, keys, width}, {}, {}});
    }
  }
}

TEST(AttentionKernel, MasksAlignmentsAndGroupedHeads) {
  const Tensor open = Tensor::from_ints(
      DType::boolean, {2, 1, 3, 4},
      std::vector<int64_t>{1, 0, 1, 1, 0, 0, 0, 0, 1, 1, 1, 0, /**/ 0, 0, 0, 1, 1, 1, 1, 1, 0, 1, 0, 0});
  const Tensor bias =
      Tensor::from_doubles(DType::f32, {3, 4},
                           std::vector<double>{0, -kInfinity, 1, 2, -kInfinity, -kInfinity, -kInfinity,
                                               -kInfinity, std::nan(""), 0, 0, 0});
  const Tensor lowest =
      Tensor::from_doubles(DType::f32, {1, 4}, std::vector<double>(4, -std::numeric_limits<float>::max()));
  for (const char* op : {kPlain, kMath, kFlash, kOwn}) {
    SCOPED_TRACE(op);
    if (op == kPlain || op == kOwn) {
      check(op, DType::f32, {{2, 4, 3, 8}, {2, 4, 4, 8}, {2, 4, 4, 6}, {}, open});
    }
    check(op, DType::f32, {{2, 4, 3, 8}, {2, 4, 4, 8}, {2, 4, 4, 6}, {}, bias});
    check(op, DType::f32, {{2, 4, 3, 8}, {2, 4, 4, 8}, {2, 4, 4, 6}, {}, lowest});
    std::vector<NamedArgument> grouped;
    if (op != kFlash) grouped.push_back({"enable_gqa", true});
    if (op == kOwn) {
      grouped.push_back({"softcap", 1.5});
      grouped.push_back({"causal", "bottom_right"});
    } else {
      grouped.push_back({"is_causal", true});
    }
    grouped.push_back({"scale", 0.3});
    check(op, DType::bf16, {{1, 6, 200, 16}, {1, 2, 700, 16}, {1, 3, 700, 4}, grouped, {}});
    check(op, DType::f32, {{1, 4, 7, 4}, {1, 2, 3, 4}, {1, 2, 3, 4}, grouped, {}});
  }
}

}  // namespace
}  // namespace assay::backend
