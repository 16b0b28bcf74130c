// Gated linear attention by its definition, the recurrence (core/opset/gla.h).
#pragma once

#include <algorithm>
#include <cmath>

#include "core/opset/gla.h"
#include "core/opset/shapes.h"
#include "reference/bounds/gla.h"
#include "reference/number/sums.h"
#include "reference/ops/movement.h"

namespace assay::reference {

// Rows of one head of one sequence: q, k, g [L, K], v, grad [L, V]; states [V, K], so that reads are dots of
// neighbours.
template <class T>
struct GlaHead {
  int64_t length = 0, key = 0, value = 0, chunk = 1;
  double scale = 1;
  std::vector<T> q, k, v, g, grad;
};

template <class T>
struct GlaHeadGradients {
  std::vector<T> q, k, v, g, state;
};

// Elements of [B, T, H, D] that belong to a head's rows.
struct GlaLayout {
  const GlaCall& gla;
  int64_t at(const GlaSequence& s, int64_t head, int64_t row, int64_t size) const {
    return ((s.batch * gla.length + s.start + row) * gla.heads + head) * size;
  }
  int64_t state(const GlaSequence& s, int64_t head) const {
    return (s.number * gla.heads + head) * gla.key * gla.value;
  }
};

template <class T>
std::vector<T> gla_rows(const GlaLayout& layout, const GlaSequence& s, int64_t head, const Array<T>& from,
                        int64_t size) {
  std::vector<T> rows(at(s.length() * size));
  for (int64_t t = 0; t < s.length(); ++t) {
    std::copy_n(from.real.data() + layout.at(s, head, t, size), size, rows.data() + t * size);
  }
  return rows;
}
template <class T>
void put_gla_rows(const GlaLayout& layout, const GlaSequence& s, int64_t head, const std::vector<T>& rows,
                  int64_t size, Array<T>& to) {
  for (int64_t t = 0; t < s.length(); ++t) {
    std::copy_n(rows.data() + t * size, size, to.real.data() + layout.at(s, head, t, size));
  }
}

// [K, V] of the argument to [V, K]; zeros where it is None.
template <class T>
std::vector<T> gla_state(const GlaLayout& layout, const GlaSequence& s, int64_t head, const Array<T>* from) {
  const int64_t keys = layout.gla.key, values = layout.gla.value;
  std::vector<T> state(at(keys * values), T(0));
  if (from == nullptr) return state;
  const T* source = from->real.data() + layout.state(s, head);
  for (int64_t k = 0; k < keys; ++k) {
    for (int64_t v = 0; v < values; ++v) state[at(v * keys + k)] = source[k * values + v];
  }
  return state;
}
template <class T>
void put_gla_state(const GlaLayout& layout, const GlaSequence& s, int64_t head, const std::vector<T>& state,
                   Array<T>& to) {
  const int64_t keys = layout.gla.key, values = layout.gla.value;
  T* target = to.real.data() + layout.state(s, head);
  for (int64_t k = 0; k < keys; ++k) {
    for (int64_t v = 0; v < values; ++v) target[k * values + v] = state[at(v * keys + k)];
  }
}

// Decays of the rows. Where rounding is replayed, a row's gate is the difference of two running sums within
// its chunk, as chunked kernels have it: errors of decays over several rows then telescope as theirs do.
template <class T>
std::vector<T> gla_decays(const GlaHead<T>& head) {
  std::vector<T> decays(head.g.size());
  for (std::size_t i = 0; i < decays.size(); ++i) decays[i] = fn::exp(head.g[i]);
  return decays;
}
inline std::vector<Stochastic> gla_decays(const GlaHead<Stochastic>& head) {
  std::vector<Stochastic> decays(head.g.size());
  for (int64_t k = 0; k < head.key; ++k) {
    double running = 0;
    for (int64_t t = 0; t < head.length; ++t) {
      const std::size_t i = at(t * head.key + k);
      if (t % head.chunk == 0) running = 0;
      const double next = std::isfinite(running) && std::isfinite(head.g[i].value)
                              ? stochastic_intermediate(running + head.g[i].value).value
                              : running + head.g[i].value;
      decays[i] = fn::exp(Stochastic(std::isfinite(next) ? next - running : head.g[i].value));
      running = std::isfinite(next) ? next : 0;
    }
  }
  return decays;
}

// S = decay S + k v^T.
template <class T>
void gla_write(const GlaHead<T>& head, const std::vector<T>& decays, int64_t t, std::vector<T>& state) {
  const T* decay = decays.data() + t * head.key;
  const T* k = head.k.data() + t * head.key;
  for (int64_t v = 0; v < head.value; ++v) {
    T* row = state.data() + v * head.key;
    const T& write = head.v[at(t * head.value + v)];
    for (int64_t j = 0; j < head.key; ++j) row[j] = decay[j] * row[j] + k[j] * write;
  }
}

// Output rows [L, V]; `state` goes from the initial to the final one.
template <class T>
std::vector<T> gla_forward(const GlaHead<T>& head, std::vector<T>& state) {
  const std::vector<T> decays = gla_decays(head);
  const T scale = constant<T>(head.scale);
  std::vector<T> output(at(head.length * head.value));
  for (int64_t t = 0; t < head.length; ++t) {
    gla_write(head, decays, t, state);
    for (int64_t v = 0; v < head.value; ++v) {
      output[at(t * head.value + v)] =
          scale * dot_any_order(head.q.data() + t * head.key, state.data() + v * head.key, head.key);
    }
  }
  return output;
}

// One column [V] of a [V, K] state.
template <class T>
const T* gla_column(const std::vector<T>& state, int64_t k, int64_t keys, std::vector<T>& column) {
  for (std::size_t v = 0; v < column.size(); ++v) column[v] = state[v * at(keys) + at(k)];
  return column.data();
}

// The gate's gradient. Directly: exp(g) rowsum(dS S_{t-1}). As chunked kernels have it, for replays: running
// sums of q dq - k dk from the chunk's end, where they start with rowsum(S dS).
template <class T>
constexpr bool kGateByRunningSums = std::is_same_v<T, Stochastic>;

// dS_t = dS_{t+1} decayed + scale q_t do_t^T; states are formed again chunk by chunk. `grad_state` is the
// gradient of the final state.
template <class T>
GlaHeadGradients<T> gla_backward(const GlaHead<T>& head, std::vector<T> state, std::vector<T> grad_state) {
  const int64_t keys = head.key, values = head.value, length = head.length;
  const std::vector<T> decays = gla_decays(head);
  const T scale = constant<T>(head.scale);
  std::vector<std::vector<T>> starts;  // the state before each chunk
  for (int64_t t = 0; t < length; ++t) {
    if (t % head.chunk == 0) starts.push_back(state);
    gla_write(head, decays, t, state);
  }
  GlaHeadGradients<T> out;
  out.q.resize(head.q.size());
  out.k.resize(head.k.size());
  out.v.resize(head.v.size());
  out.g.resize(head.g.size());
  std::vector<T> column(at(values)), other(at(values)), running(at(keys));
  std::vector<std::vector<T>> within;  // states behind the rows of a chunk
  for (std::size_t n = starts.size(); n-- > 0;) {
    const int64_t start = static_cast<int64_t>(n) * head.chunk, end = std::min(length, start + head.chunk);
    within.assign(1, starts[n]);
    for (int64_t t = start; t < end; ++t) {
      within.push_back(within.back());
      gla_write(head, decays, t, within.back());
    }
    for (int64_t k = 0; k < keys && kGateByRunningSums<T>; ++k) {
      gla_column(within.back(), k, keys, column);
      running[at(k)] = dot_any_order(column.data(), gla_column(grad_state, k, keys, other), values);
    }
    for (int64_t t = end - 1; t >= start; --t) {
      const T* q = head.q.data() + t * keys;
      const T* k = head.k.data() + t * keys;
      const T* v = head.v.data() + t * values;
      const T* grad = head.grad.data() + t * values;
      const std::vector<T>& after = within[at(t - start + 1)];
      const std::vector<T>& before = within[at(t - start)];
      for (int64_t i = 0; i < values; ++i) {
        T* row = grad_state.data() + i * keys;
        for (int64_t j = 0; j < keys; ++j) row[j] = scale * q[j] * grad[i] + row[j];
        out.v[at(t * values + i)] = dot_any_order(row, k, keys);
      }
      for (int64_t j = 0; j < keys; ++j) {
        const std::size_t to = at(t * keys + j);
        out.q[to] = scale * dot_any_order(gla_column(after, j, keys, column), grad, values);
        gla_column(grad_state, j, keys, column);
        out.k[to] = dot_any_order(column.data(), v, values);
        if constexpr (kGateByRunningSums<T>) {
          running[at(j)] = (q[j] * out.q[to] - k[j] * out.k[to]) + running[at(j)];
          out.g[to] = running[at(j)];
        } else {
          out.g[to] = decays[to] * dot_any_order(column.data(), gla_column(before, j, keys, other), values);
        }
        for (int64_t i = 0; i < values; ++i) {
          T& entry = grad_state[at(i * keys + j)];
          entry = decays[to] * entry;
        }
      }
    }
  }
  out.state = std::move(grad_state);
  return out;
}

template <class T>
GlaHead<T> gla_head(const GlaLayout& layout, const GlaSequence& s, int64_t head, const OpCall& call,
                    const Inputs<T>& in) {
  const GlaCall& gla = layout.gla;
  const auto rows = [&](std::string_view name, int64_t size) {
    return gla_rows(layout, s, head, *in[at(call.tensor(name))], size);
  };
  GlaHead<T> made;
  made.length = s.length();
  made.key = gla.key;
  made.value = gla.value;
  made.chunk = gla.chunk;
  made.scale = gla.scale;
  made.q = rows("q", gla.key);
  made.k = rows("k", gla.key);
  made.v = rows("v", gla.value);
  made.g = rows("g", gla.key);
  for (std::size_t i = 0; i < made.g.size(); ++i) {
    if (made.g[i] == made.g[i]) continue;
    const auto k = static_cast<int64_t>(i) % gla.key, t = static_cast<int64_t>(i) / gla.key;
    throw Error(ErrorCode::invalid_argument,
                call.op() + ": g is NaN at row " + std::to_string(s.start + t) + ", head " +
                    std::to_string(head) + ", key " + std::to_string(k) + " of batch entry " +
                    std::to_string(s.batch) + "; it must be the logarithm of a decay, at most 0");
  }
  if (call.schema().find("grad_output") != nullptr) made.grad = rows("grad_output", gla.value);
  return made;
}

template <class T>
const Array<T>* gla_optional(const OpCall& call, const Inputs<T>& in, std::string_view name) {
  const auto i = call.tensor_opt(name);
  return i ? in[at(*i)] : nullptr;
}

template <class T>
std::vector<Array<T>> gla_outputs(const OpCall& call) {
  std::vector<Array<T>> out;
  // A result that nobody reads is computed all the same; its sizes are those of the shape rule.
  const auto metas = infer(call);
  for (std::size_t i = 0; metas && i < metas->size(); ++i) out.push_back(make_array<T>((*metas)[i]));
  return out;
}

template <class T>
std::vector<Array<T>> gla_chunk(const OpCall& call, const Inputs<T>& in) {
  const GlaCall gla = gla_call(call);
  const GlaLayout layout{gla};
  auto out = gla_outputs<T>(call);
  const Array<T>* initial = gla_optional(call, in, "initial_state");
  for (const GlaSequence& s : gla.sequences) {
    for (int64_t h = 0; h < gla.heads; ++h) {
      const GlaHead<T> head = gla_head(layout, s, h, call, in);
      std::vector<T> state = gla_state(layout, s, h, initial);
      put_gla_rows(layout, s, h, gla_forward(head, state), gla.value, out[0]);
      put_gla_state(layout, s, h, state, out[1]);
    }
  }
  return out;
}

template <class T>
std::vector<Array<T>> gla_chunk_backward(const OpCall& call, const Inputs<T>& in) {
  const GlaCall gla = gla_call(call);
  const GlaLayout layout{gla};
  auto out = gla_outputs<T>(call);
  for (const GlaSequence& s : gla.sequences) {
    for (int64_t h = 0; h < gla.heads; ++h) {
      const auto grads = gla_backward(gla_head(layout, s, h, call, in),
                                      gla_state(layout, s, h, gla_optional(call, in, "initial_state")),
                                      gla_state(layout, s, h, gla_optional(call, in, "grad_final_state")));
      put_gla_rows(layout, s, h, grads.q, gla.key, out[0]);
      put_gla_rows(layout, s, h, grads.k, gla.key, out[1]);
      put_gla_rows(layout, s, h, grads.v, gla.value, out[2]);
      put_gla_rows(layout, s, h, grads.g, gla.key, out[3]);
      put_gla_state(layout, s, h, grads.state, out[4]);
    }
  }
  return out;
}

// [B, H, D] is [B, T, H, D] with one row.
template <class T>
std::vector<Array<T>> gla_recurrent_step(const OpCall& call, const Inputs<T>& in) {
  const GlaCall gla = gla_step_call(call);
  const GlaLayout layout{gla};
  auto out = gla_outputs<T>(call);
  for (const GlaSequence& s : gla.sequences) {
    for (int64_t h = 0; h < gla.heads; ++h) {
      const GlaHead<T> head = gla_head(layout, s, h, call, in);
      std::vector<T> state = gla_state(layout, s, h, gla_optional(call, in, "state"));
      put_gla_rows(layout, s, h, gla_forward(head, state), gla.value, out[0]);
      put_gla_state(layout, s, h, state, out[1]);
    }
  }
  return out;
}

template <class T>
void register_gla(KernelTable<T>& table) {
  Traits traits = function_traits("definition");
  traits.rms = true;
  table.add("assay::gla_chunk.default", traits, gla_chunk<T>);
  table.add("assay::gla_chunk_backward.default", traits, gla_chunk_backward<T>);
  table.add("assay::gla_recurrent_step.default", traits, gla_recurrent_step<T>);
}

}  // namespace assay::reference
