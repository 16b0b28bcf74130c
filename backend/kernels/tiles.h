// Loops over tiles, shared by all kernels: HBM -> SBUF, compute, SBUF -> HBM.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "backend/kernels/kernel.h"

namespace assay::backend {

// Elements a partition of one SBUF tile of an elementwise kernel.
inline constexpr int64_t kTileFree = 2048;

// The integer dtype of the same width: moves of it copy bits whatever they mean.
DType raw_dtype(DType dtype);
View raw(View view);

// For `units` of `elements` a partition each, in tiles of at most `max_units`: a limit that gives two cores
// as many tiles each (CompileOptions::lnc), where there is enough for both.
int64_t even_tiles(const KernelContext& ctx, int64_t units, int64_t max_units, int64_t elements = 1);

// One tile of views of equal shape; hbm[v] is view v's part, row-major like the SBUF tile [partitions, free].
struct Tile {
  int partitions;
  int64_t free;
  std::vector<AccessPattern> hbm;
};
// SBUF and PSUM that `body` allocates are freed after it; neighbouring tiles do not share addresses, so that
// loads of one can overlap with the work of another.
void for_each_tile(KernelContext& ctx, std::span<const View> views, int64_t max_free,
                   const std::function<void(const Tile&)>& body);

// A new SBUF tile [partitions, free] filled by DMA, dtype kept.
AccessPattern load(KernelContext& ctx, const AccessPattern& hbm, int partitions, int64_t free);

// The tile converted as PyTorch converts: itself if `to` is its dtype; to bool: is not 0; float to integer
// truncates; integers wrap; everything rounds once.
AccessPattern converted(KernelContext& ctx, const AccessPattern& tile, DType to);
// The same into an existing tile of equal size.
void convert_into(KernelContext& ctx, const AccessPattern& dst, const AccessPattern& tile);

// The dtype in which elementwise arithmetic on DTYPE is done: fp32 for floats, itself for others.
inline DType domain_of(DType dtype) { return is_float(dtype) ? DType::f32 : dtype; }
// Engine of arithmetic on a dtype: floats on Vector, integers exactly on GpSimd.
inline Engine engine_for(DType dtype) { return is_float(dtype) ? Engine::vector : Engine::gpsimd; }

// A tensor or a number.
struct Operand {
  std::optional<View> view;
  Scalar scalar;
};
Operand operand(const KernelContext& ctx, std::string_view argument);
// The same for operators that jump (comparisons, remainders): a number as `common`, the dtype of PyTorch's
// promotion, holds it; `held` does it to a tile.
Operand held_operand(const KernelContext& ctx, std::string_view argument, DType common);
AccessPattern held(KernelContext& ctx, const AccessPattern& tile, DType common);

// Fills a tile with a number, rounded to its dtype.
void fill(KernelContext& ctx, const AccessPattern& tile, const Scalar& value);

// out = f(operands) with broadcasting. Tiles reach `body` in the domain: f32 (floats as they are, since
// engines read them as fp32; 32- and 64-bit integers converted) or an integral dtype (all converted to it).
// A number's tile is undefined unless `materialise` is set. `body` writes the last argument, of out's dtype.
using ElementwiseBody = std::function<void(std::span<const AccessPattern>, const AccessPattern&)>;
struct ElementwiseOptions {
  int64_t max_free = kTileFree;
  bool materialise = false;
  int as_it_is = -1;  // an operand whose tile keeps its dtype (where's condition)
};
void elementwise(KernelContext& ctx, const View& out, std::span<const Operand> operands, DType domain,
                 const ElementwiseBody& body, const ElementwiseOptions& options = {});

// dst = function(src) on the Scalar engine. Its bias is -0, which leaves every argument as it is; the default
// of +0 would turn -0 into +0.
void activate(KernelContext& ctx, const AccessPattern& dst, const AccessPattern& src, Activation function);

// dst = src, bits unchanged, HBM to HBM. Equal shapes and dtypes.
void copy(KernelContext& ctx, const View& dst, const View& src);

}  // namespace assay::backend
