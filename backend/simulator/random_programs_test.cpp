// Random Programs of products whose operands are overwritten in part between them: operands that were packed
// for an earlier product are stale then, banks and tiles overlap.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

#include "backend/simulator/bench.h"

namespace assay::backend {
namespace {

class RandomProducts {
 public:
  explicit RandomProducts(uint64_t seed)
      : random_(seed), bench_(seed % 3 == 0 ? Generation::trn1 : Generation::trn2) {
    constexpr std::array kDtypes{DType::bf16, DType::f32, DType::f16};
    dtype_ = kDtypes[static_cast<std::size_t>(below(3))];
    for (int i = 0; i < 3; ++i) stationary_.push_back(drawn(128));
    for (int i = 0; i < 3; ++i) moving_.push_back(drawn(512));
    fresh_ = drawn(512);
    ProgramBuilder& b = bench_.b;
    for (int i = 0; i < 4; ++i) banks_.push_back(b.psum(DType::f32, 128, {512}));
    for (const AccessPattern& bank : banks_) b.nc_matmul(bank, stationary_[0], pick(moving_), false);
    turned_ = b.psum(DType::f32, 128, {512});
    b.memset(turned_, 0.5f);
    const int64_t steps = 30 + below(40);
    for (int64_t k = 0; k < steps; ++k) step();
    for (const AccessPattern& bank : banks_) bench_.store(bank);
    for (const AccessPattern& y : moving_) bench_.store(y);
    bench_.finish();
  }
  Bench& bench() { return bench_; }

 private:
  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  const AccessPattern& pick(const std::vector<AccessPattern>& tiles) {
    return tiles[static_cast<std::size_t>(below(static_cast<int64_t>(tiles.size())))];
  }
  AccessPattern drawn(int64_t columns) {
    std::vector<double> values;
    for (int64_t i = 0; i < 128 * columns; ++i)
      values.push_back(std::sin(static_cast<double>(random_() % 100000)));
    return bench_.load(dtype_, {128, columns}, values);
  }

  void step() {
    ProgramBuilder& b = bench_.b;
    const int64_t count = 1 + below(256), at = below(513 - count);
    switch (below(10)) {
      case 0:  // part of a moving operand
        return b.tensor_copy(pick(moving_).slice(0, at, count), fresh_.slice(0, below(513 - count), count));
      case 1: {  // part of a stationary one, in some partitions
        const int64_t columns = 1 + below(128);
        const AccessPattern part = pick(stationary_).partition_slice(static_cast<int>(32 * below(4)), 32);
        return b.memset(part.slice(0, below(129 - columns), columns), 0.25f * static_cast<float>(below(9)));
      }
      case 2: {  // a product's result becomes an operand, and small numbers again
        const AccessPattern part = pick(moving_).slice(0, at, count);
        b.tensor_copy(part, pick(banks_).slice(0, at, count));
        return b.tensor_scalar(part, fresh_.slice(0, at, count), AluOp::multiply, 0.5f);
      }
      case 3:
        if (dtype_ != DType::f32) return;
        return b.nc_transpose(turned_.slice(0, 32 * below(13), 128), pick(moving_).slice(0, below(385), 128));
      case 4:
        return b.tensor_copy(pick(moving_).slice(0, at, count), turned_.slice(0, at, count));
      default:
        return product();
    }
  }

  void product() {
    constexpr std::array<int64_t, 8> kWidths{512, 256, 257, 480, 300, 128, 31, 400};
    const int64_t n = kWidths[static_cast<std::size_t>(below(8))], m = below(3) != 0 ? 128 : 1 + below(128);
    const int64_t at = below(513 - n) / (below(3) != 0 ? 32 : 1), from = below(513 - n);
    const int depth = below(3) != 0 ? 128 : static_cast<int>(1 + below(128));
    const AccessPattern x = pick(stationary_).partition_slice(0, depth).slice(0, below(129 - m), m);
    const AccessPattern whole = pick(moving_).partition_slice(0, depth);
    const AccessPattern y =
        below(8) == 0 ? whole.slice(0, from + n - 1, n, -1) : whole.slice(0, from, n);  // or backwards
    bench_.b.nc_matmul(pick(banks_).partition_slice(0, static_cast<int>(m)).slice(0, at, n), x, y,
                       below(3) != 0);
  }

  std::mt19937_64 random_;
  Bench bench_;
  DType dtype_ = DType::f32;
  std::vector<AccessPattern> stationary_, moving_, banks_;
  AccessPattern fresh_, turned_;
};

// The bits of one thread (with the portable kernel where no quirk is on), whoever multiplies, in whatever
// order the semaphores allow, and the second time as well.
TEST(RandomProducts, DependOnNothing) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    RandomProducts products(seed);
    Bench& bench = products.bench();
    for (const int quirk : {0, 1, 2}) {
      SimulatorOptions options;
      options.quirks.matmul_truncates = quirk == 1;
      options.quirks.transpose_spreads_nan = quirk == 2;
      options.threads = 1;
      options.matmul = quirk == 0 ? MatmulKernel::portable : MatmulKernel::automatic;
      const std::vector<Tensor> want = bench.run(options);
      options.matmul = MatmulKernel::automatic;
      for (const int threads : {1, 2, 5}) {
        options.threads = threads;
        for (const bool shuffle : {false, true}) {
          options.shuffle = shuffle;
          options.shuffle_seed = seed;
          FunctionalSimulator simulator(core(bench.program.target), options);
          for (int again = 0; again < 2; ++again) {
            const std::vector<Tensor> got = bench.run(simulator);
            for (std::size_t k = 0; k < want.size(); ++k) {
              ASSERT_TRUE(got[k].bitwise_equal(want[k]))
                  << "seed " << seed << ", quirk " << quirk << ", " << threads << " threads"
                  << (shuffle ? ", shuffled" : "") << ", output " << k << ", run " << again;
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace assay::backend
