#include "models/training/batches.h"

#include <utility>

#include "core/error.h"

namespace assay::models {

Batch read_batch(Emitter& e, int64_t count, int64_t batch, int64_t length) {
  const ValueId all = e.builder().input(kBatches, DType::i64, {count, batch, length + 1});
  const ValueId number = e.builder().input(kBatchNumber, DType::i64, {1});
  const ValueId chosen = e.call("aten::index_select.default",
                                {{"self", ValueArg{all}}, {"dim", int64_t{0}}, {"index", ValueArg{number}}});
  const ValueId rows = e.view(chosen, {batch, length + 1});
  return {e.slice(rows, 1, 0, length), e.slice(rows, 1, 1, length + 1)};
}

Batch model_batch(Emitter& e, int64_t count, int64_t batch, int64_t length, bool has_labels) {
  if (count > 0) return read_batch(e, count, batch, length);
  Batch out{e.builder().input("input_ids", DType::i64, {batch, length}), -1};
  if (has_labels) out.labels = e.builder().input("labels", DType::i64, {batch, length});
  return out;
}

ValueId mean_cross_entropy(Emitter& e, ValueId logits, ValueId labels) {
  const Shape shape = e.shape(logits);
  const int64_t count = shape[0] * shape[1];
  const ValueId wide = e.cast(logits, e.dtype(logits) == DType::f64 ? DType::f64 : DType::f32);
  const ValueId flat = e.view(wide, {count, shape[2]});
  return e.composite("aten::cross_entropy_loss.default",
                     {{"self", ValueArg{flat}}, {"target", ValueArg{e.view(labels, {count})}}},
                     {e.dtype(flat), {}});
}

void advance_batch(TrainingStep& step) {
  const ValueId number = step.graph.find_value(kBatchNumber);
  if (number < 0) throw Error(ErrorCode::invalid_argument, step.graph.id + " reads no batches by number");
  const auto outputs = static_cast<int>(step.graph.outputs.size());
  GraphBuilder builder(std::move(step.graph));
  Emitter e(builder);
  builder.output(e.call("aten::add.Tensor", {{"self", ValueArg{number}}, {"other", int64_t{1}}}));
  step.graph = builder.build();
  step.carry.emplace_back(outputs, kBatchNumber);
}

}  // namespace assay::models
