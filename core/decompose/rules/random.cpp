// Dropout layers in terms of one draw, the mask.
#include "core/decompose/shorthands.h"

namespace assay {
namespace {

// The identity in evaluation; a draw in training.
Ids dropout(Rewriter& w, const OpCall& call) {
  const ValueId x = value_of(call, "input");
  const double p = call.floating("p");
  if (!call.boolean("train") || p == 0) return {x};
  return {w.emit_all("aten::native_dropout.default", {{"input", ValueArg{x}}, {"p", p}, {"train", true}})[0]};
}

// One draw for each channel: noise of shape [N, C, 1, ...], 0 or 1 / (1 - p).
Ids feature_dropout(Rewriter& w, const OpCall& call) {
  const ValueId x = value_of(call, "input");
  const double p = call.floating("p");
  if (!call.boolean("train") || p == 0) return {x};
  Shape channels(w.shape(x).size(), 1);
  channels.at(0) = w.shape(x).at(0);
  channels.at(1) = w.shape(x).at(1);
  const ValueId empty = w.full(channels, int64_t{0}, w.dtype(x));
  const ValueId kept = w.emit("aten::bernoulli.p", {{"self", ValueArg{empty}}, {"p", 1 - p}});
  const ValueId noise = p == 1 ? kept : div(w, kept, 1 - p);
  return {mul(w, x, ValueArg{noise})};
}

}  // namespace

void register_random(DecomposeTable& table) {
  table.add("aten::dropout.default", dropout);
  table.add("aten::feature_dropout.default", feature_dropout);
}

}  // namespace assay
