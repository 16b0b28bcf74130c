// Random operators: draws by the node's stream (reference/draws.h). The device's own draws are judged by
// tests of their distribution; these values are what later nodes read.
#pragma once

#include <cmath>
#include <numbers>

#include "reference/draws.h"
#include "reference/ops/elementwise.h"
#include "reference/table.h"

namespace assay::reference {

template <class V>
std::vector<double> as_doubles(const std::vector<V>& values) {
  std::vector<double> out(values.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<double>(values[i]);
  return out;
}

// Numbers of each part (complex results: real and imaginary ones), times `factor`.
template <class T>
std::vector<Array<T>> of_reals(const OpCall& call, const std::vector<double>& values, double factor = 1) {
  auto out = make_array<T>(call.output(0));
  for (std::size_t i = 0; i < out.real.size(); ++i) out.real[i] = T(values[i] * factor);
  return one(std::move(out));
}
// Integers, in whatever dtype the result has.
template <class T>
std::vector<Array<T>> of_integers(const OpCall& call, const std::vector<int64_t>& values) {
  auto out = make_array<T>(call.output(0));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (out.is_integral()) {
      out.integer[i] = wrapped(out.meta.dtype, values[i]);
    } else {
      out.real[i] = T(static_cast<double>(values[i]));
    }
  }
  return one(std::move(out));
}

inline std::size_t numbers_in(const TensorMeta& meta) {
  return static_cast<std::size_t>(element_count(meta.shape)) * (is_complex(meta.dtype) ? 2 : 1);
}

template <class T>
std::vector<Array<T>> rand(const OpCall& call, const Inputs<T>&) {
  const TensorMeta& out = call.output(0);
  return of_reals<T>(call, draw_uniform(call, numbers_in(out), real_part(out.dtype), 0, 1));
}
template <class T>
std::vector<Array<T>> uniform(const OpCall& call, const Inputs<T>&) {
  const TensorMeta& out = call.output(0);
  return of_reals<T>(call, draw_uniform(call, numbers_in(out), real_part(out.dtype), call.floating("from"),
                                        call.floating("to")));
}
// A complex number has variance 1: its parts have 1/2 each.
template <class T>
std::vector<Array<T>> randn(const OpCall& call, const Inputs<T>&) {
  const TensorMeta& out = call.output(0);
  return of_reals<T>(call, draw_normal(call, numbers_in(out)),
                     is_complex(out.dtype) ? std::numbers::sqrt2 / 2 : 1);
}
template <class T>
std::vector<Array<T>> normal_like(const OpCall& call, const Inputs<T>&) {
  const double mean = call.floating("mean"), deviation = call.floating("std");
  auto values = draw_normal(call, numbers_in(call.output(0)));
  const bool complex = is_complex(call.output(0).dtype);
  for (std::size_t i = 0; i < values.size(); ++i) {
    // torch.Tensor.normal_ adds the mean to both parts of a complex number.
    values[i] = values[i] * deviation * (complex ? std::numbers::sqrt2 / 2 : 1) + mean;
  }
  return of_reals<T>(call, values);
}
// mean and std: tensors or one number, broadcast.
template <class T>
std::vector<Array<T>> normal(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  const DType dtype = out.meta.dtype;
  const auto parameter = [&](std::string_view name) {
    if (call.tensor_opt(name)) return real_argument(call, in, name, dtype);
    return owned_operand<T>({}, {T(call.floating(name))});
  };
  zip(out.meta.shape, parameter("mean"), parameter("std"), out.real, [](T mean, T) { return mean; });
  auto deviations = out.real;
  zip(out.meta.shape, parameter("mean"), parameter("std"), deviations,
      [](T, T deviation) { return deviation; });
  const auto values = draw_normal(call, out.real.size());
  for (std::size_t i = 0; i < values.size(); ++i) out.real[i] = out.real[i] + deviations[i] * T(values[i]);
  return one(std::move(out));
}
template <class T>
std::vector<Array<T>> exponential(const OpCall& call, const Inputs<T>&) {
  return of_reals<T>(call, draw_exponential(call, numbers_in(call.output(0)), call.floating("lambd")));
}
template <class T>
std::vector<Array<T>> cauchy(const OpCall& call, const Inputs<T>&) {
  return of_reals<T>(
      call, draw_cauchy(call, numbers_in(call.output(0)), call.floating("median"), call.floating("sigma")));
}
template <class T>
std::vector<Array<T>> log_normal(const OpCall& call, const Inputs<T>&) {
  auto values = draw_normal(call, numbers_in(call.output(0)));
  const double mean = call.floating("mean"), deviation = call.floating("std");
  for (double& v : values) v = std::exp(mean + deviation * v);
  return of_reals<T>(call, values);
}
template <class T>
std::vector<Array<T>> geometric(const OpCall& call, const Inputs<T>&) {
  return of_integers<T>(call, draw_geometric(call, numbers_in(call.output(0)), call.floating("p")));
}
template <class T>
std::vector<Array<T>> randint(const OpCall& call, const Inputs<T>&) {
  const int64_t low = call.schema().find("low") != nullptr ? call.integer("low") : 0;
  return of_integers<T>(call, draw_integers(call, numbers_in(call.output(0)), low, call.integer("high")));
}
template <class T>
std::vector<Array<T>> randperm(const OpCall& call, const Inputs<T>&) {
  return of_integers<T>(call, draw_permutation(call, numbers_in(call.output(0))));
}

// p: a number, the tensor itself (bernoulli.default), or a tensor that broadcasts to it.
template <class T>
std::vector<Array<T>> bernoulli(const OpCall& call, const Inputs<T>& in) {
  const TensorMeta& out = call.output(0);
  const bool has_p = call.schema().find("p") != nullptr;
  if (has_p && !call.tensor_opt("p")) {
    return of_integers<T>(call, draw_bernoulli(call, numbers_in(out), {call.floating("p")}));
  }
  const Array<T>& chances = *in[static_cast<std::size_t>(call.tensor(has_p ? "p" : "self"))];
  std::vector<T> spread(numbers_in(out));
  const Operand<T> p = real_operand(chances, chances.meta.dtype);
  zip(out.shape, p, p, spread, [](T chance, T) { return chance; });
  std::vector<double> numbers(spread.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(spread[i]);
  return of_integers<T>(call, draw_bernoulli(call, numbers.size(), numbers));
}

template <class T>
std::vector<Array<T>> multinomial(const OpCall& call, const Inputs<T>& in) {
  const Array<T>& weights = *in[0];
  const auto categories = static_cast<std::size_t>(weights.meta.shape.back());
  std::vector<double> numbers(weights.real.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(weights.real[i]);
  const std::size_t rows = categories == 0 ? 0 : numbers.size() / categories;
  return of_integers<T>(call, draw_categories(call, numbers, rows, categories,
                                              static_cast<std::size_t>(call.integer("num_samples")),
                                              call.boolean("replacement")));
}

// (x / (1 - p) where kept, else 0; the mask). With p = 1 nothing is kept and nothing is divided.
template <class T>
std::vector<Array<T>> native_dropout(const OpCall& call, const Inputs<T>& in) {
  std::vector<Array<T>> out;
  out.push_back(make_array<T>(call.output(0)));
  out.push_back(make_array<T>({DType::boolean, call.output(0).shape}));
  const double p = call.floating("p");
  const bool train = call.is_none("train") || call.boolean("train");
  const auto count = out[1].integer.size();
  out[1].integer = train ? draw_bernoulli(call, count, {1 - p}) : std::vector<int64_t>(count, 1);
  const T scale = T(train && p < 1 ? 1 / (1 - p) : 1);
  const auto parts = static_cast<std::size_t>(out[0].parts());
  for (std::size_t i = 0; i < out[0].real.size(); ++i) {
    out[0].real[i] = out[1].integer[i / parts] != 0 ? in[0]->real[i] * scale : T(0);
  }
  return out;
}

template <class T>
void register_random(KernelTable<T>& table) {
  using E = Exact<T>;
  Traits traits = movement_traits();
  traits.model.name = "distribution";
  traits.cast = true;
  struct Draw {
    const char* name;
    Kernel<E> kernel;
  };
  for (const auto& [name, kernel] : {Draw{"rand.default", rand<E>},
                                     {"rand_like.default", rand<E>},
                                     {"uniform.default", uniform<E>},
                                     {"randn.default", randn<E>},
                                     {"randn_like.default", randn<E>},
                                     {"normal_functional.default", normal_like<E>},
                                     {"normal.Tensor_Tensor", normal<E>},
                                     {"normal.Tensor_float", normal<E>},
                                     {"normal.float_Tensor", normal<E>},
                                     {"exponential.default", exponential<E>},
                                     {"cauchy.default", cauchy<E>},
                                     {"log_normal.default", log_normal<E>},
                                     {"geometric.default", geometric<E>},
                                     {"randint.default", randint<E>},
                                     {"randint.low", randint<E>},
                                     {"randint_like.default", randint<E>},
                                     {"randint_like.low_dtype", randint<E>},
                                     {"randperm.default", randperm<E>},
                                     {"bernoulli.default", bernoulli<E>},
                                     {"bernoulli.p", bernoulli<E>},
                                     {"bernoulli.Tensor", bernoulli<E>},
                                     {"multinomial.default", multinomial<E>},
                                     {"native_dropout.default", native_dropout<E>}}) {
    table.add_exact(std::string("aten::") + name, traits, kernel);
  }
}

}  // namespace assay::reference
