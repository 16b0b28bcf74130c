#include "core/distributed/collective.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/opset/checks.h"

namespace assay {
namespace {

constexpr std::array<std::pair<std::string_view, Collective>, 13> kOperators{{
    {"_c10d_functional::all_reduce.default", Collective::all_reduce},
    {"_c10d_functional::all_gather_into_tensor.default", Collective::all_gather},
    {"_c10d_functional::reduce_scatter_tensor.default", Collective::reduce_scatter},
    {"_c10d_functional::all_to_all_single.default", Collective::all_to_all},
    {"_c10d_functional::broadcast.default", Collective::broadcast},
    {"_c10d_functional::isend.default", Collective::send},
    {"_c10d_functional::irecv.default", Collective::receive},
    {"assay::all_gather_v.default", Collective::all_gather},
    {"assay::barrier.default", Collective::barrier},
    {"assay::gather.default", Collective::gather},
    {"assay::reduce.default", Collective::reduce},
    {"assay::reduce_scatter_v.default", Collective::reduce_scatter},
    {"assay::scatter.default", Collective::scatter},
}};

std::string text_of(const TensorMeta& meta) {
  return std::string(name_of(meta.dtype)) + to_string(meta.shape);
}

int position_argument(const OpCall& call, std::string_view name, int ranks) {
  const int64_t position = call.integer(name);
  if (position < 0 || position >= ranks) {
    rules::fail(call, "{} is {}, outside of the group's {} ranks", name, position, ranks);
  }
  return static_cast<int>(position);
}

std::vector<int64_t> split_sizes(const OpCall& call, std::string_view name, int ranks) {
  std::vector<int64_t> sizes = call.integers(name);
  if (static_cast<int>(sizes.size()) != ranks) {
    rules::fail(call, "{} has {} entries; it must have one for each of the group's {} ranks", name,
                sizes.size(), ranks);
  }
  return sizes;
}

void require_group_size(const OpCall& call, int ranks) {
  if (call.integer("group_size") == ranks) return;
  rules::fail(call, "group_size is {}; the group has {} ranks", call.integer("group_size"), ranks);
}

void require_position(const OpCall& call, const CollectiveCall& made) {
  if (call.integer("rank") == made.position) return;
  rules::fail(call, "rank is {}; the calling rank {} has position {} in group '{}'", call.integer("rank"),
              made.rank(), made.position, made.group);
}

// Shapes without the rows that may differ over ranks.
Shape row_shape(const TensorMeta& meta) {
  return meta.shape.empty() ? Shape{} : Shape(meta.shape.begin() + 1, meta.shape.end());
}

// Contributions may differ in their number of rows, which `sizes` declares.
bool uneven(const CollectiveCall& call) {
  switch (call.kind) {
    case Collective::all_gather:
    case Collective::gather:
    case Collective::scatter:
      return !call.sizes.empty();
    case Collective::all_to_all:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::vector<int> ProcessGroups::members(const std::string& name) const {
  std::vector<int> ranks;
  if (name == "world") {
    for (int r = 0; r < world_size; ++r) ranks.push_back(r);
  } else if (const auto found = groups.find(name); found != groups.end()) {
    ranks = found->second;
  }
  return ranks;
}

std::string ProcessGroups::names() const {
  std::string text = "world";
  for (const auto& [name, ranks] : groups) text += ", " + name;
  return text;
}

void ProcessGroups::check() const {
  const auto fail = [](const std::string& what) { throw Error(ErrorCode::invalid_argument, what); };
  if (world_size < 1 || world_size > kMaxRanks) {
    fail(fmt::format("a world of {} ranks; it must have from 1 to {}", world_size, kMaxRanks));
  }
  for (const auto& [name, ranks] : groups) {
    if (name == "world") fail("the group \"world\" is that of all ranks; give another name");
    if (ranks.empty()) fail(fmt::format("group '{}' has no ranks", name));
    std::set<int> seen;
    for (const int rank : ranks) {
      if (rank < 0 || rank >= world_size) {
        fail(fmt::format("group '{}' has rank {}, outside of the world's {} ranks", name, rank, world_size));
      }
      if (!seen.insert(rank).second) fail(fmt::format("group '{}' has rank {} twice", name, rank));
    }
  }
}

std::string_view name_of(Collective kind) {
  static constexpr std::string_view names[] = {"all_reduce",     "reduce",  "all_gather", "gather",
                                               "reduce_scatter", "scatter", "all_to_all", "broadcast",
                                               "send",           "receive", "barrier"};
  return names[static_cast<std::size_t>(kind)];
}

std::string CollectiveCall::text() const {
  std::string out(name_of(kind));
  if (!reduce_op.empty()) out += "(" + reduce_op + ")";
  if (kind != Collective::barrier) out += " of " + text_of(input);
  if (root >= 0) out += fmt::format(" with root {}", root);
  return out;
}

bool is_collective(std::string_view op) {
  if (is_wait(op)) return false;
  if (op.starts_with("_c10d_functional::") || op.starts_with("_c10d_functional_autograd::")) return true;
  return std::any_of(kOperators.begin(), kOperators.end(),
                     [&](const auto& entry) { return entry.first == op; });
}

bool is_wait(std::string_view op) {
  return op == "_c10d_functional::wait_tensor.default" ||
         op == "_c10d_functional::_wrap_tensor_autograd.default";
}

CollectiveCall collective_call(const OpCall& call, const std::string& node, const ProcessGroups& groups,
                               int rank) {
  const auto entry = std::find_if(kOperators.begin(), kOperators.end(),
                                  [&](const auto& known) { return known.first == call.op(); });
  if (entry == kOperators.end()) {
    throw Error(ErrorCode::unsupported,
                call.op() + ": no such collective is run, or the call has not the form of its schema");
  }
  CollectiveCall made;
  made.kind = entry->second;
  made.node = node;
  made.group = call.string("group_name");
  made.members = groups.members(made.group);
  if (made.members.empty()) {
    rules::fail(call, "unknown group '{}'; there are: {}", made.group, groups.names());
  }
  const auto mine = std::find(made.members.begin(), made.members.end(), rank);
  if (mine == made.members.end()) {
    rules::fail(call, "rank {} is not in group '{}' of ranks {}", rank, made.group,
                to_string(Shape(made.members.begin(), made.members.end())));
  }
  made.position = static_cast<int>(mine - made.members.begin());
  const int ranks = made.ranks();
  if (made.kind != Collective::barrier) made.input = call.input(0);
  switch (made.kind) {
    case Collective::all_reduce:
      break;
    case Collective::reduce:
      made.root = position_argument(call, "dst", ranks);
      break;
    case Collective::all_gather:
      if (call.schema().find("sizes") == nullptr) {
        require_group_size(call, ranks);
      } else {
        made.sizes = split_sizes(call, "sizes", ranks);
        const int64_t own = made.sizes[static_cast<std::size_t>(made.position)];
        if (made.input.shape.empty() || made.input.shape[0] != own) {
          rules::fail(call, "input has shape {}; sizes says {} rows for position {}",
                      to_string(made.input.shape), own, made.position);
        }
      }
      break;
    case Collective::gather:
      made.root = position_argument(call, "dst", ranks);
      made.sizes = split_sizes(call, "sizes", ranks);
      require_position(call, made);
      break;
    case Collective::scatter:
      made.root = position_argument(call, "src", ranks);
      made.sizes = split_sizes(call, "sizes", ranks);
      require_position(call, made);
      break;
    case Collective::reduce_scatter:
      if (call.schema().find("sizes") == nullptr) {
        require_group_size(call, ranks);
      } else {
        made.sizes = split_sizes(call, "sizes", ranks);
        require_position(call, made);
      }
      break;
    case Collective::all_to_all:
      made.sizes = split_sizes(call, "input_split_sizes", ranks);
      made.received = split_sizes(call, "output_split_sizes", ranks);
      break;
    case Collective::broadcast:
      made.root = position_argument(call, "src", ranks);
      break;
    case Collective::send:
    case Collective::receive:
      made.peer = position_argument(call, made.kind == Collective::send ? "dst" : "src", ranks);
      made.tag = call.integer("tag");
      break;
    case Collective::barrier:
      break;
  }
  if (call.schema().find("reduce_op") != nullptr) made.reduce_op = call.string("reduce_op");
  if (!infer(call)) throw Error(ErrorCode::internal, call.op() + " has no shape rule");
  return made;
}

CollectiveCall collective_call(const Graph& program, const Node& node, const ProcessGroups& groups,
                               int rank) {
  CollectiveCall call = collective_call(OpCall(program, node), node.name, groups, rank);
  call.line = node.source.location;
  for (const Node& other : program.nodes) {
    const NamedArgument* name = other.find("group_name");
    const auto* text = name == nullptr ? nullptr : std::get_if<std::string>(&name->value);
    if (text != nullptr && *text == call.group) call.lines.push_back(other.source.location);
  }
  return call;
}

namespace {

bool has(const std::vector<std::string>& lines, const std::string& line) {
  return std::find(lines.begin(), lines.end(), line) != lines.end();
}

std::string order_difference(const std::vector<CollectiveCall>& calls) {
  const CollectiveCall& first = calls.front();
  for (const CollectiveCall& other : calls) {
    if (first.line.empty() || other.line.empty() || first.line == other.line) continue;
    if (!has(first.lines, other.line) || !has(other.lines, first.line)) continue;
    return fmt::format("rank {} and rank {} differ in order: rank {} calls {} of {}, rank {} {} of {}",
                       other.rank(), first.rank(), other.rank(), name_of(other.kind), other.line,
                       first.rank(), name_of(first.kind), first.line);
  }
  return "";
}

}  // namespace

std::string difference(const std::vector<CollectiveCall>& calls) {
  const CollectiveCall& first = calls.front();
  const auto differ = [&](const CollectiveCall& other, const std::string& what) {
    return fmt::format("rank {} and rank {} differ in {}: rank {} calls {}, rank {} {}", other.rank(),
                       first.rank(), what, other.rank(), other.text(), first.rank(), first.text());
  };
  for (const CollectiveCall& other : calls) {
    if (other.kind != first.kind) return differ(other, "operation");
    if (other.reduce_op != first.reduce_op) return differ(other, "reduce_op");
    if (other.root != first.root) return differ(other, "root");
    if (other.input.dtype != first.input.dtype) return differ(other, "dtype");
    // Only the root's input of a scatter is read, but all of them declare dtype and columns.
    if (uneven(first)) {
      if (row_shape(other.input) != row_shape(first.input)) return differ(other, "shape");
      if (first.kind != Collective::all_to_all && other.sizes != first.sizes) {
        return differ(other, "sizes") +
               fmt::format(" (sizes {} and {})", to_string(other.sizes), to_string(first.sizes));
      }
    } else {
      if (element_count(other.input.shape) != element_count(first.input.shape)) return differ(other, "count");
      if (other.input.shape != first.input.shape) return differ(other, "shape");
      if (other.sizes != first.sizes) return differ(other, "sizes");
    }
  }
  if (first.kind != Collective::all_to_all) return order_difference(calls);
  for (const CollectiveCall& from : calls) {
    for (const CollectiveCall& to : calls) {
      const int64_t sent = from.sizes[static_cast<std::size_t>(to.position)];
      const int64_t expected = to.received[static_cast<std::size_t>(from.position)];
      if (sent == expected) continue;
      return fmt::format(
          "rank {} and rank {} differ in split sizes: in all_to_all rank {} sends {} rows to rank {}, which "
          "expects {}",
          from.rank(), to.rank(), from.rank(), sent, to.rank(), expected);
    }
  }
  return order_difference(calls);
}

std::string difference(const CollectiveCall& send, const CollectiveCall& receive) {
  if (send.input == receive.input) return "";
  const char* what = send.input.dtype != receive.input.dtype                                 ? "dtype"
                     : element_count(send.input.shape) != element_count(receive.input.shape) ? "count"
                                                                                             : "shape";
  return fmt::format("rank {} and rank {} differ in {}: rank {} calls send of {}, rank {} receive of {}",
                     send.rank(), receive.rank(), what, send.rank(), text_of(send.input), receive.rank(),
                     text_of(receive.input));
}

}  // namespace assay
