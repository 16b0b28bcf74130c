// Scans, medians and other order statistics, sorted searches, unique elements and histograms.
#include <algorithm>
#include <limits>

#include "core/opset/checks.h"

namespace assay {
namespace {

using namespace rules;

Metas cumulative_product(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  normalise_dim(call.integer("dim"), rank(self), call);
  return {{call.dtype_opt("dtype").value_or(accumulated(self.dtype)), self.shape}};
}

Metas cumulative_extremum(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  require_kind(call, "self", self.dtype, kNoComplex);
  normalise_dim(call.integer("dim"), rank(self), call);
  return {self, {DType::i64, self.shape}};
}

Metas cumulative_log_sum_exp(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  require_kind(call, "self", self.dtype, kInexact);
  normalise_dim(call.integer("dim"), rank(self), call);
  return {self};
}

Metas median_all(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  require_kind(call, "self", self.dtype, kReal);
  return {{self.dtype, {}}};
}

// Values and indices along one dim that is not empty.
Metas order_statistic(const OpCall& call, unsigned kinds) {
  const TensorMeta& self = meta(call, "self");
  require_kind(call, "self", self.dtype, kinds);
  const int64_t dim = normalise_dim(call.integer("dim"), rank(self), call);
  require_not_empty(call, self.shape, {dim});
  const Shape shape = reduced_shape(self.shape, {dim}, call.boolean("keepdim"));
  return {{self.dtype, shape}, {DType::i64, shape}};
}
Metas median_along(const OpCall& call) { return order_statistic(call, kReal); }
Metas mode(const OpCall& call) { return order_statistic(call, kNoComplex); }
Metas kth_value(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  const int64_t dim = normalise_dim(call.integer("dim"), rank(self), call);
  const int64_t k = call.integer("k");
  if (k < 1 || k > size_at(self, dim)) {
    fail(call, "k is {}; it must be within [1, {}], the size of dim {}", k, size_at(self, dim), dim);
  }
  return order_statistic(call, kReal);
}

Metas sort(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  require_kind(call, "self", self.dtype, kNoComplex);
  normalise_dim(call.integer("dim"), rank(self), call);
  return {self, {DType::i64, self.shape}};
}
Metas argsort(const OpCall& call) { return {sort(call)[1]}; }
Metas msort(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  require_kind(call, "self", self.dtype, kNoComplex);
  return {self};
}

Metas count_nonzero(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  const auto dims = call.integers_opt("dim").value_or(std::vector<int64_t>{});
  return {{DType::i64, reduced_shape(self.shape, reduced_dims(call, dims, rank(self)), false)}};
}

// Sequence and values are compared in their promoted dtype.
void require_numbers(const OpCall& call, std::string_view sequence, DType promoted) {
  if (promoted == DType::boolean) fail(call, "{} and self are bool; one of them must hold numbers", sequence);
}
DType positions_dtype(const OpCall& call) { return call.boolean("out_int32") ? DType::i32 : DType::i64; }

void check_sequence(const OpCall& call) {
  const TensorMeta& sequence = meta(call, "sorted_sequence");
  if (sequence.shape.empty()) fail(call, "sorted_sequence is a 0-d tensor; it must have at least 1 dim");
  if (const auto side = call.string_opt("side")) {
    require_word(call, "side", *side, {"left", "right"});
    if (*side == "left" && call.boolean("right")) {
      fail(call, "side is 'left' and right is set; they must agree");
    }
  }
  if (const TensorMeta* sorter = meta_opt(call, "sorter")) {
    require_shape(call, "sorter", sequence.shape);
    if (sorter->dtype != DType::i64)
      fail(call, "sorter has dtype {}; it must be i64", name_of(sorter->dtype));
  }
}

Metas search_sorted(const OpCall& call) {
  check_sequence(call);
  const TensorMeta& sequence = meta(call, "sorted_sequence");
  const TensorMeta& self = meta(call, "self");
  require_kind(call, "sorted_sequence", sequence.dtype, kNoComplex);
  require_kind(call, "self", self.dtype, kNoComplex);
  require_numbers(call, "sorted_sequence", result_type({sequence, self}, {}));
  if (sequence.shape.size() != 1) {
    const bool fits = self.shape.size() == sequence.shape.size() && !self.shape.empty() &&
                      std::equal(self.shape.begin(), self.shape.end() - 1, sequence.shape.begin());
    if (!fits) {
      fail(call, "self has shape {}; all dims but the last must be those of sorted_sequence, of shape {}",
           to_string(self.shape), to_string(sequence.shape));
    }
  }
  return {{positions_dtype(call), self.shape}};
}
Metas search_sorted_number(const OpCall& call) {
  check_sequence(call);
  require_rank(call, "sorted_sequence", 1);
  const TensorMeta& sequence = meta(call, "sorted_sequence");
  require_kind(call, "sorted_sequence", sequence.dtype, kNoComplex);
  require_numbers(call, "sorted_sequence", result_type({sequence}, {call.scalar("self")}));
  return {{positions_dtype(call), {}}};
}
void check_boundaries(const OpCall& call) {
  require_rank(call, "boundaries", 1);
  require_kind(call, "boundaries", meta(call, "boundaries").dtype, kNoComplex);
}
Metas bucketize(const OpCall& call) {
  check_boundaries(call);
  require_kind(call, "self", meta(call, "self").dtype, kNoComplex);
  require_numbers(call, "boundaries", result_type({meta(call, "boundaries"), meta(call, "self")}, {}));
  return {{positions_dtype(call), meta(call, "self").shape}};
}
Metas bucketize_number(const OpCall& call) {
  check_boundaries(call);
  require_numbers(call, "boundaries", result_type({meta(call, "boundaries")}, {call.scalar("self")}));
  return {{positions_dtype(call), {}}};
}

// Unique elements, where each element of self went, and how often each occurs. What nobody asks for is empty,
// except along a dim, where PyTorch gives all three.
Metas unique_all(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  require_kind(call, "self", self.dtype, kNoComplex);
  return {{self.dtype, {-1}},
          {DType::i64, call.boolean("return_inverse") ? self.shape : Shape{0}},
          {DType::i64, call.boolean("return_counts") ? Shape{-1} : Shape{0}}};
}
Metas unique_along(const OpCall& call, int64_t dim) {
  const TensorMeta& self = meta(call, "self");
  require_kind(call, "self", self.dtype, kNoComplex);
  const int64_t d = normalise_dim(dim, rank(self), call);
  Shape found = self.shape;
  if (found.empty()) found = {1};
  if (element_count(self.shape) == 0 && found[at(d)] != 0) {
    fail(call, "self has shape {}; slices without elements cannot be told apart", to_string(self.shape));
  }
  const int64_t count = found[at(d)], number = count == 0 ? 0 : -1;
  found[at(d)] = number;
  return {{self.dtype, found}, {DType::i64, {count}}, {DType::i64, {number}}};
}
Metas unique_consecutive(const OpCall& call) {
  const auto dim = call.integer_opt("dim");
  return dim ? unique_along(call, *dim) : unique_all(call);
}
Metas unique_dim(const OpCall& call) { return unique_along(call, call.integer("dim")); }

void require_histogram_dtype(const OpCall& call, std::string_view name) {
  require_kind(call, name, meta(call, name).dtype, kFloat);
}

Metas histc(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  require_histogram_dtype(call, "self");
  const int64_t bins = call.integer("bins");
  if (bins <= 0) fail(call, "bins is {}; it must be positive", bins);
  if (call.scalar("min").as_double() > call.scalar("max").as_double())
    fail(call, "min is {} and max is {}; max must not be smaller", call.scalar("min").as_double(),
         call.scalar("max").as_double());
  return {{self.dtype, {bins}}};
}

void check_weight(const OpCall& call, const Shape& samples) {
  if (meta_opt(call, "weight") == nullptr) return;
  require_shape(call, "weight", samples);
  require_same_dtype(call, "weight", "self");
}

// A bin lies between two edges.
int64_t edges_of(const OpCall& call, int64_t bins) {
  if (bins <= 0 || bins == std::numeric_limits<int64_t>::max()) {
    fail(call, "bins is {}; it must be positive and have a successor", bins);
  }
  return bins + 1;
}

Metas histogram_of_count(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  require_histogram_dtype(call, "self");
  const int64_t bins = call.integer("bins");
  const int64_t edges = edges_of(call, bins);
  if (const auto range = call.floats_opt("range")) {
    require_length(call, "range", range->size(), 2);
    if ((*range)[0] > (*range)[1]) {
      fail(call, "range is [{}, {}]; its end must not be smaller than its start", (*range)[0], (*range)[1]);
    }
  }
  check_weight(call, self.shape);
  return {{self.dtype, {bins}}, {self.dtype, {edges}}};
}

Metas histogram_of_edges(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  require_histogram_dtype(call, "self");
  require_rank(call, "bins", 1);
  require_same_dtype(call, "bins", "self");
  const int64_t edges = meta(call, "bins").shape[0];
  if (edges < 2) fail(call, "bins has {} edges; a bin lies between two", edges);
  check_weight(call, self.shape);
  return {{self.dtype, {edges - 1}}, {self.dtype, {edges}}};
}

// Samples [..., N] in N dims.
Shape check_samples(const OpCall& call, std::size_t bins) {
  const TensorMeta& self = meta(call, "self");
  require_histogram_dtype(call, "self");
  if (self.shape.size() < 2) {
    fail(call, "self has shape {}; it must have at least 2 dims, the last one holding coordinates",
         to_string(self.shape));
  }
  if (static_cast<int64_t>(bins) != self.shape.back()) {
    fail(call, "bins has {} entries; it must have {}, one for each coordinate of self", bins,
         self.shape.back());
  }
  Shape samples(self.shape.begin(), self.shape.end() - 1);
  check_weight(call, samples);
  return samples;
}
void check_counts(const OpCall& call) {
  const std::vector<int64_t> bins = call.integers("bins");
  check_samples(call, bins.size());
  for (const int64_t count : bins) {
    if (count <= 0) fail(call, "bins has an entry {}; each must be positive", count);
  }
  if (const auto range = call.floats_opt("range")) {
    require_length(call, "range", range->size(), 2 * bins.size());
    for (std::size_t i = 0; i < bins.size(); ++i) {
      if ((*range)[2 * i] > (*range)[2 * i + 1]) fail(call, "range of dim {} ends before it starts", i);
    }
  }
}
Metas histogramdd_edges(const OpCall& call) {
  check_counts(call);
  Metas out;
  for (const int64_t count : call.integers("bins"))
    out.push_back({meta(call, "self").dtype, {edges_of(call, count)}});
  return out;
}
Metas histogramdd_of_counts(const OpCall& call) {
  check_counts(call);
  return {{meta(call, "self").dtype, call.integers("bins")}};
}
Metas histogramdd_of_edges(const OpCall& call) {
  const std::vector<int> bins = call.tensors("bins");
  check_samples(call, bins.size());
  Shape shape;
  for (const int number : bins) {
    const TensorMeta& edges = call.input(number);
    if (edges.shape.size() != 1 || edges.shape[0] < 2) {
      fail(call, "bins has an entry of shape {}; each must have 1 dim and at least two edges",
           to_string(edges.shape));
    }
    if (edges.dtype != meta(call, "self").dtype) {
      fail(call, "bins has an entry of dtype {}; it must be that of self, {}", name_of(edges.dtype),
           name_of(meta(call, "self").dtype));
    }
    shape.push_back(edges.shape[0] - 1);
  }
  return {{meta(call, "self").dtype, shape}};
}

// 64 unsigned bits, which no DType holds.
Metas hash_tensor(const OpCall& call) {
  throw Error(ErrorCode::unsupported,
              call.op() + ": the result is uint64; unsigned integers of more than 8 bits are not supported");
}

}  // namespace

void register_ordering(ShapeTable& table) {
  table.add("aten::cumprod.default", cumulative_product);
  table.add("aten::cummax.default", cumulative_extremum);
  table.add("aten::cummin.default", cumulative_extremum);
  table.add("aten::logcumsumexp.default", cumulative_log_sum_exp);
  table.add("aten::median.default", median_all);
  table.add("aten::nanmedian.default", median_all);
  table.add("aten::median.dim", median_along);
  table.add("aten::nanmedian.dim", median_along);
  table.add("aten::mode.default", mode);
  table.add("aten::kthvalue.default", kth_value);
  table.add("aten::sort.stable", sort);
  table.add("aten::argsort.default", argsort);
  table.add("aten::argsort.stable", argsort);
  table.add("aten::msort.default", msort);
  table.add("aten::count_nonzero.dim_IntList", count_nonzero);
  table.add("aten::searchsorted.Tensor", search_sorted);
  table.add("aten::searchsorted.Scalar", search_sorted_number);
  table.add("aten::bucketize.Tensor", bucketize);
  table.add("aten::bucketize.Scalar", bucketize_number);
  table.add("aten::_unique2.default", unique_all);
  table.add("aten::unique_consecutive.default", unique_consecutive);
  table.add("aten::unique_dim.default", unique_dim);
  table.add("aten::hash_tensor.default", hash_tensor);
  table.add("aten::histc.default", histc);
  table.add("aten::histogram.bin_ct", histogram_of_count);
  table.add("aten::histogram.bins_tensor", histogram_of_edges);
  table.add("aten::_histogramdd_bin_edges.default", histogramdd_edges);
  table.add("aten::_histogramdd_from_bin_cts.default", histogramdd_of_counts);
  table.add("aten::_histogramdd_from_bin_tensors.default", histogramdd_of_edges);
}

}  // namespace assay
