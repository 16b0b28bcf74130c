// Gated linear attention on shapes around and beyond what one tile holds, against the reference.
#include <functional>
#include <limits>
#include <map>
#include <random>

#include "backend/kernels/against_reference_test.h"

namespace assay::backend {
namespace {

using reference::Wide;

struct GlaShape {
  int64_t length, key, value, chunk;
  double gate = 0.04;  // drawn from [-2 gate, 0)
  DType dtype = DType::f32;
  int64_t batch = 1, heads = 1;
  std::vector<int64_t> offsets = {};
  bool states = true;
};

struct GlaOperands {
  explicit GlaOperands(const GlaShape& s, bool backward) {
    std::mt19937 random(7);
    const auto give = [&](const char* name, DType dtype, const Shape& shape, double low, double high) {
      std::uniform_real_distribution<double> draw(low, high);
      std::vector<double> values(static_cast<std::size_t>(element_count(shape)));
      for (double& v : values) v = draw(random);
      arguments.push_back({name, ValueArg{static_cast<ValueId>(tensors.size())}});
      tensors.push_back(Tensor::from_doubles(dtype, shape, values));
    };
    const Shape keys{s.batch, s.length, s.heads, s.key}, values{s.batch, s.length, s.heads, s.value};
    const int64_t sequences = s.offsets.empty() ? s.batch : static_cast<int64_t>(s.offsets.size()) - 1;
    const Shape states{sequences, s.heads, s.key, s.value};
    if (backward) {
      give("grad_output", s.dtype, values, -1, 1);
      if (s.states) {
        give("grad_final_state", DType::f32, states, -1, 1);
      } else {
        arguments.push_back({"grad_final_state", NoneArg{}});
      }
    }
    give("q", s.dtype, keys, -1, 1);
    give("k", s.dtype, keys, -1, 1);
    give("v", s.dtype, values, -1, 1);
    give("g", DType::f32, keys, -2 * s.gate, 0);
    if (s.states) give("initial_state", DType::f32, states, -1, 1);
    if (!s.offsets.empty()) arguments.push_back({"cu_seqlens", IntListArg{s.offsets, {}}});
    arguments.push_back({"chunk_size", s.chunk});
    for (const Tensor& t : tensors) metas.push_back({t.dtype(), t.shape()});
    op = backward ? "assay::gla_chunk_backward.default" : "assay::gla_chunk.default";
  }
  void close(const GlaShape& s, const std::function<bool(int64_t row)>& closed) {
    for (const NamedArgument& argument : arguments) {
      if (argument.name != "g") continue;
      Tensor& g = tensors.at(static_cast<std::size_t>(std::get<ValueArg>(argument.value).id));
      std::vector<double> values = g.to_doubles();
      for (std::size_t i = 0; i < values.size(); ++i) {
        const int64_t row = static_cast<int64_t>(i) / (s.heads * s.key) % s.length;
        if (closed(row)) values[i] = -std::numeric_limits<double>::infinity();
      }
      g = Tensor::from_doubles(g.dtype(), g.shape(), values);
    }
  }
  OpCall call() const { return {op, metas, arguments, *infer(OpCall(op, metas, arguments))}; }

  std::string op;
  std::vector<Tensor> tensors;
  std::vector<TensorMeta> metas;
  std::vector<NamedArgument> arguments;
};

// Gates of rows that are `closed` become -inf.
void check_gla(const GlaShape& shape, std::initializer_list<Generation> generations = {Generation::trn2},
               const std::function<bool(int64_t row)>& closed = nullptr) {
  for (const bool backward : {false, true}) {
    GlaOperands operands(shape, backward);
    if (closed) operands.close(shape, closed);
    std::vector<Wide> wides;
    std::vector<const Wide*> pointers;
    for (const Tensor& t : operands.tensors) wides.push_back(Wide::from(t));
    for (const Wide& wide : wides) pointers.push_back(&wide);
    SCOPED_TRACE(std::to_string(shape.length) + " rows in chunks of " + std::to_string(shape.chunk));
    for (const Generation generation : generations) check_call(operands.call(), pointers, generation);
  }
}

TEST(GlaKernel, TilesAndTails) {
  for (const GlaShape& shape : {GlaShape{1, 1, 1, 128},
                                {129, 8, 12, 128, 0.7},
                                {97, 130, 140, 64},
                                {70, 5, 520, 32, 2},
                                {50, 8, 8, 17, 7},
                                {1100, 4, 4, 128, 0.04, DType::bf16},  // two segments
                                {40, 8, 8, 16, 50, DType::f16},
                                {33, 3, 5, 128, 0.3, DType::bf16, 2, 3},
                                {5, 4, 4, 1},
                                {0, 4, 4, 128},
                                {90, 8, 8, 32, 0.5, DType::f32, 1, 2, {0, 0, 33, 40, 40, 71}},
                                {64, 8, 8, 64, 0.5, DType::f32, 1, 1, {}, false}}) {
    check_gla(shape);
  }
}

// Several tiles to a chunk: as many rows each, a last chunk of fewer tiles or with a short one, closed gates.
TEST(GlaKernel, ChunksOfSeveralTiles) {
  for (const GlaShape& shape : {GlaShape{300, 8, 12, 256, 0.7},
                                {600, 130, 140, 384},
                                {1100, 4, 4, 512, 0.04, DType::bf16},
                                {512, 8, 8, 512, 50},
                                {1024, 4, 520, 256, 3, DType::f16},
                                {130, 8, 8, 512},
                                {230, 3, 5, 200, 0.3, DType::bf16, 2, 3},
                                {700, 8, 8, 256, 0.5, DType::f32, 1, 2, {0, 0, 129, 385, 385, 690}},
                                {520, 8, 8, 512, 0.5, DType::f32, 1, 1, {}, false}}) {
    check_gla(shape);
  }
  check_gla({300, 130, 20, 256, 0.7}, {Generation::trn1, Generation::trn3});
}

// Beyond what the kernels take: decomposed.
TEST(GlaKernel, OtherChunksAreDecomposed) {
  check_gla({150, 4, 4, 1024});
  check_gla({150, 4, 4, 129});
  check_gla({5, 4, 4, std::numeric_limits<int64_t>::max()});
}

// Lengths around the edges of tiles and chunks, and packed sequences that end there.
TEST(GlaKernel, EdgesOfTilesAndChunks) {
  for (const int64_t chunk : {256, 384, 512}) {
    for (const int64_t length : {0, 1, 128, 129, 255, 256, 257, 511, 512, 513})
      check_gla({length, 4, 4, chunk, 0.5});
    check_gla({2 * chunk + 3, 4, 5, chunk - 2, 0.5});
  }
  check_gla({1100, 4, 4, 256, 0.5, DType::f32, 1, 1, {0, 1, 257, 513, 768, 768, 1100}});
  check_gla({1100, 4, 4, 512, 0.5, DType::bf16, 1, 2, {0, 511, 1024, 1025, 1090}});
}

// Gates that are closed (-inf) at the edges of tiles, here and there, or everywhere.
TEST(GlaKernel, ClosedGatesBetweenTiles) {
  std::mt19937 random(3);
  const std::vector<std::function<bool(int64_t)>> kinds{
      [](int64_t row) { return row % 128 == 0 || row % 128 == 127; },
      [&](int64_t) { return random() % 97 == 0; }, [](int64_t) { return true; }};
  for (const auto& closed : kinds) {
    for (const int64_t chunk : {256, 512}) {
      check_gla({520, 6, 6, chunk, 0.5}, {Generation::trn2}, closed);
    }
  }
}

// Longer chunks cost what their further pairs of tiles cost: far less than a composition of operators.
TEST(GlaKernel, LongerChunksHaveAKernel) {
  for (const bool backward : {false, true}) {
    const auto instructions = [&](int64_t chunk) {
      const GlaOperands operands({1024, 80, 160, chunk}, backward);
      return compile_call(operands.call(), core(Generation::trn2), {}).program.instructions.size();
    };
    const std::size_t of_tiles = instructions(128);
    for (const int64_t chunk : {256, 384, 512}) {
      EXPECT_LT(instructions(chunk), 2 * of_tiles) << chunk << (backward ? ", backward" : ", forward");
    }
    EXPECT_GT(instructions(1024), 2 * of_tiles) << "composed";
  }
}

TEST(GlaKernel, OtherGenerations) {
  check_gla({140, 130, 20, 128, 0.7}, {Generation::trn1, Generation::trn3});
  check_gla({70, 8, 8, 32, 1, DType::bf16}, {Generation::trn1, Generation::trn3});
}

// One row of many heads, key and value sizes beyond a tile and a bank, a state in the operands' dtype.
TEST(GlaKernel, Steps) {
  struct Step {
    int64_t batch, heads, key, value;
    DType dtype, state;
    Generation generation = Generation::trn2;
  };
  for (const Step& s : {Step{1, 1, 1, 1, DType::f32, DType::f32},
                        {2, 3, 130, 520, DType::f32, DType::f32},
                        {3, 20, 16, 24, DType::bf16, DType::f32},
                        {1, 2, 8, 8, DType::bf16, DType::bf16, Generation::trn1},
                        {1, 2, 8, 8, DType::f16, DType::f32, Generation::trn3}}) {
    std::mt19937 random(3);
    const auto draw = [&](DType dtype, const Shape& shape, double low, double high) {
      std::uniform_real_distribution<double> uniform(low, high);
      std::vector<double> values(static_cast<std::size_t>(element_count(shape)));
      for (double& v : values) v = uniform(random);
      return Wide::from(Tensor::from_doubles(dtype, shape, values));
    };
    const Shape keys{s.batch, s.heads, s.key}, values{s.batch, s.heads, s.value},
        state{s.batch, s.heads, s.key, s.value};
    const Wide wides[] = {draw(s.dtype, keys, -1, 1), draw(s.dtype, keys, -1, 1),
                          draw(s.dtype, values, -1, 1), draw(DType::f32, keys, -1, 0),
                          draw(s.state, state, -1, 1)};
    const std::vector<TensorMeta> metas{
        {s.dtype, keys}, {s.dtype, keys}, {s.dtype, values}, {DType::f32, keys}, {s.state, state}};
    const std::vector<NamedArgument> arguments{{"q", ValueArg{0}},
                                               {"k", ValueArg{1}},
                                               {"v", ValueArg{2}},
                                               {"g", ValueArg{3}},
                                               {"state", ValueArg{4}}};
    const std::string op = "assay::gla_recurrent_step.default";
    check_call(OpCall(op, metas, arguments, *infer(OpCall(op, metas, arguments))),
               {&wides[0], &wides[1], &wides[2], &wides[3], &wides[4]}, s.generation);
  }
}

// Statically unrolled: each segment of chunks adds the same instructions.
TEST(GlaKernel, InstructionsGrowByChunks) {
  for (const bool backward : {false, true}) {
    const auto instructions = [&](int64_t chunks) {
      const GlaOperands operands({chunks * 128, 16, 16, 128}, backward);
      return compile_call(operands.call(), core(Generation::trn2), {}).program.instructions.size();
    };
    const std::size_t eight = instructions(8), sixteen = instructions(16);
    EXPECT_GT(sixteen, eight);
    EXPECT_EQ(instructions(24) - sixteen, sixteen - eight) << (backward ? "backward" : "forward");
  }
}

// Rows [start, end) of [1, T, H, D]; a state passes whole.
Tensor rows_of(const Tensor& t, int64_t start, int64_t end) {
  const Shape& shape = t.shape();
  const Tensor packed = t.contiguous();
  const std::size_t row = packed.bytes() / static_cast<std::size_t>(shape[1]);
  const std::byte* from = packed.data() + static_cast<std::size_t>(start) * row;
  return Tensor::from_bytes(t.dtype(), {1, end - start, shape[2], shape[3]}, from,
                            static_cast<std::size_t>(end - start) * row);
}

// `states`: what takes the place of the initial state and, backward, of the final state's gradient.
std::vector<Tensor> gla_of_rows(const GlaOperands& all, int64_t start, int64_t end,
                                const std::map<std::string, Tensor>& states) {
  std::vector<Tensor> inputs;
  for (const NamedArgument& argument : all.arguments) {
    const auto* value = std::get_if<ValueArg>(&argument.value);
    if (value == nullptr) continue;
    const auto state = states.find(argument.name);
    const Tensor& given = all.tensors.at(static_cast<std::size_t>(value->id));
    inputs.push_back(state != states.end() ? state->second : rows_of(given, start, end));
  }
  return run_call(all.op, inputs, all.arguments).outputs;
}

// The unrolled kernel of 16 chunks against a loop of calls of one chunk each, whose state (backward: whose
// gradient of it) goes from call to call: the same bits. The state is f32 whatever the operands are.
TEST(GlaKernel, UnrolledEqualsRolledBitForBit) {
  constexpr int64_t kChunks = 16, kChunk = 128;
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const int64_t key : {16, 160}) {
      SCOPED_TRACE(std::string(name_of(dtype)) + ", keys of " + std::to_string(key));
      const GlaShape shape{kChunks * kChunk, key, 24, kChunk, 0.04, dtype, 1, 2};
      const GlaOperands backward(shape, true);
      GlaOperands forward(shape, false);  // of the same operands
      forward.tensors.assign(backward.tensors.begin() + 2, backward.tensors.end());
      const std::vector<Tensor> unrolled = run_call(forward.op, forward.tensors, forward.arguments).outputs;
      std::vector<Tensor> states{forward.tensors.back()};
      for (int64_t c = 0; c < kChunks; ++c) {
        const std::vector<Tensor> part =
            gla_of_rows(forward, c * kChunk, (c + 1) * kChunk, {{"initial_state", states.back()}});
        EXPECT_TRUE(part[0].bitwise_equal(rows_of(unrolled[0], c * kChunk, (c + 1) * kChunk)))
            << "chunk " << c;
        states.push_back(part[1]);
      }
      EXPECT_TRUE(states.back().bitwise_equal(unrolled[1])) << "final state";

      const std::vector<Tensor> whole = run_call(backward.op, backward.tensors, backward.arguments).outputs;
      Tensor of_state = backward.tensors.at(1);  // grad_final_state
      for (int64_t c = kChunks; c-- > 0;) {
        const std::vector<Tensor> part = gla_of_rows(
            backward, c * kChunk, (c + 1) * kChunk,
            {{"initial_state", states[static_cast<std::size_t>(c)]}, {"grad_final_state", of_state}});
        for (std::size_t i = 0; i < 4; ++i) {
          EXPECT_TRUE(part[i].bitwise_equal(rows_of(whole[i], c * kChunk, (c + 1) * kChunk)))
              << "gradient " << i << " of chunk " << c;
        }
        of_state = part[4];
      }
      EXPECT_TRUE(of_state.bitwise_equal(whole[4])) << "gradient of the initial state";
    }
  }
}

}  // namespace
}  // namespace assay::backend
