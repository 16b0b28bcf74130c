// A user's kernel for an operator that the device has a kernel for, in graphs (docs/custom_kernel.md).
#include <gtest/gtest.h>

#include "backend/compiler/graph_compiler.h"
#include "backend/compiler/run_graph_test.h"
#include "backend/kernels/custom.h"
#include "backend/kernels/tiles.h"
#include "core/graph/builder.h"

namespace assay::backend {
namespace {

int custom_calls = 0;

// As docs/custom_kernel.md asks: the whole call, from HBM to HBM.
void custom_hardtanh(KernelContext& ctx) {
  ++custom_calls;
  const View views[] = {ctx.input("self"), ctx.output()};
  const auto low = static_cast<float>(ctx.call.scalar("min_val").as_double()),
             high = static_cast<float>(ctx.call.scalar("max_val").as_double());
  for_each_tile(ctx, views, kTileFree, [&](const Tile& tile) {
    const AccessPattern x = load(ctx, tile.hbm[0], tile.partitions, tile.free);
    const AccessPattern y = ctx.b.sbuf(x.dtype, tile.partitions, {tile.free});
    ctx.b.tensor_scalar(y, x, AluOp::max, low, false, AluOp::min, high);
    ctx.b.dma_copy(tile.hbm[1], y);
  });
}

}  // namespace

// In place of the one of a device without kernels of users.
void register_custom_kernels(CustomKernels& kernels) {
  kernels.add("aten::hardtanh.default", custom_hardtanh);
}

namespace {

// Between a product and a softmax, which share rows: the user's kernel knows nothing of that.
TEST(CustomKernelTest, RegionsAreOfTheDevicesOwnKernels) {
  for (const int64_t rows : {64, 300}) {
    GraphBuilder b("custom");
    const ValueId x = b.input("x", DType::f32, {rows, 96}), w = b.input("w", DType::f32, {96, 80});
    const auto clipped = [&](ValueId v) {
      return b.call("aten::hardtanh.default", {{"self", ValueArg{v}}, {"min_val", -0.5}, {"max_val", 0.5}});
    };
    const auto softmax = [&](ValueId v) {
      return b.call("aten::_softmax.default",
                    {{"self", ValueArg{v}}, {"dim", int64_t{-1}}, {"half_to_float", false}});
    };
    const ValueId product = b.call("aten::mm.default", {{"self", ValueArg{x}}, {"mat2", ValueArg{w}}});
    const ValueId first = clipped(x), second = clipped(product);
    for (const ValueId v : {product, first, second, softmax(first), softmax(second)}) b.output(v);
    const Graph graph = b.build();
    const std::vector<Tensor> inputs = drawn_inputs(graph);
    custom_calls = 0;
    const std::vector<Tensor> want = run_eagerly(graph, inputs);
    EXPECT_EQ(custom_calls, 2);
    const CompiledGraph c = compile_graph(graph, core(Generation::trn2), {}, kTestHbm);
    EXPECT_EQ(c.statistics.regions, 0);
    const std::vector<Tensor> got = run_program(c.program, inputs, c.outputs, {});
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t k = 0; k < got.size(); ++k) EXPECT_TRUE(got[k].bitwise_equal(want[k])) << "output " << k;
  }
}

}  // namespace
}  // namespace assay::backend
