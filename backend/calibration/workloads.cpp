#include "backend/calibration/workloads.h"

#include <charconv>

#include "backend/calibration/parameters.h"
#include "core/error.h"

namespace assay::backend {
namespace {

struct Entry {
  const char* name;
  const char* parameters;
  BuiltWorkload (*build)(const CoreDescription&, WorkloadParameters&);
};

constexpr Entry kWorkloads[] = {
    {"vector_add", "n= [partitions=128] [columns=1] [dtype=f32]: loops of two loads, an addition and a store",
     vector_add},
    {"copy_in", "partitions= columns= [dtype=bf16]: one DMA from HBM to SBUF", copy_in},
    {"activation_chain", "count= [columns=1]: activations that each need the one before", activation_chain},
    {"matrix_product", "m= k= n= [dtype=bf16]", matrix_product},
    {"conv2d", "in= out= height= width= [kernel=3] [pool=1] [dtype=f16]: valid, stride 1, with bias",
     convolution},
    {"mlp_context", "tokens= hidden= intermediate= [cores=1]: gated MLP with RMSNorm, weights resident",
     mlp_context},
    {"mlp_token", "tokens= hidden= intermediate= [cores=1]: gated MLP of few tokens, weights streamed",
     mlp_token},
    {"projection_token", "tokens= hidden= outputs= [cores=1]: RMSNorm and projection of few tokens",
     projection_token},
    {"rmsnorm_quantise", "tokens= hidden= [cores=1]: RMSNorm, then rows to fp8 by their largest value",
     rmsnorm_quantise},
};

std::string known() {
  std::string out;
  for (const Entry& entry : kWorkloads) out += (out.empty() ? "" : ", ") + std::string(entry.name);
  return out;
}

}  // namespace

Workload parse_workload(const std::string& text, const std::string& origin) {
  Workload out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    at = end + 1;
    if (word.empty()) continue;
    if (out.name.empty()) {
      out.name = word;
      continue;
    }
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == word.size()) {
      throw Error(ErrorCode::invalid_argument,
                  origin + ": workload parameter \"" + word + "\" is not NAME=VALUE");
    }
    if (!out.parameters.emplace(word.substr(0, equals), word.substr(equals + 1)).second) {
      throw Error(ErrorCode::invalid_argument,
                  origin + ": workload parameter " + word.substr(0, equals) + " is given twice");
    }
  }
  if (out.name.empty())
    throw Error(ErrorCode::invalid_argument, origin + ": the workload is empty; there are " + known());
  return out;
}

BuiltWorkload build(const Workload& workload, const CoreDescription& core, const std::string& origin) {
  for (const Entry& entry : kWorkloads) {
    if (workload.name != entry.name) continue;
    WorkloadParameters parameters(workload, origin);
    return entry.build(core, parameters);
  }
  throw Error(ErrorCode::invalid_argument,
              origin + ": unknown workload \"" + workload.name + "\"; there are " + known());
}

std::vector<std::string> workload_descriptions() {
  std::vector<std::string> out;
  for (const Entry& entry : kWorkloads) out.push_back(std::string(entry.name) + " " + entry.parameters);
  return out;
}

void WorkloadParameters::fail(const std::string& what) const {
  throw Error(ErrorCode::invalid_argument, origin_ + ": workload " + workload_.name + ": " + what);
}

int64_t WorkloadParameters::integer(const std::string& name, int64_t least) {
  if (!workload_.parameters.contains(name)) fail("parameter " + name + " is missing");
  return integer(name, least, least);
}

int64_t WorkloadParameters::integer(const std::string& name, int64_t least, int64_t otherwise) {
  constexpr int64_t kMost = int64_t{1} << 30;
  read_.insert(name);
  const auto it = workload_.parameters.find(name);
  if (it == workload_.parameters.end()) return otherwise;
  int64_t value = 0;
  const char* end = it->second.data() + it->second.size();
  const auto [stop, error] = std::from_chars(it->second.data(), end, value);
  if (error != std::errc() || stop != end || value < least || value > kMost) {
    fail("parameter " + name + "=" + it->second + " is no whole number from " + std::to_string(least) +
         " to " + std::to_string(kMost));
  }
  return value;
}

DType WorkloadParameters::dtype(const std::string& name, DType otherwise) {
  read_.insert(name);
  const auto it = workload_.parameters.find(name);
  if (it == workload_.parameters.end()) return otherwise;
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    if (it->second == name_of(dtype)) return dtype;
  }
  fail("parameter " + name + "=" + it->second + " is none of f32, bf16, f16");
}

void WorkloadParameters::finish() const {
  for (const auto& [name, value] : workload_.parameters) {
    if (!read_.contains(name)) fail("it has no parameter " + name);
  }
}

}  // namespace assay::backend
