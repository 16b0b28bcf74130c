// Attention: softmax(query key^T scale + mask) value, by rows of queries.
//
// The Bound is the closed form of anchors §3.4: errors of the scores move each weight relatively, the weights
// are stored in the type in which they meet `value` (the Contract's `input`, else the graph's own), and both
// sums may be formed in any order. An online softmax rescales its state; it is granted one rescaling every
// 128 keys.
#pragma once

#include <algorithm>
#include <cmath>

#include "core/opset/attention.h"
#include "reference/ops/softmax.h"

namespace assay::reference {

inline constexpr int64_t kAttentionRows = 32;  // queries at a time

// Another way to scale is to scale query and key by its root each: two roundings more.
template <class T>
T scaled_score(T s, T scale) {
  return s * scale;
}
inline Bounded scaled_score(Bounded s, Bounded scale) {
  Bounded out = s * scale;
  if (std::isfinite(out.value)) out.bound += 2 * current_environment->u * std::fabs(out.value);
  return out;
}

// The weights as they are stored; rounding them is one more step of a replay.
inline void store_weights(double*, int64_t, DType) {}
inline void store_weights(Stochastic* p, int64_t n, DType graph) {
  Environment& e = *current_environment;
  const FloatFormat& format = float_format(e.precision().input.value_or(graph));
  if (format.precision >= e.intermediate().precision) return;
  const Grid grid(format);
  for (int64_t i = 0; i < n; ++i) p[i] = stochastic_round(grid, p[i].value, e.random);
}
inline void store_weights(Bounded* p, int64_t n, DType graph) {
  const Environment& e = *current_environment;
  const FloatFormat& format = float_format(e.precision().input.value_or(graph));
  const double rescaled =
      static_cast<double>((n + 127) / 128 - 1) * (e.allowance(Function::exp).relative + e.u);
  const bool narrower = format.precision < e.intermediate().precision;
  for (int64_t i = 0; i < n; ++i) {
    if (p[i].value == 0 && p[i].bound == 0) continue;  // masked: exactly nothing
    double bound = p[i].bound + rescaled * (p[i].value + p[i].bound);
    if (narrower) {
      bound += format.unit_roundoff() * (p[i].value + bound) +
               (e.precision().ftz_out ? format.smallest_normal() : format.smallest_subnormal());
    }
    p[i].bound = std::min(bound, 1.0);  // a weight lies between 0 and 1
  }
}
template <class T>
void store_weights(T*, int64_t, DType) {}

// A result lies within the values that it weighs: that holds where the weights themselves are lost (a mask of
// the most negative float swallows the scores' digits).
template <class T>
void limit_to_values(const T*, int64_t, const T*, T*, int64_t, double) {}
inline void limit_to_values(const Bounded* p, int64_t keys, const Bounded* value, Bounded* out, int64_t width,
                            double u_weights) {
  const Environment& e = *current_environment;
  const double slack = gamma(keys + 4, e.u_acc) + 4 * e.u + u_weights;
  for (int64_t w = 0; w < width; ++w) {
    double reach = 0, largest = 0;
    for (int64_t j = 0; j < keys; ++j) {
      if (p[j].value == 0 && p[j].bound == 0) continue;
      const Bounded& v = value[j * width + w];
      reach = std::max(reach, std::fabs(v.value - out[w].value) + v.bound);
      largest = std::max(largest, std::fabs(v.value) + v.bound);
    }
    const double limit = reach + slack * largest + e.eta_acc;
    if (std::isfinite(out[w].value) && !(out[w].bound <= limit)) out[w].bound = limit;
  }
}

// max + log(sum exp(x - max)).
template <class T>
T logsumexp_row(const T* x, T* scratch, int64_t n) {
  const T best = row_maximum(x, n);
  for (int64_t i = 0; i < n; ++i) scratch[i] = fn::exp(x[i] - best);
  return best + fn::log(sum_any_order(scratch, n));
}
inline Bounded logsumexp_row(const Bounded* x, Bounded*, int64_t n) {
  const Environment& e = *current_environment;
  const Allowance& log = e.allowance(Function::log);
  const ExpRow row = bounded_exp_row(x, n);
  const Bounded best = row_maximum(x, n);
  const double log_total = std::log(row.total), v = best.value + log_total;
  const double rescaled =
      static_cast<double>((n + 127) / 128 - 1) * (e.allowance(Function::exp).relative + e.u);
  const double relative = row.total_error + rescaled;
  const double of_log =
      relative >= 1 ? HUGE_VAL
                    : -std::log1p(-relative) + log.absolute + (log.relative + e.u) * std::fabs(log_total);
  return {v, of_log + best.bound + e.u * (std::fabs(best.value) + std::fabs(v)), 0};
}

// What an operator returns beside its output.
enum class AttentionExtra { none, weights, logsumexp };

template <class T>
class Attention {
 public:
  Attention(const OpCall& call, const Inputs<T>& in)
      : a_(attention_call(call)),
        dtype_(call.output(0).dtype),
        query_(*in[at(a_.query)]),
        key_(*in[at(a_.key)]),
        value_(*in[at(a_.value)]),
        mask_(a_.mask ? in[at(*a_.mask)] : nullptr),
        scale_(constant<T>(a_.scale)) {
    if (mask_ != nullptr) {
      Shape scores = a_.batch;
      scores.insert(scores.end(), {a_.rows, a_.keys});
      mask_strides_ = broadcast_strides(mask_->meta.shape, scores);
    }
  }

  std::vector<Array<T>> run(AttentionExtra extra, const OpCall& call) {
    extra_ = extra;
    out_ = make_array<T>(a_.output(dtype_));
    if (extra == AttentionExtra::weights) {
      TensorMeta meta{dtype_, a_.batch};
      meta.shape.insert(meta.shape.end(), {a_.rows, a_.keys});
      second_ = make_array<T>(meta);
    } else if (extra == AttentionExtra::logsumexp) {
      second_ = make_array<T>(a_.logsumexp(dtype_));
    }
    flash_ = call.op() == "aten::_scaled_dot_product_flash_attention_for_cpu.default";
    for (int64_t b = 0; b < a_.matrices(); ++b) matrix(b);
    std::vector<Array<T>> results = one(std::move(out_));
    if (extra != AttentionExtra::none) results.push_back(std::move(second_));
    return results;
  }

 private:
  static Shape leading(const Array<T>& x) { return Shape(x.meta.shape.begin(), x.meta.shape.end() - 2); }
  const T* part(const Array<T>& x, int64_t b, int64_t size) const {
    return x.real.data() + matrix_of(leading(x), a_.batch, b) * size;
  }

  void matrix(int64_t b) {
    const int64_t s = a_.keys, e = a_.depth, w = a_.width;
    const T* query = part(query_, b, a_.rows * e);
    const T* key = part(key_, b, s * e);
    value_rows_ = part(value_, b, s * w);
    values_finite_ = std::all_of(value_rows_, value_rows_ + s * w,
                                 [](const T& v) { return std::isfinite(static_cast<double>(plain(v))); });
    across_.resize(at(s * e));
    for (int64_t j = 0; j < s; ++j) {
      for (int64_t k = 0; k < e; ++k) across_[at(k * s + j)] = key[j * e + k];
    }
    scores_.resize(at(kAttentionRows * s));
    weights_.resize(at(kAttentionRows * s));
    for (int64_t first = 0; first < a_.rows; first += kAttentionRows) {
      const int64_t count = std::min(kAttentionRows, a_.rows - first);
      matmul_any_order(query + first * e, across_.data(), static_cast<const T*>(nullptr), scores_.data(),
                       count, s, e);
      for (int64_t i = 0; i < count; ++i) row(b, first + i, scores_.data() + i * s, weights_.data() + i * s);
      T* out = out_.real.data() + (b * a_.rows + first) * w;
      matmul_any_order(weights_.data(), value_rows_, static_cast<const T*>(nullptr), out, count, w, s);
      for (int64_t i = 0; i < count; ++i) finish(weights_.data() + i * s, out + i * w);
    }
  }

  // Scores of one query: scaled, capped, masked; then its weights.
  void row(int64_t b, int64_t i, T* x, T* p) {
    const int64_t s = a_.keys;
    const T nothing = T(-HUGE_VAL);
    const int64_t mask_row = mask_ != nullptr ? mask_offset(b, i) : 0;
    const int64_t mask_step = mask_ != nullptr ? mask_strides_.back() : 0;
    bool dead = true;
    for (int64_t j = 0; j < s; ++j) {
      x[j] = scaled_score(x[j], scale_);
      if (a_.softcap > 0) {
        x[j] = fn::tanh(x[j] / constant<T>(a_.softcap)) * constant<T>(a_.softcap);
      }
      const std::size_t m = at(mask_row + j * mask_step);
      if (mask_ != nullptr && !mask_->is_integral()) x[j] = x[j] + mask_->real[m];
      if (mask_ != nullptr && mask_->is_integral() && mask_->integer[m] == 0) x[j] = nothing;
      if (a_.diagonal && j > i + *a_.diagonal) x[j] = nothing;
      if (!(x[j] == nothing)) dead = false;
    }
    if (dead) {
      std::fill_n(p, s, T(0));
    } else {
      softmax_row(x, p, s);
      for (int64_t j = 0; j < s; ++j) {
        if (x[j] == nothing && p[j] == T(0)) p[j] = T(0);  // no error either
      }
    }
    if (extra_ == AttentionExtra::weights) {
      std::copy_n(p, s, second_.real.begin() + static_cast<std::ptrdiff_t>((b * a_.rows + i) * s));
    } else if (extra_ == AttentionExtra::logsumexp) {
      second_.real[at(b * a_.rows + i)] = dead ? dead_logsumexp() : logsumexp_row(x, p_scratch(s), s);
    }
    store_weights(p, s, dtype_);
  }

  // The sum of no exponentials: -infinity, but PyTorch's kernel leaves 0 there; nobody says which.
  T dead_logsumexp() const {
    if constexpr (std::is_same_v<T, Bounded>) {
      if (flash_) return Bounded(-HUGE_VAL, HUGE_VAL, 0);
    }
    return T(-HUGE_VAL);
  }

  void finish(const T* p, T* out) {
    const FloatFormat& own = float_format(dtype_);
    if (values_finite_) {
      limit_to_values(p, a_.keys, value_rows_, out, a_.width, own.unit_roundoff());
      return;
    }
    // An infinite or NaN value at a masked key: 0 times it is NaN, a kernel that skips the key never sees it.
    for (int64_t w = 0; w < a_.width; ++w) {
      bool hidden = false;
      std::vector<T> open_weights, open_values;
      for (int64_t j = 0; j < a_.keys; ++j) {
        const T& v = value_rows_[j * a_.width + w];
        if (p[j] == T(0) && !std::isfinite(static_cast<double>(plain(v)))) {
          hidden = true;
          continue;
        }
        open_weights.push_back(p[j]);
        open_values.push_back(v);
      }
      if (!hidden) continue;
      out[w] =
          dot_any_order(open_weights.data(), open_values.data(), static_cast<int64_t>(open_values.size()));
      if constexpr (std::is_same_v<T, Bounded>) out[w].bound = HUGE_VAL;
    }
  }

  int64_t mask_offset(int64_t b, int64_t i) const {
    int64_t offset = i * mask_strides_[mask_strides_.size() - 2];
    for (std::size_t d = a_.batch.size(); d-- > 0; b /= a_.batch[d]) {
      offset += b % a_.batch[d] * mask_strides_[d];
    }
    return offset;
  }
  T* p_scratch(int64_t n) {
    scratch_.resize(at(n));
    return scratch_.data();
  }

  const AttentionCall a_;
  const DType dtype_;
  const Array<T>&query_, &key_, &value_;
  const Array<T>* mask_;
  Shape mask_strides_;
  const T scale_;
  AttentionExtra extra_ = AttentionExtra::none;
  bool flash_ = false, values_finite_ = true;
  const T* value_rows_ = nullptr;
  std::vector<T> across_, scores_, weights_, scratch_;
  Array<T> out_, second_;
};

template <class T, AttentionExtra extra>
std::vector<Array<T>> attention(const OpCall& call, const Inputs<T>& in) {
  if (call.schema().find("dropout_p") != nullptr && call.floating("dropout_p") != 0) {
    throw Error(ErrorCode::unsupported,
                call.op() + ": dropout_p is not 0; which weights are dropped has no definition");
  }
  if (call.schema().find("dropout_mask") != nullptr && !call.is_none("dropout_mask")) {
    throw Error(ErrorCode::unsupported, call.op() + ": dropout_mask is not None");
  }
  return Attention<T>(call, in).run(extra, call);
}

template <class T>
void register_attention(KernelTable<T>& table) {
  const Traits traits = function_traits("PyTorch");
  table.add("aten::scaled_dot_product_attention.default", traits, attention<T, AttentionExtra::none>);
  table.add("aten::_scaled_dot_product_attention_math.default", traits,
            attention<T, AttentionExtra::weights>);
  table.add("aten::_scaled_dot_product_flash_attention_for_cpu.default", traits,
            attention<T, AttentionExtra::logsumexp>);
  table.add("assay::scaled_dot_product_attention.default", traits, attention<T, AttentionExtra::logsumexp>);
}

}  // namespace assay::reference
