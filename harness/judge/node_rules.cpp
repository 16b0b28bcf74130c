#include "harness/judge/node_rules.h"

#include <algorithm>
#include <array>
#include <optional>

namespace assay {
namespace {

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_real_or_complex(DType dtype) { return is_float(dtype) || is_complex(dtype); }

bool is_f8(DType dtype) { return is_float(dtype) && size_of(dtype) == 1; }

// As PyTorch promotes; 8-bit floats, which it promotes with nothing, meet other types in casts, and these
// compute in the wider type.
DType wider(DType a, DType b) {
  if (is_f8(a) != is_f8(b)) return is_f8(a) ? b : a;
  return is_f8(a) && a != b ? DType::f32 : promote_types(a, b);
}

class Promotion {
 public:
  void add(DType dtype) { dtype_ = dtype_ ? wider(*dtype_, dtype) : dtype; }
  const std::optional<DType>& result() const { return dtype_; }

 private:
  std::optional<DType> dtype_;
};

// PyTorch's promotion of the inputs of one category; 0-d tensors count only where there is nothing else.
std::optional<DType> promoted(const std::vector<TensorMeta>& metas, bool floats) {
  Promotion dimensioned, scalars;
  for (const TensorMeta& meta : metas) {
    if (is_real_or_complex(meta.dtype) != floats) continue;
    (meta.shape.empty() ? scalars : dimensioned).add(meta.dtype);
  }
  return dimensioned.result() ? dimensioned.result() : scalars.result();
}

int significand_bits(DType integral) {
  switch (integral) {
    case DType::boolean:
      return 1;
    case DType::u8:
      return 8;
    case DType::i8:
      return 7;
    case DType::i16:
      return 15;
    case DType::i32:
      return 31;
    default:
      return 63;
  }
}

bool unit_alpha(const OpCall& call) {
  return call.schema().find("alpha") == nullptr || call.scalar("alpha").as_double() == 1.0;
}

}  // namespace

DType computation_dtype(const OpCall& call) {
  // Attention returns its statistics in f32 whatever it computes in.
  const bool inputs_only = call.op().find("scaled_dot_product") != std::string::npos;
  for (const bool floats : {true, false}) {
    Promotion both;
    const auto in = promoted(call.inputs(), floats);
    if (in) both.add(*in);
    if (const auto out = promoted(call.outputs(), floats); out && !(in && inputs_only)) both.add(*out);
    if (both.result()) return real_part(*both.result());
  }
  return DType::f32;  // nothing is computed
}

Precision precision_of(const Contract& contract, const OpCall& call, std::string_view mode,
                       const std::map<std::string, std::string>& options) {
  return contract.precision(call.op(), computation_dtype(call), mode, options);
}

bool is_rounding_point(const OpCall& call, const reference::ErrorModel& model) {
  const bool any_float = std::any_of(call.outputs().begin(), call.outputs().end(),
                                     [](const TensorMeta& meta) { return is_real_or_complex(meta.dtype); });
  if (!any_float) return false;
  if (model.name != "exact") return true;
  for (const TensorMeta& out : call.outputs()) {
    if (!is_real_or_complex(out.dtype)) continue;
    const FloatFormat& format = float_format(out.dtype);
    for (const TensorMeta& in : call.inputs()) {
      if (in.dtype == DType::boolean) continue;  // conditions and masks: 0 and 1 fit every float
      if (is_integral(in.dtype)) {
        // Indices of a copy are integers too, but a copy has a float input of the output's dtype.
        const bool reads_floats =
            std::any_of(call.inputs().begin(), call.inputs().end(),
                        [](const TensorMeta& meta) { return is_real_or_complex(meta.dtype); });
        if (!reads_floats && significand_bits(in.dtype) > format.precision) return true;
        continue;
      }
      const FloatFormat& input = float_format(in.dtype);
      const bool fits = input.precision <= format.precision && input.max_exponent <= format.max_exponent &&
                        input.min_exponent - input.precision >= format.min_exponent - format.precision;
      if (!fits) return true;
    }
  }
  return false;
}

bool is_exact_by_width(const OpCall& call, const Precision& precision) {
  static constexpr std::array<std::string_view, 5> operators{"aten::add", "aten::sub", "aten::mul",
                                                             "aten::div", "aten::sqrt"};
  const std::string_view name = without_overload(call.op());
  if (!contains(operators, name) || call.op() == "aten::div.Tensor_mode" ||
      call.op() == "aten::div.Scalar_mode") {
    return false;
  }
  if (call.outputs().size() != 1 || call.inputs().empty()) return false;
  const DType out = call.output(0).dtype;
  if (out != DType::bf16 && out != DType::f16) return false;
  // A Scalar is a double: rounded to the ALU's width first, its product is no longer one rounding away.
  for (const TensorMeta& in : call.inputs()) {
    if (in.dtype != out) return false;
  }
  const bool reads_scalar = name != "aten::sqrt" && call.inputs().size() < 2;
  if (reads_scalar || !unit_alpha(call)) return false;
  if (!precision.correctly_rounded || precision.rounding != Rounding::nearest_even) return false;
  if (precision.ftz_in || precision.ftz_out || precision.input ||
      (precision.store && *precision.store != out)) {
    return false;
  }
  return precision.intermediate == DType::f32 || precision.intermediate == DType::f64;
}

bool is_selection(std::string_view op) {
  static constexpr std::array<std::string_view, 9> operators{"aten::topk.default",
                                                             "aten::sort.default",
                                                             "aten::sort.stable",
                                                             "aten::argmax.default",
                                                             "aten::argmin.default",
                                                             "aten::max.dim",
                                                             "aten::min.dim",
                                                             "aten::max_pool2d_with_indices.default",
                                                             "aten::max_pool3d_with_indices.default"};
  return contains(operators, op);
}

bool makes_choice(std::string_view op) {
  return is_selection(op) || reference::error_model(op).name == "choice";
}

bool uses_dtype(const Graph& graph, DType dtype) {
  return std::any_of(graph.values.begin(), graph.values.end(), [dtype](const Value& value) {
    return value.kind == ValueKind::tensor && real_part(value.dtype) == dtype;
  });
}

}  // namespace assay
