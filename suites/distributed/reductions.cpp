// all_reduce, reduce and reduce_scatter, of every dtype: exact integers, drawn numbers under their Bound,
// special values, reductions that are not defined.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "core/error.h"

#include "suites/distributed/families.h"

namespace assay::suites {
namespace {

constexpr DType kFloats[] = {DType::f32, DType::bf16, DType::f16, DType::f64};
constexpr DType kIntegers[] = {DType::i64, DType::i32, DType::i16, DType::i8, DType::u8};
constexpr DType kBesideFloats[] = {DType::c64, DType::c128, DType::f8e4m3fn, DType::f8e5m2, DType::f8e4m3};

// Whether every order, and scaling before or after the sum, gives one exact average.
bool is_power_of_two(int n) { return (n & (n - 1)) == 0; }

// The largest integer up to which all of them are exact, 256 (bf16's) at most.
int64_t exact_integers(DType dtype) {
  if (dtype == DType::i8) return 127;
  if (is_integral(dtype)) return 256;
  return std::min(int64_t{256}, int64_t{1} << float_format(dtype).precision);
}

// One element of one rank such that all partial results over any subset of ranks are exact in the dtype:
// sums stay within its exact integers, so that few of many ranks have more than zeros for fp8; products
// within 2^6.
double element(const std::string& reduce_op, DType dtype, int ranks, int rank, int64_t i) {
  const auto mix = static_cast<int64_t>(
      (static_cast<uint64_t>(i) * 2654435761u + static_cast<uint64_t>(rank) * 40503u) >> 3);
  if (reduce_op == "product")
    return (i + rank) % ranks < 6 && mix % 2 == 0 ? 2 : (mix % 3 == 0 && dtype != DType::u8 ? -1 : 1);
  if (dtype == DType::boolean) return static_cast<double>(mix % 2);
  const int64_t most = exact_integers(dtype);
  const int64_t bound = std::max<int64_t>(1, most / std::max(ranks, 4));
  if ((i + rank) % ranks >= most / bound) return 0;
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

// The operators that reduce.
struct Reducer {
  const char* name;     // of its cases
  const char* variant;  // of their last part
  bool scatters;
  ValueId (*call)(RankCase& c, int rank, ValueId x, const std::string& op, DType dtype, bool checked);
};

ValueId called(RankCase& c, int rank, const char* op, std::vector<NamedArgument> arguments,
               const TensorMeta& result, bool checked) {
  return checked ? c.call(rank, op, std::move(arguments))
                 : c.declared(rank, op, std::move(arguments), result);
}

constexpr int64_t kRows = 5, kColumns = 7;
// Rows of each rank's block where blocks differ.
std::vector<int64_t> scattered_rows(int n) {
  std::vector<int64_t> rows;
  for (int64_t r = 0; r < n; ++r) rows.push_back((r + 1) % 3);
  return rows;
}

const Reducer kReducers[] = {
    {"all_reduce", "", false,
     [](RankCase& c, int rank, ValueId x, const std::string& op, DType dtype, bool checked) {
       return called(c, rank, "_c10d_functional::all_reduce.default",
                     {{"input", ValueArg{x}}, {"reduce_op", op}, {"group_name", std::string("world")}},
                     {dtype, {kColumns, kRows}}, checked);
     }},
    {"reduce", "", false,
     [](RankCase& c, int rank, ValueId x, const std::string& op, DType dtype, bool checked) {
       return called(c, rank, "assay::reduce.default",
                     {{"input", ValueArg{x}},
                      {"reduce_op", op},
                      {"dst", int64_t{c.ranks() / 2}},
                      {"group_name", std::string("world")}},
                     {dtype, {kColumns, kRows}}, checked);
     }},
    {"reduce_scatter", "", true,
     [](RankCase& c, int rank, ValueId x, const std::string& op, DType dtype, bool checked) {
       return called(c, rank, "_c10d_functional::reduce_scatter_tensor.default",
                     {{"input", ValueArg{x}},
                      {"reduce_op", op},
                      {"group_size", int64_t{c.ranks()}},
                      {"group_name", std::string("world")}},
                     {dtype, {kRows, 3}}, checked);
     }},
    {"reduce_scatter", "-by-sizes", true,
     [](RankCase& c, int rank, ValueId x, const std::string& op, DType dtype, bool checked) {
       const std::vector<int64_t> rows = scattered_rows(c.ranks());
       return called(c, rank, "assay::reduce_scatter_v.default",
                     {{"input", ValueArg{x}},
                      {"reduce_op", op},
                      {"sizes", IntListArg{rows, {}}},
                      {"rank", int64_t{rank}},
                      {"group_name", std::string("world")}},
                     {dtype, {rows[static_cast<std::size_t>(rank)], 3}}, checked);
     }}};

Shape input_shape(const Reducer& reducer, int n) {
  if (!reducer.scatters) return {kColumns, kRows};
  if (*reducer.variant == 0) return {kRows * n, 3};
  const std::vector<int64_t> rows = scattered_rows(n);
  return {std::accumulate(rows.begin(), rows.end(), int64_t{0}), 3};
}

// What the operators' own rule says of a reduction; "" if it is defined.
std::string refusal(const std::string& op, DType dtype) {
  GraphBuilder builder("");
  const ValueId x = builder.input("x", dtype, {1});
  try {
    builder.results_of("_c10d_functional::all_reduce.default",
                       {{"input", ValueArg{x}}, {"reduce_op", op}, {"group_name", std::string("world")}});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Every operator, reduction and dtype: crafted numbers whose result does not depend on the order, or, where
// the reduction is not defined, a call that all must refuse.
void every_reduction(int n, const CaseSink& sink) {
  for (const Reducer& reducer : kReducers) {
    for (const std::string& op : all_reductions()) {
      for (const DType dtype : all_dtypes()) {
        const bool defined = refusal(op, dtype).empty();
        // Elsewhere averages are no short numbers: those are drawn.
        if (defined && op == "avg" && !is_power_of_two(n)) continue;
        RankCase c(
            n, defined ? fmt::format("{}/{}/{}/exact{}", reducer.name, op, name_of(dtype), reducer.variant)
                       : fmt::format("bad/{}{}-{}-of-{}", reducer.name, reducer.variant, op, name_of(dtype)));
        for (int r = 0; r < n; ++r) {
          const ValueId x = c.fixed(r, "x", exact_tensor(op, dtype, input_shape(reducer, n), n, r));
          c.output(r, reducer.call(c, r, x, op, dtype, defined));
        }
        c.checks().exact_probe = defined;
        sink(defined ? c.build() : c.refused({reducer.name, op, std::string(name_of(dtype))}));
      }
    }
  }
}

// Draws of recipes have 24 bits, whose sums are exact in f64: numbers with all 53.
Tensor full_width(DType dtype, const Shape& shape, int rank, double center, double scale) {
  std::vector<double> values;
  uint64_t state = 0x9e3779b97f4a7c15u * static_cast<uint64_t>(rank + 1);
  for (int64_t i = 0; i < element_count(shape) * (is_complex(dtype) ? 2 : 1); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    values.push_back(center + scale * (static_cast<double>(state >> 11) * 0x1p-52 - 1));
  }
  return Tensor::from_doubles(dtype, shape, values);
}

// Numbers of all kinds under their Bound. That of a sum of so many fp8 numbers that each rounding may be as
// large as what is added says nothing.
void drawn_reductions(int n, const CaseSink& sink) {
  std::vector<DType> dtypes(std::begin(kFloats), std::end(kFloats));
  dtypes.insert(dtypes.end(), std::begin(kBesideFloats), std::end(kBesideFloats));
  for (const Reducer& reducer : kReducers) {
    for (const char* op : {"sum", "avg", "product"}) {
      for (const DType dtype : dtypes) {
        if (!refusal(op, dtype).empty() || (n - 1) * float_format(dtype).unit_roundoff() >= 0.5) continue;
        const bool all = std::string(reducer.name) == "all_reduce", product = std::string(op) == "product";
        RankCase c(n, fmt::format("{}/{}/{}/drawn{}", reducer.name, op, name_of(dtype), reducer.variant));
        for (int r = 0; r < n; ++r) {
          const Shape shape = all ? Shape{32, 32} : input_shape(reducer, n);
          const double center = product ? 1 : 0, scale = product ? 0.25 : 1;
          const ValueId x = real_part(dtype) == DType::f64
                                ? c.fixed(r, "x", full_width(dtype, shape, r, center, scale))
                                : c.draw(r, "x", dtype, shape, center, scale);
          c.output(r, reducer.call(c, r, x, op, dtype, true));
        }
        // The gate's formula is that of sums.
        c.checks().suite_drawn = all && std::string(op) == "sum";
        sink(c.build());
      }
    }
  }
}

void all_reduce_exact(int n, const std::string& op, DType dtype, const std::string& variant,
                      const Shape& shape, const CaseSink& sink) {
  RankCase c(n, fmt::format("all_reduce/{}/{}/{}", op, name_of(dtype), variant));
  for (int r = 0; r < n; ++r)
    c.output(r, all_reduce(c, r, c.fixed(r, "x", exact_tensor(op, dtype, shape, n, r)), op));
  c.checks().exact_probe = true;
  sink(c.build());
}

void all_reduces(int n, const CaseSink& sink) {
  // Counts around the number of ranks, where blocks are uneven or empty.
  for (const int64_t count :
       {int64_t{0}, int64_t{1}, int64_t{n - 1}, int64_t{n}, int64_t{n + 1}, int64_t{4096}, int64_t{10007}}) {
    if (count == n - 1 && n <= 2) continue;
    if (n == 1 && count == n) continue;
    all_reduce_exact(n, "sum", DType::f32, fmt::format("count-{}", count), {count}, sink);
    all_reduce_exact(n, "sum", DType::bf16, fmt::format("count-{}", count), {count}, sink);
  }
  all_reduce_exact(n, "sum", DType::f32, "0d", {}, sink);
  // Rows without columns.
  for (const char* op : {"sum", "max", "product"})
    all_reduce_exact(n, op, DType::f32, "no-columns", {4, 0}, sink);
  // Sums beyond the dtype's range: integers wrap around.
  for (const DType dtype : kIntegers) {
    RankCase c(n, fmt::format("all_reduce/sum/{}/wraps", name_of(dtype)));
    const int bits = static_cast<int>(size_of(dtype)) * 8 - (dtype == DType::u8 ? 0 : 1);
    const auto most = static_cast<int64_t>((uint64_t{1} << bits) - 1);
    for (int r = 0; r < n; ++r) {
      c.output(
          r, all_reduce(c, r, c.fixed(r, "x", Tensor::from_ints(dtype, {4}, {most, most - r, r, 1})), "sum"));
    }
    c.checks().exact_probe = true;
    sink(c.build());
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
    for (const DType dtype : {DType::f32, DType::bf16, DType::i32}) {
      RankCase c(n, fmt::format("reduce/sum/{}/root-{}", name_of(dtype), root));
      for (int r = 0; r < n; ++r) {
        const ValueId x = c.fixed(r, "x", exact_tensor("sum", dtype, {7, 5}, n, r));
        c.output(r, c.call(r, "assay::reduce.default",
                           {{"input", ValueArg{x}},
                            {"reduce_op", std::string("sum")},
                            {"dst", int64_t{root}},
                            {"group_name", std::string("world")}}));
      }
      c.checks().exact_probe = true;
      sink(c.build());
    }
  }
}

void reduce_scatters(int n, const CaseSink& sink) {
  for (const int64_t rows : {0, 1}) {
    RankCase c(n, fmt::format("reduce_scatter/sum/f32/rows-{}", rows));
    for (int r = 0; r < n; ++r) {
      const ValueId x = c.fixed(r, "x", exact_tensor("sum", DType::f32, {rows * n, 3}, n, r));
      c.output(r, c.call(r, "_c10d_functional::reduce_scatter_tensor.default",
                         {{"input", ValueArg{x}},
                          {"reduce_op", std::string("sum")},
                          {"group_size", int64_t{n}},
                          {"group_name", std::string("world")}}));
    }
    c.checks().exact_probe = true;
    sink(c.build());
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

std::vector<DType> all_dtypes() {
  std::vector<DType> all;
  for (int number = 1; is_valid(static_cast<DType>(number)); ++number)
    all.push_back(static_cast<DType>(number));
  return all;
}

std::vector<std::string> all_reductions() {
  return {"sum", "avg", "product", "min", "max", "band", "bor", "bxor"};
}

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
  every_reduction(n, sink);
  drawn_reductions(n, sink);
  all_reduces(n, sink);
  reduces(n, sink);
  reduce_scatters(n, sink);
}

}  // namespace assay::suites
