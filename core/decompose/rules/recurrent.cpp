// Recurrent layers, unrolled over their steps (formulas: PyTorch documentation of RNN, LSTM and GRU). The
// products with the inputs of all steps are one product.
#include <utility>

#include "core/decompose/expression.h"
#include "core/opset/checks.h"

namespace assay {
namespace {

// What one layer has in one direction; biases and the projection may be missing.
struct Parameters {
  ValueId of_input = -1, of_state = -1, input_bias = -1, state_bias = -1, projection = -1;
};

// State of a direction: hidden and, for LSTM, cell.
struct State {
  Expression hidden, cell;
};

Expression product(Expression x, ValueId weight, ValueId bias) {
  return x.with(affine(*x.rewriter, x.id, weight, bias < 0 ? std::nullopt : std::optional<ValueId>(bias)));
}
Expression gate(Expression gates, int64_t i, int64_t count) {
  const int64_t size = gates.shape().back() / count;
  return gates.slice(-1, i * size, (i + 1) * size);
}

// `x`: the step's input through its weight and bias, [N, gates * size].
using Step = State (*)(Expression x, const State& before, const Parameters& p);

template <Expression (*Activation)(Expression)>
State plain_step(Expression x, const State& before, const Parameters& p) {
  return {Activation(x + product(before.hidden, p.of_state, p.state_bias)), before.cell};
}
Expression relu(Expression x) { return x.unary("aten::relu.default"); }

// Gates in the order i, f, g, o; c' = f c + i g, h' = o tanh(c').
State lstm_step(Expression x, const State& before, const Parameters& p) {
  const Expression gates = x + product(before.hidden, p.of_state, p.state_bias);
  const Expression kept = sigmoid(gate(gates, 1, 4)) * before.cell;
  const Expression cell = kept + sigmoid(gate(gates, 0, 4)) * tanh(gate(gates, 2, 4));
  const Expression hidden = sigmoid(gate(gates, 3, 4)) * tanh(cell);
  return {p.projection < 0 ? hidden : product(hidden, p.projection, -1), cell};
}

// Gates in the order r, z, n; n = tanh(x_n + r h_n), h' = n + z (h - n).
State gru_step(Expression x, const State& before, const Parameters& p) {
  const Expression h = product(before.hidden, p.of_state, p.state_bias);
  const Expression reset = sigmoid(gate(x, 0, 3) + gate(h, 0, 3));
  const Expression update = sigmoid(gate(x, 1, 3) + gate(h, 1, 3));
  const Expression next = tanh(gate(x, 2, 3) + reset * gate(h, 2, 3));
  return {next + update * (before.hidden - next), before.cell};
}

// One number of dim 0.
Expression at_step(Expression x, int64_t i) {
  return x.with(
      x.rewriter->emit("aten::select.int", {{"self", ValueArg{x.id}}, {"dim", int64_t{0}}, {"index", i}}));
}
Expression stacked(Rewriter& w, const std::vector<Expression>& parts) {
  Ids ids;
  for (const Expression& part : parts) ids.push_back(part.id);
  return {&w, w.emit("aten::stack.default", {{"tensors", ValueListArg{ids}}, {"dim", int64_t{0}}})};
}

// Over x [T, N, features]; outputs in the order of the steps.
std::vector<Expression> run(Expression x, State& state, const Parameters& p, Step step, bool backwards) {
  const int64_t steps = x.shape().at(0);
  const Expression inputs = product(x, p.of_input, p.input_bias);
  std::vector<Expression> out(static_cast<std::size_t>(steps));
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t t = backwards ? steps - 1 - i : i;
    state = step(at_step(inputs, t), state, p);
    out[static_cast<std::size_t>(t)] = state.hidden;
  }
  return out;
}

// Results: output, last hidden states and, with cells, last cells; states are [layers * directions, N, size].
Ids layers(Rewriter& w, const OpCall& call, Step step, const Ids& first_states) {
  if (call.floating("dropout") != 0 && call.boolean("train") && call.integer("num_layers") > 1) return {};
  Expression x = given(w, call, "input");
  std::vector<Expression> states;
  for (const ValueId id : first_states) states.push_back(x.with(id));
  rules::require_rank(call, "input", 3);
  const bool batch_first = call.boolean("batch_first");
  if (batch_first) x = x.permute({1, 0, 2});
  const int directions = call.boolean("bidirectional") ? 2 : 1;
  const bool biases = call.boolean("has_biases"), cells = states.size() == 2;
  const bool projected = cells && states[0].shape().back() != states[1].shape().back();
  const std::vector<int> given_parameters = call.tensors("params");
  const std::size_t each = 2 + (biases ? 2 : 0) + (projected ? 1 : 0);
  const auto count = static_cast<std::size_t>(call.integer("num_layers") * directions);
  if (given_parameters.size() != each * count) {
    rules::fail(call, "params has {} tensors; {} layers in {} directions need {} each",
                given_parameters.size(), call.integer("num_layers"), directions, each);
  }
  const auto parameters = [&](std::size_t unit) {
    const auto id = [&](std::size_t i) {
      return call.input_values().at(static_cast<std::size_t>(given_parameters.at(unit * each + i)));
    };
    Parameters p{id(0), id(1), -1, -1, -1};
    if (biases) {
      p.input_bias = id(2);
      p.state_bias = id(3);
    }
    if (projected) p.projection = id(each - 1);
    return p;
  };

  std::vector<Expression> hidden, cell;
  for (std::size_t unit = 0; unit < count; unit += static_cast<std::size_t>(directions)) {
    std::vector<std::vector<Expression>> outputs;
    for (int d = 0; d < directions; ++d) {
      const auto index = static_cast<int64_t>(unit) + d;
      State state{at_step(states[0], index), at_step(states.back(), index)};
      outputs.push_back(run(x, state, parameters(static_cast<std::size_t>(index)), step, d == 1));
      hidden.push_back(state.hidden);
      cell.push_back(state.cell);
    }
    x = stacked(w, outputs[0]);
    if (directions == 2) x = x.with(cat(w, {x.id, stacked(w, outputs[1]).id}, -1));
  }
  if (batch_first) x = x.permute({1, 0, 2});
  std::vector<Expression> results{x, stacked(w, hidden)};
  if (cells) results.push_back(stacked(w, cell));
  Ids out;
  for (const Expression& result : results) out.push_back(result.id);
  return out;
}

DecomposeRule layers_of(Step step) {
  return [step](Rewriter& w, const OpCall& call) { return layers(w, call, step, {value_of(call, "hx")}); };
}

Ids lstm(Rewriter& w, const OpCall& call) {
  Ids states;
  for (const int i : call.tensors("hx"))
    states.push_back(call.input_values().at(static_cast<std::size_t>(i)));
  if (states.size() != 2) rules::fail(call, "hx has {} tensors; it must have 2", states.size());
  return layers(w, call, lstm_step, states);
}

template <Expression (*Activation)(Expression)>
Ids plain_cell(Rewriter& w, const OpCall& call) {
  const auto bias = [&](const char* name) { return value_of_opt(call, name).value_or(-1); };
  const Parameters p{value_of(call, "w_ih"), value_of(call, "w_hh"), bias("b_ih"), bias("b_hh"), -1};
  const Expression h = given(w, call, "hx");
  return {plain_step<Activation>(product(given(w, call, "input"), p.of_input, p.input_bias), {h, h}, p)
              .hidden.id};
}

}  // namespace

void register_recurrent(DecomposeTable& table) {
  table.add("aten::lstm.input", lstm);
  table.add("aten::gru.input", layers_of(gru_step));
  table.add("aten::rnn_tanh.input", layers_of(plain_step<tanh>));
  table.add("aten::rnn_relu.input", layers_of(plain_step<relu>));
  table.add("aten::rnn_tanh_cell.default", plain_cell<tanh>);
  table.add("aten::rnn_relu_cell.default", plain_cell<relu>);
}

}  // namespace assay
