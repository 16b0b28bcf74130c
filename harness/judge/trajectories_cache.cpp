#include "harness/judge/trajectories_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "core/error.h"
#include "core/graph/json.h"
#include "core/io/file.h"
#include "core/io/safetensors.h"
#include "core/philox.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using reference::Wide;

// Another program may replay otherwise.
uint64_t program_digest() {
  static const uint64_t digest = fnv1a64(read_file("/proc/self/exe"));
  return digest;
}

uint64_t digest_of(const Tensor& tensor) {
  const Tensor flat = tensor.contiguous();
  return fnv1a64(std::string_view(reinterpret_cast<const char*>(flat.data()), flat.bytes()));
}

// Modes that no rule tells apart share their trajectories.
std::string mode_of(const JudgeRequest& request) {
  const auto& rules = request.contract.rules();
  const bool matters =
      std::any_of(rules.begin(), rules.end(), [](const ContractRule& rule) { return rule.mode != "*"; });
  return matters ? request.mode : "any";
}

Tensor tensor_of(const Wide& wide) {
  return wide.is_integral() ? Tensor::from_ints(DType::i64, wide.meta.shape, wide.integer)
                            : Tensor::from_doubles(DType::f64, wide.meta.shape, wide.real);
}

std::vector<Wide> split_steps(const Tensor& tensor, const TensorMeta& meta) {
  const auto steps = static_cast<std::size_t>(tensor.size(0));
  const auto width = static_cast<std::ptrdiff_t>(element_count(meta.shape));
  const std::vector<double> real = is_integral(meta.dtype) ? std::vector<double>{} : tensor.to_doubles();
  const std::vector<int64_t> integer = is_integral(meta.dtype) ? tensor.to_ints() : std::vector<int64_t>{};
  std::vector<Wide> split(steps);
  for (std::size_t t = 0; t < steps; ++t) {
    const auto first = static_cast<std::ptrdiff_t>(t) * width;
    split[t].meta = meta;
    if (is_integral(meta.dtype)) {
      split[t].integer.assign(integer.begin() + first, integer.begin() + first + width);
    } else {
      split[t].real.assign(real.begin() + first, real.begin() + first + width);
    }
  }
  return split;
}

std::string tensor_name(std::size_t trajectory, std::size_t output) {
  return fmt::format("{}.{}", trajectory, output);
}

}  // namespace

Wide joined_steps(std::span<const Wide> steps) {
  Wide joined;
  joined.meta = steps[0].meta;
  joined.meta.shape.insert(joined.meta.shape.begin(), static_cast<int64_t>(steps.size()));
  for (const Wide& step : steps) {
    joined.real.insert(joined.real.end(), step.real.begin(), step.real.end());
    joined.integer.insert(joined.integer.end(), step.integer.begin(), step.integer.end());
  }
  return joined;
}

TrajectoriesCache::TrajectoriesCache(const StepsRequest& request) : request_(request) {
  if (request.cache_dir.empty()) return;
  const JudgeRequest& of = request.request;
  key_ = fmt::format("judge {:016x} graph {:016x} case {} seed {} steps {} replays {} contract {} mode {}",
                     program_digest(), fnv1a64(graph_to_json(*of.graph)), of.case_id, of.seed, request.steps,
                     kStepReplays, of.contract.hash(), mode_of(of));
  for (const auto& [key, value] : of.options) key_ += fmt::format(" {}={}", key, value);
  for (const auto& [output, name] : request.carry) key_ += fmt::format(" {}->{}", output, name);
  for (const Tensor& input : of.inputs) key_ += fmt::format(" {:016x}", digest_of(input));
  if (of.backend_is_reference) key_ += " decomposed";
  path_ = (fs::path(request.cache_dir) / "trajectories" / fmt::format("{:016x}.safetensors", fnv1a64(key_)))
              .string();
}

std::optional<std::vector<Observations>> TrajectoriesCache::find() const {
  std::error_code none;
  if (path_.empty() || !fs::exists(path_, none)) return std::nullopt;
  try {
    const TensorFile file = read_safetensors(path_);
    const auto key = file.metadata.find("key");
    if (key == file.metadata.end() || key->second != key_) return std::nullopt;
    const Graph& graph = *request_.request.graph;
    const std::vector<std::size_t> observed = observed_outputs(graph, request_.carry);
    std::vector<Observations> found(1 + static_cast<std::size_t>(kStepReplays));
    for (std::size_t t = 0; t < found.size(); ++t) {
      for (std::size_t o = 0; o < observed.size(); ++o) {
        const Value& value = graph.values.at(static_cast<std::size_t>(graph.outputs.at(observed[o]).value));
        const auto tensor = file.tensors.find(tensor_name(t, o));
        Shape shape = value.shape;
        shape.insert(shape.begin(), request_.steps);
        const DType stored = is_integral(value.dtype) ? DType::i64 : DType::f64;
        if (tensor == file.tensors.end() || tensor->second.shape() != shape ||
            tensor->second.dtype() != stored) {
          return std::nullopt;
        }
        found[t].push_back(split_steps(tensor->second, {value.dtype, value.shape}));
      }
    }
    return found;
  } catch (const Error&) {
    return std::nullopt;  // torn or foreign: computed again
  }
}

void TrajectoriesCache::keep(const std::vector<Observations>& trajectories) const {
  if (path_.empty()) return;
  TensorFile file;
  file.metadata["key"] = key_;
  for (std::size_t t = 0; t < trajectories.size(); ++t) {
    for (std::size_t o = 0; o < trajectories[t].size(); ++o) {
      file.tensors[tensor_name(t, o)] = tensor_of(joined_steps(trajectories[t][o]));
    }
  }
  try {
    fs::create_directories(fs::path(path_).parent_path());
    write_safetensors(path_, file);
  } catch (const std::exception&) {
    // The next judgement computes them again.
  }
}

}  // namespace assay
