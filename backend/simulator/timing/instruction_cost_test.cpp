#include "backend/simulator/timing/instruction_cost.h"

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include "backend/isa/builder.h"

namespace assay::backend {
namespace {

constexpr auto kBf16 = DType::bf16, kF32 = DType::f32;

// Cycles of the last instruction that `write` emits.
double cycles(Generation generation, const std::function<void(ProgramBuilder&)>& write) {
  ProgramBuilder b(core(generation));
  write(b);
  const Program& p = b.program();
  return instruction_cycles(p, p.instructions.back(), core(generation));
}

TEST(InstructionCostTest, PublishedFormulas) {
  struct Row {
    const char* what;
    double v2, v3, v4;  // cycles by generation
    std::function<void(ProgramBuilder&)> write;
  };
  const auto matmul = [](DType dtype, int m, int64_t n) {
    return [=](ProgramBuilder& b) {
      b.nc_matmul(b.psum(kF32, m, {n}), b.sbuf(dtype, 128, {m}), b.sbuf(dtype, 128, {n}), false);
    };
  };
  const auto copy = [](DType to, DType from, int64_t n) {
    return [=](ProgramBuilder& b) { b.tensor_copy(b.sbuf(to, 128, {n}), b.sbuf(from, 128, {n})); };
  };
  const auto add = [](DType dtype, AluOp op, int64_t n) {
    return [=](ProgramBuilder& b) {
      b.tensor_tensor(b.sbuf(dtype, 128, {n}), b.sbuf(dtype, 128, {n}), b.sbuf(dtype, 128, {n}), op);
    };
  };
  const auto reduce = [](DType dtype, AluOp op) {
    return
        [=](ProgramBuilder& b) { b.tensor_reduce(b.sbuf(kF32, 128, {1}), b.sbuf(dtype, 128, {1000}), op); };
  };
  const std::vector<Row> rows = {
      {"nc_matmul bf16", 512, 512, 512, matmul(kBf16, 128, 512)},
      {"nc_matmul fp32", 2048, 2048, 2048, matmul(kF32, 128, 512)},
      {"nc_matmul of few columns", 64, 64, 64, matmul(kBf16, 128, 8)},
      {"nc_matmul of few columns on both sides", 64, 64, 64, matmul(kBf16, 8, 8)},
      {"nc_transpose fp32", 512, 256, 256,
       [](ProgramBuilder& b) {
         b.nc_transpose(b.psum(kF32, 128, {128}), b.sbuf(kF32, 128, {128}), Engine::tensor);
       }},
      {"nc_transpose on Vector", 64, 64, 64,
       [](ProgramBuilder& b) {
         b.nc_transpose(b.sbuf(kF32, 32, {32}), b.sbuf(kF32, 32, {32}), Engine::vector);
       }},
      {"tensor_copy fp32", 1000, 1000, 1000, copy(kF32, kF32, 1000)},
      {"tensor_copy bf16 runs at four times", 1000, 250, 250, copy(kBf16, kBf16, 1000)},
      {"tensor_copy that widens", 1000, 1000, 1000, copy(kF32, kBf16, 1000)},
      {"tensor_copy of little", 64, 64, 64, copy(kF32, kF32, 3)},
      {"tensor_copy bf16 with a stride of 4 bytes", 1000, 500, 500,
       [](ProgramBuilder& b) {
         b.tensor_copy(b.sbuf(kBf16, 128, {1000}), b.sbuf(kBf16, 128, {2000}).slice(0, 0, 1000, 2));
       }},
      {"a stride above 16 bytes halves the port's bandwidth", 2000, 2000, 2000,
       [](ProgramBuilder& b) {
         b.tensor_copy(b.sbuf(kF32, 128, {1000}), b.sbuf(kF32, 128, {5000}).slice(0, 0, 1000, 5));
       }},
      {"tensor_tensor fp32", 2000, 2000, 2000, add(kF32, AluOp::add, 1000)},
      {"tensor_tensor bf16", 1000, 1000, 1000, add(kBf16, AluOp::add, 1000)},
      {"tensor_tensor bf16, not arithmetic", 2000, 2000, 2000, add(kBf16, AluOp::max, 1000)},
      {"tensor_tensor from PSUM", 512, 512, 512,
       [](ProgramBuilder& b) {
         b.tensor_tensor(b.sbuf(kF32, 128, {512}), b.psum(kF32, 128, {512}), b.sbuf(kF32, 128, {512}),
                         AluOp::add);
       }},
      {"division takes eight times", 16000, 16000, 16000, add(kF32, AluOp::divide, 1000)},
      {"tensor_reduce bf16 add", 500, 500, 500, reduce(kBf16, AluOp::add)},
      {"tensor_reduce bf16 min", 1000, 1000, 1000, reduce(kBf16, AluOp::min)},
      {"tensor_reduce fp32 add", 1000, 1000, 1000, reduce(kF32, AluOp::add)},
      {"activation fp32", 1000, 1000, 1000,
       [](ProgramBuilder& b) {
         b.activation(b.sbuf(kF32, 128, {1000}), b.sbuf(kF32, 128, {1000}), Activation::exp);
       }},
      {"activation bf16: v4 does 256 a cycle", 1000, 1000, 500,
       [](ProgramBuilder& b) {
         b.activation(b.sbuf(kBf16, 128, {1000}), b.sbuf(kBf16, 128, {1000}), Activation::exp);
       }},
      {"activation with a sum", 1064, 1064, 1064,
       [](ProgramBuilder& b) {
         b.activation(b.sbuf(kF32, 128, {1000}), b.sbuf(kF32, 128, {1000}), Activation::exp,
                      {.scale = 1.0f, .bias = {}, .reduce = b.sbuf(kF32, 128, {1}), .slope = 0});
       }},
      {"memset zero bf16", 500, 500, 500,
       [](ProgramBuilder& b) { b.memset(b.sbuf(kBf16, 128, {1000}), 0.0f); }},
      {"memset one bf16", 1000, 1000, 1000,
       [](ProgramBuilder& b) { b.memset(b.sbuf(kBf16, 128, {1000}), 1.0f); }},
      {"iota", 1150, 1150, 1150,
       [](ProgramBuilder& b) {
         const int64_t step[] = {1};
         b.iota(b.sbuf(DType::i32, 128, {1000}), 0, 0, step);
       }},
      {"64-bit integers on GpSimd", 150 + 3 * 2 * 1000, 150 + 3 * 2 * 1000, 150 + 3 * 2 * 1000,
       [](ProgramBuilder& b) {
         const AccessPattern t = b.sbuf(DType::i64, 128, {1000});
         b.tensor_tensor(t, t, t, AluOp::multiply, Engine::gpsimd);
       }},
  };
  for (const Row& row : rows) {
    EXPECT_DOUBLE_EQ(cycles(Generation::trn1, row.write), row.v2) << row.what;
    EXPECT_DOUBLE_EQ(cycles(Generation::trn2, row.write), row.v3) << row.what;
    EXPECT_DOUBLE_EQ(cycles(Generation::trn3, row.write), row.v4) << row.what;
  }
}

}  // namespace
}  // namespace assay::backend
