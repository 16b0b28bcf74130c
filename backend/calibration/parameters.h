// Parameters of a workload while it is built; for the workloads' files only.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "backend/calibration/workloads.h"
#include "core/dtype.h"

namespace assay::backend {

class WorkloadParameters {
 public:
  WorkloadParameters(const Workload& workload, std::string origin)
      : workload_(workload), origin_(std::move(origin)) {}

  // Whole numbers of at least `least`; the second form has a default.
  int64_t integer(const std::string& name, int64_t least = 1);
  int64_t integer(const std::string& name, int64_t least, int64_t otherwise);
  DType dtype(const std::string& name, DType otherwise);
  // Throws if a parameter was given that nobody asked for.
  void finish() const;
  [[noreturn]] void fail(const std::string& what) const;

 private:
  const Workload& workload_;
  std::string origin_;
  std::set<std::string> read_;
};

BuiltWorkload vector_add(const CoreDescription& core, WorkloadParameters& p);
BuiltWorkload copy_in(const CoreDescription& core, WorkloadParameters& p);
BuiltWorkload activation_chain(const CoreDescription& core, WorkloadParameters& p);
BuiltWorkload matrix_product(const CoreDescription& core, WorkloadParameters& p);
BuiltWorkload convolution(const CoreDescription& core, WorkloadParameters& p);
BuiltWorkload mlp_context(const CoreDescription& core, WorkloadParameters& p);
BuiltWorkload mlp_token(const CoreDescription& core, WorkloadParameters& p);
BuiltWorkload projection_token(const CoreDescription& core, WorkloadParameters& p);
BuiltWorkload rmsnorm_quantise(const CoreDescription& core, WorkloadParameters& p);

}  // namespace assay::backend
