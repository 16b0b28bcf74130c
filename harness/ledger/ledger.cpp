#include "harness/ledger/ledger.h"

#include "core/opset/classify.h"

namespace assay {

NodeCost node_cost(const OpCall& call) { return {flops_of(call), bytes_of(call)}; }

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

double Ledger::fallback_seconds() const {
  double seconds = 0;
  for (const auto& [key, fallback] : fallbacks_) seconds += fallback.seconds;
  return seconds;
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
