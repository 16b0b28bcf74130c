// all_reduce, reduce and reduce_scatter: exact integers, drawn numbers under their Bound, special values.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "suites/distributed/families.h"

namespace assay::suites {
namespace {

struct DTypeCase {
  DType dtype;
  const char* name;
};
constexpr DTypeCase kFloats[] = {
    {DType::f32, "f32"}, {DType::bf16, "bf16"}, {DType::f16, "f16"}, {DType::f64, "f64"}};
constexpr DTypeCase kIntegers[] = {
    {DType::i64, "i64"}, {DType::i32, "i32"}, {DType::i16, "i16"}, {DType::i8, "i8"}, {DType::u8, "u8"}};

// Whether every order, and scaling before or after the sum, gives one exact average.
bool is_power_of_two(int n) { return (n & (n - 1)) == 0; }

// One element of one rank such that all partial results over any subset of ranks are exact in every dtype
// here: sums stay within 256 in magnitude (bf16's exact integers; 127 for i8), products within 2^6.
double element(const std::string& reduce_op, DType dtype, int ranks, int rank, int64_t i) {
  const auto mix = static_cast<int64_t>(
      (static_cast<uint64_t>(i) * 2654435761u + static_cast<uint64_t>(rank) * 40503u) >> 3);
  if (reduce_op == "product")
    return (i + rank) % ranks < 6 && mix % 2 == 0 ? 2 : (mix % 3 == 0 && dtype != DType::u8 ? -1 : 1);
  if (dtype == DType::boolean) return static_cast<double>(mix % 2);
  const int64_t most = dtype == DType::i8 ? 127 : 256;
  const int64_t bound = std::max<int64_t>(1, most / std::max(ranks, 4));
  const int64_t value = mix % (2 * bound + 1) - bound;
  return static_cast<double>(dtype == DType::u8 ? std::abs(value) : value);
}

Tensor exact_tensor(const std::string& reduce_op, DType dtype, const Shape& shape, int ranks, int rank) {
  std::vector<double> values;
  const int64_t parts = is_complex(dtype) ? 2 : 1;
  for (int64_t i = 0; i < element_count(shape) * parts; ++i)
    values.push_back(element(reduce_op, dtype, ranks, rank, i));
  if (!is_integral(dtype)) return Tensor::from_doubles(dtype, shape, values);
  return Tensor::from_ints(dtype, shape, {values.begin(), values.end()});
}

ValueId all_reduce(RankCase& c, int rank, ValueId x, const std::string& op) {
  return c.call(rank, "_c10d_functional::all_reduce.default",
                {{"input", ValueArg{x}}, {"reduce_op", op}, {"group_name", std::string("world")}});
}

void all_reduce_exact(int n, const std::string& op, const DTypeCase& dtype, const std::string& variant,
                      const Shape& shape, const CaseSink& sink) {
  RankCase c(n, fmt::format("all_reduce/{}/{}/{}", op, dtype.name, variant));
  for (int r = 0; r < n; ++r)
    c.output(r, all_reduce(c, r, c.fixed(r, "x", exact_tensor(op, dtype.dtype, shape, n, r)), op));
  c.checks().exact_probe = true;
  sink(c.build());
}

void all_reduces(int n, const CaseSink& sink) {
  const Shape odd{7, 5};
  for (const char* op : {"sum", "min", "max", "product", "avg"}) {
    for (const DTypeCase& dtype : kFloats) {
      if (std::string(op) == "avg" && !is_power_of_two(n)) continue;
      all_reduce_exact(n, op, dtype, "exact", odd, sink);
    }
    if (std::string(op) == "avg") continue;
    for (const DTypeCase& dtype : kIntegers) all_reduce_exact(n, op, dtype, "exact", odd, sink);
  }
  for (const char* op : {"band", "bor", "bxor"}) {
    all_reduce_exact(n, op, {DType::i32, "i32"}, "exact", odd, sink);
    all_reduce_exact(n, op, {DType::u8, "u8"}, "exact", odd, sink);
    all_reduce_exact(n, op, {DType::boolean, "bool"}, "exact", odd, sink);
  }
  for (const char* op : {"min", "max"}) all_reduce_exact(n, op, {DType::boolean, "bool"}, "exact", odd, sink);
  all_reduce_exact(n, "sum", {DType::c64, "c64"}, "exact", odd, sink);
  // Counts around the number of ranks, where blocks are uneven or empty.
  for (const int64_t count :
       {int64_t{0}, int64_t{1}, int64_t{n - 1}, int64_t{n}, int64_t{n + 1}, int64_t{4096}, int64_t{10007}}) {
    if (count == n - 1 && n <= 2) continue;
    if (n == 1 && count == n) continue;
    all_reduce_exact(n, "sum", {DType::f32, "f32"}, fmt::format("count-{}", count), {count}, sink);
    all_reduce_exact(n, "sum", {DType::bf16, "bf16"}, fmt::format("count-{}", count), {count}, sink);
  }
  all_reduce_exact(n, "sum", {DType::f32, "f32"}, "0d", {}, sink);
  // Rows without columns.
  for (const char* op : {"sum", "max", "product"})
    all_reduce_exact(n, op, {DType::f32, "f32"}, "no-columns", {4, 0}, sink);
  // Sums beyond the dtype's range: integers wrap around.
  for (const DTypeCase& dtype : kIntegers) {
    RankCase c(n, fmt::format("all_reduce/sum/{}/wraps", dtype.name));
    const int bits = static_cast<int>(size_of(dtype.dtype)) * 8 - (dtype.dtype == DType::u8 ? 0 : 1);
    const auto most = static_cast<int64_t>((uint64_t{1} << bits) - 1);
    for (int r = 0; r < n; ++r) {
      c.output(r,
               all_reduce(c, r, c.fixed(r, "x", Tensor::from_ints(dtype.dtype, {4}, {most, most - r, r, 1})),
                          "sum"));
    }
    c.checks().exact_probe = true;
    sink(c.build());
  }
  for (const char* op : {"sum", "avg", "product"}) {
    for (const DTypeCase& dtype : kFloats) {
      RankCase c(n, fmt::format("all_reduce/{}/{}/drawn", op, dtype.name));
      const bool product = std::string(op) == "product";
      for (int r = 0; r < n; ++r) {
        c.output(
            r,
            all_reduce(c, r, c.draw(r, "x", dtype.dtype, {32, 32}, product ? 1 : 0, product ? 0.25 : 1), op));
      }
      // The gate's formula is that of sums.
      c.checks().suite_drawn = std::string(op) == "sum";
      sink(c.build());
    }
  }
  // Sums of one sign, and sums whose terms cancel: the Bound goes with the sum of magnitudes.
  for (const bool cancels : {false, true}) {
    RankCase c(n, fmt::format("all_reduce/sum/bf16/{}", cancels ? "cancels" : "positive"));
    for (int r = 0; r < n; ++r) {
      const double center = cancels ? (r % 2 == 0 ? 100 : -100) : 2;
      c.output(r, all_reduce(c, r, c.draw(r, "x", DType::bf16, {1000}, center, 1), "sum"));
    }
    sink(c.build());
  }
  // 256 on rank 0 and 1 elsewhere: a sum that is rounded to bf16 at every hop stands still at 256.
  {
    RankCase c(n, "all_reduce/sum/bf16/stagnates");
    for (int r = 0; r < n; ++r) {
      c.output(r, all_reduce(c, r,
                             c.fixed(r, "x",
                                     Tensor::from_doubles(DType::bf16, {65},
                                                          std::vector<double>(65, r == 0 ? 256 : 1))),
                             "sum"));
    }
    sink(c.build());
  }
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  struct Special {
    const char* name;
    std::vector<double> first, others;
  };
  // The last two elements are ordinary, so that not everything is special.
  const Special specials[] = {{"infinities", {inf, -inf, inf, 1, 2}, {1, 1, inf, 1, 2}},
                              {"nan", {nan, 1, nan, 1, 2}, {1, 1, nan, 1, 2}},
                              {"signed-zeros", {-0.0, 0.0, -0.0, 1, 2}, {-0.0, -0.0, 1, 1, 2}},
                              {"large", {3e38, -3e38, 1e-38, 1, 2}, {0, 0, 0, 1, 2}},
                              {"subnormal", {1e-40, -1e-40, 1e-45, 1, 2}, {0, 1e-40, 0, 1, 2}}};
  for (const Special& special : specials) {
    for (const char* op : {"sum", "max", "min"}) {
      RankCase c(n, fmt::format("all_reduce/{}/f32/{}", op, special.name));
      for (int r = 0; r < n; ++r) {
        const auto tensor = Tensor::from_doubles(DType::f32, {5}, r == 0 ? special.first : special.others);
        c.output(r, all_reduce(c, r, c.fixed(r, "x", tensor), op));
      }
      c.checks().nan_policy = true;
      sink(c.build());
    }
  }
}

// Roots at both ends and in the middle.
std::vector<int> roots(int n) {
  std::vector<int> roots{0};
  if (n > 2) roots.push_back(n / 2);
  if (n > 1) roots.push_back(n - 1);
  return roots;
}

void reduces(int n, const CaseSink& sink) {
  for (const int root : roots(n)) {
    for (const char* op : {"sum", "max"}) {
      for (const DTypeCase& dtype :
           {DTypeCase{DType::f32, "f32"}, {DType::bf16, "bf16"}, {DType::i32, "i32"}}) {
        RankCase c(n, fmt::format("reduce/{}/{}/root-{}", op, dtype.name, root));
        for (int r = 0; r < n; ++r) {
          const ValueId x = c.fixed(r, "x", exact_tensor(op, dtype.dtype, {7, 5}, n, r));
          c.output(r, c.call(r, "assay::reduce.default",
                             {{"input", ValueArg{x}},
                              {"reduce_op", std::string(op)},
                              {"dst", int64_t{root}},
                              {"group_name", std::string("world")}}));
        }
        c.checks().exact_probe = true;
        sink(c.build());
      }
    }
  }
}

void reduce_scatters(int n, const CaseSink& sink) {
  const auto one = [&](const std::string& name, const std::string& op, const DTypeCase& dtype, int64_t rows,
                       bool drawn) {
    RankCase c(n, fmt::format("reduce_scatter/{}/{}/{}", op, dtype.name, name));
    for (int r = 0; r < n; ++r) {
      const Shape shape{rows * n, 3};
      const ValueId x = drawn ? c.draw(r, "x", dtype.dtype, shape)
                              : c.fixed(r, "x", exact_tensor(op, dtype.dtype, shape, n, r));
      c.output(r, c.call(r, "_c10d_functional::reduce_scatter_tensor.default",
                         {{"input", ValueArg{x}},
                          {"reduce_op", op},
                          {"group_size", int64_t{n}},
                          {"group_name", std::string("world")}}));
    }
    c.checks().exact_probe = !drawn;
    sink(c.build());
  };
  for (const char* op : {"sum", "max", "min", "product"}) {
    for (const DTypeCase& dtype : kFloats) one("exact", op, dtype, 5, false);
    one("exact", op, {DType::i32, "i32"}, 5, false);
  }
  if (is_power_of_two(n)) one("exact", "avg", {DType::f32, "f32"}, 5, false);
  one("empty", "sum", {DType::f32, "f32"}, 0, false);
  one("rows-1", "sum", {DType::f32, "f32"}, 1, false);
  for (const DTypeCase& dtype : kFloats) {
    one("drawn", "sum", dtype, 11, true);
    one("drawn", "avg", dtype, 11, true);
  }
  for (const auto& [name, sizes] : uneven_sizes(n)) {
    RankCase c(n, fmt::format("reduce_scatter/sum/f32/{}", name));
    int64_t rows = 0;
    for (const int64_t size : sizes) rows += size;
    for (int r = 0; r < n; ++r) {
      const ValueId x = c.fixed(r, "x", exact_tensor("sum", DType::f32, {rows, 3}, n, r));
      c.output(r, c.call(r, "assay::reduce_scatter_v.default",
                         {{"input", ValueArg{x}},
                          {"reduce_op", std::string("sum")},
                          {"sizes", IntListArg{sizes, {}}},
                          {"rank", int64_t{r}},
                          {"group_name", std::string("world")}}));
    }
    c.checks().exact_probe = true;
    sink(c.build());
  }
}

}  // namespace

std::vector<NamedSizes> uneven_sizes(int n) {
  std::vector<int64_t> growing, alternating, last(static_cast<std::size_t>(n), 0), sharded;
  // torch.chunk of 2 n + 2 rows, as FSDP shards them: trailing ranks have fewer rows, or none.
  const int64_t rows = 2 * n + 2, chunk = (rows + n - 1) / n;
  for (int64_t r = 0; r < n; ++r) {
    growing.push_back(r);
    alternating.push_back(r % 2 == 0 ? 3 : 0);
    sharded.push_back(std::clamp<int64_t>(rows - r * chunk, 0, chunk));
  }
  last.back() = 5;
  return {{"growing", growing}, {"alternating", alternating}, {"last-only", last}, {"sharded", sharded}};
}

void make_reductions(int n, const CaseSink& sink) {
  all_reduces(n, sink);
  reduces(n, sink);
  reduce_scatters(n, sink);
}

}  // namespace assay::suites
