// Bound and standard error of gated linear attention. Two ways of computing are legal, and the Bound is the
// larger of theirs:
//
//   row by row   exp, product, product, addition at each row, in the accumulator's precision;
//   by chunks    decays exp(b_i - b_j) from running sums b of the gates within a chunk. The sums err by
//                gamma_rows sum|g|, so a decay errs relatively by that of both ends and of the anchor between
//                them, whatever the distance of i and j; operands of the products are rounded to
//                `intermediate`, sums run in the accumulator, states are formed at chunk ends.
//
// Correct kernels reach about 1/300 to 1/100 of it: gamma counts every one of the 128 and more terms of a sum
// as if all erred alike. The standard error, which the RMS gate uses, is within a factor of 4 of what they
// do. What a decay errs by is the same for all values of its key: sums over values, and over rows that saw
// the decay, of operands of one sign err by the sum of these errors and not by the root of their squares.
//
// Errors are followed for the magnitudes M = sum |terms| decayed, since any order of additions is legal.
#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/ops/gla.h"

namespace assay::reference {
namespace {

// Where the running sum of a chunk's gates stands, for each key: what it may be wrong by.
struct Gate {
  double decay = 1;      // exp(g)
  double sum = 0;        // of the gates since the chunk's start
  double log_error = 0;  // of that sum
  double input = 0;      // of the gate itself, where inputs are auto-cast
};

std::vector<Gate> gates_of(const GlaHead<Bounded>& head) {
  const Environment& e = *current_environment;
  std::vector<Gate> gates(head.g.size());
  for (int64_t k = 0; k < head.key; ++k) {
    double sum = 0, magnitude = 0;
    for (int64_t t = 0; t < head.length; ++t) {
      const std::size_t i = at(t * head.key + k);
      const int64_t row = t % head.chunk;
      // A gate of -inf closes exactly; held at the end of exp's range it is a number like others.
      const double g = std::isinf(head.g[i].value) ? std::copysign(1024.0, head.g[i].value) : head.g[i].value;
      sum = row == 0 ? g : g + sum;
      magnitude = row == 0 ? std::fabs(g) : std::fabs(g) + magnitude;
      gates[i] = {std::exp(head.g[i].value), sum, (gamma(row + 2, e.u_acc) + 2 * e.u_acc) * magnitude,
                  head.g[i].bound};
    }
  }
  return gates;
}

// A state, or its gradient: a sum of products that decay.
class DecayedSum {
 public:
  DecayedSum(const std::vector<Bounded>& start, int64_t keys, int64_t chunk)
      : keys_(keys), cells_(start.size()) {
    const Environment& e = *current_environment;
    const Allowance& exp = e.allowance(Function::exp);
    chunk_sum_ = gamma(chunk + 1, e.u_acc);
    product_ = e.u;
    exp_ = exp.relative + e.u;
    exp_row_ = (exp.relative + e.u) * (e.u > 0 ? std::min(1.0, e.u_acc / e.u) : 1);
    exp_absolute_ = exp.absolute + e.eta;
    u_acc_ = e.u_acc;
    for (std::size_t i = 0; i < start.size(); ++i) {
      Cell& c = cells_[i];
      c.value = start[i].value;
      c.magnitude = std::fabs(c.value) + start[i].bound;
      c.by_chunk = c.by_row = start[i].bound;
      c.undecayed = c.magnitude;
      c.variance = start[i].variance;
    }
  }

  double value(std::size_t i) const { return cells_[i].value; }
  double magnitude(std::size_t i) const { return cells_[i].magnitude; }
  double variance(std::size_t i) const { return cells_[i].variance + cells_[i].shared; }
  // The part of it that is the cell's own, and the standard error with a sign that it shares with its key's
  // other cells.
  double own_variance(std::size_t i) const { return cells_[i].variance; }
  double shared_error(std::size_t i) const {
    return std::copysign(std::sqrt(cells_[i].shared), cells_[i].value);
  }
  double error(std::size_t i) const { return std::max(cells_[i].by_row, cells_[i].by_chunk); }
  // As part of a result of the row whose gate is given.
  double error_read(std::size_t i, const Gate& gate) const {
    const Cell& c = cells_[i];
    const double factor = std::expm1(3 * gate.log_error) + exp_ + 2 * product_;
    const double by_chunk =
        c.by_chunk * (1 + factor) + c.magnitude * factor + 2 * exp_absolute_ * c.undecayed;
    return std::max(c.by_row, by_chunk);
  }

  void decay(const Gate* gates) {
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      const Gate& gate = gates[i % at(keys_)];
      const double d = gate.decay;
      Cell& c = cells_[i];
      const double given = gate.input != 0 ? std::expm1(gate.input) : 0;
      const double before = c.magnitude;
      c.value = d * c.value;
      c.magnitude = d * c.magnitude;
      c.by_row =
          d * c.by_row * (1 + exp_row_) + c.magnitude * (exp_row_ + u_acc_ + given) + exp_absolute_ * before;
      c.by_chunk = d * c.by_chunk + c.magnitude * given;
      const double step = (exp_row_ * exp_row_ + u_acc_ * u_acc_ * (1 + gate.sum * gate.sum)) / 3;
      c.variance = d * d * c.variance;
      c.shared = d * d * c.shared + c.value * c.value * step;
    }
  }

  // Adds a(row) b(key).
  void write(std::size_t i, const Bounded& a, const Bounded& b, const Gate& gate) {
    const double product = a.value * b.value;
    const double size = (std::fabs(a.value) + a.bound) * (std::fabs(b.value) + b.bound);
    const double given = a.bound != 0 || b.bound != 0 ? size - std::fabs(product) : 0;
    Cell& c = cells_[i];
    c.value = product + c.value;
    c.magnitude = size + c.magnitude;
    c.undecayed = size + c.undecayed;
    c.by_row = given + u_acc_ * (size + c.magnitude) + c.by_row;
    c.by_chunk = given + size * (std::expm1(3 * gate.log_error) + exp_ + 2 * product_) + c.by_chunk;
    c.variance =
        (product * product * (product_ * product_ + u_acc_ * u_acc_) + c.value * c.value * u_acc_ * u_acc_) /
            3 +
        c.variance;
  }

  // At the edge of two chunks the sum is formed as a whole and taken over.
  void close_chunk(const Gate* behind, const Gate* ahead) {
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      const std::size_t k = i % at(keys_);
      const double sums = behind[k].log_error + (ahead != nullptr ? ahead[k].log_error : 0);
      const double factor = std::expm1(sums) + exp_ + 2 * product_ + chunk_sum_;
      Cell& c = cells_[i];
      c.by_chunk = c.by_chunk * (1 + factor) + c.magnitude * factor + exp_absolute_ * c.undecayed;
      c.undecayed = c.magnitude;
    }
  }

  std::vector<Bounded> result() const {
    std::vector<Bounded> out;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      out.push_back({cells_[i].value, error(i), variance(i)});
    }
    return out;
  }

 private:
  struct Cell {
    double value = 0, magnitude = 0, by_chunk = 0, by_row = 0;
    double undecayed = 0;             // magnitudes since the chunk's start, as if nothing decayed
    double variance = 0, shared = 0;  // of the cell's own roundings, and of its decays
  };
  int64_t keys_;
  std::vector<Cell> cells_;
  double chunk_sum_ = 0, product_ = 0, exp_ = 0, exp_row_ = 0, exp_absolute_ = 0, u_acc_ = 0;
};

// Variance of a sum of errors that are neither independent nor wholly alike: the larger of both.
class SharedErrors {
 public:
  void add(double signed_error) {
    sum_ = signed_error + sum_;
    squares_ = signed_error * signed_error + squares_;
  }
  double variance() const { return std::max(sum_ * sum_, squares_); }

 private:
  double sum_ = 0, squares_ = 0;
};

// A dot of numbers with a row (one key's values) or a column of a DecayedSum, times `scale`.
class ReadOut {
 public:
  enum class Over { keys, values };
  // `terms`: how many products one result may add up, in any grouping.
  ReadOut(int64_t terms, double scale, Over over) : scale_(scale), over_(over) {
    const Environment& e = *current_environment;
    factor_ = gamma(terms, e.u_acc) + 3 * e.u;
  }
  void add(const Bounded& x, const DecayedSum& sum, std::size_t i, const Gate& gate) {
    const Environment& e = *current_environment;
    const double size = std::fabs(x.value), product = x.value * sum.value(i);
    value_ = product + value_;
    error_ = (size + x.bound) * sum.error_read(i, gate) + x.bound * sum.magnitude(i) + error_;
    magnitude_ = (size + x.bound) * sum.magnitude(i) + magnitude_;
    const bool shares = over_ == Over::values;
    if (shares) shared_.add(x.value * sum.shared_error(i));
    squares_ = x.value * x.value * (shares ? sum.own_variance(i) : sum.variance(i)) +
               (product * product * e.u * e.u * 2 + value_ * value_ * e.u_acc * e.u_acc) / 3 + squares_;
  }
  Bounded result() const {
    const Environment& e = *current_environment;
    const double v = scale_ * value_, s = std::fabs(scale_), rounding = e.u * std::fabs(v);
    return {v, s * (error_ + factor_ * magnitude_) + rounding + (v != 0 ? e.eta : 0),
            scale_ * scale_ * (squares_ + shared_.variance()) + rounding * rounding / 3};
  }
  // The part of the standard error that comes from decays, with the sign of the result.
  double shared_error() const {
    return std::copysign(scale_ * std::sqrt(shared_.variance()), scale_ * value_);
  }

 private:
  double scale_ = 1, factor_ = 0;
  Over over_;
  double value_ = 0, error_ = 0, magnitude_ = 0, squares_ = 0;
  SharedErrors shared_;
};

void write_row(const GlaHead<Bounded>& head, int64_t t, const Gate* gates, DecayedSum& state) {
  for (int64_t v = 0; v < head.value; ++v) {
    for (int64_t k = 0; k < head.key; ++k) {
      state.write(at(v * head.key + k), head.v[at(t * head.value + v)], head.k[at(t * head.key + k)],
                  gates[k]);
    }
  }
}

int64_t rows_of_chunk(const GlaHead<Bounded>& head) { return std::min(head.chunk, head.length); }

// Terms that a result of dots over `size` numbers and over the rows of a chunk adds up.
int64_t terms(const GlaHead<Bounded>& head, int64_t size) { return 2 * size + rows_of_chunk(head) + 4; }

// What a chunk's state behind each row is, for its backward pass.
using States = std::vector<DecayedSum>;

// Sums over rows and values that make up the gate's gradient: rowsum(S dS) with errors of both.
struct StateProduct {
  double value = 0, magnitude = 0, error = 0, squares = 0;
};
StateProduct product_of(const DecayedSum& a, const DecayedSum& b, int64_t k, int64_t keys, int64_t values) {
  StateProduct p;
  SharedErrors of_a, of_b;
  for (int64_t v = 0; v < values; ++v) {
    const std::size_t i = at(v * keys + k);
    const double x = a.value(i), y = b.value(i), ex = a.error(i), ey = b.error(i);
    p.value = x * y + p.value;
    p.magnitude = a.magnitude(i) * b.magnitude(i) + p.magnitude;
    p.error = std::fabs(x) * ey + std::fabs(y) * ex + ex * ey + p.error;
    p.squares = x * x * b.own_variance(i) + y * y * a.own_variance(i) + p.squares;
    of_a.add(y * a.shared_error(i));
    of_b.add(x * b.shared_error(i));
  }
  p.squares += of_a.variance() + of_b.variance();
  return p;
}

// dg = sum over later rows of the chunk of (q dq - k dk), and rowsum(S dS) at its end; or directly
// exp(g) rowsum(dS S). Cancellation makes the first the worse one.
class GateGradient {
 public:
  explicit GateGradient(const StateProduct& at_end, int64_t values) {
    const Environment& e = *current_environment;
    of_values_ = gamma(values + 2, e.u_acc) + 3 * e.u_acc;
    error_ = at_end.error + of_values_ * at_end.magnitude;
    magnitude_ = at_end.magnitude;
    value_ = at_end.value;
    squares_ = at_end.squares;
  }
  void add(const Bounded& q, const Bounded& dq, double shared_q, const Bounded& k, const Bounded& dk,
           double shared_k) {
    const Environment& e = *current_environment;
    ++rows_;
    const double a = q.value * dq.value, b = k.value * dk.value;
    value_ = (a - b) + value_;
    magnitude_ = std::fabs(a) + std::fabs(b) + dq.bound * std::fabs(q.value) + dk.bound * std::fabs(k.value) +
                 magnitude_;
    // Twice for k: kernels also form rowsum(S dS) from the k dk of the chunk.
    error_ = (std::fabs(q.value) + q.bound) * dq.bound + 2 * (std::fabs(k.value) + k.bound) * dk.bound +
             q.bound * std::fabs(dq.value) + 2 * k.bound * std::fabs(dk.value) + error_;
    of_q_.add(q.value * shared_q);
    of_k_.add(k.value * shared_k);
    squares_ = q.value * q.value * std::max(dq.variance - shared_q * shared_q, 0.0) +
               k.value * k.value * std::max(dk.variance - shared_k * shared_k, 0.0) +
               ((a * a + b * b) + value_ * value_) * e.u_acc * e.u_acc / 3 + squares_;
  }
  Bounded result(const StateProduct& direct, const Gate& gate) const {
    const Environment& e = *current_environment;
    const double by_sums = error_ + (gamma(rows_ + 2, e.u_acc) + 2 * e.u_acc) * magnitude_;
    const double exp = e.allowance(Function::exp).relative;
    const double directly =
        gate.decay * (direct.error + (of_values_ + exp + std::expm1(gate.input)) * direct.magnitude);
    return {gate.decay * direct.value, std::max(by_sums, directly),
            squares_ + of_q_.variance() + of_k_.variance()};
  }

 private:
  int64_t rows_ = 0;
  double of_values_ = 0, value_ = 0, error_ = 0, magnitude_ = 0, squares_ = 0;
  SharedErrors of_q_, of_k_;
};

}  // namespace

std::vector<Bounded> gla_forward(const GlaHead<Bounded>& head, std::vector<Bounded>& state) {
  const std::vector<Gate> gates = gates_of(head);
  DecayedSum sum(state, head.key, rows_of_chunk(head));
  std::vector<Bounded> output(at(head.length * head.value));
  for (int64_t t = 0; t < head.length; ++t) {
    const Gate* row = gates.data() + t * head.key;
    sum.decay(row);
    write_row(head, t, row, sum);
    for (int64_t v = 0; v < head.value; ++v) {
      ReadOut read(terms(head, head.key), head.scale, ReadOut::Over::keys);
      for (int64_t k = 0; k < head.key; ++k) {
        read.add(head.q[at(t * head.key + k)], sum, at(v * head.key + k), row[k]);
      }
      output[at(t * head.value + v)] = read.result();
    }
    if ((t + 1) % head.chunk == 0 || t + 1 == head.length) sum.close_chunk(row, nullptr);
  }
  if (head.length > 0) state = sum.result();
  return output;
}

GlaHeadGradients<Bounded> gla_backward(const GlaHead<Bounded>& head, std::vector<Bounded> state,
                                       std::vector<Bounded> grad_state) {
  const int64_t keys = head.key, values = head.value, length = head.length;
  GlaHeadGradients<Bounded> out;
  out.q.resize(head.q.size());
  out.k.resize(head.k.size());
  out.v.resize(head.v.size());
  out.g.resize(head.g.size());
  out.state = grad_state;
  if (length == 0) return out;
  const std::vector<Gate> gates = gates_of(head);
  States starts;
  DecayedSum sum(state, keys, rows_of_chunk(head));
  for (int64_t t = 0; t < length; ++t) {
    const Gate* row = gates.data() + t * keys;
    if (t % head.chunk == 0) starts.push_back(sum);
    sum.decay(row);
    write_row(head, t, row, sum);
    if ((t + 1) % head.chunk == 0) sum.close_chunk(row, nullptr);
  }
  DecayedSum grad(grad_state, keys, rows_of_chunk(head));
  for (std::size_t n = starts.size(); n-- > 0;) {
    const int64_t start = static_cast<int64_t>(n) * head.chunk, end = std::min(length, start + head.chunk);
    States within{starts[n]};
    for (int64_t t = start; t < end; ++t) {
      within.push_back(within.back());
      within.back().decay(gates.data() + t * keys);
      write_row(head, t, gates.data() + t * keys, within.back());
    }
    const Gate* last = gates.data() + (end - 1) * keys;
    DecayedSum at_end = within.back();
    at_end.close_chunk(last, nullptr);
    grad.close_chunk(last,
                     end < length ? gates.data() + (std::min(length, end + head.chunk) - 1) * keys : nullptr);
    std::vector<GateGradient> gate_gradients;
    for (int64_t k = 0; k < keys; ++k) {
      gate_gradients.emplace_back(product_of(at_end, grad, k, keys, values), values);
    }
    for (int64_t t = end - 1; t >= start; --t) {
      const Gate* row = gates.data() + t * keys;
      const Bounded* q = head.q.data() + t * keys;
      const Bounded* k = head.k.data() + t * keys;
      const Bounded* v = head.v.data() + t * values;
      const Bounded* of_output = head.grad.data() + t * values;
      const double u = current_environment->u;
      for (int64_t i = 0; i < values; ++i) {
        // scale may be multiplied to either operand, or to the sum: one rounding more.
        const double x = head.scale * of_output[i].value;
        const Bounded scaled(x, std::fabs(head.scale) * of_output[i].bound + u * std::fabs(x), 0);
        ReadOut to_v(terms(head, keys), 1, ReadOut::Over::keys);
        for (int64_t j = 0; j < keys; ++j) {
          const std::size_t cell = at(i * keys + j);
          grad.write(cell, scaled, q[j], row[j]);
          to_v.add(k[j], grad, cell, row[j]);
        }
        out.v[at(t * values + i)] = to_v.result();
      }
      const DecayedSum& after = within[at(t - start + 1)];
      for (int64_t j = 0; j < keys; ++j) {
        const std::size_t to = at(t * keys + j);
        ReadOut to_q(terms(head, values), head.scale, ReadOut::Over::values),
            to_k(terms(head, values), 1, ReadOut::Over::values);
        for (int64_t i = 0; i < values; ++i) {
          const std::size_t cell = at(i * keys + j);
          to_q.add(of_output[i], after, cell, row[j]);
          to_k.add(v[i], grad, cell, row[j]);
        }
        out.q[to] = to_q.result();
        out.k[to] = to_k.result();
        gate_gradients[at(j)].add(q[j], out.q[to], to_q.shared_error(), k[j], out.k[to], to_k.shared_error());
        out.g[to] =
            gate_gradients[at(j)].result(product_of(grad, within[at(t - start)], j, keys, values), row[j]);
      }
      grad.decay(row);
    }
    grad.close_chunk(last, nullptr);
  }
  out.state = grad.result();
  return out;
}

}  // namespace assay::reference
