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
