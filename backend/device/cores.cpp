// Constants of the NeuronCores. Abbreviations of sources: "NKI arch" = AWS Neuron SDK documentation,
// nki/guides/architecture/{trainium_inferentia2,trainium2,trainium3}_arch.rst (SDK 2.32); "NKI ISA" = nki.isa
// reference of the same SDK; "nkipy" = github.com/aws-neuron/nkipy, HardwareConstants.h (b91c9800).
#include "backend/device/device.h"
#include "core/error.h"

namespace assay::backend {
namespace {

constexpr const char* kArch = "NKI arch, NeuronCore overview";
constexpr const char* kPsum = "NKI arch: PSUM is 128 x 16 KiB, 8 banks of 2 KiB a partition";
constexpr const char* kUsable = "nkipy, mlir/include/nkipy/Transforms/HardwareConstants.h";
constexpr const char* kTileSize = "NKI ISA, nl.tile_size";
constexpr const char* kPattern = "NKI arch: access patterns are up to 4-D";
constexpr const char* kInvented = "invented";
constexpr const char* kInstructionLimit =
    "invented: a limit exists (EVRF007) but is not published; programs of 6.9 million instructions were "
    "refused "
    "(aws-neuron-sdk#819)";
constexpr const char* kDmaRate = "AWS Neuron SDK, nki-dma-overview.rst, theoretical peak of one DMA engine";
// nki.isa.core_barrier says how (a remote semaphore update, then a local wait), not how long.
constexpr const char* kCoreSemaphore =
    "invented: as dma_semaphore_ns, the one published time between a semaphore and who waits for it";
constexpr const char* kDmaFixed = "AWS Neuron SDK, nki-dma-bandwidth-guide.rst / nki-dge.rst";
constexpr const char* kLaunch =
    "fitted: assay bench calibration, rows C14a to C14g (neuron-bench L - NCL, 57 to 101 us)";
constexpr const char* kInitiation =
    "NKI ISA (2.26), cost formulas: an initiation interval of about 64 cycles";
constexpr const char* kPacket =
    "AWS Neuron SDK, compute-comm-overlap.rst: NEURON_RT_DBG_DMA_PACKETIZATION_SIZE, default 4 KiB";
constexpr const char* kDescriptor =
    "invented: as long as 256 bytes take, so that pieces of 256 bytes reach half of the bandwidth "
    "(nki-dma-bandwidth-guide.rst: severely overhead bound below) and pieces of 4 KiB nearly all of it";
constexpr const char* kDmaTranspose = "AWS Neuron SDK: DMA transpose reaches up to 90 % of the DMA bandwidth";
constexpr const char* kSoftwareDescriptor =
    "invented: 16 GpSimd cycles a descriptor, two 512-bit writes on one of eight processors and their "
    "addresses";
constexpr const char* kHostCopy = "invented: no time of a host copy is public";
constexpr const char* kFloor =
    "fitted: assay bench calibration, rows C1 to C6f; one value for all generations";
constexpr const char* kIssueTrn1 = "fitted: assay bench calibration, rows C6a to C6f";
constexpr const char* kIssueTrn2 =
    "fitted: assay bench calibration, rows C1 to C5b; nki-dge.rst says about 600 ns for a hwDGE instruction";
constexpr const char* kFp8 =
    "AWS Neuron compiler error codes EVRF051 (no e4m3fn on Trn1/Trn2), EVRF052 (no e4m3 "
    "beyond Trn3); NKI ISA nc_matmul";
constexpr const char* kTranspose =
    "NKI arch: v2 transposes by identity product; v3 has a bit-exact transpose mode";
constexpr const char* kAccumulate = "NKI ISA, nc_matmul: undefined on NeuronCore-v2/v3";

constexpr CoreDescription kCores[] = {
    {.generation = Generation::trn1,
     .name = "trn1",
     .core_version = "NeuronCore-v2",
     .partitions = {128, kArch},
     .sbuf_bytes_per_partition = {192 * 1024, kArch},
     .sbuf_usable_bytes_per_partition = {180224, kUsable},
     .psum_banks = {8, kPsum},
     .psum_bank_bytes = {2048, kPsum},
     .max_contraction = {128, kTileSize},
     .max_stationary_free = {128, kTileSize},
     .max_moving_free = {512, kTileSize},
     .max_moving_free_bf16 = {0, "NKI ISA, nc_matmul: fp32 destination only"},
     .max_sbuf_tile_free = {64 * 1024, "NKI ISA: engine tiles up to 64K elements in SBUF"},
     .max_psum_tile_free = {4 * 1024, "NKI ISA: engine tiles up to 4K elements in PSUM"},
     .max_free_dims = {4, kPattern},
     .max_instructions = {5'000'000, kInstructionLimit},
     .f8e4m3fn = {false, kFp8},
     .f8e4m3 = {true, kFp8},
     .psum_bf16 = {false, "NKI ISA, nc_matmul"},
     .exact_transpose = {false, kTranspose},
     .accumulate_on_any_write = {false, kAccumulate},
     .gpsimd_reads_psum = {false, "NKI ISA: GpSimd cannot access PSUM"},
     .shared_vector_gpsimd_port = {true, "NKI arch, v2: Vector and GpSimd share the SBUF port"},
     .tensor_ghz = {2.8, kArch},
     .vector_ghz = {1.12, kArch},
     .scalar_ghz = {1.4, kArch},
     .gpsimd_ghz = {1.4, kArch},
     .sync_ghz = {1.4, kArch},
     .base_ghz = {1.4, "Neuron Explorer, NeuronCore base clock"},
     .vector_elements_per_cycle_16bit = {128, kArch},
     .vector_elements_per_cycle_32bit = {128, kArch},
     .scalar_elements_per_cycle = {128, kArch},
     .gpsimd_elements_per_cycle = {128, kArch},
     .fp32_matmul_slowdown = {4, "NKI ISA, nc_matmul: fp32 takes 4 passes"},
     .dma_engines = {16, "derived: 32 engines a chip / 2 cores"},
     .dma_queues_per_engine = {16, "NKI arch: 16 queues (rings) an engine"},
     .dma_bytes_per_ns_per_engine = {17, kDmaRate},
     .dma_issue_ns = {339, kIssueTrn1},
     .dma_semaphore_ns = {1300, kDmaFixed},
     .launch_us = {78, kLaunch},
     .access_latency_cycles = {60, "NKI arch, v2: ~60 cycles static SBUF/PSUM access latency"},
     .instruction_overhead_cycles = {100, "NKI performance guide: ~100 cycles static overhead"},
     .min_initiation_cycles = {64, kInitiation},
     .shared_vector_scalar_psum_port = {true, "NKI arch, v2: Vector and Scalar cannot use PSUM concurrently"},
     .kernel_floor_us = {12.9, kFloor},
     .core_semaphore_ns = {1300, kCoreSemaphore},
     .dma_packet_bytes = {4096, kPacket},
     .dma_descriptor_ns = {15, kDescriptor},
     .dma_transpose_efficiency = {0, "AWS Neuron SDK: DMA transpose needs Trn2"},
     .software_descriptor_ns = {11.4, kSoftwareDescriptor},
     .host_copy_us = {20, kHostCopy},
     .host_copy_bytes_per_ns = {16, "invented: about what a PCIe link of 16 lanes carries"}},
    {.generation = Generation::trn2,
     .name = "trn2",
     .core_version = "NeuronCore-v3",
     .partitions = {128, kArch},
     .sbuf_bytes_per_partition = {224 * 1024, kArch},
     .sbuf_usable_bytes_per_partition = {212984, kUsable},
     .psum_banks = {8, kPsum},
     .psum_bank_bytes = {2048, kPsum},
     .max_contraction = {128, kTileSize},
     .max_stationary_free = {128, kTileSize},
     .max_moving_free = {512, kTileSize},
     .max_moving_free_bf16 = {0, "NKI ISA, nc_matmul: fp32 destination only"},
     .max_sbuf_tile_free = {64 * 1024, "NKI ISA: engine tiles up to 64K elements in SBUF"},
     .max_psum_tile_free = {4 * 1024, "NKI ISA: engine tiles up to 4K elements in PSUM"},
     .max_free_dims = {4, kPattern},
     .max_instructions = {5'000'000, kInstructionLimit},
     .f8e4m3fn = {false, kFp8},
     .f8e4m3 = {true, kFp8},
     .psum_bf16 = {false, "NKI ISA, nc_matmul"},
     .exact_transpose = {true, kTranspose},
     .accumulate_on_any_write = {false, kAccumulate},
     .gpsimd_reads_psum = {false, "NKI ISA: GpSimd cannot access PSUM"},
     .shared_vector_gpsimd_port = {false, "NKI arch, v3: restriction lifted"},
     .tensor_ghz = {2.4, kArch},
     .vector_ghz = {0.96, kArch},
     .scalar_ghz = {1.2, kArch},
     .gpsimd_ghz = {1.2, kArch},
     .sync_ghz = {1.2, kArch},
     .base_ghz = {1.2, "Neuron Explorer, NeuronCore base clock"},
     .vector_elements_per_cycle_16bit = {512, kArch},
     .vector_elements_per_cycle_32bit = {256, kArch},
     .scalar_elements_per_cycle = {128, kArch},
     .gpsimd_elements_per_cycle = {128, kArch},
     .fp32_matmul_slowdown = {4, "NKI ISA, nc_matmul: fp32 takes 4 passes"},
     .dma_engines = {16, "NKI arch: 16 engines a core"},
     .dma_queues_per_engine = {16, "NKI arch: 16 queues (rings) an engine"},
     .dma_bytes_per_ns_per_engine = {23, kDmaRate},
     .dma_issue_ns = {550, kIssueTrn2},
     .dma_semaphore_ns = {1300, kDmaFixed},
     .launch_us = {78, kLaunch},
     .access_latency_cycles = {60, "NKI arch gives ~60 cycles for v2; taken for v3"},
     .instruction_overhead_cycles = {100, "NKI performance guide: ~100 cycles static overhead"},
     .min_initiation_cycles = {64, kInitiation},
     .shared_vector_scalar_psum_port = {false, "NKI arch, v3: restriction lifted"},
     .kernel_floor_us = {12.9, kFloor},
     .core_semaphore_ns = {1300, kCoreSemaphore},
     .dma_packet_bytes = {4096, kPacket},
     .dma_descriptor_ns = {11, kDescriptor},
     .dma_transpose_efficiency = {0.9, kDmaTranspose},
     .software_descriptor_ns = {13.3, kSoftwareDescriptor},
     .host_copy_us = {20, kHostCopy},
     .host_copy_bytes_per_ns = {16, "invented: about what a PCIe link of 16 lanes carries"}},
    {.generation = Generation::trn3,
     .name = "trn3",
     .core_version = "NeuronCore-v4",
     .partitions = {128, kArch},
     .sbuf_bytes_per_partition = {256 * 1024, kArch},
     .sbuf_usable_bytes_per_partition = {245752, kUsable},
     .psum_banks = {8, kPsum},
     .psum_bank_bytes = {2048, kPsum},
     .max_contraction = {128, kTileSize},
     .max_stationary_free = {128, kTileSize},
     .max_moving_free = {4096, "NKI ISA, nc_matmul: v4, fp32 destination over all banks"},
     .max_moving_free_bf16 = {8192, "NKI ISA, nc_matmul: v4, bf16 destination over all banks"},
     .max_sbuf_tile_free = {64 * 1024, "NKI ISA: engine tiles up to 64K elements in SBUF"},
     .max_psum_tile_free = {8 * 1024, "derived: all banks of bf16"},
     .max_free_dims = {4, kPattern},
     .max_instructions = {5'000'000, kInstructionLimit},
     .f8e4m3fn = {true, kFp8},
     .f8e4m3 = {true, kFp8},
     .psum_bf16 = {true, "NKI ISA, nc_matmul: fp32 or bf16 destination on v4, added in fp32"},
     .exact_transpose = {true, kTranspose},
     .accumulate_on_any_write = {true, kAccumulate},
     .gpsimd_reads_psum = {false, "NKI ISA: GpSimd cannot access PSUM"},
     .shared_vector_gpsimd_port = {false, "NKI arch, v3: restriction lifted"},
     .tensor_ghz = {2.4, kArch},
     .vector_ghz = {1.2, kArch},
     .scalar_ghz = {1.2, kArch},
     .gpsimd_ghz = {1.2, kArch},
     .sync_ghz = {1.2, kArch},
     .base_ghz = {1.2, "invented: as v3; no profile of v4 is public"},
     .vector_elements_per_cycle_16bit = {512, kArch},
     .vector_elements_per_cycle_32bit = {256, kArch},
     .scalar_elements_per_cycle = {256, "NKI arch, v4: 256 for 16-bit and fp8, else 128"},
     .gpsimd_elements_per_cycle = {128, kArch},
     .fp32_matmul_slowdown = {4, "NKI ISA, nc_matmul: fp32 takes 4 passes"},
     .dma_engines = {16, "NKI arch: 16 engines a core"},
     .dma_queues_per_engine = {16, "NKI arch: 16 queues (rings) an engine"},
     .dma_bytes_per_ns_per_engine = {33, kDmaRate},
     .dma_issue_ns = {550, "invented: as v3"},
     .dma_semaphore_ns = {1300, kDmaFixed},
     .launch_us = {78, kLaunch},
     .access_latency_cycles = {60, "invented: as v2"},
     .instruction_overhead_cycles = {100, kInvented},
     .min_initiation_cycles = {64, kInitiation},
     .shared_vector_scalar_psum_port = {false, "NKI arch, v3: restriction lifted"},
     .kernel_floor_us = {12.9, kFloor},
     .core_semaphore_ns = {1300, kCoreSemaphore},
     .dma_packet_bytes = {4096, kPacket},
     .dma_descriptor_ns = {8, kDescriptor},
     .dma_transpose_efficiency = {0.9, kDmaTranspose},
     .software_descriptor_ns = {13.3, kSoftwareDescriptor},
     .host_copy_us = {20, kHostCopy},
     .host_copy_bytes_per_ns = {16, "invented: about what a PCIe link of 16 lanes carries"}},
};

}  // namespace

const CoreDescription& core(Generation generation) {
  for (const CoreDescription& description : kCores) {
    if (description.generation == generation) return description;
  }
  throw Error(ErrorCode::invalid_argument, "no core description for generation number " +
                                               std::to_string(static_cast<int>(generation)) +
                                               "; known are trn1, trn2 and trn3");
}

std::vector<NamedConstant> constants(const CoreDescription& c) {
  std::vector<NamedConstant> out;
#define ASSAY_CONSTANT(field) out.push_back({#field, static_cast<double>(c.field.value), c.field.source})
  ASSAY_CONSTANT(partitions);
  ASSAY_CONSTANT(sbuf_bytes_per_partition);
  ASSAY_CONSTANT(sbuf_usable_bytes_per_partition);
  ASSAY_CONSTANT(psum_banks);
  ASSAY_CONSTANT(psum_bank_bytes);
  ASSAY_CONSTANT(max_contraction);
  ASSAY_CONSTANT(max_stationary_free);
  ASSAY_CONSTANT(max_moving_free);
  ASSAY_CONSTANT(max_moving_free_bf16);
  ASSAY_CONSTANT(max_sbuf_tile_free);
  ASSAY_CONSTANT(max_psum_tile_free);
  ASSAY_CONSTANT(max_free_dims);
  ASSAY_CONSTANT(max_instructions);
  ASSAY_CONSTANT(f8e4m3fn);
  ASSAY_CONSTANT(f8e4m3);
  ASSAY_CONSTANT(psum_bf16);
  ASSAY_CONSTANT(exact_transpose);
  ASSAY_CONSTANT(accumulate_on_any_write);
  ASSAY_CONSTANT(gpsimd_reads_psum);
  ASSAY_CONSTANT(shared_vector_gpsimd_port);
  ASSAY_CONSTANT(tensor_ghz);
  ASSAY_CONSTANT(vector_ghz);
  ASSAY_CONSTANT(scalar_ghz);
  ASSAY_CONSTANT(gpsimd_ghz);
  ASSAY_CONSTANT(sync_ghz);
  ASSAY_CONSTANT(base_ghz);
  ASSAY_CONSTANT(vector_elements_per_cycle_16bit);
  ASSAY_CONSTANT(vector_elements_per_cycle_32bit);
  ASSAY_CONSTANT(scalar_elements_per_cycle);
  ASSAY_CONSTANT(gpsimd_elements_per_cycle);
  ASSAY_CONSTANT(fp32_matmul_slowdown);
  ASSAY_CONSTANT(dma_engines);
  ASSAY_CONSTANT(dma_queues_per_engine);
  ASSAY_CONSTANT(dma_bytes_per_ns_per_engine);
  ASSAY_CONSTANT(dma_issue_ns);
  ASSAY_CONSTANT(dma_semaphore_ns);
  ASSAY_CONSTANT(launch_us);
  ASSAY_CONSTANT(access_latency_cycles);
  ASSAY_CONSTANT(instruction_overhead_cycles);
  ASSAY_CONSTANT(min_initiation_cycles);
  ASSAY_CONSTANT(shared_vector_scalar_psum_port);
  ASSAY_CONSTANT(kernel_floor_us);
  ASSAY_CONSTANT(core_semaphore_ns);
  ASSAY_CONSTANT(dma_packet_bytes);
  ASSAY_CONSTANT(dma_descriptor_ns);
  ASSAY_CONSTANT(dma_transpose_efficiency);
  ASSAY_CONSTANT(software_descriptor_ns);
  ASSAY_CONSTANT(host_copy_us);
  ASSAY_CONSTANT(host_copy_bytes_per_ns);
#undef ASSAY_CONSTANT
  return out;
}

}  // namespace assay::backend
