// One step of recurrent cells (formulas: PyTorch documentation of LSTMCell and GRUCell), and instance_norm.
#include "core/decompose/shorthands.h"

namespace assay {
namespace {

ValueId sigmoid(Rewriter& w, ValueId x) { return unary(w, "aten::sigmoid.default", x); }
ValueId tanh(Rewriter& w, ValueId x) { return unary(w, "aten::tanh.default", x); }

// Part `i` of `count` along the last dim.
ValueId part(Rewriter& w, ValueId gates, int64_t i, int64_t count) {
  const int64_t size = w.shape(gates).back() / count;
  return slice(w, gates, -1, i * size, (i + 1) * size);
}

// Gates in the order i, f, g, o; c' = f c + i g, h' = o tanh(c').
Ids lstm_cell(Rewriter& w, const OpCall& call) {
  const auto states = call.tensors("hx");
  if (states.size() != 2) return {};
  const auto state = [&](std::size_t i) {
    return call.input_values().at(static_cast<std::size_t>(states[i]));
  };
  const ValueId of_input =
      affine(w, value_of(call, "input"), value_of(call, "w_ih"), value_of_opt(call, "b_ih"));
  const ValueId of_state = affine(w, state(0), value_of(call, "w_hh"), value_of_opt(call, "b_hh"));
  const ValueId gates = add(w, of_input, ValueArg{of_state});
  const ValueId in = sigmoid(w, part(w, gates, 0, 4)), forget = sigmoid(w, part(w, gates, 1, 4));
  const ValueId cell = tanh(w, part(w, gates, 2, 4)), out = sigmoid(w, part(w, gates, 3, 4));
  const ValueId next = add(w, mul(w, forget, ValueArg{state(1)}), ValueArg{mul(w, in, ValueArg{cell})});
  return {mul(w, out, ValueArg{tanh(w, next)}), next};
}

// Gates in the order r, z, n; n = tanh(x_n + r h_n), h' = n + z (h - n).
Ids gru_cell(Rewriter& w, const OpCall& call) {
  const ValueId state = value_of(call, "hx");
  const ValueId x = affine(w, value_of(call, "input"), value_of(call, "w_ih"), value_of_opt(call, "b_ih"));
  const ValueId h = affine(w, state, value_of(call, "w_hh"), value_of_opt(call, "b_hh"));
  const auto gate = [&](int64_t i) {
    return sigmoid(w, add(w, part(w, x, i, 3), ValueArg{part(w, h, i, 3)}));
  };
  const ValueId reset = gate(0), update = gate(1);
  const ValueId next = tanh(w, add(w, part(w, x, 2, 3), ValueArg{mul(w, reset, ValueArg{part(w, h, 2, 3)})}));
  return {add(w, next, ValueArg{mul(w, update, ValueArg{sub(w, state, ValueArg{next})})})};
}

// Every channel of every sample normalised by itself: group_norm with a group per channel.
Ids instance_norm(Rewriter& w, const OpCall& call) {
  if (!call.boolean("use_input_stats")) return {};
  const ValueId input = value_of(call, "input");
  if (rank_of(w, input) < 3) return {};
  return {w.emit("aten::group_norm.default", {{"input", ValueArg{input}},
                                              {"num_groups", w.shape(input)[1]},
                                              {"weight", passed_on(call, "weight")},
                                              {"bias", passed_on(call, "bias")},
                                              {"eps", passed_on(call, "eps")}})};
}

}  // namespace

void register_cells(DecomposeTable& table) {
  table.add("aten::lstm_cell.default", lstm_cell);
  table.add("aten::gru_cell.default", gru_cell);
  table.add("aten::instance_norm.default", instance_norm);
}

}  // namespace assay
