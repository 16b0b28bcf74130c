// Machine descriptions as data: NeuronCores, chips and instances. Every constant names its source, "invented"
// where no public one exists; the sources disagree with each other, so a constant without its source would be
// worthless.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay::backend {

enum class Generation : uint8_t { trn1, trn2, trn3 };  // NeuronCore-v2, -v3, -v4

template <typename T>
struct Sourced {
  T value;
  const char* source;  // document and place, "derived: ..." or "invented: ..."; never empty
  constexpr operator T() const { return value; }
};

// One NeuronCore. Cycles of an engine are cycles of its own clock.
struct CoreDescription {
  Generation generation;
  const char* name;          // "trn2"
  const char* core_version;  // "NeuronCore-v3"

  // On-chip memories. Addresses are (partition, byte within the partition).
  Sourced<int> partitions;                           // of SBUF and PSUM
  Sourced<int64_t> sbuf_bytes_per_partition;         // nominal
  Sourced<int64_t> sbuf_usable_bytes_per_partition;  // what programs may use; the validator's limit
  Sourced<int> psum_banks;
  Sourced<int64_t> psum_bank_bytes;  // per partition

  // Limits of one instruction.
  Sourced<int> max_contraction;       // nc_matmul K: partitions of both operands
  Sourced<int> max_stationary_free;   // nc_matmul M
  Sourced<int> max_moving_free;       // nc_matmul N with an fp32 destination
  Sourced<int> max_moving_free_bf16;  // N with a bf16 destination; 0 where PSUM takes fp32 only
  Sourced<int> max_sbuf_tile_free;    // elements a partition of a Vector/Scalar/GpSimd operand in SBUF
  Sourced<int> max_psum_tile_free;    // the same in PSUM
  Sourced<int> max_free_dims;         // of an engine's access pattern
  Sourced<int64_t> max_instructions;  // of one Program

  // Features.
  Sourced<bool> f8e4m3fn;         // OCP e4m3 (maximum 448)
  Sourced<bool> f8e4m3;           // non-OCP e4m3 (maximum 240)
  Sourced<bool> psum_bf16;        // a matmul may write bf16: added in fp32, then rounded
  Sourced<bool> exact_transpose;  // false: a transpose is a product with the identity, NaN and Inf spread
  Sourced<bool>
      accumulate_on_any_write;  // false: accumulating onto what no matmul wrote is undefined (trapped)
  Sourced<bool> gpsimd_reads_psum;
  Sourced<bool> shared_vector_gpsimd_port;  // Vector and GpSimd cannot use SBUF at the same time

  // Clocks (GHz) and rates; used by the timing reading.
  Sourced<double> tensor_ghz;
  Sourced<double> vector_ghz;
  Sourced<double> scalar_ghz;
  Sourced<double> gpsimd_ghz;
  Sourced<double> sync_ghz;
  Sourced<double> base_ghz;  // of the cycle counters
  Sourced<double> vector_elements_per_cycle_16bit;
  Sourced<double> vector_elements_per_cycle_32bit;
  Sourced<double> scalar_elements_per_cycle;
  Sourced<double> gpsimd_elements_per_cycle;
  Sourced<double> fp32_matmul_slowdown;  // passes of an fp32 product over a bf16 one

  // DMA.
  Sourced<int> dma_engines;  // that serve one core
  Sourced<int> dma_queues_per_engine;
  Sourced<double> dma_bytes_per_ns_per_engine;
  Sourced<double> dma_issue_ns;           // per dma_copy
  Sourced<double> dma_semaphore_ns;       // semaphore to start, cross-engine
  Sourced<double> launch_us;              // host launch of one Program
  Sourced<double> access_latency_cycles;  // static SBUF/PSUM access latency
  Sourced<double> instruction_overhead_cycles;
  Sourced<double> min_initiation_cycles;         // no instruction takes less
  Sourced<bool> shared_vector_scalar_psum_port;  // Vector and Scalar cannot use PSUM at the same time
  Sourced<double> kernel_floor_us;               // start and stop of a Program on the device

  Sourced<double> core_semaphore_ns;  // LNC 2: from an event on one core to who waits for it on the other

  // DMA, finer.
  Sourced<int> dma_packet_bytes;             // rings of an engine take turns at packet boundaries
  Sourced<double> dma_descriptor_ns;         // of an engine, per contiguous piece
  Sourced<double> dma_transpose_efficiency;  // share of the bandwidth that transposing copies reach; 0: none
  Sourced<double> software_descriptor_ns;    // gathers and scatters: GpSimd writes each descriptor

  // The host.
  Sourced<double> host_copy_us;  // of one copy between host and device, beside its bytes
  Sourced<double> host_copy_bytes_per_ns;
};

struct ChipDescription {
  const char* name;  // "trainium2"
  Generation generation;
  Sourced<int> cores;
  Sourced<int64_t> hbm_bytes;
  Sourced<double> hbm_bytes_per_ns;
  Sourced<double> bf16_tflops;
  Sourced<double> fp32_tflops;
  Sourced<double> fp8_tflops;
  Sourced<int> dma_engines;
  Sourced<int> collective_cores;
  Sourced<double> link_bytes_per_ns;  // NeuronLink, per chip
};

struct InstanceDescription {
  const char* name;  // "trn2.48xlarge"
  Generation generation;
  Sourced<int> chips;
  Sourced<int> default_lnc;            // physical cores a logical one
  const char* topology;                // "single", "2d_torus_4x4", ...
  Sourced<double> network_gbit_per_s;  // EFA; 0 where none or unknown
};

const CoreDescription& core(Generation generation);
const ChipDescription& chip(Generation generation);
std::span<const InstanceDescription> instances();

// "trn1", "trn2", "trn3", or an instance's name. Throws Error{invalid_argument} that lists the known names.
Generation parse_target(std::string_view target);

// Every constant of a description by name, for documents and for the test that no source is missing.
struct NamedConstant {
  std::string name;
  double value;
  std::string source;
};
std::vector<NamedConstant> constants(const CoreDescription& core);
std::vector<NamedConstant> constants(const ChipDescription& chip);
std::vector<NamedConstant> constants(const InstanceDescription& instance);

}  // namespace assay::backend
