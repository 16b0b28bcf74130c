// Gathers, scatters and selections by index tensors. An index out of range is an error, never a read outside.
#pragma once

#include <map>

#include "core/opset/number_checks.h"
#include "core/opset/shapes.h"
#include "reference/number/sums.h"
#include "reference/ops/cast.h"
#include "reference/ops/movement.h"

namespace assay::reference {

// The index as a position in [0, size); negative counts from the end where `wraps`.
inline int64_t checked_index(const OpCall& call, int64_t index, int64_t size, bool wraps) {
  if (index >= size || index < (wraps ? -size : 0)) {
    throw Error(ErrorCode::invalid_argument, call.op() + ": index " + std::to_string(index) +
                                                 " is out of range for a dim of size " +
                                                 std::to_string(size));
  }
  return index < 0 ? index + size : index;
}

// Copies `length` elements.
template <class T>
void copy_run(const Array<T>& src, int64_t from, Array<T>& dst, int64_t to, int64_t length) {
  if (src.is_integral()) {
    std::copy_n(src.integer.begin() + from, length, dst.integer.begin() + to);
  } else {
    const int64_t parts = src.parts();
    std::copy_n(src.real.begin() + from * parts, length * parts, dst.real.begin() + to * parts);
  }
}

// Rows of `weight`; padding_idx concerns gradients only.
template <class T>
std::vector<Array<T>> embedding(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  const Array<T>& weight = *in[at(call.tensor("weight"))];
  const Array<T>& indices = *in[at(call.tensor("indices"))];
  const int64_t rows = weight.meta.shape[0], width = weight.meta.shape[1];
  for (std::size_t i = 0; i < indices.integer.size(); ++i) {
    copy_run(weight, checked_index(call, indices.integer[i], rows, false) * width, out,
             static_cast<int64_t>(i) * width, width);
  }
  return one(std::move(out));
}

template <class T>
std::vector<Array<T>> index_select(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  const Array<T>& indices = *in[at(call.tensor("index"))];
  const int64_t dim = normalise_dim(call.integer("dim"), in[0]->rank(), call);
  const Axis from = axis_of(in[0]->meta.shape, dim);
  const auto count = static_cast<int64_t>(indices.integer.size());
  for (int64_t o = 0; o < from.outer; ++o) {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t row = checked_index(call, indices.integer[at(i)], from.size, false);
      copy_run(*in[0], from.at(o, row, 0), out, (o * count + i) * from.inner, from.inner);
    }
  }
  return one(std::move(out));
}

// Where index.Tensor and index_put read or write: each result element's position in `self` is
// before[o] + middle[b] + after[n], for the result, of shape `result`, in the order [o, b, n].
struct IndexPlan {
  std::vector<int64_t> before{0}, middle{0}, after{0};
  Shape result;
};
// The positions along one dim that an index names.
struct DimIndex {
  std::size_t dim;
  Shape shape;
  std::vector<int64_t> positions;
};
inline void add_dim(std::vector<int64_t>& offsets, int64_t size, int64_t stride) {
  std::vector<int64_t> longer;
  longer.reserve(offsets.size() * at(size));
  for (const int64_t offset : offsets) {
    for (int64_t i = 0; i < size; ++i) longer.push_back(offset + i * stride);
  }
  offsets = std::move(longer);
}
// The indices dim by dim. A mask stands for the coordinates of its true elements, one list for each of its
// dims.
template <class T>
std::vector<DimIndex> indices_by_dim(const OpCall& call, const Inputs<T>& in, const Shape& shape) {
  std::vector<DimIndex> out;
  std::size_t dim = 0;
  for (const int number : call.tensors("indices")) {
    if (number < 0) {
      ++dim;
      continue;
    }
    const Array<T>& index = *in[at(number)];
    const Shape& sizes = index.meta.shape;
    const bool mask = index.meta.dtype == DType::boolean || index.meta.dtype == DType::u8;
    if (!index.is_integral() || dim + (mask ? sizes.size() : 1) > shape.size()) {
      throw Error(ErrorCode::invalid_argument,
                  call.op() + ": the indices do not fit self of shape " + to_string(shape));
    }
    if (!mask) {
      out.push_back({dim, sizes, index.integer});
      for (int64_t& i : out.back().positions) i = checked_index(call, i, shape[dim], true);
      ++dim;
      continue;
    }
    const std::size_t first = out.size();
    const Shape strides = contiguous_strides(sizes);
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      if (sizes[d] != shape[dim + d]) {
        throw Error(ErrorCode::invalid_argument, call.op() + ": a mask of shape " + to_string(sizes) +
                                                     " does not fit self of shape " + to_string(shape));
      }
      out.push_back({dim + d, {0}, {}});
    }
    for (int64_t i = 0; i < index.count(); ++i) {
      if (index.integer[at(i)] == 0) continue;
      for (std::size_t d = 0; d < sizes.size(); ++d)
        out[first + d].positions.push_back(i / strides[d] % sizes[d]);
    }
    for (std::size_t d = 0; d < sizes.size(); ++d)
      out[first + d].shape = {static_cast<int64_t>(out[first + d].positions.size())};
    dim += sizes.size();
  }
  return out;
}

template <class T>
IndexPlan index_plan(const OpCall& call, const Inputs<T>& in, const Shape& shape) {
  const std::vector<DimIndex> indices = indices_by_dim(call, in, shape);
  const Shape strides = contiguous_strides(shape);
  IndexPlan plan;
  Shape common;
  std::vector<bool> indexed(shape.size(), false);
  for (const DimIndex& index : indices) {
    common = broadcast(common, index.shape, call);
    indexed[index.dim] = true;
  }
  // Indexed dims side by side: their result dims take their place; otherwise they come first.
  const bool adjacent = indices.empty() || indices.back().dim - indices.front().dim + 1 == indices.size();
  plan.middle.assign(at(element_count(common)), 0);
  for (const DimIndex& index : indices) {
    for_each_row<1>(common, {broadcast_strides(index.shape, common)},
                    [&](int64_t first, const auto& offset, const auto& step, int64_t length) {
                      for (int64_t j = 0; j < length; ++j) {
                        const int64_t i = index.positions[at(offset[0] + j * step[0])];
                        plan.middle[at(first + j)] += i * strides[index.dim];
                      }
                    });
  }
  Shape rest;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (indexed[d]) continue;
    const bool is_before = adjacent && !indices.empty() && d < indices.front().dim;
    add_dim(is_before ? plan.before : plan.after, shape[d], strides[d]);
    (is_before ? plan.result : rest).push_back(shape[d]);
  }
  plan.result.insert(plan.result.end(), common.begin(), common.end());
  plan.result.insert(plan.result.end(), rest.begin(), rest.end());
  return plan;
}

template <class T>
std::vector<Array<T>> index_tensor(const OpCall& call, const Inputs<T>& in) {
  const Array<T>& self = *in[at(call.tensor("self"))];
  const IndexPlan plan = index_plan(call, in, self.meta.shape);
  auto out = make_array<T>({self.meta.dtype, plan.result});  // a mask's true elements count
  const auto run = static_cast<int64_t>(plan.after.size());
  // The dims behind the indexed ones are one run of memory unless they also lie before them.
  const bool contiguous = run > 0 && plan.after.back() - plan.after.front() == run - 1;
  int64_t to = 0;
  for (const int64_t o : plan.before) {
    for (const int64_t b : plan.middle) {
      if (contiguous) {
        copy_run(self, o + b + plan.after.front(), out, to, run);
        to += run;
        continue;
      }
      for (const int64_t n : plan.after) copy_run(self, o + b + n, out, to++, 1);
    }
  }
  return one(std::move(out));
}

// Adds `value` to what is collected for a destination; each destination's sum is taken in any order at the
// end, which is the freedom that duplicate indices give a device.
template <class T>
class Accumulator {
 public:
  explicit Accumulator(Array<T>& out) : out_(out) {}
  void add(int64_t to, const Array<T>& values, int64_t from) {
    if (out_.is_integral()) {
      const int64_t pair[] = {out_.integer[at(to)], values.integer[at(from)]};
      out_.integer[at(to)] = wrapped(out_.meta.dtype, wrapped_sum(pair, 2));
    } else {
      auto& terms = terms_[to];
      if (terms.empty()) terms.push_back(out_.real[at(to)]);
      terms.push_back(values.real[at(from)]);
    }
  }
  void finish() {
    for (const auto& [to, terms] : terms_) {
      out_.real[at(to)] = sum_any_order(terms.data(), static_cast<int64_t>(terms.size()));
    }
  }

 private:
  Array<T>& out_;
  std::map<int64_t, std::vector<T>> terms_;
};

// Without accumulate, duplicates: the last one here; a device may keep any of them.
template <class T>
std::vector<Array<T>> index_put(const OpCall& call, const Inputs<T>& in) {
  const Array<T>& given = *in[at(call.tensor("values"))];
  Array<T> out = *in[at(call.tensor("self"))];
  const IndexPlan plan = index_plan(call, in, out.meta.shape);
  const auto count = static_cast<int64_t>(plan.before.size() * plan.middle.size() * plan.after.size());
  const bool accumulate = call.boolean("accumulate");
  Accumulator<T> accumulator(out);
  const Shape& target = plan.result;
  if (broadcast(given.meta.shape, target, call) != target) {
    throw Error(ErrorCode::invalid_argument, call.op() + ": values of shape " + to_string(given.meta.shape) +
                                                 " do not expand to " + to_string(target) +
                                                 ", which the indices name");
  }
  const Array<T> values =
      strided(given, {given.meta.dtype, target}, broadcast_strides(given.meta.shape, target));
  if (values.count() != count)
    throw Error(ErrorCode::internal, call.op() + ": result shape and index plan disagree");
  int64_t from = 0;
  for (const int64_t o : plan.before) {
    for (const int64_t b : plan.middle) {
      for (const int64_t n : plan.after) {
        if (accumulate) {
          accumulator.add(o + b + n, values, from++);
        } else {
          copy_run(values, from++, out, o + b + n, 1);
        }
      }
    }
  }
  accumulator.finish();
  return one(std::move(out));
}
// Calls f(position in index, position in the indexed tensor) for each element of `index`, as gather and
// scatter pair them: coordinates are equal except along `dim`, where the index decides.
template <class T, class F>
void for_each_indexed(const OpCall& call, const Array<T>& index, const Shape& shape, F&& f) {
  const int64_t rank = static_cast<int64_t>(shape.size());
  if (index.count() == 0) return;
  if (rank == 0 || index.rank() == 0) {
    for (int64_t i = 0; i < index.count(); ++i) {
      f(i, checked_index(call, index.integer[at(i)], rank == 0 ? 1 : shape[0], false));
    }
    return;
  }
  const int64_t dim = normalise_dim(call.integer("dim"), rank, call);
  Shape strides = contiguous_strides(shape);
  const int64_t step = strides[at(dim)];
  strides[at(dim)] = 0;
  for_each_row<1>(
      index.meta.shape, {strides}, [&](int64_t first, const auto& offset, const auto& inner, int64_t length) {
        for (int64_t j = 0; j < length; ++j) {
          const int64_t i = checked_index(call, index.integer[at(first + j)], shape[at(dim)], false);
          f(first + j, offset[0] + j * inner[0] + i * step);
        }
      });
}

template <class T>
std::vector<Array<T>> gather(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  const Array<T>& self = *in[at(call.tensor("self"))];
  for_each_indexed(call, *in[at(call.tensor("index"))], self.meta.shape,
                   [&](int64_t i, int64_t from) { copy_run(self, from, out, i, 1); });
  return one(std::move(out));
}
// `src` may be larger than `index`; its element at the index's coordinates counts.
template <class T>
Array<T> scatter_source(const OpCall& call, const Inputs<T>& in, const Array<T>& index) {
  const Array<T>& src = *in[at(call.tensor("src"))];
  return strided(src, {src.meta.dtype, index.meta.shape}, contiguous_strides(src.meta.shape));
}
template <class T>
std::vector<Array<T>> scatter_src(const OpCall& call, const Inputs<T>& in) {
  Array<T> out = *in[at(call.tensor("self"))];
  const Array<T>& index = *in[at(call.tensor("index"))];
  const Array<T> src = scatter_source(call, in, index);
  for_each_indexed(call, index, out.meta.shape, [&](int64_t i, int64_t to) { copy_run(src, i, out, to, 1); });
  return one(std::move(out));
}
template <class T>
std::vector<Array<T>> scatter_value(const OpCall& call, const Inputs<T>& in) {
  Array<T> out = *in[at(call.tensor("self"))];
  const Scalar value = call.scalar("value");
  for_each_indexed(call, *in[at(call.tensor("index"))], out.meta.shape, [&](int64_t, int64_t to) {
    if (out.is_integral()) {
      out.integer[at(to)] = wrapped(out.meta.dtype, converted_to_integer(value, out.meta.dtype));
    } else {
      out.real[at(to)] = T(value.as_double());
    }
  });
  return one(std::move(out));
}
template <class T>
std::vector<Array<T>> scatter_add(const OpCall& call, const Inputs<T>& in) {
  Array<T> out = *in[at(call.tensor("self"))];
  const Array<T>& index = *in[at(call.tensor("index"))];
  const Array<T> src = scatter_source(call, in, index);
  Accumulator<T> accumulator(out);
  for_each_indexed(call, index, out.meta.shape, [&](int64_t i, int64_t to) { accumulator.add(to, src, i); });
  accumulator.finish();
  return one(std::move(out));
}

// condition ? self : other, in the promoted dtype.
template <class T>
std::vector<Array<T>> where(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  const Array<T>& condition = *in[at(call.tensor("condition"))];
  const Operand<int64_t> chosen{condition.meta.shape, condition.integer.data(), {}};
  if (out.is_integral()) {
    zip3(out.meta.shape, chosen, integer_argument(call, in, "self", out.meta.dtype),
         integer_argument(call, in, "other", out.meta.dtype), out.integer,
         [](int64_t c, int64_t a, int64_t b) { return c != 0 ? a : b; });
  } else {
    const DType dtype = out.meta.dtype;
    zip3(out.meta.shape, chosen, real_argument(call, in, "self", dtype),
         real_argument(call, in, "other", dtype), out.real,
         [](int64_t c, const T& a, const T& b) { return c != 0 ? a : b; });
  }
  return one(std::move(out));
}
template <class T>
std::vector<Array<T>> masked_fill(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  const Array<T>& mask = *in[at(call.tensor("mask"))];
  const Operand<int64_t> chosen{mask.meta.shape, mask.integer.data(), {}};
  if (out.is_integral()) {
    zip3(out.meta.shape, chosen, integer_argument(call, in, "value", out.meta.dtype),
         integer_argument(call, in, "self", out.meta.dtype), out.integer,
         [&](int64_t c, int64_t a, int64_t b) { return c != 0 ? wrapped(out.meta.dtype, a) : b; });
  } else {
    const DType dtype = out.meta.dtype;
    zip3(out.meta.shape, chosen, real_argument(call, in, "value", dtype),
         real_argument(call, in, "self", dtype), out.real,
         [](int64_t c, const T& a, const T& b) { return c != 0 ? a : b; });
  }
  return one(std::move(out));
}
// True positions of the mask take the source's elements in order.
template <class T>
std::vector<Array<T>> masked_scatter(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  const Array<T>& self = *in[at(call.tensor("self"))];
  const Array<T>& mask = *in[at(call.tensor("mask"))];
  const Array<T>& source = *in[at(call.tensor("source"))];
  copy_box(self, out, out.meta.shape, broadcast_strides(self.meta.shape, out.meta.shape), 0,
           contiguous_strides(out.meta.shape), 0);
  int64_t next = 0;
  for_each_row<1>(out.meta.shape, {broadcast_strides(mask.meta.shape, out.meta.shape)},
                  [&](int64_t first, const auto& offset, const auto& step, int64_t length) {
                    for (int64_t j = 0; j < length; ++j) {
                      if (mask.integer[at(offset[0] + j * step[0])] == 0) continue;
                      if (next >= source.count()) {
                        throw Error(ErrorCode::invalid_argument,
                                    call.op() + ": the mask takes an element with index " +
                                        std::to_string(next) + " of source, which has " +
                                        std::to_string(source.count()));
                      }
                      copy_run(source, next++, out, first + j, 1);
                    }
                  });
  return one(std::move(out));
}

template <class T>
void register_indexing(KernelTable<T>& table) {
  using E = Exact<T>;
  const Traits moves = movement_traits();
  const Traits exact = exact_traits("PyTorch");
  table.add_exact("aten::embedding.default", moves, embedding<E>);
  table.add_exact("aten::index_select.default", moves, index_select<E>);
  table.add_exact("aten::index.Tensor", moves, index_tensor<E>);
  table.add_exact("aten::gather.default", moves, gather<E>);
  table.add_exact("aten::scatter.src", moves, scatter_src<E>);
  table.add_exact("aten::scatter.value", exact, scatter_value<E>);
  table.add("aten::scatter_add.default", sum_traits(), scatter_add<T>);
  table.add("aten::index_put.default", sum_traits(), index_put<T>);
  table.add_exact("aten::where.self", exact, where<E>);
  table.add_exact("aten::masked_fill.Scalar", exact, masked_fill<E>);
  table.add_exact("aten::masked_fill.Tensor", exact, masked_fill<E>);
  table.add_exact("aten::masked_scatter.default", moves, masked_scatter<E>);
}

}  // namespace assay::reference
