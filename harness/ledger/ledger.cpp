#include "harness/ledger/ledger.h"

#include <algorithm>

namespace assay {
namespace {

double elements(const TensorMeta& meta) { return static_cast<double>(element_count(meta.shape)); }

double elements(const std::vector<TensorMeta>& metas) {
  double sum = 0;
  for (const TensorMeta& meta : metas) sum += elements(meta);
  return sum;
}

double bytes(const std::vector<TensorMeta>& metas) {
  double sum = 0;
  for (const TensorMeta& meta : metas) sum += elements(meta) * static_cast<double>(size_of(meta.dtype));
  return sum;
}

// Index of the left operand of a matrix product, -1 for other operators.
int product_operand(const std::string& op) {
  if (op == "aten::mm.default" || op == "aten::bmm.default" || op == "aten::mv.default" ||
      op == "aten::dot.default")
    return 0;
  if (op == "aten::addmm.default" || op == "aten::baddbmm.default" || op == "aten::addmv.default") return 1;
  return -1;
}

}  // namespace

NodeCost node_cost(const std::string& op, const std::vector<TensorMeta>& inputs,
                   const std::vector<TensorMeta>& outputs) {
  NodeCost cost;
  cost.bytes = bytes(inputs) + bytes(outputs);
  const auto left = static_cast<std::size_t>(std::max(product_operand(op), 0));
  if (product_operand(op) >= 0 && left < inputs.size() && !inputs[left].shape.empty()) {
    cost.flops = 2 * elements(outputs) * static_cast<double>(inputs[left].shape.back());
  } else if (op == "aten::convolution.default" && inputs.size() >= 2 && !inputs[1].shape.empty() &&
             inputs[1].shape[0] > 0) {
    cost.flops = 2 * elements(outputs) * elements(inputs[1]) / static_cast<double>(inputs[1].shape[0]);
  } else {
    double largest = elements(outputs);
    for (const TensorMeta& input : inputs) largest = std::max(largest, elements(input));
    cost.flops = largest;
  }
  return cost;
}

void Ledger::device_node(const NodeCost& cost) {
  ++device_count_;
  ++count_;
  device_.flops += cost.flops;
  device_.bytes += cost.bytes;
  total_.flops += cost.flops;
  total_.bytes += cost.bytes;
}

void Ledger::fallback_node(const std::string& op, const std::string& reason, const NodeCost& cost,
                           bool counted) {
  Fallback& fallback = fallbacks_[{op, reason}];
  fallback.op = op;
  fallback.reason = reason;
  ++fallback.count;
  if (!counted) return;
  ++count_;
  total_.flops += cost.flops;
  total_.bytes += cost.bytes;
}

void Ledger::fallback_cost(const std::string& op, const std::string& reason, int64_t bytes, double seconds) {
  Fallback& fallback = fallbacks_[{op, reason}];
  fallback.op = op;
  fallback.reason = reason;
  fallback.bytes += bytes;
  fallback.seconds += seconds;
}

std::vector<Fallback> Ledger::fallbacks() const {
  std::vector<Fallback> out;
  for (const auto& [key, fallback] : fallbacks_) out.push_back(fallback);
  return out;
}

int64_t Ledger::fallback_count() const {
  int64_t count = 0;
  for (const auto& [key, fallback] : fallbacks_) count += fallback.count;
  return count;
}

Residency Ledger::residency() const {
  const auto share = [](double part, double whole) { return whole > 0 ? part / whole : 1.0; };
  Residency residency;
  residency.nodes = share(static_cast<double>(device_count_), static_cast<double>(count_));
  residency.flops = share(device_.flops, total_.flops);
  residency.bytes = share(device_.bytes, total_.bytes);
  residency.metadata = metadata_;
  residency.host_scalar = host_scalar_;
  return residency;
}

}  // namespace assay
