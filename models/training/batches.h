// Batches of a training run inside the graph: one input holds those of all steps, a counter that is carried
// from step to step selects one. Runs of many steps then differ in nothing but what they carry.
#pragma once

#include "models/emitter.h"
#include "models/optimisers/optimisers.h"

namespace assay::models {

// Names of the inputs: "batches" i64 [count, batch, length + 1] of symbols, "batch_number" i64 [1].
inline constexpr char kBatches[] = "batches";
inline constexpr char kBatchNumber[] = "batch_number";

struct Batch {
  ValueId input_ids, labels;  // i64 [batch, length]: a row's symbols and those that follow them
};
Batch read_batch(Emitter& e, int64_t count, int64_t batch, int64_t length);
// What a model reads: with `count` above 0 a batch by number, else input "input_ids", and "labels" if it
// `has_labels`.
Batch model_batch(Emitter& e, int64_t count, int64_t batch, int64_t length, bool has_labels);
// Of logits [batch, length, symbols], in f32 (f64 of f64).
ValueId mean_cross_entropy(Emitter& e, ValueId logits, ValueId labels);

// Appends batch_number + 1 as an output that the next step reads. `step` was made from a graph with
// read_batch.
void advance_batch(TrainingStep& step);

}  // namespace assay::models
