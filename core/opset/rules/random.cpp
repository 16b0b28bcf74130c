// Draws of random numbers: shapes of results and legal parameters (PyTorch, "Random sampling").
#include "core/opset/checks.h"

#include <cmath>

namespace assay {
namespace {

using namespace rules;

Metas like(const OpCall& call, unsigned kinds) {
  const TensorMeta& self = meta(call, "self");
  const DType dtype = call.schema().find("dtype") ? call.dtype_opt("dtype").value_or(self.dtype) : self.dtype;
  require_kind(call, "dtype", dtype, kinds);
  return {{dtype, self.shape}};
}

// Integers of [low, high) that the dtype can hold.
void require_range(const OpCall& call, DType dtype) {
  const int64_t low = call.schema().find("low") ? call.integer("low") : 0;
  const int64_t high = call.integer("high");
  if (low >= high) fail(call, "low is {} and high is {}; low must be less than high", low, high);
  int64_t least = 0, most = 0;
  switch (dtype) {
    case DType::boolean:
      most = 1;
      break;
    case DType::u8:
      most = 255;
      break;
    case DType::i8:
      least = -128, most = 127;
      break;
    case DType::i16:
      least = -32768, most = 32767;
      break;
    case DType::i32:
      least = INT32_MIN, most = INT32_MAX;
      break;
    case DType::f16:
      least = -65504, most = 65504;
      break;
    default:
      return;
  }
  if (low < least || high - 1 > most) {
    fail(call, "low is {} and high is {}; {} holds {} to {}", low, high, name_of(dtype), least, most);
  }
}

Metas randint(const OpCall& call) {
  const Shape sizes = call.integers("size");
  require_sizes(call, "size", sizes);
  const DType dtype = call.dtype_opt("dtype").value_or(DType::i64);
  require_kind(call, "dtype", dtype, kNoComplex);
  require_range(call, dtype);
  return {{dtype, sizes}};
}
Metas randint_like(const OpCall& call) {
  const Metas out = like(call, kNoComplex);
  require_range(call, out[0].dtype);
  return out;
}

double probability(const OpCall& call, std::string_view name) {
  const double p = call.floating(name);
  if (!(p >= 0 && p <= 1)) fail(call, "{} is {}; a probability must be within [0, 1]", name, p);
  return p;
}

Metas bernoulli(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  require_kind(call, "self", self.dtype, kFloat);
  return {self};
}
Metas bernoulli_p(const OpCall& call) {
  probability(call, "p");
  return like(call, kNoComplex);
}
Metas bernoulli_tensor(const OpCall& call) {
  require_kind(call, "p", meta(call, "p").dtype, kFloat);
  require_expands(call, "p", meta(call, "p").shape, meta(call, "self").shape);
  return like(call, kNoComplex);
}

void require_deviation(const OpCall& call) {
  if (!(call.floating("std") >= 0)) fail(call, "std is {}; it cannot be negative", call.floating("std"));
}
Metas normal_like(const OpCall& call) {
  require_deviation(call);
  return like(call, kInexact);
}
Metas normal(const OpCall& call) {
  const TensorMeta *mean = call.tensor_opt("mean") ? &meta(call, "mean") : nullptr,
                   *deviation = call.tensor_opt("std") ? &meta(call, "std") : nullptr;
  if (mean != nullptr) require_kind(call, "mean", mean->dtype, kInexact);
  if (deviation != nullptr) require_kind(call, "std", deviation->dtype, kFloat);
  if (deviation == nullptr) require_deviation(call);
  if (mean == nullptr) return {*deviation};
  if (deviation == nullptr) return {*mean};
  return {{mean->dtype, broadcast(mean->shape, deviation->shape, call)}};
}

Metas uniform(const OpCall& call) {
  const double from = call.floating("from"), to = call.floating("to");
  if (!(from <= to)) fail(call, "from is {} and to is {}; from cannot be greater", from, to);
  const Metas out = like(call, kInexact);
  const double most = float_format(real_part(out[0].dtype)).max;
  if (!(std::fabs(from) <= most && std::fabs(to) <= most && to - from <= most)) {
    fail(call, "from {} and to {} are beyond what {} holds", from, to, name_of(out[0].dtype));
  }
  return out;
}
Metas exponential(const OpCall& call) {
  if (!(call.floating("lambd") > 0)) fail(call, "lambd is {}; it must be positive", call.floating("lambd"));
  return like(call, kFloat);
}
Metas cauchy(const OpCall& call) {
  if (!(call.floating("sigma") > 0)) fail(call, "sigma is {}; it must be positive", call.floating("sigma"));
  return like(call, kFloat);
}
Metas geometric(const OpCall& call) {
  const double p = call.floating("p");
  if (!(p > 0 && p < 1)) fail(call, "p is {}; it must be within (0, 1)", p);
  return like(call, kReal);
}
Metas log_normal(const OpCall& call) {
  if (!(call.floating("std") > 0)) fail(call, "std is {}; it must be positive", call.floating("std"));
  return like(call, kFloat);
}

// Weights of k categories, or of m rows of them.
Metas multinomial(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  require_kind(call, "self", self.dtype, kFloat);
  require_rank(call, "self", 1, 2);
  const int64_t categories = self.shape.back(), n = call.integer("num_samples");
  if (categories >= int64_t{1} << 24)
    fail(call, "self has {} categories; at most 2^24 are allowed", categories);
  if (n <= 0) fail(call, "num_samples is {}; it must be positive", n);
  if (!call.boolean("replacement") && n > categories) {
    fail(call, "num_samples is {}; without replacement there are only {} categories", n, categories);
  }
  Shape shape = self.shape;
  shape.back() = n;
  return {{DType::i64, shape}};
}

struct Draw {
  const char* name;
  Metas (*rule)(const OpCall&);
  bool in_place = false;  // an in-place form exists
};
constexpr Draw kDraws[] = {
    {"bernoulli.p", bernoulli_p},
    {"bernoulli.Tensor", bernoulli_tensor, true},
    {"normal_functional.default", normal_like},
    {"uniform.default", uniform, true},
    {"exponential.default", exponential, true},
    {"cauchy.default", cauchy, true},
    {"geometric.default", geometric, true},
    {"log_normal.default", log_normal, true},
};

}  // namespace

void register_random(ShapeTable& table) {
  table.add("aten::randint.default", randint);
  table.add("aten::randint.low", randint);
  table.add("aten::randint_like.default", randint_like);
  table.add("aten::randint_like.low_dtype", randint_like);
  table.add("aten::rand_like.default", [](const OpCall& call) { return like(call, kInexact); });
  table.add("aten::bernoulli.default", bernoulli);
  table.add("aten::bernoulli_.float", bernoulli_p);
  table.add("aten::normal_.default", normal_like);
  for (const char* name : {"Tensor_Tensor", "Tensor_float", "float_Tensor"}) {
    table.add(std::string("aten::normal.") + name, normal);
  }
  for (const Draw& draw : kDraws) {
    table.add(std::string("aten::") + draw.name, draw.rule);
    if (!draw.in_place) continue;
    std::string changing = draw.name;
    changing.insert(changing.find('.'), "_");
    table.add("aten::" + changing, draw.rule);
  }
  table.add("aten::multinomial.default", multinomial);
}

}  // namespace assay
