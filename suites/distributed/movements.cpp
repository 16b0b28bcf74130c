// Collectives that move without computing: all_gather, gather, scatter, all_to_all, broadcast, send and
// receive, barrier. Every element says where it came from.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "suites/distributed/families.h"

namespace assay::suites {
namespace {

const std::string kWorld = "world";

// Bits of every kind that the dtype has: what moves is not looked at. Differs over ranks and elements.
Tensor marked(DType dtype, const Shape& shape, int rank) {
  Tensor tensor(dtype, shape);
  auto* bytes = reinterpret_cast<uint8_t*>(tensor.mutable_data());
  uint32_t state = 2166136261u ^ static_cast<uint32_t>(rank * 7919 + 17);
  for (std::size_t i = 0; i < tensor.bytes(); ++i) {
    state = state * 1664525u + 1013904223u;
    bytes[i] = static_cast<uint8_t>(dtype == DType::boolean ? (state >> 30) & 1 : state >> 24);
  }
  if (is_float(dtype) || is_complex(dtype)) {
    // A NaN's payload is nobody's: its place gets an ordinary number.
    std::vector<double> values = tensor.to_doubles();
    for (double& value : values) value = value == value ? value : rank + 1;
    return Tensor::from_doubles(dtype, shape, values);
  }
  return tensor;
}

IntListArg list(const std::vector<int64_t>& values) { return {values, {}}; }

void all_gathers(int n, const CaseSink& sink) {
  for (const DType dtype : all_dtypes()) {
    RankCase c(n, fmt::format("all_gather/{}/equal", name_of(dtype)));
    for (int r = 0; r < n; ++r) {
      const ValueId x = c.fixed(r, "x", marked(dtype, {3, 2}, r));
      c.output(r, c.call(r, "_c10d_functional::all_gather_into_tensor.default",
                         {{"input", ValueArg{x}}, {"group_size", int64_t{n}}, {"group_name", kWorld}}));
    }
    sink(c.build());
  }
  for (const int64_t rows : {0, 1, 513}) {
    RankCase c(n, fmt::format("all_gather/f32/rows-{}", rows));
    for (int r = 0; r < n; ++r) {
      const ValueId x = c.fixed(r, "x", marked(DType::f32, {rows}, r));
      c.output(r, c.call(r, "_c10d_functional::all_gather_into_tensor.default",
                         {{"input", ValueArg{x}}, {"group_size", int64_t{n}}, {"group_name", kWorld}}));
    }
    sink(c.build());
  }
  const auto by_sizes = [&](DType dtype, const std::string& name, const std::vector<int64_t>& sizes) {
    RankCase c(n, fmt::format("all_gather/{}/{}", name_of(dtype), name));
    for (int r = 0; r < n; ++r) {
      const ValueId x = c.fixed(r, "x", marked(dtype, {sizes[static_cast<std::size_t>(r)], 3}, r));
      c.output(r, c.call(r, "assay::all_gather_v.default",
                         {{"input", ValueArg{x}}, {"sizes", list(sizes)}, {"group_name", kWorld}}));
    }
    sink(c.build());
  };
  for (const auto& [name, sizes] : uneven_sizes(n)) by_sizes(DType::f32, name, sizes);
  for (const DType dtype : all_dtypes()) {
    by_sizes(dtype, "equal-by-sizes", std::vector<int64_t>(static_cast<std::size_t>(n), 3));
  }
}

void gathers_and_scatters(int n, const CaseSink& sink) {
  std::vector<NamedSizes> all = uneven_sizes(n);
  all.emplace_back("equal", std::vector<int64_t>(static_cast<std::size_t>(n), 4));
  for (const auto& [name, sizes] : all) {
    const int64_t rows = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
    std::vector<int> roots{0};
    if (n > 1) roots.push_back(n - 1);
    for (const int root : roots) {
      // Every dtype in one form; rows and roots of every kind in three.
      const bool every = name == "equal" && root == n - 1;
      for (const DType dtype : every ? all_dtypes() : std::vector{DType::f32, DType::bf16, DType::i64}) {
        const std::string variant = fmt::format("{}/{}/root-{}", name_of(dtype), name, root);
        RankCase gather(n, "gather/" + variant), scatter(n, "scatter/" + variant);
        for (int r = 0; r < n; ++r) {
          const int64_t own = sizes[static_cast<std::size_t>(r)];
          const ValueId x = gather.fixed(r, "x", marked(dtype, {own, 3}, r));
          gather.output(r, gather.call(r, "assay::gather.default",
                                       {{"input", ValueArg{x}},
                                        {"dst", int64_t{root}},
                                        {"sizes", list(sizes)},
                                        {"rank", int64_t{r}},
                                        {"group_name", kWorld}}));
          // Only the root has something to give.
          const ValueId y = scatter.fixed(r, "x", marked(dtype, {r == root ? rows : 0, 3}, r));
          scatter.output(r, scatter.call(r, "assay::scatter.default",
                                         {{"input", ValueArg{y}},
                                          {"src", int64_t{root}},
                                          {"sizes", list(sizes)},
                                          {"rank", int64_t{r}},
                                          {"group_name", kWorld}}));
        }
        sink(gather.build());
        sink(scatter.build());
      }
    }
  }
}

// sizes[from][to]
using Matrix = std::vector<std::vector<int64_t>>;

ValueId all_to_all(RankCase& c, int rank, ValueId x, const Matrix& sizes) {
  std::vector<int64_t> received;
  for (const auto& row : sizes) received.push_back(row[static_cast<std::size_t>(rank)]);
  return c.call(rank, "_c10d_functional::all_to_all_single.default",
                {{"input", ValueArg{x}},
                 {"output_split_sizes", list(received)},
                 {"input_split_sizes", list(sizes[static_cast<std::size_t>(rank)])},
                 {"group_name", kWorld}});
}

Matrix matrix(int n, auto&& size) {
  Matrix m(static_cast<std::size_t>(n));
  for (int from = 0; from < n; ++from) {
    for (int to = 0; to < n; ++to) m[static_cast<std::size_t>(from)].push_back(size(from, to));
  }
  return m;
}

void all_to_alls(int n, const CaseSink& sink) {
  const std::pair<const char*, Matrix> patterns[] = {
      {"equal", matrix(n, [](int, int) { return 2; })},
      {"mixed", matrix(n, [](int from, int to) { return (from * 2 + to) % 3; })},
      {"one-sender", matrix(n, [](int from, int) { return from == 0 ? 3 : 0; })},
      {"one-receiver", matrix(n, [&](int, int to) { return to == n - 1 ? 3 : 0; })},
      {"nothing", matrix(n, [](int, int) { return 0; })},
      {"diagonal", matrix(n, [](int from, int to) { return from == to ? 4 : 0; })},
      {"shift", matrix(n, [&](int from, int to) { return (from + 1) % n == to ? 5 : 0; })}};
  for (const auto& [name, sizes] : patterns) {
    for (const DType dtype : all_dtypes()) {
      const bool first = std::string(name) == "equal";
      if (!first && dtype != DType::f32 && dtype != DType::bf16) continue;
      RankCase c(n, fmt::format("all_to_all/{}/{}", name_of(dtype), name));
      for (int r = 0; r < n; ++r) {
        const auto& row = sizes[static_cast<std::size_t>(r)];
        const int64_t rows = std::accumulate(row.begin(), row.end(), int64_t{0});
        c.output(r, all_to_all(c, r, c.fixed(r, "x", marked(dtype, {rows, 2}, r)), sizes));
      }
      sink(c.build());
    }
  }
  // There and back again: the identity.
  RankCase c(n, "all_to_all/f32/twice");
  const Matrix sizes = matrix(n, [](int from, int to) { return (from + 2 * to) % 4; });
  const Matrix back = matrix(n, [&](int from, int to) {
    return sizes[static_cast<std::size_t>(to)][static_cast<std::size_t>(from)];
  });
  for (int r = 0; r < n; ++r) {
    const auto& row = sizes[static_cast<std::size_t>(r)];
    const int64_t rows = std::accumulate(row.begin(), row.end(), int64_t{0});
    c.output(r, all_to_all(c, r, all_to_all(c, r, c.fixed(r, "x", marked(DType::f32, {rows, 2}, r)), sizes),
                           back));
  }
  sink(c.build());
}

void broadcasts(int n, const CaseSink& sink) {
  const auto one = [&](DType dtype, const std::string& name, const Shape& shape, int root) {
    RankCase c(n, fmt::format("broadcast/{}/{}", name_of(dtype), name));
    for (int r = 0; r < n; ++r) {
      // The inputs of the others differ from the root's and must not be seen.
      const ValueId x = c.fixed(r, "x", marked(dtype, shape, r));
      c.output(r, c.call(r, "_c10d_functional::broadcast.default",
                         {{"input", ValueArg{x}}, {"src", int64_t{root}}, {"group_name", kWorld}}));
    }
    sink(c.build());
  };
  for (const DType dtype : all_dtypes()) one(dtype, "root-0", {7, 5}, 0);
  for (int root = 1; root < std::min(n, 8); ++root)
    one(DType::f32, fmt::format("root-{}", root), {7, 5}, root);
  for (const int64_t count : {0, 1, 10007}) one(DType::f32, fmt::format("count-{}", count), {count}, n - 1);
  one(DType::f32, "0d", {}, 0);
}

ValueId send(RankCase& c, int rank, ValueId x, int to, int64_t tag, const std::string& group = kWorld) {
  return c.at(rank).call(
      "_c10d_functional::isend.default",
      {{"tensor", ValueArg{x}}, {"dst", int64_t{to}}, {"tag", tag}, {"group_name", group}});
}
ValueId receive(RankCase& c, int rank, const TensorMeta& meta, const std::string& name, int from, int64_t tag,
                const std::string& group = kWorld) {
  const ValueId buffer = c.fixed(rank, name, Tensor(meta.dtype, meta.shape));
  return c.at(rank).call(
      "_c10d_functional::irecv.default",
      {{"tensor", ValueArg{buffer}}, {"src", int64_t{from}}, {"tag", tag}, {"group_name", group}});
}

void messages(int n, const CaseSink& sink) {
  for (const DType dtype : all_dtypes()) {
    const bool brief = dtype != DType::f32 && dtype != DType::bf16 && dtype != DType::i64;
    for (const int64_t count : brief ? std::vector<int64_t>{5} : std::vector<int64_t>{0, 1, 1000}) {
      // Everybody receives from the left before sending to the right: with waits at the end nobody blocks.
      RankCase c(n, fmt::format("send_recv/{}/ring-{}", name_of(dtype), count));
      for (int r = 0; r < n; ++r) {
        const ValueId got = receive(c, r, {dtype, {count}}, "buffer", (r + n - 1) % n, 0);
        const ValueId sent = send(c, r, c.fixed(r, "x", marked(dtype, {count}, r)), (r + 1) % n, 0);
        c.output(r, c.wait(r, got));
        c.wait(r, sent);
      }
      sink(c.build());
    }
  }
  {
    // Two messages to the same rank, taken in the other order by their tags.
    RankCase c(n, "send_recv/f32/tags-crossed");
    for (int r = 0; r < n; ++r) {
      const int right = (r + 1) % n, left = (r + n - 1) % n;
      const ValueId second = receive(c, r, {DType::f32, {4}}, "second", left, 2);
      const ValueId first = receive(c, r, {DType::f32, {4}}, "first", left, 1);
      const ValueId a = send(c, r, c.fixed(r, "a", marked(DType::f32, {4}, 2 * r)), right, 1);
      const ValueId b = send(c, r, c.fixed(r, "b", marked(DType::f32, {4}, 2 * r + 1)), right, 2);
      c.output(r, c.wait(r, first));
      c.output(r, c.wait(r, second));
      c.wait(r, a);
      c.wait(r, b);
    }
    sink(c.build());
  }
  // Messages of one pair and tag arrive in the order in which they were sent, whichever is waited for first.
  for (const bool last_first : {false, true}) {
    RankCase c(n, last_first ? "send_recv/f32/in-order-waited-last-first" : "send_recv/f32/in-order");
    for (int r = 0; r < n; ++r) {
      std::vector<ValueId> posted;
      for (int k = 0; k < 3; ++k) {
        posted.push_back(receive(c, r, {DType::f32, {4}}, fmt::format("buffer{}", k), (r + n - 1) % n, 7));
      }
      for (int k = 0; k < 3; ++k) {
        const ValueId x = c.fixed(r, fmt::format("x{}", k), marked(DType::f32, {4}, 3 * r + k));
        c.wait(r, send(c, r, x, (r + 1) % n, 7));
      }
      if (last_first) std::reverse(posted.begin(), posted.end());
      for (const ValueId id : posted) c.output(r, c.wait(r, id));
    }
    sink(c.build());
  }
  {
    // Messages of one pair and tag in two groups of the same ranks, taken in the other order.
    RankCase c(n, "send_recv/f32/groups-crossed");
    for (const char* group : {"one", "two"}) c.group(group, c.members("world"));
    for (int r = 0; r < n; ++r) {
      const int right = (r + 1) % n, left = (r + n - 1) % n;
      const ValueId two = receive(c, r, {DType::f32, {4}}, "second", left, 3, "two");
      const ValueId one = receive(c, r, {DType::f32, {4}}, "first", left, 3, "one");
      const ValueId a = send(c, r, c.fixed(r, "a", marked(DType::f32, {4}, 2 * r)), right, 3, "one");
      const ValueId b = send(c, r, c.fixed(r, "b", marked(DType::f32, {4}, 2 * r + 1)), right, 3, "two");
      for (const ValueId id : {two, one}) c.output(r, c.wait(r, id));
      for (const ValueId id : {a, b}) c.wait(r, id);
    }
    sink(c.build());
  }
}

}  // namespace

void make_movements(int n, const CaseSink& sink) {
  all_gathers(n, sink);
  gathers_and_scatters(n, sink);
  all_to_alls(n, sink);
  broadcasts(n, sink);
  messages(n, sink);
}

}  // namespace assay::suites
