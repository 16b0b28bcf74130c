// What ran where: fallbacks with their price, and the share that stayed on the device.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/opset/call.h"
#include "harness/record/record.h"

namespace assay {

// What a node weighs in residency shares (core/opset/classify.h).
struct NodeCost {
  double flops = 0;
  double bytes = 0;  // read and written
};
NodeCost node_cost(const OpCall& call);

class Ledger {
 public:
  void device_node(const NodeCost& cost);
  void metadata_node() { ++metadata_; }
  void host_scalar() { ++host_scalar_; }
  // A node that the harness ran. `counted`: it weighs in the shares (metadata-only operators do not).
  void fallback_node(const std::string& op, const std::string& reason, const NodeCost& cost, bool counted);
  // Bytes and seconds that a fallback causes, at any time after its node (copies back happen when they are
  // needed).
  void fallback_cost(const std::string& op, const std::string& reason, int64_t bytes, double seconds);

  std::vector<Fallback> fallbacks() const;  // by operator, then reason
  Residency residency() const;              // 1 where nothing could be shared
  int64_t fallback_count() const;
  double fallback_seconds() const;  // on the host, of all fallbacks
  int64_t device_count() const { return device_count_; }

 private:
  std::map<std::pair<std::string, std::string>, Fallback> fallbacks_;
  NodeCost device_, total_;
  int64_t device_count_ = 0, count_ = 0, metadata_ = 0, host_scalar_ = 0;
};

}  // namespace assay
