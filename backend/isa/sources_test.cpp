#include "backend/isa/sources.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "backend/isa/builder.h"

namespace assay::backend {
namespace {

// Every other column by one instruction, the rest by another: who reads the tile needs both.
TEST(SourcesTest, ArePartsOfATile) {
  ProgramBuilder b(core(Generation::trn2));
  const int32_t y = b.output("y", DType::f32, 128 * 8);
  const AccessPattern t = b.sbuf(DType::f32, 128, {8}), other = b.sbuf(DType::f32, 128, {8});
  b.memset(t, 0.0f);                                            // 0: overwritten
  b.memset(t.slice(0, 0, 4, 2), 1.0f);                          // 1
  b.memset(t.slice(0, 1, 4, 2), 2.0f);                          // 2
  b.memset(other, 3.0f);                                        // 3
  b.dma_copy(hbm_tile(DType::f32, y, 0, 128, 8, {8}, {1}), t);  // 4
  b.memset(t, 4.0f);                                            // 5: the whole tile again
  b.tensor_copy(other, t);                                      // 6
  const std::vector<std::vector<uint32_t>> sources = sources_of(b.program());
  EXPECT_EQ(sources[4], (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(sources[6], (std::vector<uint32_t>{5}));
  EXPECT_TRUE(sources[5].empty());
}

// The same parts written again take the place of the earlier ones; so does what a mask writes, which has them
// as sources.
TEST(SourcesTest, OfPartsThatAreWrittenAgain) {
  ProgramBuilder b(core(Generation::trn2));
  const AccessPattern t = b.sbuf(DType::f32, 128, {8}), other = b.sbuf(DType::f32, 128, {8}),
                      mask = b.sbuf(DType::u8, 128, {4});
  const AccessPattern even = t.slice(0, 0, 4, 2), odd = t.slice(0, 1, 4, 2);
  b.memset_int(mask, 1);                                               // 0
  for (const AccessPattern& part : {even, odd}) b.memset(part, 1.0f);  // 1, 2
  for (const AccessPattern& part : {even, odd}) b.memset(part, 2.0f);  // 3, 4
  b.tensor_copy(other, t);                                             // 5
  b.copy_predicated(even, other.slice(0, 0, 4), mask);                 // 6
  b.tensor_copy(other, t);                                             // 7
  const std::vector<std::vector<uint32_t>> sources = sources_of(b.program());
  EXPECT_EQ(sources[5], (std::vector<uint32_t>{3, 4}));
  EXPECT_EQ(sources[6], (std::vector<uint32_t>{0, 3, 5}));  // what it keeps
  EXPECT_EQ(sources[7], (std::vector<uint32_t>{4, 6}));
}

// A corner of a tile is written anew.
TEST(SourcesTest, OfCorners) {
  ProgramBuilder b(core(Generation::trn2));
  const AccessPattern t = b.sbuf(DType::f32, 128, {8}), other = b.sbuf(DType::f32, 128, {8});
  const AccessPattern corner = t.partition_slice(0, 32).slice(0, 0, 4);
  b.memset(t, 1.0f);                                                        // 0
  b.memset(corner, 2.0f);                                                   // 1
  b.tensor_copy(other.partition_slice(0, 32).slice(0, 0, 4), corner);       // 2
  b.tensor_copy(other.partition_slice(0, 32), t.partition_slice(0, 32));    // 3
  b.tensor_copy(other.partition_slice(32, 32), t.partition_slice(32, 32));  // 4
  const std::vector<std::vector<uint32_t>> sources = sources_of(b.program());
  EXPECT_EQ(sources[2], (std::vector<uint32_t>{1}));
  EXPECT_EQ(sources[3], (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(sources[4], (std::vector<uint32_t>{0}));
}

// Sums in PSUM: each product needs those before it.
TEST(SourcesTest, OfAccumulation) {
  ProgramBuilder b(core(Generation::trn2));
  const AccessPattern a = b.sbuf(DType::bf16, 128, {128}), sum = b.psum(DType::f32, 128, {128});
  b.memset(a, 1.0f);              // 0
  b.nc_matmul(sum, a, a, false);  // 1
  b.nc_matmul(sum, a, a, true);   // 2
  b.nc_matmul(sum, a, a, true);   // 3
  const std::vector<std::vector<uint32_t>> sources = sources_of(b.program());
  EXPECT_EQ(sources[1], (std::vector<uint32_t>{0}));
  EXPECT_EQ(sources[3], (std::vector<uint32_t>{0, 2}));
}

// Two columns of four rows and what a scatter needs to bring them into a table.
struct Scattered {
  Scattered(int64_t elements, int64_t row, int64_t index_stride, int64_t bound)
      : y(b.output("y", DType::f32, elements)),
        x(b.sbuf(DType::f32, 4, {2})),
        index(b.sbuf(DType::i32, 4, {1})),
        table(hbm_tile(DType::f32, y, 0, 4, row, {2}, {1})) {
    options.index_stride = index_stride;
    options.bound = bound;
    b.memset(x, 1.0f);       // 0
    b.memset_int(index, 0);  // 1
  }
  ProgramBuilder b{core(Generation::trn2)};
  int32_t y;
  AccessPattern x, index, table;
  IndirectOptions options;
};

// Thousands of scatters into a table, as the gradient of an embedding makes them: each stands for those
// before it, whose rows it may have left.
TEST(SourcesTest, OfScatters) {
  Scattered s(64, 0, 2, 32);
  for (const bool accumulate : {false, true, true, true}) {  // 2 .. 5
    s.options.dma.accumulate = accumulate;
    s.b.dma_scatter(s.table, s.x, s.index, s.options);
  }
  s.b.dma_copy(s.x, hbm_tile(DType::f32, s.y, 0, 4, 2, {2}, {1}));  // 6
  const std::vector<std::vector<uint32_t>> sources = sources_of(s.b.program());
  EXPECT_EQ(sources[2], (std::vector<uint32_t>{0, 1}));
  for (uint32_t i = 3; i < 6; ++i) EXPECT_EQ(sources[i], (std::vector<uint32_t>{0, 1, i - 1}));
  EXPECT_EQ(sources[6], (std::vector<uint32_t>{5}));
}

// A copy to the table's own place does not overwrite what a scatter brought elsewhere.
TEST(SourcesTest, OfRowsThatAScatterMayHaveWritten) {
  Scattered s(256, 16, 64, 4);
  s.b.dma_scatter(s.table, s.x, s.index, s.options);                  // 2
  s.b.dma_copy(s.table, s.x);                                         // 3
  s.b.dma_copy(s.x, hbm_tile(DType::f32, s.y, 64, 4, 16, {2}, {1}));  // 4: the rows of index 1
  const std::vector<uint32_t> sources = sources_of(s.b.program())[4];
  EXPECT_TRUE(std::count(sources.begin(), sources.end(), 2u) == 1);
}

// Bytes that an instruction touches on the chip, one by one.
template <typename F>
void each_byte(const AccessPattern& a, F f) {
  std::vector<int64_t> index(a.rank, 0);
  for (int p = 0; p < a.partitions; ++p) {
    for (int64_t e = 0; e < a.free_elements(); ++e) {
      int64_t rest = e, at = a.offset;
      for (std::size_t k = a.rank; k-- > 0;) {
        at += rest % a.sizes[k] * a.strides[k] * static_cast<int64_t>(size_of(a.dtype));
        rest /= a.sizes[k];
      }
      for (int64_t b = 0; b < static_cast<int64_t>(size_of(a.dtype)); ++b)
        f(std::pair<int, int64_t>{a.partition_start + p, at + b});
    }
  }
}

// Copies between random parts of a few tiles, of all widths, against a record of every byte's writer.
TEST(SourcesTest, AreThoseOfEveryByte) {
  std::mt19937 random(7);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  for (int round = 0; round < 20; ++round) {
    ProgramBuilder b(core(Generation::trn2));
    const DType dtypes[] = {DType::f32, DType::bf16, DType::u8};
    std::vector<AccessPattern> tiles;
    for (int k = 0; k < 4; ++k) tiles.push_back(b.sbuf(dtypes[k % 3], 128, {4, 8}));
    const auto part = [&](const AccessPattern& tile, int first, int count, bool read) {
      AccessPattern out = tile.partition_slice(first, count);
      const int64_t step = 1 + below(3), columns = 1 + below((8 + step - 1) / step);
      out = out.slice(1, below(8 - (columns - 1) * step), columns, step);
      out = out.slice(0, below(4), 1);
      return below(2) == 0 && read ? out.slice(1, 0, 1).broadcast(1, columns) : out;
    };
    for (int k = 0; k < 60; ++k) {
      const int first = static_cast<int>(32 * below(4));
      const int count = static_cast<int>(first == 0 ? 1 + below(128) : 32);
      const AccessPattern to = part(tiles[static_cast<std::size_t>(below(4))], first, count, false);
      if (below(3) == 0) {
        to.dtype == DType::u8 ? b.memset_int(to, 1) : b.memset(to, 1.0f);
        continue;
      }
      AccessPattern from = part(tiles[static_cast<std::size_t>(below(4))], first, count, true);
      while (from.sizes[1] != to.sizes[1])
        from = part(tiles[static_cast<std::size_t>(below(4))], first, count, true);
      b.tensor_copy(to, from);
    }
    const Program& program = b.program();
    const std::vector<std::vector<uint32_t>> sources = sources_of(program);
    std::map<std::pair<int, int64_t>, uint32_t> writers;
    for (uint32_t index = 0; index < program.instructions.size(); ++index) {
      const Instruction& i = program.instructions[index];
      std::set<uint32_t> expected;
      for (std::size_t k = 0; k < i.operand_count; ++k) {
        if (is_written(i, k)) continue;
        each_byte(program.operands[i.operands + k], [&](const auto& byte) {
          if (const auto it = writers.find(byte); it != writers.end()) expected.insert(it->second);
        });
      }
      ASSERT_EQ(sources[index], (std::vector<uint32_t>(expected.begin(), expected.end())))
          << "round " << round << ", " << program.describe(index);
      for (std::size_t k = 0; k < i.operand_count; ++k) {
        if (!is_written(i, k)) continue;
        each_byte(program.operands[i.operands + k], [&](const auto& byte) { writers[byte] = index; });
      }
    }
  }
}

// An output that is written, read twice and written again: whoever comes later waits for everybody.
TEST(SourcesTest, EarlierInOutputs) {
  ProgramBuilder b(core(Generation::trn2));
  const int32_t buffer = b.output("buffer", DType::f32, 128 * 16), x = b.input("x", DType::f32, 128 * 8);
  const AccessPattern t = b.sbuf(DType::f32, 128, {8}), other = b.sbuf(DType::f32, 128, {8});
  const auto columns = [&](int64_t first) { return hbm_tile(DType::f32, buffer, first, 128, 16, {8}, {1}); };
  b.dma_copy(t, hbm_tile(DType::f32, x, 0, 128, 8, {8}, {1}));  // 0: of nobody
  b.dma_copy(columns(0), t);                                    // 1
  b.dma_copy(columns(8), t);                                    // 2: other columns
  b.dma_copy(t, columns(0));                                    // 3
  b.dma_copy(other, columns(0));                                // 4
  b.dma_copy(columns(0), other);                                // 5
  const std::vector<std::vector<uint32_t>> earlier = earlier_in_outputs(b.program());
  EXPECT_TRUE(earlier[0].empty() && earlier[1].empty() && earlier[2].empty());
  EXPECT_EQ(earlier[3], (std::vector<uint32_t>{1}));
  EXPECT_EQ(earlier[4], (std::vector<uint32_t>{1}));
  EXPECT_EQ(earlier[5], (std::vector<uint32_t>{1, 3, 4}));
}

}  // namespace
}  // namespace assay::backend
