// Functional collectives (torch/distributed/_functional_collectives.py): shapes on one rank. The first dim is
// the one that is gathered and scattered.
#include "core/opset/checks.h"

namespace assay {
namespace {

using namespace rules;

Metas same(const OpCall& call) { return {meta(call, "input")}; }
Metas wait(const OpCall& call) { return {meta(call, "tensor")}; }

Metas all_reduce(const OpCall& call) {
  require_reduction(call, meta(call, "input").dtype);
  return same(call);
}
Metas all_of_list(const OpCall& call) {
  Metas out;
  for (const int number : call.tensors("inputs")) out.push_back(call.input(number));
  return out;
}
void require_reductions(const OpCall& call) {
  for (const TensorMeta& tensor : all_of_list(call)) require_reduction(call, tensor.dtype);
}
Metas all_reduce_list(const OpCall& call) {
  require_reductions(call);
  return all_of_list(call);
}

int64_t group_size(const OpCall& call) {
  const int64_t size = call.integer("group_size");
  if (size < 1) fail(call, "group_size is {}; it must be positive", size);
  return size;
}
TensorMeta gathered(const OpCall& call, TensorMeta tensor) {
  if (tensor.shape.empty()) fail(call, "an input is a 0-d tensor; it must have at least 1 dim");
  if (__builtin_mul_overflow(tensor.shape[0], group_size(call), &tensor.shape[0]))
    fail(call, "the result is too large");
  return tensor;
}
TensorMeta scattered(const OpCall& call, TensorMeta tensor) {
  const int64_t size = group_size(call);
  if (tensor.shape.empty() || tensor.shape[0] % size != 0) {
    fail(call, "an input has shape {}; its first size must be a multiple of group_size, {}",
         to_string(tensor.shape), size);
  }
  tensor.shape[0] /= size;
  return tensor;
}

Metas all_gather(const OpCall& call) { return {gathered(call, meta(call, "input"))}; }
Metas reduce_scatter(const OpCall& call) {
  require_reduction(call, meta(call, "input").dtype);
  return {scattered(call, meta(call, "input"))};
}
Metas all_gather_list(const OpCall& call) {
  Metas out = all_of_list(call);
  for (TensorMeta& tensor : out) tensor = gathered(call, tensor);
  return out;
}
Metas reduce_scatter_list(const OpCall& call) {
  require_reductions(call);
  Metas out = all_of_list(call);
  for (TensorMeta& tensor : out) tensor = scattered(call, tensor);
  return out;
}
Metas into_out(const OpCall& call, const Metas& result) {
  require_shape(call, "out", result[0].shape);
  require_same_dtype(call, "out", "input");
  return result;
}

TensorMeta rows_of_input(const OpCall& call) {
  TensorMeta input = meta(call, "input");
  if (input.shape.empty()) fail(call, "input is a 0-d tensor; it must have at least 1 dim");
  return input;
}
int64_t total_rows(const OpCall& call, std::string_view name) {
  const std::vector<int64_t> sizes = call.integers(name);
  require_sizes(call, name, sizes);
  int64_t sum = 0;
  for (const int64_t size : sizes) {
    if (__builtin_add_overflow(sum, size, &sum)) fail(call, "{} {} are too large", name, to_string(sizes));
  }
  return sum;
}
void require_all_rows(const OpCall& call, std::string_view name, const TensorMeta& input) {
  const int64_t total = total_rows(call, name);
  if (total == input.shape[0]) return;
  fail(call, "{} add up to {}; they must add up to the first size of input, {}", name, total, input.shape[0]);
}

Metas all_to_all(const OpCall& call) {
  TensorMeta input = rows_of_input(call);
  require_all_rows(call, "input_split_sizes", input);
  require_length(call, "output_split_sizes", call.integers("output_split_sizes").size(),
                 call.integers("input_split_sizes").size());
  input.shape[0] = total_rows(call, "output_split_sizes");
  return {input};
}

// Collectives with a size for each rank, which the functional ones of PyTorch lack: rank r of the group has
// sizes[r] rows.
Metas all_gather_v(const OpCall& call) {
  TensorMeta input = rows_of_input(call);
  input.shape[0] = total_rows(call, "sizes");
  return {input};
}
int64_t own_rows(const OpCall& call) {
  const std::vector<int64_t> sizes = call.integers("sizes");
  const int64_t rank = call.integer("rank");
  if (rank < 0 || rank >= static_cast<int64_t>(sizes.size())) {
    fail(call, "rank is {}, outside of the {} ranks that sizes {} is for", rank, sizes.size(),
         to_string(sizes));
  }
  return sizes[static_cast<std::size_t>(rank)];
}
void require_own_rows(const OpCall& call, const TensorMeta& input) {
  if (input.shape[0] == own_rows(call)) return;
  fail(call, "input has {} rows; sizes says {} for rank {}", input.shape[0], own_rows(call),
       call.integer("rank"));
}
// Only the root gets the result; the others get a tensor without rows.
Metas gather_v(const OpCall& call) {
  TensorMeta input = rows_of_input(call);
  const int64_t total = total_rows(call, "sizes");
  require_own_rows(call, input);
  input.shape[0] = call.integer("rank") == call.integer("dst") ? total : 0;
  return {input};
}
// Only the root's input is read.
Metas scatter_v(const OpCall& call) {
  TensorMeta input = rows_of_input(call);
  total_rows(call, "sizes");
  if (call.integer("rank") == call.integer("src")) require_all_rows(call, "sizes", input);
  input.shape[0] = own_rows(call);
  return {input};
}
Metas reduce_scatter_v(const OpCall& call) {
  require_reduction(call, meta(call, "input").dtype);
  TensorMeta input = rows_of_input(call);
  require_all_rows(call, "sizes", input);
  input.shape[0] = own_rows(call);
  return {input};
}

}  // namespace

void register_collectives(ShapeTable& table) {
  const std::string space = "_c10d_functional::";
  table.add(space + "_wrap_tensor_autograd.default", same);
  table.add(space + "all_reduce.default", all_reduce);
  table.add(space + "all_reduce_.default", all_reduce);
  table.add(space + "all_reduce_coalesced.default", all_reduce_list);
  table.add(space + "all_reduce_coalesced_.default", all_reduce_list);
  table.add(space + "broadcast.default", same);
  table.add(space + "broadcast_.default", same);
  table.add(space + "wait_tensor.default", wait);
  table.add(space + "isend.default", wait);
  table.add(space + "irecv.default", wait);
  table.add(space + "all_gather_into_tensor.default", all_gather);
  table.add(space + "all_gather_into_tensor_coalesced.default", all_gather_list);
  table.add(space + "all_gather_into_tensor_out.default",
            [](const OpCall& call) { return into_out(call, all_gather(call)); });
  table.add(space + "reduce_scatter_tensor.default", reduce_scatter);
  table.add(space + "reduce_scatter_tensor_coalesced.default", reduce_scatter_list);
  table.add(space + "reduce_scatter_tensor_out.default",
            [](const OpCall& call) { return into_out(call, reduce_scatter(call)); });
  table.add(space + "all_to_all_single.default", all_to_all);
  const std::string autograd = "_c10d_functional_autograd::";
  table.add(autograd + "all_gather_into_tensor.default", all_gather);
  table.add(autograd + "reduce_scatter_tensor.default", reduce_scatter);
  table.add(autograd + "all_to_all_single.default", all_to_all);
  table.add("assay::all_gather_v.default", all_gather_v);
  table.add("assay::barrier.default", [](const OpCall&) { return Metas{}; });
  table.add("assay::gather.default", gather_v);
  table.add("assay::reduce.default", all_reduce);
  table.add("assay::reduce_scatter_v.default", reduce_scatter_v);
  table.add("assay::scatter.default", scatter_v);
}

}  // namespace assay
