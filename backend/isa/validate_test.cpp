#include "backend/isa/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "backend/isa/builder.h"

namespace assay::backend {
namespace {

using Class = ProgramErrorClass;

// The class of the error that `f` throws on a builder with some tiles, and that its message names the
// instruction.
struct Tiles {
  AccessPattern f32, bf16, i32, i64, one, psum;
};

void expect_error(Class wanted, const std::string& part,
                  const std::function<void(ProgramBuilder&, const Tiles&)>& f,
                  Generation generation = Generation::trn2) {
  ProgramBuilder b(core(generation));
  b.set_node("mm_3");
  const Tiles t{b.sbuf(DType::f32, 128, {64}), b.sbuf(DType::bf16, 128, {64}), b.sbuf(DType::i32, 128, {64}),
                b.sbuf(DType::i64, 128, {64}), b.sbuf(DType::f32, 128, {1}),   b.psum(DType::f32, 64, {64})};
  const std::size_t before = b.program().instructions.size();
  try {
    f(b, t);
    ADD_FAILURE() << "expected " << name_of(wanted) << ": " << part;
  } catch (const ProgramError& error) {
    EXPECT_EQ(error.error_class(), wanted) << error.what();
    EXPECT_THAT(error.what(), testing::HasSubstr(part));
    EXPECT_EQ(b.program().instructions.size(), before) << "a refused instruction must not stay";
  }
}

TEST(ValidateTest, StartPartitionRule) {
  for (int start = 0; start < 128; ++start) {
    EXPECT_EQ(legal_start_partition(start, 100), start == 0);
    EXPECT_EQ(legal_start_partition(start, 64), start == 0 || start == 64);
    EXPECT_EQ(legal_start_partition(start, 1), start % 32 == 0);
  }
  expect_error(Class::partition_rule, "start at partition 16",
               [](ProgramBuilder& b, const Tiles& t) { b.memset(t.f32.partition_slice(16, 8), 0.0f); });
  expect_error(Class::partition_rule, "outside", [](ProgramBuilder& b, const Tiles&) {
    b.memset(sbuf_tile(DType::f32, 96, 64, 0, {1}), 0.0f);
  });
}

TEST(ValidateTest, Capacity) {
  expect_error(Class::sbuf_overflow, "usable",
               [](ProgramBuilder& b, const Tiles&) { b.sbuf(DType::f32, 128, {60000}); });
  expect_error(Class::sbuf_overflow, "usable", [](ProgramBuilder& b, const Tiles&) {
    b.memset(sbuf_tile(DType::f32, 0, 128, 212984 - 4, {2}), 0.0f);
  });
  expect_error(Class::psum_overflow, "banks",
               [](ProgramBuilder& b, const Tiles&) { b.psum(DType::f32, 128, {8 * 512}); });
  expect_error(Class::psum_overflow, "crosses a PSUM bank", [](ProgramBuilder& b, const Tiles& t) {
    b.nc_matmul(psum_tile(DType::f32, 0, 64, 1, {64}, 2048 - 128), t.bf16, t.bf16, false);
  });
  // The same amount fits where more is usable.
  ProgramBuilder trn3(core(Generation::trn3));
  EXPECT_NO_THROW(trn3.sbuf(DType::f32, 128, {60000}));
}

TEST(ValidateTest, TheInstructionLimitIsOneOfEachCore) {
  ProgramBuilder b(core(Generation::trn2));
  const AccessPattern tile = b.sbuf(DType::f32, 1, {1});
  for (int i = 0; i < 3; ++i) b.memset(tile, 0.0f);
  Program program = b.finish();
  program.cores = 2;
  EXPECT_EQ(instructions_of_busiest_core(program), static_cast<int64_t>(program.instructions.size()));
  CoreDescription small = core(Generation::trn2);
  small.max_instructions.value = static_cast<int64_t>(program.instructions.size()) - 1;
  try {
    validate(program, small);
    FAIL();
  } catch (const ProgramError& error) {
    EXPECT_EQ(error.error_class(), Class::instruction_limit);
  }
}

TEST(ValidateTest, InstructionLimit) {
  CoreDescription small = core(Generation::trn2);
  small.max_instructions.value = 2;
  ProgramBuilder b(small);
  const AccessPattern tile = b.sbuf(DType::f32, 1, {1});
  b.memset(tile, 0.0f);
  b.memset(tile, 0.0f);
  try {
    b.memset(tile, 0.0f);
    FAIL();
  } catch (const ProgramError& error) {
    EXPECT_EQ(error.error_class(), Class::instruction_limit);
    EXPECT_EQ(code_of(error.error_class()), "EVRF007");
  }
}

TEST(ValidateTest, Dtypes) {
  expect_error(Class::dtype, "EVRF004",
               [](ProgramBuilder& b, const Tiles&) { b.memset(sbuf_tile(DType::f64, 0, 1, 0, {1}), 0.0f); });
  expect_error(Class::dtype, "EVRF051", [](ProgramBuilder& b, const Tiles&) {
    b.memset(sbuf_tile(DType::f8e4m3fn, 0, 1, 0, {1}), 0.0f);
  });
  ProgramBuilder trn3(core(Generation::trn3));
  EXPECT_NO_THROW(trn3.memset(sbuf_tile(DType::f8e4m3fn, 0, 1, 0, {1}), 0.0f));
  expect_error(Class::dtype, "64-bit",
               [](ProgramBuilder& b, const Tiles& t) { b.tensor_copy(t.i64, t.i64); });
  expect_error(Class::dtype, "f32 multiplies f32 only",
               [](ProgramBuilder& b, const Tiles& t) { b.nc_matmul(t.psum, t.bf16, t.f32, false); });
  expect_error(Class::dtype, "floating point",
               [](ProgramBuilder& b, const Tiles& t) { b.nc_matmul(t.psum, t.i32, t.i32, false); });
  expect_error(
      Class::dtype, "cannot be mixed",
      [](ProgramBuilder& b, const Tiles& t) {
        AccessPattern a = sbuf_tile(DType::f8e4m3, 0, 128, 0, {64}),
                      c = sbuf_tile(DType::f8e4m3fn, 0, 128, 0, {64});
        b.nc_matmul(t.psum, a, c, false);
      },
      Generation::trn3);
  expect_error(Class::dtype, "PSUM accumulates f32", [](ProgramBuilder& b, const Tiles& t) {
    b.nc_matmul(psum_tile(DType::bf16, 0, 64, 1, {64}), t.bf16, t.bf16, false);
  });
  ProgramBuilder v4(core(Generation::trn3));
  const AccessPattern tile = v4.sbuf(DType::bf16, 128, {64});
  EXPECT_NO_THROW(v4.nc_matmul(psum_tile(DType::bf16, 0, 64, 1, {64}), tile, tile, false));
  expect_error(Class::dtype, "integers of one width", [](ProgramBuilder& b, const Tiles& t) {
    b.tensor_tensor(t.i32, t.i32, sbuf_tile(DType::i16, 0, 128, 0, {64}), AluOp::bitwise_and);
  });
}

TEST(ValidateTest, Engines) {
  expect_error(Class::engine, "GpSimd cannot access PSUM", [](ProgramBuilder& b, const Tiles& t) {
    b.tensor_copy(t.f32.partition_slice(0, 64), t.psum, Engine::gpsimd);
  });
  expect_error(Class::engine, "does not execute",
               [](ProgramBuilder& b, const Tiles& t) { b.tensor_copy(t.f32, t.f32, Engine::tensor); });
  expect_error(Class::engine, "DMA only", [](ProgramBuilder& b, const Tiles& t) {
    const int32_t hbm = b.input("x", DType::f32, 128 * 64);
    b.tensor_copy(t.f32, hbm_tile(DType::f32, hbm, 0, 128, 64, {64}, {1}));
  });
  expect_error(Class::engine, "destination of the Tensor engine is PSUM",
               [](ProgramBuilder& b, const Tiles& t) {
                 b.nc_matmul(t.f32.partition_slice(0, 64), t.bf16, t.bf16, false);
               });
  expect_error(Class::engine, "reads SBUF only", [](ProgramBuilder& b, const Tiles& t) {
    b.nc_matmul(psum_tile(DType::f32, 0, 64, 1, {64}), t.psum, t.psum, false);
  });
  expect_error(Class::engine, "exists on GpSimd only", [](ProgramBuilder& b, const Tiles& t) {
    b.tensor_tensor(t.i32, t.i32, t.i32, AluOp::divide_floor);
  });
}

TEST(ValidateTest, ShapesAndPatterns) {
  expect_error(Class::shape, "as many elements", [](ProgramBuilder& b, const Tiles& t) {
    b.tensor_tensor(t.f32, t.f32, t.f32.slice(0, 0, 32), AluOp::add);
  });
  expect_error(Class::shape, "as many partitions",
               [](ProgramBuilder& b, const Tiles& t) { b.tensor_copy(t.f32, t.f32.partition_slice(0, 64)); });
  expect_error(Class::shape, "moving free size", [](ProgramBuilder& b, const Tiles& t) {
    b.nc_matmul(psum_tile(DType::f32, 0, 64, 0, {513}), t.bf16, sbuf_tile(DType::bf16, 0, 128, 0, {513}),
                false);
  });
  expect_error(Class::shape, "stationary free size", [](ProgramBuilder& b, const Tiles& t) {
    b.nc_matmul(t.psum, sbuf_tile(DType::bf16, 0, 128, 0, {129}), t.bf16, false);
  });
  expect_error(Class::access_pattern, "stride of 0",
               [](ProgramBuilder& b, const Tiles& t) { b.memset(t.one.broadcast(0, 4), 0.0f); });
  expect_error(Class::access_pattern, "free dimensions", [](ProgramBuilder& b, const Tiles&) {
    b.memset(sbuf_tile(DType::f32, 0, 1, 0, {1, 1, 1, 1, 1}), 0.0f);
  });
  expect_error(Class::access_pattern, "in other partitions", [](ProgramBuilder& b, const Tiles& t) {
    b.dma_copy(t.f32.partition_slice(0, 64), t.f32.partition_slice(1, 64));
  });
  expect_error(Class::access_pattern, "touches bytes", [](ProgramBuilder& b, const Tiles& t) {
    const int32_t hbm = b.input("x", DType::f32, 128 * 64 - 1);
    b.dma_copy(t.f32, hbm_tile(DType::f32, hbm, 0, 128, 64, {64}, {1}));
  });
  expect_error(Class::argument, "an input or constant", [](ProgramBuilder& b, const Tiles& t) {
    const int32_t hbm = b.input("x", DType::f32, 128 * 64);
    b.dma_copy(hbm_tile(DType::f32, hbm, 0, 128, 64, {64}, {1}), t.f32);
  });
  expect_error(Class::access_pattern, "would leave the HBM tensor", [](ProgramBuilder& b, const Tiles& t) {
    const int32_t hbm = b.input("table", DType::f32, 100 * 64);
    b.dma_gather(t.f32, hbm_tile(DType::f32, hbm, 0, 128, 0, {64}, {1}), t.i32.slice(0, 0, 1),
                 {.index_stride = 64, .bound = 101, .skip_out_of_bounds = false, .dma = {}});
  });
}

TEST(ValidateTest, MessagesNameInstructionAndNode) {
  expect_error(Class::shape, "tensor_tensor #0 (node mm_3)",
               [](ProgramBuilder& b, const Tiles& t) { b.tensor_tensor(t.f32, t.f32, t.one, AluOp::add); });
}

TEST(ValidateTest, AQueueBelongsToOneEngine) {
  ProgramBuilder b(core(Generation::trn2));
  const AccessPattern x = b.sbuf(DType::f32, 1, {1}), y = b.sbuf(DType::f32, 1, {1});
  b.memset(x, 0.0f);
  b.dma_copy(y, x, {.engine = Engine::sync, .queue = 3, .accumulate = false});
  b.dma_copy(y, x, {.engine = Engine::scalar, .queue = 3, .accumulate = false});
  EXPECT_THROW(b.finish(), ProgramError);
}

// A Program may come from a cache file: indices and numbers out of range are refused, not followed.
TEST(ValidateTest, HostileProgramsAreRefused) {
  ProgramBuilder b(core(Generation::trn2));
  const int32_t in = b.input("x", DType::f32, 8), out = b.output("y", DType::f32, 8);
  const AccessPattern tile = b.sbuf(DType::f32, 1, {8});
  b.dma_copy(tile, hbm_tile(DType::f32, in, 0, 1, 8, {8}, {1}));
  b.tensor_copy(tile, tile);
  b.dma_copy(hbm_tile(DType::f32, out, 0, 1, 8, {8}, {1}), tile);
  const Program good = b.finish();
  ASSERT_NO_THROW(validate(good, core(Generation::trn2)));
  const auto refused = [&](const std::function<void(Program&)>& spoil) {
    Program bad = good;
    spoil(bad);
    EXPECT_THROW(validate(bad, core(Generation::trn2)), ProgramError);
  };
  refused([](Program& p) { p.instructions[1].operands = 1u << 30; });
  refused([](Program& p) { p.instructions[1].operand_count = 200; });
  refused([](Program& p) { p.instructions[1].opcode = static_cast<Opcode>(99); });
  refused([](Program& p) { p.instructions[1].op0 = static_cast<AluOp>(99); });
  refused([](Program& p) { p.instructions[1].node = 7; });
  refused([](Program& p) { p.instructions[1].signal = 100; });
  refused([](Program& p) { p.instructions[0].queue = 99; });
  refused([](Program& p) { p.operands[0].dtype = static_cast<DType>(99); });
  refused([](Program& p) { p.operands[0].rank = 77; });
  refused([](Program& p) { p.operands[0].space = static_cast<Space>(9); });
  refused([](Program& p) { p.operands[0].sizes[0] = -8; });
  refused([](Program& p) { p.operands[0].partitions = -1; });
  refused([](Program& p) { p.operands[0].strides[0] = int64_t{1} << 62; });
  refused([](Program& p) { p.operands[0].offset = -4; });
  refused([](Program& p) { p.operands[0].offset = int64_t{1} << 62; });
  refused([](Program& p) { p.operands[1].tensor = 5; });
  refused([](Program& p) { p.operands[1].partition_stride = int64_t{1} << 62; });
  refused([](Program& p) { p.tensors[0].elements = int64_t{1} << 61; });
  refused([](Program& p) { p.waits.at(0).at_least = 9; });
  refused([](Program& p) { p.target = Generation::trn3; });
  refused([](Program& p) { p.tensors[0].kind = HbmKind::constant; });
}

TEST(ValidateTest, EnginesReachTheirOwnCoresMemory) {
  ProgramBuilder b(core(Generation::trn2), 2);
  const AccessPattern first = b.sbuf(DType::f32, 128, {64}), sum = b.psum(DType::f32, 128, {64});
  b.set_core(1);
  const AccessPattern second = b.sbuf(DType::f32, 128, {64});
  EXPECT_NE(first.offset, second.offset);
  b.memset(second, 1.0f);
  for (const AccessPattern& other : {first, sum}) {
    try {
      b.tensor_copy(second, other);
      ADD_FAILURE() << "core 1 reads what is core 0's";
    } catch (const ProgramError& error) {
      EXPECT_EQ(error.error_class(), Class::engine) << error.what();
      EXPECT_THAT(error.what(), testing::HasSubstr("core 0"));
    }
  }
  b.dma_copy(first, second);  // DMA reaches both
  Program program = b.finish();
  EXPECT_NO_THROW(validate(program, core(Generation::trn2)));
  program.cores = 1;
  EXPECT_THROW(validate(program, core(Generation::trn2)), ProgramError);
  program.cores = 3;
  EXPECT_THROW(validate(program, core(Generation::trn2)), ProgramError);
  // No tile may lie across the end of a core's memory.
  ProgramBuilder across(core(Generation::trn2), 2);
  EXPECT_THROW(across.memset(sbuf_tile(DType::f32, 0, 128, 212984 - 4, {2}), 0.0f), ProgramError);
  ProgramBuilder trn1(core(Generation::trn1), 2);
  trn1.memset(trn1.sbuf(DType::f32, 128, {64}), 0.0f);
  EXPECT_THROW(trn1.finish(), ProgramError);
}

}  // namespace
}  // namespace assay::backend
