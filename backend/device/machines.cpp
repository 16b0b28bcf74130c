// Chips and instances. "SDK hardware" = AWS Neuron SDK documentation, about-neuron/arch/neuron-hardware/
// {trainium,trainium2,trainium3,trn1-arch,trn2-arch,trn3-arch}.rst (SDK 2.32).
#include "backend/device/device.h"
#include "core/error.h"

namespace assay::backend {
namespace {

constexpr const char* kChip = "SDK hardware";
constexpr int64_t kGiB = int64_t{1} << 30;

constexpr ChipDescription kChips[] = {
    {.name = "trainium",
     .generation = Generation::trn1,
     .cores = {2, kChip},
     .hbm_bytes = {32 * kGiB, kChip},
     .hbm_bytes_per_ns = {820, "SDK hardware: 820 GB/s (another page says GiB/s)"},
     .bf16_tflops = {190, "SDK hardware (elsewhere 191)"},
     .fp32_tflops = {47.5, kChip},
     .fp8_tflops = {190, "SDK hardware, cFP8"},
     .dma_engines = {32, kChip},
     .collective_cores = {6, kChip},
     .link_bytes_per_ns = {384, "SDK hardware, NeuronLink-v2"}},
    {.name = "trainium2",
     .generation = Generation::trn2,
     .cores = {8, kChip},
     .hbm_bytes = {96 * kGiB, kChip},
     .hbm_bytes_per_ns = {2900, "SDK hardware: 2.9 TB/s (NKI guide: 3 TB/s)"},
     .bf16_tflops = {667, "SDK hardware (SDK 2.21: 655)"},
     .fp32_tflops = {181, kChip},
     .fp8_tflops = {1299, "SDK hardware (SDK 2.21: 1,287)"},
     .dma_engines = {128, kChip},
     .collective_cores = {16,
                          "SDK hardware (NKI guide and SDK 2.21: 20); compute-comm-overlap.rst: 2 a core"},
     .link_bytes_per_ns = {1280, "SDK hardware, NeuronLink-v3"}},
    {.name = "trainium3",
     .generation = Generation::trn3,
     .cores = {8, kChip},
     .hbm_bytes = {144 * kGiB, kChip},
     .hbm_bytes_per_ns = {4900, "SDK hardware: 4.9 TB/s (NKI guide: 4.7)"},
     .bf16_tflops = {671, kChip},
     .fp32_tflops = {183, kChip},
     .fp8_tflops = {2517, "SDK hardware, MXFP8"},
     .dma_engines = {128, kChip},
     .collective_cores = {16, "SDK hardware (NKI guide: 20)"},
     .link_bytes_per_ns = {2560, "SDK hardware, NeuronLink-v4"}},
};

constexpr InstanceDescription kInstances[] = {
    {.name = "trn1.2xlarge",
     .generation = Generation::trn1,
     .chips = {1, kChip},
     .default_lnc = {1, "Neuron compiler, EARG001: Trn1 has LNC 1 only"},
     .topology = "single",
     .network_gbit_per_s = {0, "invented: not in the SDK documentation"}},
    {.name = "trn1.32xlarge",
     .generation = Generation::trn1,
     .chips = {16, kChip},
     .default_lnc = {1, "Neuron compiler, EARG001: Trn1 has LNC 1 only"},
     .topology = "2d_torus_4x4",
     .network_gbit_per_s = {800, kChip}},
    {.name = "trn2.3xlarge",
     .generation = Generation::trn2,
     .chips = {1, "CS149 assignment 4, README: single Trainium device, eight NeuronCores"},
     .default_lnc = {2, "Neuron compiler: default 2 on Trn2"},
     .topology = "single",
     .network_gbit_per_s = {0, "invented: not in the SDK documentation"}},
    {.name = "trn2.48xlarge",
     .generation = Generation::trn2,
     .chips = {16, kChip},
     .default_lnc = {2, "Neuron compiler: default 2 on Trn2"},
     .topology = "2d_torus_4x4",
     .network_gbit_per_s = {3200, kChip}},
    {.name = "trn2u.ultraserver",
     .generation = Generation::trn2,
     .chips = {64, "SDK hardware: 4 x trn2u.48xlarge"},
     .default_lnc = {2, "Neuron compiler: default 2 on Trn2"},
     .topology = "3d_torus_4x4x4",
     .network_gbit_per_s = {12800, "derived: 4 x 3,200"}},
    {.name = "trn3.gen1_ultraserver",
     .generation = Generation::trn3,
     .chips = {64, kChip},
     .default_lnc = {2, "invented: as Trn2"},
     .topology = "all_to_all",
     .network_gbit_per_s = {0, "invented: not in the SDK documentation"}},
    {.name = "trn3.gen2_ultraserver",
     .generation = Generation::trn3,
     .chips = {144, "SDK hardware: 36 x 4"},
     .default_lnc = {2, "invented: as Trn2"},
     .topology = "all_to_all",
     .network_gbit_per_s = {0, "invented: not in the SDK documentation"}},
};

}  // namespace

const ChipDescription& chip(Generation generation) {
  for (const ChipDescription& description : kChips) {
    if (description.generation == generation) return description;
  }
  throw Error(ErrorCode::invalid_argument,
              "no chip description for generation number " + std::to_string(static_cast<int>(generation)));
}

std::span<const InstanceDescription> instances() { return kInstances; }

Generation parse_target(std::string_view target) {
  std::string known;
  for (Generation g : {Generation::trn1, Generation::trn2, Generation::trn3}) {
    if (target == core(g).name) return g;
    known += std::string(known.empty() ? "" : ", ") + core(g).name;
  }
  for (const InstanceDescription& instance : instances()) {
    if (target == instance.name) return instance.generation;
    known += std::string(", ") + instance.name;
  }
  throw Error(ErrorCode::invalid_argument,
              "unknown target \"" + std::string(target) + "\"; use one of " + known);
}

#define ASSAY_CONSTANT(field) out.push_back({#field, static_cast<double>(d.field.value), d.field.source})
std::vector<NamedConstant> constants(const ChipDescription& d) {
  std::vector<NamedConstant> out;
  ASSAY_CONSTANT(cores);
  ASSAY_CONSTANT(hbm_bytes);
  ASSAY_CONSTANT(hbm_bytes_per_ns);
  ASSAY_CONSTANT(bf16_tflops);
  ASSAY_CONSTANT(fp32_tflops);
  ASSAY_CONSTANT(fp8_tflops);
  ASSAY_CONSTANT(dma_engines);
  ASSAY_CONSTANT(collective_cores);
  ASSAY_CONSTANT(link_bytes_per_ns);
  return out;
}

std::vector<NamedConstant> constants(const InstanceDescription& d) {
  std::vector<NamedConstant> out;
  ASSAY_CONSTANT(chips);
  ASSAY_CONSTANT(default_lnc);
  ASSAY_CONSTANT(network_gbit_per_s);
  return out;
}
#undef ASSAY_CONSTANT

}  // namespace assay::backend
