// Associative recall: a sequence shows pairs of a key and a value and then asks for the values of keys that
// it showed (Arora et al., "Zoology: Measuring and Improving Recall in Efficient Language Models", 2023). A
// model with a state of fixed size must hold all pairs in it; softmax attention keeps every token.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/tensor.h"
#include "models/optimisers/optimisers.h"

namespace assay::suites {

// One symbol is a pair, key * values + value, so that one layer can learn the task; keys are asked for by
// symbols of their own, and the last symbol fills up. The answer to a query is the symbol `value`.
struct RecallTask {
  int64_t keys = 16, values = 4;
  int64_t queries = 8;                          // asked at the end of a sequence
  std::vector<int64_t> pairs = {2, 4, 8, 16};   // numbers of pairs, of different keys
  std::vector<int64_t> lengths = {24, 40, 64};  // of sequences, from the first pair to the last query
  int64_t batch = 16;                           // sequences of a step

  int64_t symbols() const { return keys * values + keys + 1; }
  int64_t longest() const;
};

// i64 [rows, task.longest()]. Labels are -100 where nothing is asked.
struct RecallBatch {
  Tensor input_ids, labels;
};
// A sequence ends with its queries; what lies before its first pair and between the pairs and the queries is
// filled up. Pairs and length: 0: drawn for each row from the task's. Batches with different numbers are
// independent. Throws Error{invalid_argument} where pairs and queries do not fit.
RecallBatch recall_batch(const RecallTask& task, int64_t rows, int64_t pairs, int64_t length, uint64_t seed,
                         uint64_t number);

// One layer of hidden size 32 with one head, and an MLP; they differ in attention alone.
struct RecallModel {
  std::string id;  // "gla-8", "transformer"
  bool softmax = false;
  int64_t head_key = 32, head_value = 32;

  // What the layer remembers of one sequence of `length` symbols: the f32 state, or keys and values.
  int64_t memory_bytes(int64_t length) const;
};
// GLA with keys of 4, 8 and 16 numbers, and softmax attention.
std::vector<RecallModel> recall_models();

// Inputs "input_ids" and "labels"; parameters and what optimisers hold are carried.
models::TrainingStep recall_step(const RecallTask& task, const RecallModel& model);
// Logits [rows, longest, symbols], the first output, of "input_ids" and the parameters, user inputs with the
// names that they have in recall_step.
Graph recall_answers(const RecallTask& task, const RecallModel& model, int64_t rows);
int64_t recall_parameters(const RecallTask& task, const RecallModel& model);

// How many of the labels that are not -100 have the largest of their logits [rows, length, symbols], and how
// many there are.
struct RecallScore {
  int64_t right = 0, asked = 0;
};
RecallScore recall_score(const Tensor& logits, const Tensor& labels);

}  // namespace assay::suites
