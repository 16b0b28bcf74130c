// Gated linear attention.
#include "core/opset/gla.h"

#include <cmath>

#include "core/opset/checks.h"

namespace assay {
namespace {

using namespace rules;

DType state_dtype(DType operand) { return operand == DType::f64 ? DType::f64 : DType::f32; }

void require_operand(const OpCall& call, std::string_view name, const Shape& shape, const char* layout) {
  const TensorMeta& given = meta(call, name);
  if (given.shape != shape) {
    fail(call, "{} has shape {}; it must be {} {}", name, to_string(given.shape), layout, to_string(shape));
  }
}

// q decides dtype and sizes; v brings its own head size.
void check_operands(const OpCall& call, int64_t rank, const char* keys, const char* values) {
  for (const std::string_view name : {"q", "v"}) require_rank(call, name, rank, rank);
  const TensorMeta& q = meta(call, "q");
  if (q.dtype != DType::f64 && q.dtype != DType::f32 && q.dtype != DType::bf16 && q.dtype != DType::f16) {
    fail(call, "q has dtype {}; it must be f64, f32, bf16 or f16", name_of(q.dtype));
  }
  require_same_dtype(call, "k", "q");
  require_same_dtype(call, "v", "q");
  const DType gate = meta(call, "g").dtype;
  if (gate != q.dtype && gate != state_dtype(q.dtype)) {
    fail(call, "g has dtype {}; the gate must have that of q, {}, or be {}", name_of(gate), name_of(q.dtype),
         name_of(state_dtype(q.dtype)));
  }
  require_operand(call, "k", q.shape, keys);
  require_operand(call, "g", q.shape, keys);
  Shape of_values = q.shape;
  of_values.back() = meta(call, "v").shape.back();
  require_operand(call, "v", of_values, values);
  for (const std::string_view name : {"q", "v"}) {
    const Shape& shape = meta(call, name).shape;
    const auto dims = shape.size();
    if (shape[dims - 1] < 1 || shape[dims - 2] < 1) {
      fail(call, "{} has shape {}; the number of heads and their size must be at least 1", name,
           to_string(shape));
    }
  }
}

double scale_of(const OpCall& call, int64_t key) {
  if (call.is_none("scale")) return 1 / std::sqrt(static_cast<double>(key));
  const double scale = call.floating("scale");
  if (!std::isfinite(scale)) fail(call, "scale is {}; it must be finite", scale);
  return scale;
}

// cu_seqlens: offsets of packed sequences.
std::vector<GlaSequence> packed_sequences(const OpCall& call, const std::vector<int64_t>& offsets,
                                          int64_t batch, int64_t length) {
  if (batch != 1) {
    fail(call, "cu_seqlens packs sequences into one batch entry; q has a batch of {}, it must be 1", batch);
  }
  if (offsets.size() < 2) {
    fail(call, "cu_seqlens has {} entries; it must have one more than there are sequences", offsets.size());
  }
  if (offsets[0] != 0) fail(call, "cu_seqlens starts at {}; it must start at 0", offsets[0]);
  std::vector<GlaSequence> sequences;
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    if (offsets[i + 1] < offsets[i]) {
      fail(call, "cu_seqlens goes back from {} to {} at entry {}; offsets must not decrease", offsets[i],
           offsets[i + 1], i + 1);
    }
    if (offsets[i + 1] > length) {
      fail(call, "cu_seqlens is {} at entry {}; q has only {} rows", offsets[i + 1], i + 1, length);
    }
    sequences.push_back({static_cast<int64_t>(i), 0, offsets[i], offsets[i + 1]});
  }
  return sequences;
}

void require_state(const OpCall& call, const char* name, const GlaCall& gla) {
  const TensorMeta* state = meta_opt(call, name);
  if (state == nullptr) return;
  if (state->shape != gla.state_shape()) {
    fail(call, "{} has shape {}; it must be [sequences, heads, key size, value size], {}", name,
         to_string(state->shape), to_string(gla.state_shape()));
  }
  if (state->dtype != gla.state) {
    fail(call, "{} has dtype {}; states are {}", name, name_of(state->dtype), name_of(gla.state));
  }
}

Metas gla_chunk(const OpCall& call) {
  const GlaCall gla = gla_call(call);
  return {meta(call, "v"), {gla.state, gla.state_shape()}};
}

// Gradients of q, k, v, g and of the initial state.
Metas gla_chunk_backward(const OpCall& call) {
  const GlaCall gla = gla_call(call);
  require_shape(call, "grad_output", meta(call, "v").shape);
  require_same_dtype(call, "grad_output", "v");
  require_state(call, "grad_final_state", gla);
  return {meta(call, "q"), meta(call, "k"), meta(call, "v"), meta(call, "g"), {gla.state, gla.state_shape()}};
}

Metas gla_recurrent_step(const OpCall& call) {
  gla_step_call(call);
  return {meta(call, "v"), meta(call, "state")};
}

}  // namespace

GlaCall gla_call(const OpCall& call) {
  check_operands(call, 4, "[batch, rows, heads, key size]", "[batch, rows, heads, value size]");
  const Shape& q = meta(call, "q").shape;
  GlaCall gla;
  gla.batch = q[0];
  gla.length = q[1];
  gla.heads = q[2];
  gla.key = q[3];
  gla.value = meta(call, "v").shape[3];
  gla.scale = scale_of(call, gla.key);
  gla.chunk = call.integer("chunk_size");
  if (gla.chunk < 1) fail(call, "chunk_size is {}; it must be at least 1", gla.chunk);
  gla.state = state_dtype(meta(call, "q").dtype);
  if (const auto offsets = call.integers_opt("cu_seqlens")) {
    gla.packed = true;
    gla.sequences = packed_sequences(call, *offsets, gla.batch, gla.length);
  } else {
    for (int64_t b = 0; b < gla.batch; ++b) gla.sequences.push_back({b, b, 0, gla.length});
  }
  require_state(call, "initial_state", gla);
  return gla;
}

GlaCall gla_step_call(const OpCall& call) {
  check_operands(call, 3, "[batch, heads, key size]", "[batch, heads, value size]");
  const Shape& q = meta(call, "q").shape;
  GlaCall gla;
  gla.batch = q[0];
  gla.length = 1;
  gla.heads = q[1];
  gla.key = q[2];
  gla.value = meta(call, "v").shape[2];
  gla.scale = scale_of(call, gla.key);
  gla.state = meta(call, "state").dtype;
  for (int64_t b = 0; b < gla.batch; ++b) gla.sequences.push_back({b, b, 0, 1});
  require_shape(call, "state", gla.state_shape());
  const DType q_dtype = meta(call, "q").dtype;
  if (gla.state != state_dtype(q_dtype) && gla.state != q_dtype) {
    fail(call, "state has dtype {}; it must be {} or that of q, {}", name_of(gla.state),
         name_of(state_dtype(q_dtype)), name_of(q_dtype));
  }
  return gla;
}

void register_gla(ShapeTable& table) {
  table.add("assay::gla_chunk.default", gla_chunk);
  table.add("assay::gla_chunk_backward.default", gla_chunk_backward);
  table.add("assay::gla_recurrent_step.default", gla_recurrent_step);
}

}  // namespace assay
