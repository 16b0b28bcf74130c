// For tests of instructions: tensors in, instructions, tensors out.
#pragma once

#include <span>
#include <vector>

#include "backend/isa/builder.h"
#include "backend/simulator/simulator.h"
#include "core/tensor.h"

namespace assay::backend {

class Bench {
 public:
  explicit Bench(Generation generation = Generation::trn2) : b(core(generation)) {}

  // An SBUF tile that holds the values of a [partitions, sizes...] tensor, brought there by DMA.
  AccessPattern load(const Tensor& tensor, int partition_start = 0) {
    const Shape& shape = tensor.shape();
    const std::span<const int64_t> sizes(shape.data() + 1, shape.size() - 1);
    const int32_t hbm = b.input("in" + std::to_string(inputs_.size()), tensor.dtype(), tensor.count());
    inputs_.push_back(tensor.clone());
    const AccessPattern tile = b.sbuf(tensor.dtype(), static_cast<int>(shape[0]), sizes, partition_start);
    b.dma_copy(tile, packed(tile, hbm));
    return tile;
  }
  AccessPattern load(DType dtype, const Shape& shape, const std::vector<double>& values) {
    return load(is_integral(dtype) ? Tensor::from_ints(dtype, shape, {values.begin(), values.end()})
                                   : Tensor::from_doubles(dtype, shape, values));
  }
  // Makes a tile the next output.
  void store(const AccessPattern& tile) {
    const int32_t hbm = b.output("out" + std::to_string(outputs_.size()), tile.dtype, tile.elements());
    Shape shape{tile.partitions};
    for (std::size_t k = 0; k < tile.rank; ++k) shape.push_back(tile.sizes[k]);
    outputs_.emplace_back(tile.dtype, shape);
    AccessPattern source = tile;
    if (tile.space == Space::psum) {
      source =
          b.sbuf(tile.dtype, tile.partitions, std::span<const int64_t>(shape.data() + 1, shape.size() - 1));
      b.tensor_copy(source, tile);
    }
    b.dma_copy(packed(tile, hbm), source);
  }
  // A packed row-major HBM pattern of the tile's shape.
  static AccessPattern packed(const AccessPattern& tile, int32_t hbm) {
    std::vector<int64_t> sizes(tile.sizes.begin(), tile.sizes.begin() + tile.rank), strides(sizes.size(), 1);
    for (std::size_t k = sizes.size(); k-- > 1;) strides[k - 1] = strides[k] * sizes[k];
    return hbm_tile(tile.dtype, hbm, 0, tile.partitions, tile.free_elements(), sizes, strides);
  }

  std::vector<Tensor> run(const SimulatorOptions& options = {}) {
    finish();
    FunctionalSimulator simulator(core(program.target), options);
    return run(simulator);
  }
  std::vector<Tensor> run(FunctionalSimulator& simulator) {
    finish();
    std::vector<HbmBinding> in, out;
    for (Tensor& t : inputs_) in.push_back({t.mutable_data(), t.bytes()});
    std::vector<Tensor> results;
    for (const Tensor& t : outputs_) results.emplace_back(t.dtype(), t.shape());
    for (Tensor& t : results) out.push_back({t.mutable_data(), t.bytes()});
    counts = simulator.run(program, in, out);
    return results;
  }
  void finish() {
    if (!finished_) program = b.finish();
    finished_ = true;
  }
  void bind_input(const Tensor& tensor) { inputs_.push_back(tensor.clone()); }
  void bind_output(DType dtype, Shape shape) { outputs_.emplace_back(dtype, std::move(shape)); }

  ProgramBuilder b;
  Program program;  // after run or finish
  ExecutionCounts counts;

 private:
  bool finished_ = false;
  std::vector<Tensor> inputs_, outputs_;
};

// Deterministic values on a coarse grid in (-4, 4), so that sums of some hundreds are exact in fp32.
inline std::vector<double> ramp(int64_t n, int64_t seed = 1) {
  std::vector<double> values;
  for (int64_t i = 0; i < n; ++i)
    values.push_back(static_cast<double>((i * 37 + seed * 101) % 61 - 30) / 8.0);
  return values;
}

}  // namespace assay::backend
