#include "backend/runtime/collective_node.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "backend/collectives/cost.h"
#include "backend/collectives/execute.h"
#include "core/error.h"

namespace assay::backend {
namespace {

using plugin::Failure;
using plugin::NodeView;

constexpr std::string_view kSpace = "ranks::";

int64_t count_of(const plugin::Meta& meta) {
  int64_t count = 1;
  for (const int64_t size : meta.sizes) count *= size;
  return count;
}
// Elements of one row.
int64_t elements_of_a_row(const plugin::Meta& meta) {
  int64_t count = 1;
  for (std::size_t d = 1; d < meta.sizes.size(); ++d) count *= meta.sizes[d];
  return count;
}

std::optional<assay_argument> argument(const NodeView& node, std::string_view name) {
  for (std::size_t i = 0; i < node.argument_count(); ++i) {
    const assay_argument found = node.argument(i);
    if (found.name != nullptr && name == found.name) return found;
  }
  return std::nullopt;
}
std::vector<int64_t> sizes_of(const NodeView& node) {
  const auto sizes = argument(node, "sizes");
  if (!sizes || sizes->kind != ASSAY_ARG_INT_LIST) {
    throw Failure(ASSAY_INVALID_ARGUMENT, node.op() + ": sizes is missing");
  }
  return {sizes->ints, sizes->ints + sizes->count};
}

// send_recv is a permute between two entries.
CollectiveOp op_of(std::string_view name) {
  name.remove_prefix(kSpace.size());
  name = without_overload(name);
  if (name == "send_recv") return CollectiveOp::permute;
  for (int i = 0; i < kCollectiveOps; ++i) {
    const auto op = static_cast<CollectiveOp>(i);
    if (name_of(op) == name && op != CollectiveOp::permute && op != CollectiveOp::barrier) return op;
  }
  throw Error(ErrorCode::unknown_operator, "no collective " + std::string(name));
}

Collective collective_of(const NodeView& node) {
  Collective c;
  c.op = op_of(node.op());
  c.ranks = static_cast<int>(node.input_count());
  if (c.ranks == 0 || node.output_count() != node.input_count()) {
    throw Failure(ASSAY_INVALID_ARGUMENT, node.op() + ": one input and one output for each rank");
  }
  const plugin::Meta first = node.input(0);
  c.dtype = static_cast<DType>(first.dtype);
  if (const auto root = argument(node, "root"); root && root->count > 0)
    c.root = static_cast<int>(root->ints[0]);
  if (const auto reduction = argument(node, "reduce_op"); reduction && reduction->text != nullptr) {
    c.reduction = parse_reduction(reduction->text);
  }
  switch (c.op) {
    case CollectiveOp::all_reduce:
    case CollectiveOp::reduce:
    case CollectiveOp::broadcast:
      c.counts = {count_of(first)};
      break;
    case CollectiveOp::permute:
      c.counts = {count_of(first)};
      c.pairs = {{0, 1}};
      break;
    case CollectiveOp::all_gather:
    case CollectiveOp::gather:
      for (std::size_t r = 0; r < node.input_count(); ++r) c.counts.push_back(count_of(node.input(r)));
      break;
    case CollectiveOp::reduce_scatter:
    case CollectiveOp::scatter:
    case CollectiveOp::all_to_all:
      for (const int64_t rows : sizes_of(node)) c.counts.push_back(rows * elements_of_a_row(first));
      break;
    case CollectiveOp::barrier:
      break;
  }
  return c;
}

// Instances of a generation, the smallest first, by the logical cores that they have.
const Topology* topology_for(Generation generation, int lnc, int ranks) {
  static std::mutex mutex;
  static std::map<std::pair<const InstanceDescription*, int>, std::unique_ptr<const Topology>> made;
  const std::scoped_lock lock(mutex);
  const Topology* best = nullptr;
  for (const InstanceDescription& instance : instances()) {
    if (instance.generation != generation) continue;
    auto& topology = made[{&instance, lnc}];
    if (topology == nullptr) topology = std::make_unique<const Topology>(instance, lnc);
    if (topology->cores() >= ranks && (best == nullptr || topology->cores() < best->cores()))
      best = topology.get();
  }
  return best;
}

assay_reason reason_for(const Collective& c) {
  if (c.dtype == DType::f64) return ASSAY_REASON_FLOAT64;
  if (is_complex(c.dtype)) return ASSAY_REASON_COMPLEX;
  return ASSAY_REASON_ARGUMENT;
}

// Nothing leaves the core.
CollectiveReport message_to_itself(Device& device, std::span<const HbmBinding> inputs,
                                   std::span<const HbmBinding> outputs) {
  for (const HbmBinding& out : outputs) {
    if (out.bytes != 0) std::memcpy(out.data, inputs[0].data, out.bytes);
  }
  ++device.counters().nodes_executed;
  return {name_of(Algorithm::mesh).data(), {0, 0}, {0, 0}, 0};
}

}  // namespace

bool is_rank_collective(const std::string& op) { return op.starts_with(kSpace); }

Device::Support supports_collective(const Device& device, int world, const NodeView& node) {
  Device::Support support;
  const auto no = [&](assay_reason reason, std::string message) {
    support.reason = reason;
    support.message = std::move(message);
    return support;
  };
  Collective c;
  try {
    c = collective_of(node);
    c.validate();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::unknown_operator) return no(ASSAY_REASON_OPERATOR, error.what());
    c.dtype = static_cast<DType>(node.input(0).dtype);
    return no(reason_for(c), node.op() + ": " + error.what());
  }
  if (c.reduces() && c.dtype == DType::f8e4m3fn && !device.core().f8e4m3fn) {
    return no(ASSAY_REASON_DTYPE,
              node.op() + ": f8_e4m3fn does not exist on " + std::string(device.core().name) + " (EVRF051)");
  }
  if (topology_for(device.core().generation, device.lnc(), std::max(world, c.ranks)) == nullptr) {
    return no(ASSAY_REASON_SHAPE, node.op() + ": no instance of this generation has " +
                                      std::to_string(c.ranks) + " logical cores");
  }
  support.supported = true;
  support.native = Native::engines;
  return support;
}

CollectiveReport run_collective(std::span<Device* const> ranks, const std::vector<int>& cores, int world,
                                const NodeView& node, std::span<const HbmBinding> inputs,
                                std::span<const HbmBinding> outputs) {
  const Collective c = collective_of(node);
  if (c.op == CollectiveOp::permute && cores[0] == cores[1])
    return message_to_itself(*ranks.front(), inputs, outputs);
  Device& first = *ranks.front();
  const Topology* topology = topology_for(first.core().generation, first.lnc(), world);
  if (topology == nullptr)
    throw Failure(ASSAY_UNSUPPORTED, node.op() + ": too many ranks", ASSAY_REASON_SHAPE);
  const Group group{topology, cores};
  const Plan plan = make_plan(c, group);

  std::vector<Tensor> given;
  for (int r = 0; r < c.ranks; ++r) {
    const HbmBinding& in = inputs[static_cast<std::size_t>(r)];
    const int64_t count = c.input_count(r);
    given.push_back(count == 0 ? Tensor(c.dtype, {0})
                               : Tensor::from_bytes(c.dtype, {count}, in.data, in.bytes));
  }
  const std::vector<Tensor> results = execute(plan, given, {first.integers_through_f32()});
  for (std::size_t r = 0; r < results.size(); ++r) {
    // Who takes no part in a result keeps what it has: the others of a reduce, the sender of a message.
    const HbmBinding& out = outputs[r];
    const bool kept = c.output_count(static_cast<int>(r)) == 0 && out.bytes == inputs[r].bytes;
    const Tensor result = kept || !results[r].defined() ? Tensor() : results[r].contiguous();
    if (kept) {
      if (out.bytes != 0) std::memcpy(out.data, inputs[r].data, out.bytes);
    } else if (result.defined() && result.bytes() == out.bytes) {
      if (out.bytes != 0) std::memcpy(out.data, result.data(), out.bytes);
    } else if (out.bytes != 0) {
      throw Failure(ASSAY_INTERNAL, node.op() + ": a result of another size");
    }
  }

  const CollectiveTime time = collective_time(plan.schedule, group);
  double begin = 0;
  for (Device* device : ranks) begin = std::max(begin, device->counters().device_seconds);
  for (Device* device : ranks)
    device->count_collective(node.name(), static_cast<uint64_t>(c.size_bytes()), begin, time.seconds);
  ++first.counters().nodes_executed;
  CollectiveReport report;
  report.algorithm = name_of(plan.schedule.algorithm).data();
  const CollectiveLedger ledger = collective_ledger(plan.schedule, group);
  report.staged = static_cast<uint64_t>(staged_bytes(plan.schedule, group));
  report.sent.assign(ledger.sent.begin(), ledger.sent.end());
  report.received.assign(ledger.received.begin(), ledger.received.end());
  return report;
}

}  // namespace assay::backend
