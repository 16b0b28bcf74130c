// Defects that belong to one family of operators: attention, linear attention, convolution, gradients,
// selections, scans, indices. The right formula is evaluated on inputs that are wrong in a telling way.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "harness/mutant/families.h"

namespace assay {
namespace {

using Tensors = std::vector<Tensor>;

// A tensor as [outer, length, inner] around one dimension.
struct Lines {
  Lines(const Shape& shape, int64_t dim) {
    for (std::size_t d = 0; d < shape.size(); ++d) {
      (static_cast<int64_t>(d) < dim ? outer : static_cast<int64_t>(d) == dim ? length : inner) *= shape[d];
    }
  }
  std::size_t at(int64_t o, int64_t i, int64_t n) const {
    return static_cast<std::size_t>((o * length + i) * inner + n);
  }
  int64_t outer = 1, length = 1, inner = 1;
};

// Moves element i along `dim` to place(i, length).
template <class Place>
Tensor moved(const Tensor& tensor, int64_t dim, Place&& place) {
  const Tensor whole = tensor.contiguous();
  const Lines lines(whole.shape(), dim);
  std::vector<std::byte> bytes(whole.bytes());
  const std::size_t size = size_of(whole.dtype());
  for (int64_t o = 0; o < lines.outer; ++o) {
    for (int64_t i = 0; i < lines.length; ++i) {
      std::memcpy(bytes.data() + lines.at(o, place(i, lines.length), 0) * size,
                  whole.data() + lines.at(o, i, 0) * size, static_cast<std::size_t>(lines.inner) * size);
    }
  }
  return Tensor::from_bytes(whole.dtype(), whole.shape(), bytes.data(), bytes.size());
}

// Cyclically by `by` places.
Tensor rolled(const Tensor& tensor, int64_t dim, int64_t by) {
  return moved(tensor, dim,
               [by](int64_t i, int64_t length) { return ((i + by) % length + length) % length; });
}

Tensor reversed(const Tensor& tensor, int64_t dim) {
  return moved(tensor, dim, [](int64_t i, int64_t length) { return length - 1 - i; });
}

Tensor filled(const Tensor& tensor, double value) {
  const auto count = static_cast<std::size_t>(tensor.count());
  if (is_integral(tensor.dtype())) {
    return Tensor::from_ints(tensor.dtype(), tensor.shape(),
                             std::vector<int64_t>(count, static_cast<int64_t>(value)));
  }
  return Tensor::from_doubles(tensor.dtype(), tensor.shape(), std::vector<double>(count, value));
}

// Each matrix as it reads if its rows are taken for its columns.
Tensor by_columns(const Tensor& tensor) {
  const std::vector<double> values = tensor.to_doubles();
  std::vector<double> read(values.size());
  const int64_t rows = tensor.size(-2), columns = tensor.size(-1);
  for (std::size_t i = 0; i < read.size(); ++i) {
    const int64_t place = static_cast<int64_t>(i) % (rows * columns);
    const int64_t base = static_cast<int64_t>(i) - place;
    read[i] = values[static_cast<std::size_t>(base + place % columns * rows + place / columns)];
  }
  return Tensor::from_doubles(tensor.dtype(), tensor.shape(), read);
}

template <class Edit>
Tensor edited(const Tensor& tensor, Edit&& edit) {
  std::vector<double> values = tensor.to_doubles();
  for (double& v : values) v = edit(v);
  return Tensor::from_doubles(tensor.dtype(), tensor.shape(), values);
}

bool has(const OpCall& call, std::string_view name) {
  const SchemaArgument* argument = call.schema().find(name);
  return argument != nullptr && argument->type.base == BaseType::tensor && !argument->type.list &&
         !call.outputs().empty() && call.tensor_opt(name).has_value();
}

const Shape& shape_of(const OpCall& call, std::string_view name) {
  return call.input(call.tensor(name)).shape;
}

// A mutant that gives one tensor argument another content.
Mutant input_mutant(std::string name, std::string description, std::string argument,
                    std::function<bool(const OpCall&)> applies, std::function<Tensor(const Tensor&)> edit) {
  Mutant mutant;
  mutant.name = std::move(name);
  mutant.description = std::move(description);
  mutant.applies = [applies, argument](const OpCall& call) { return has(call, argument) && applies(call); };
  mutant.plant = [argument, edit](const OpCall& call, const Tensors& inputs, Tensors& outputs) {
    Tensors changed = inputs;
    Tensor* tensor = input_of(call, changed, argument);
    *tensor = edit(*tensor);
    adopt(call, inputs, outputs, recompute(call, changed));
  };
  return mutant;
}

bool is_attention(const OpCall& call) { return has(call, "query") && has(call, "key") && has(call, "value"); }
bool is_gated(const OpCall& call) {
  return is_one_of(call, {"assay::gla_chunk", "assay::gla_recurrent_step", "assay::gla_chunk_backward"});
}
bool is_backward(const OpCall& call) { return call.op().find("_backward") != std::string::npos; }

// Every float input through `edit`, then the right formula.
template <class Edit>
void with_inputs(const OpCall& call, const Tensors& inputs, Tensors& outputs, Edit&& edit) {
  Tensors changed = inputs;
  for (Tensor& input : changed) {
    if (input.defined() && is_float(input.dtype()))
      input = edited(input, [&](double v) { return edit(input.dtype(), v); });
  }
  adopt(call, inputs, outputs, recompute(call, changed));
}

// Among equal values of a sorted line the indices are in reversed order.
void reverse_ties(const OpCall& call, const Tensors& inputs, Tensors& outputs) {
  const Shape& shape = outputs[0].shape();
  if (shape.empty()) return;
  const auto rank = static_cast<int64_t>(shape.size());
  const int64_t dim = call.schema().find("dim") == nullptr ? rank - 1 : (call.integer("dim") + rank) % rank;
  const Lines lines(shape, dim);
  const std::vector<double> values = outputs[0].to_doubles();
  std::vector<int64_t> indices = outputs[1].to_ints();
  for (int64_t o = 0; o < lines.outer; ++o) {
    for (int64_t n = 0; n < lines.inner; ++n) {
      for (int64_t i = 0; i < lines.length;) {
        int64_t end = i + 1;
        while (end < lines.length && values[lines.at(o, end, n)] == values[lines.at(o, i, n)]) ++end;
        for (int64_t a = i, b = end - 1; a < b; ++a, --b) {
          std::swap(indices[lines.at(o, a, n)], indices[lines.at(o, b, n)]);
        }
        i = end;
      }
    }
  }
  Tensors wrong = outputs;
  wrong[1] = Tensor::from_ints(outputs[1].dtype(), outputs[1].shape(), indices);
  adopt(call, inputs, outputs, wrong);
}

bool reduces(const OpCall& call) {
  return is_one_of(call, {"aten::sum",       "aten::mean",     "aten::var",    "aten::std",
                          "aten::amax",      "aten::amin",     "aten::prod",   "aten::linalg_vector_norm",
                          "aten::logsumexp", "aten::any",      "aten::all",    "aten::cumsum",
                          "aten::max",       "aten::min",      "aten::argmax", "aten::argmin",
                          "aten::norm",      "aten::var_mean", "aten::nansum", "aten::count_nonzero"}) &&
         !call.outputs().empty() && has(call, "self");
}

bool compares(const OpCall& call) {
  return is_one_of(call,
                   {"aten::eq", "aten::ne", "aten::lt", "aten::le", "aten::gt", "aten::ge", "aten::isnan",
                    "aten::isinf", "aten::logical_not", "aten::logical_and", "aten::logical_or"});
}

}  // namespace

void add_family_mutants(std::vector<Mutant>& table) {
  const auto any = [](const OpCall&) { return true; };
  const auto floats_in = [](const OpCall& call) {
    return !call.outputs().empty() &&
           std::any_of(call.inputs().begin(), call.inputs().end(), [](const TensorMeta& meta) {
             return is_float(meta.dtype) && meta.dtype != DType::f64;
           });
  };

  // Attention and linear attention.
  table.push_back(input_mutant(
      "heads_shifted", "query heads read the keys and values of the next group", "key",
      [](const OpCall& call) {
        const Shape& key = shape_of(call, "key");
        return is_attention(call) && key.size() >= 3 && key[key.size() - 3] >= 2;
      },
      [](const Tensor& key) { return rolled(key, key.rank() - 3, 1); }));
  table.push_back(input_mutant(
      "last_key_dropped", "the last key counts for nothing", "value",
      [](const OpCall& call) { return is_attention(call) && shape_of(call, "value").size() >= 2; },
      [](const Tensor& value) {
        std::vector<double> values = value.to_doubles();
        const Lines lines(value.shape(), value.rank() - 2);
        for (int64_t o = 0; o < lines.outer && lines.length > 0; ++o) {
          for (int64_t n = 0; n < lines.inner; ++n) values[lines.at(o, lines.length - 1, n)] = 0;
        }
        return Tensor::from_doubles(value.dtype(), value.shape(), values);
      }));
  for (const char* argument : {"attn_mask", "mask"}) {
    table.push_back(input_mutant(std::string(argument) == "mask" ? "mask_lost" : "attention_mask_lost",
                                 "the mask is not applied", argument, any, [](const Tensor& mask) {
                                   return filled(mask, mask.dtype() == DType::boolean ? 1 : 0);
                                 }));
  }
  table.push_back(input_mutant("state_not_decayed", "the state is carried on without its gate", "g", is_gated,
                               [](const Tensor& g) { return filled(g, 0); }));
  table.push_back(input_mutant(
      "gate_of_next_step", "the state is decayed by the gate of the step after", "g",
      [](const OpCall& call) {
        return is_gated(call) && shape_of(call, "g").size() >= 3 &&
               shape_of(call, "g")[shape_of(call, "g").size() - 2] >= 2;
      },
      [](const Tensor& g) { return rolled(g, g.rank() - 2, -1); }));
  for (const char* argument : {"initial_state", "state"}) {
    table.push_back(input_mutant(std::string(argument) == "state" ? "state_ignored" : "initial_state_ignored",
                                 "the state that is given counts as 0", argument, is_gated,
                                 [](const Tensor& state) { return filled(state, 0); }));
  }

  // Products, convolutions, pooling.
  for (const char* argument : {"mat2", "batch2"}) {
    table.push_back(input_mutant(
        std::string("transposed_") + argument, "a factor is read by columns instead of by rows", argument,
        [argument](const OpCall& call) {
          const Shape& shape = shape_of(call, argument);
          return is_matmul(call) && shape.size() >= 2 && shape.back() >= 2 && shape[shape.size() - 2] >= 2;
        },
        by_columns));
  }
  const auto windows = [](const OpCall& call) {
    return is_convolution(call) || call.op().find("pool") != std::string::npos ||
           call.op().find("upsample") != std::string::npos || call.op().find("_pad") != std::string::npos ||
           is_one_of(call, {"aten::im2col", "aten::grid_sampler_2d"});
  };
  for (const char* argument : {"input", "self", "grad_output"}) {
    table.push_back(input_mutant(
        std::string("window_shifted_") + argument, "windows start one element too late", argument,
        [windows, argument](const OpCall& call) {
          const Shape& shape = shape_of(call, argument);
          return windows(call) && !shape.empty() && shape.back() >= 2;
        },
        [](const Tensor& input) { return rolled(input, input.rank() - 1, -1); }));
  }
  table.push_back(input_mutant(
      "kernel_reflected", "the kernel of a convolution is read backwards", "weight",
      [](const OpCall& call) { return is_convolution(call) && shape_of(call, "weight").back() >= 2; },
      [](const Tensor& weight) { return reversed(weight, weight.rank() - 1); }));

  // beta C where beta is 0: C is to be ignored, NaN and infinity in it too.
  table.push_back({"zero_beta_multiplies", "for beta = 0 the addend is multiplied by 0 instead of left out",
                   [](const OpCall& call) {
                     return first_output_is_float(call) && call.schema().find("beta") != nullptr &&
                            has(call, "self") && call.scalar("beta").as_double() == 0;
                   },
                   [](const OpCall& call, const Tensors& inputs, Tensors& outputs) {
                     Tensors changed = inputs;
                     Tensor* addend = input_of(call, changed, "self");
                     *addend =
                         edited(*addend, [](double v) { return std::isfinite(v) ? 0.0 : std::nan(""); });
                     adopt(call, inputs, outputs, recompute_with(call, changed, "beta", Argument(1.0)));
                   }});

  // Reductions, selections, scans.
  table.push_back(input_mutant(
      "last_term_dropped", "the last element of the input is left out", "self",
      [](const OpCall& call) {
        const TensorMeta& self = call.input(call.tensor("self"));
        return reduces(call) && element_count(self.shape) >= 2 && !is_complex(self.dtype);
      },
      [](const Tensor& self) {
        if (is_float(self.dtype())) {
          std::vector<double> values = self.to_doubles();
          values.back() = values.front();
          return Tensor::from_doubles(self.dtype(), self.shape(), values);
        }
        std::vector<int64_t> values = self.to_ints();
        values.back() = values.front();
        return Tensor::from_ints(self.dtype(), self.shape(), values);
      }));
  const auto sorts = [](const OpCall& call) {
    return is_one_of(call, {"aten::sort", "aten::topk", "aten::msort"}) && call.outputs().size() == 2;
  };
  table.push_back({"ties_reversed", "equal elements are returned in reversed order", sorts, reverse_ties,
                   Effect::result, nullptr, Allowance::choice});
  table.push_back({"last_of_equals", "of several equal extremes the last one's place is returned",
                   [](const OpCall& call) {
                     return is_one_of(call, {"aten::argmax", "aten::argmin"}) && !call.outputs().empty() &&
                            call.is_none("dim") && element_count(call.input(0).shape) >= 2;
                   },
                   [](const OpCall& call, const Tensors& inputs, Tensors& outputs) {
                     const std::vector<double> values = inputs[0].to_doubles();
                     const std::vector<int64_t> chosen = outputs[0].to_ints();
                     if (chosen.empty() || chosen[0] < 0 || chosen[0] >= inputs[0].count()) return;
                     const double best = values[static_cast<std::size_t>(chosen[0])];
                     int64_t last = chosen[0];
                     for (std::size_t i = 0; i < values.size(); ++i) {
                       if (values[i] == best) last = static_cast<int64_t>(i);
                     }
                     Tensors wrong = outputs;
                     wrong[0] = Tensor::from_ints(outputs[0].dtype(), outputs[0].shape(), {last});
                     adopt(call, inputs, outputs, wrong);
                   },
                   Effect::result, nullptr, Allowance::choice});
  table.push_back({"scan_exclusive", "a running result leaves out the element at its own place",
                   [](const OpCall& call) {
                     return is_one_of(call, {"aten::cumsum", "aten::cumprod", "aten::logcumsumexp"}) &&
                            !call.outputs().empty() && !call.output(0).shape.empty();
                   },
                   [](const OpCall& call, const Tensors& inputs, Tensors& outputs) {
                     const int64_t rank = outputs[0].rank();
                     Tensors wrong = outputs;
                     wrong[0] = rolled(outputs[0], (call.integer("dim") + rank) % rank, 1);
                     adopt(call, inputs, outputs, wrong);
                   }});

  // Indices.
  for (const char* argument : {"index", "indices"}) {
    table.push_back(input_mutant(
        std::string("neighbour_of_") + argument, "an index reads or writes the row before", argument,
        [argument](const OpCall& call) { return is_integral(call.input(call.tensor(argument)).dtype); },
        [](const Tensor& index) {
          std::vector<int64_t> values = index.to_ints();
          for (int64_t& v : values) v = v > 0 ? v - 1 : v;
          return Tensor::from_ints(index.dtype(), index.shape(), values);
        }));
  }
  const auto indices = [](const OpCall& call) {
    return is_one_of(call, {"aten::index", "aten::index_put", "aten::_unsafe_index"}) &&
           !call.outputs().empty();
  };
  table.push_back({"negative_index_is_zero", "indices that count from the end are taken as 0", indices,
                   [](const OpCall& call, const Tensors& inputs, Tensors& outputs) {
                     Tensors changed = inputs;
                     for (const int number : call.tensors("indices")) {
                       if (number < 0) continue;
                       Tensor& index = changed[static_cast<std::size_t>(number)];
                       if (index.dtype() == DType::boolean || index.dtype() == DType::u8) continue;
                       std::vector<int64_t> values = index.to_ints();
                       for (int64_t& v : values) v = std::max<int64_t>(v, 0);
                       index = Tensor::from_ints(index.dtype(), index.shape(), values);
                     }
                     adopt(call, inputs, outputs, recompute(call, changed));
                   }});

  // Gradients.
  table.push_back({"gradient_factor", "the gradient is one sixteenth too large",
                   [](const OpCall& call) { return is_backward(call) && first_output_is_float(call); },
                   [](const OpCall&, const Tensors&, Tensors& outputs) {
                     edit_floats(outputs, [](std::vector<double>& values) {
                       for (double& v : values) v *= 1.0625;
                     });
                   }});

  // Operands.
  table.push_back({"operands_exchanged", "the two operands are taken in the other order",
                   [](const OpCall& call) {
                     return call.inputs().size() == 2 && !call.outputs().empty() &&
                            call.input(0) == call.input(1) && call.input(0).shape == call.output(0).shape;
                   },
                   [](const OpCall& call, const Tensors& inputs, Tensors& outputs) {
                     adopt(call, inputs, outputs, recompute(call, {inputs[1], inputs[0]}));
                   }});
  table.push_back({"operands_read_as_bf16", "fp32 operands are rounded to bf16 before anything is computed",
                   [](const OpCall& call) {
                     return first_output_is_float(call) && call.output(0).dtype == DType::f32 &&
                            !is_matmul(call) && !is_convolution(call) && !call.inputs().empty();
                   },
                   [](const OpCall& call, const Tensors& inputs, Tensors& outputs) {
                     with_inputs(call, inputs, outputs, [](DType dtype, double v) {
                       return dtype == DType::f32 ? round_to(DType::bf16, v) : v;
                     });
                   },
                   Effect::result, nullptr, Allowance::operands});
  table.push_back({"subnormal_operands_flushed", "subnormal operands count as 0", floats_in,
                   [](const OpCall& call, const Tensors& inputs, Tensors& outputs) {
                     with_inputs(call, inputs, outputs, [](DType dtype, double v) {
                       return std::fabs(v) < float_format(dtype).smallest_normal() ? std::copysign(0.0, v)
                                                                                   : v;
                     });
                   },
                   Effect::result, nullptr, Allowance::subnormals});
  table.push_back({"infinite_operands_clamped", "infinite operands count as the largest finite number",
                   floats_in,
                   [](const OpCall& call, const Tensors& inputs, Tensors& outputs) {
                     with_inputs(call, inputs, outputs, [](DType dtype, double v) {
                       return std::isinf(v) ? std::copysign(float_format(dtype).max, v) : v;
                     });
                   },
                   Effect::result, nullptr, Allowance::overflow});
  table.push_back({"nan_operands_are_zero", "NaN operands count as 0", floats_in,
                   [](const OpCall& call, const Tensors& inputs, Tensors& outputs) {
                     with_inputs(call, inputs, outputs,
                                 [](DType, double v) { return std::isnan(v) ? 0.0 : v; });
                   }});
  table.push_back({"comparison_without_sign", "numbers are compared by magnitude",
                   [](const OpCall& call) {
                     return compares(call) && !call.outputs().empty() &&
                            call.output(0).dtype == DType::boolean;
                   },
                   [](const OpCall& call, const Tensors& inputs, Tensors& outputs) {
                     with_inputs(call, inputs, outputs, [](DType, double v) { return std::fabs(v); });
                   }});
  table.push_back({"one_bit_narrower", "results keep one bit less than their dtype has",
                   [](const OpCall& call) {
                     return first_output_is_float(call) && !call.inputs().empty() && !moves_bits(call) &&
                            (call.output(0).dtype == DType::bf16 || call.output(0).dtype == DType::f16);
                   },
                   [](const OpCall& call, const Tensors& inputs, Tensors& outputs) {
                     FloatFormat narrow = float_format(outputs[0].dtype());
                     narrow.precision -= 1;
                     Tensors wrong = recompute(call, inputs);
                     wrong[0] = edited(wrong[0], [&](double v) { return round_to(narrow, v); });
                     adopt(call, inputs, outputs, wrong);
                   },
                   Effect::result, nullptr, Allowance::last_bits});
  table.push_back(
      {"halves_repeat", "the second half of random numbers repeats the first",
       [](const OpCall& call) {
         return !call.outputs().empty() && element_count(call.output(0).shape) >= 64 &&
                is_one_of(call, {"aten::rand", "aten::randn", "aten::bernoulli", "aten::native_dropout",
                                 "aten::randint", "aten::rand_like", "aten::randn_like", "aten::uniform",
                                 "aten::normal", "aten::exponential"});
       },
       [](const OpCall&, const Tensors&, Tensors& outputs) {
         const Tensor whole = outputs[0].contiguous();
         const auto half = static_cast<std::size_t>(whole.count() / 2) * size_of(whole.dtype());
         std::vector<std::byte> bytes(whole.bytes());
         std::memcpy(bytes.data(), whole.data(), bytes.size());
         std::memcpy(bytes.data() + half, bytes.data(), half);
         outputs[0] = Tensor::from_bytes(whole.dtype(), whole.shape(), bytes.data(), bytes.size());
       },
       Effect::result, nullptr, Allowance::none, true});
}

}  // namespace assay
