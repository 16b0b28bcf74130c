#include "backend/device/neuronlink.h"

#include <cstdlib>
#include <string>

#include "core/error.h"

namespace assay::backend {
namespace {

constexpr int64_t kKiB = 1024, kMiB = kKiB * kKiB;
constexpr const char* kStepDocumented =
    "AWS Neuron SDK, intranode-collective-comm.rst: 1-2 us a hop of ring and KangaRing";
constexpr const char* kFitted = "fitted: assay bench collectives";
constexpr const char* kAsTrn2 = "invented: as Trn2";
constexpr const char* kMesh = "AWS Neuron SDK, intranode-collective-comm.rst: mesh below 1 MB";
constexpr const char* kRecursive =
    "AWS Neuron SDK, intranode-collective-comm.rst: recursive doubling and halving from 1 to 56 MB";
constexpr const char* kSingleStep =
    "invented: nccom-test.rst (--show-algorithm) has the time of mesh double between 8 KiB and 128 KiB, as "
    "from "
    "one exchange to two";

constexpr NeuronLinkDescription kLinks[] = {
    {.generation = Generation::trn1,
     .name = "NeuronLink-v2",
     .link_bytes_per_ns = {48, "derived: 384 GB/s a chip (SDK hardware) over 4 neighbours and 2 directions"},
     .outer_bytes_per_ns = {0, "no UltraServer"},
     .collective_launch_us = {3.637, kFitted},
     .step_us = {1.5, kStepDocumented},
     .stream_bytes_per_ns = {69.28, kFitted},
     .hbm_efficiency = {0.73, kAsTrn2},
     .single_step_limit = {32 * kKiB, kSingleStep},
     .mesh_limit = {kMiB, kMesh},
     .recursive_limit = {56 * kMiB, kRecursive}},
    {.generation = Generation::trn2,
     .name = "NeuronLink-v3",
     .link_bytes_per_ns =
         {128,
          "derived: 1,024 GB/s a chip within the instance (SDK hardware, trn2-arch.rst) over "
          "4 neighbours and 2 directions"},
     .outer_bytes_per_ns = {64,
                            "derived: 256 GB/s a chip between instances (SDK hardware, trn2-arch.rst) over 2 "
                            "neighbours and 2 directions"},
     .collective_launch_us = {7.961, kFitted},
     .step_us = {4.888, kFitted},
     .stream_bytes_per_ns = {102.56, kFitted},
     .hbm_efficiency = {0.73, kFitted},
     .single_step_limit = {32 * kKiB, kSingleStep},
     .mesh_limit = {kMiB, kMesh},
     .recursive_limit = {56 * kMiB, kRecursive}},
    {.generation = Generation::trn3,
     .name = "NeuronLink-v4",
     .link_bytes_per_ns = {1280, "derived: 2,560 GB/s a chip (SDK hardware), through a switch, 2 directions"},
     .outer_bytes_per_ns = {0, "all chips are on one switch"},
     .collective_launch_us = {7.961, kAsTrn2},
     .step_us = {4.888, kAsTrn2},
     .stream_bytes_per_ns = {102.56, kAsTrn2},
     .hbm_efficiency = {0.73, kAsTrn2},
     .single_step_limit = {32 * kKiB, kSingleStep},
     .mesh_limit = {kMiB, kMesh},
     .recursive_limit = {56 * kMiB, kRecursive}},
};

}  // namespace

const NeuronLinkDescription& neuron_link(Generation generation) {
  for (const NeuronLinkDescription& description : kLinks) {
    if (description.generation == generation) return description;
  }
  throw Error(ErrorCode::invalid_argument, "no NeuronLink description for generation number " +
                                               std::to_string(static_cast<int>(generation)));
}

std::vector<NamedConstant> constants(const NeuronLinkDescription& d) {
  std::vector<NamedConstant> out;
#define ASSAY_CONSTANT(field) out.push_back({#field, static_cast<double>(d.field.value), d.field.source})
  ASSAY_CONSTANT(link_bytes_per_ns);
  ASSAY_CONSTANT(outer_bytes_per_ns);
  ASSAY_CONSTANT(collective_launch_us);
  ASSAY_CONSTANT(step_us);
  ASSAY_CONSTANT(stream_bytes_per_ns);
  ASSAY_CONSTANT(hbm_efficiency);
  ASSAY_CONSTANT(single_step_limit);
  ASSAY_CONSTANT(mesh_limit);
  ASSAY_CONSTANT(recursive_limit);
#undef ASSAY_CONSTANT
  return out;
}

const InstanceDescription& instance(std::string_view name) {
  std::string known;
  for (const InstanceDescription& description : instances()) {
    if (name == description.name) return description;
    known += std::string(known.empty() ? "" : ", ") + description.name;
  }
  throw Error(ErrorCode::invalid_argument,
              "unknown instance \"" + std::string(name) + "\"; use one of " + known);
}

// "single", "2d_torus_4x4", "3d_torus_4x4x4", "all_to_all".
std::vector<int> torus_sizes(const InstanceDescription& description) {
  const std::string_view topology = description.topology;
  if (topology == "single") return {1};
  const std::size_t at = topology.find("torus_");
  if (at == std::string_view::npos) return {};
  std::vector<int> sizes;
  int size = 0;
  for (const char c : topology.substr(at + 6)) {
    if (c == 'x') {
      sizes.push_back(size);
      size = 0;
    } else {
      size = size * 10 + (c - '0');
    }
  }
  sizes.push_back(size);
  return sizes;
}

}  // namespace assay::backend
