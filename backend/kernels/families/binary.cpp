// add, sub, mul, div, minimum, maximum, comparisons, bitwise and logical operators, where.
#include "backend/kernels/tiles.h"
#include "core/opset/shapes.h"

namespace assay::backend {
namespace {

float real(const Scalar& s) { return static_cast<float>(s.as_double()); }

// dst = a op b where either may be a number (an undefined tile).
void apply(KernelContext& ctx, const AccessPattern& dst, const AccessPattern& a, const Scalar& an,
           const AccessPattern& b, const Scalar& bn, AluOp op, DType domain) {
  const Engine engine = engine_for(domain);
  if (a.defined() && b.defined()) {
    ctx.b.tensor_tensor(dst, a, b, op, engine);
  } else if (engine == Engine::vector) {
    ctx.b.tensor_scalar(dst, a.defined() ? a : b, op, real(a.defined() ? bn : an), !a.defined());
  } else {
    ctx.b.tensor_scalar_int(dst, a.defined() ? a : b, op, (a.defined() ? bn : an).as_int(), !a.defined());
  }
}

// Two numbers: one of them becomes a tile.
bool both_numbers(std::span<const Operand> operands) { return !operands[0].view && !operands[1].view; }

void binary(KernelContext& ctx, AluOp op, DType domain) {
  const Operand operands[] = {operand(ctx, "self"), operand(ctx, "other")};
  elementwise(ctx, ctx.output(), operands, domain,
              [&](std::span<const AccessPattern> in, const AccessPattern& out) {
                apply(ctx, out, in[0], operands[0].scalar, in[1], operands[1].scalar, op, domain);
              },
              {.materialise = both_numbers(operands)});
}

Scalar product(const Scalar& a, const Scalar& b) {
  Scalar out;
  if (a.kind == Scalar::Kind::floating || b.kind == Scalar::Kind::floating) {
    out.kind = Scalar::Kind::floating;
    out.f = a.as_double() * b.as_double();
  } else {
    out.i = static_cast<int64_t>(static_cast<uint64_t>(a.i) * static_cast<uint64_t>(b.i));
    out.f = static_cast<double>(out.i);
  }
  return out;
}

void add(KernelContext& ctx, bool subtract) {
  const DType result = ctx.output().dtype;
  if (result == DType::boolean) return binary(ctx, AluOp::logical_or, DType::f32);
  const DType domain = domain_of(result);
  const AluOp op = subtract ? AluOp::subtract : AluOp::add;
  const Scalar alpha = ctx.call.scalar("alpha");
  const Operand operands[] = {operand(ctx, "self"), operand(ctx, "other")};
  const bool scaled = alpha.as_double() != 1;
  if (!scaled || !operands[1].view) {
    const Scalar other = scaled ? product(alpha, operands[1].scalar) : operands[1].scalar;
    elementwise(ctx, ctx.output(), operands, domain,
                [&](std::span<const AccessPattern> in, const AccessPattern& out) {
                  if (in[0].defined() && in[1].defined() && scaled) {  // two numbers
                    ctx.b.tensor_scalar(out, in[0], op, real(other));
                  } else {
                    apply(ctx, out, in[0], operands[0].scalar, in[1], other, op, domain);
                  }
                },
                {.materialise = both_numbers(operands)});
    return;
  }
  // self op (alpha * other)
  elementwise(ctx, ctx.output(), operands, domain,
              [&](std::span<const AccessPattern> in, const AccessPattern& out) {
                if (is_float(domain)) {
                  if (in[0].defined()) {
                    ctx.b.scalar_tensor_tensor(out, in[1], AluOp::multiply, real(alpha), op, in[0], false,
                                               true);
                  } else {
                    ctx.b.tensor_scalar(out, in[1], AluOp::multiply, real(alpha), false, op,
                                        real(operands[0].scalar), true);
                  }
                  return;
                }
                if (in[0].defined()) {
                  ctx.b.tensor_scalar_int(in[1], in[1], AluOp::multiply, alpha.as_int());
                  ctx.b.tensor_tensor(out, in[0], in[1], op, Engine::gpsimd);
                } else {
                  ctx.b.tensor_scalar_int(out, in[1], AluOp::multiply, alpha.as_int(), false, op,
                                          operands[0].scalar.as_int(), true);
                }
              },
              {});
}

void arithmetic(KernelContext& ctx, AluOp op, AluOp of_bools) {
  const DType result = ctx.output().dtype;
  if (result == DType::boolean) return binary(ctx, of_bools, DType::f32);
  binary(ctx, op, domain_of(result));
}

void divide(KernelContext& ctx) { binary(ctx, AluOp::divide, DType::f32); }

DType promoted(const KernelContext& ctx, std::initializer_list<std::string_view> names) {
  std::vector<TensorMeta> tensors;
  std::vector<Scalar> scalars;
  for (std::string_view name : names) {
    if (ctx.call.is_number(name)) {
      scalars.push_back(ctx.call.scalar(name));
    } else {
      tensors.push_back(ctx.call.input(ctx.call.tensor(name)));
    }
  }
  return result_type(tensors, scalars);
}

void compare(KernelContext& ctx, AluOp op) {
  const DType common = promoted(ctx, {"self", "other"});
  const DType domain = common == DType::boolean ? DType::f32 : domain_of(common);
  const Operand operands[] = {held_operand(ctx, "self", common), held_operand(ctx, "other", common)};
  elementwise(ctx, ctx.output(), operands, domain,
              [&](std::span<const AccessPattern> in, const AccessPattern& out) {
                apply(ctx, out, held(ctx, in[0], common), operands[0].scalar, held(ctx, in[1], common),
                      operands[1].scalar, op, domain);
              },
              {.materialise = both_numbers(operands)});
}

void bitwise(KernelContext& ctx, AluOp op, AluOp of_bools) {
  const DType result = ctx.output().dtype;
  if (result == DType::boolean) return binary(ctx, of_bools, DType::f32);
  binary(ctx, op, result);
}

void logical(KernelContext& ctx, AluOp op) {
  const Operand operands[] = {operand(ctx, "self"), operand(ctx, "other")};
  elementwise(ctx, ctx.output(), operands, DType::boolean,
              [&](std::span<const AccessPattern> in, const AccessPattern& out) {
                ctx.b.tensor_tensor(out, in[0], in[1], op);
              },
              {.materialise = true});
}

void where(KernelContext& ctx) {
  const DType result = ctx.output().dtype;
  const Operand operands[] = {operand(ctx, "condition"), operand(ctx, "self"), operand(ctx, "other")};
  if (operands[0].view->dtype != DType::boolean && operands[0].view->dtype != DType::u8) {
    ctx.unsupported(ASSAY_REASON_DTYPE, "condition must be bool");
  }
  elementwise(ctx, ctx.output(), operands, domain_of(result),
              [&](std::span<const AccessPattern> in, const AccessPattern& out) {
                ctx.b.select(out, in[0], in[1], in[2], engine_for(result));
              },
              {.materialise = true, .as_it_is = 0});
}

}  // namespace

void register_binary(KernelTable& table) {
  table.add("aten::add.Tensor", [](KernelContext& c) { add(c, false); });
  table.add("aten::sub.Tensor", [](KernelContext& c) { add(c, true); });
  table.add("aten::add.Scalar", [](KernelContext& c) { add(c, false); });
  table.add("aten::sub.Scalar", [](KernelContext& c) { add(c, true); });
  for (const char* overload : {".Tensor", ".Scalar"}) {
    table.add(std::string("aten::mul") + overload,
              [](KernelContext& c) { arithmetic(c, AluOp::multiply, AluOp::logical_and); });
    table.add(std::string("aten::div") + overload, divide);
    const std::pair<const char*, AluOp> comparisons[] = {
        {"eq", AluOp::is_eq}, {"ne", AluOp::is_ne}, {"lt", AluOp::is_lt},
        {"le", AluOp::is_le}, {"gt", AluOp::is_gt}, {"ge", AluOp::is_ge},
    };
    for (const auto& [name, op] : comparisons) {
      table.add(std::string("aten::") + name + overload, [op](KernelContext& c) { compare(c, op); });
    }
    table.add(std::string("aten::bitwise_and") + overload,
              [](KernelContext& c) { bitwise(c, AluOp::bitwise_and, AluOp::logical_and); });
    table.add(std::string("aten::bitwise_or") + overload,
              [](KernelContext& c) { bitwise(c, AluOp::bitwise_or, AluOp::logical_or); });
    table.add(std::string("aten::bitwise_xor") + overload,
              [](KernelContext& c) { bitwise(c, AluOp::bitwise_xor, AluOp::logical_xor); });
  }
  table.add("aten::minimum.default", [](KernelContext& c) { arithmetic(c, AluOp::min, AluOp::logical_and); });
  table.add("aten::maximum.default", [](KernelContext& c) { arithmetic(c, AluOp::max, AluOp::logical_or); });
  table.add("aten::logical_and.default", [](KernelContext& c) { logical(c, AluOp::logical_and); });
  table.add("aten::logical_or.default", [](KernelContext& c) { logical(c, AluOp::logical_or); });
  table.add("aten::logical_xor.default", [](KernelContext& c) { logical(c, AluOp::logical_xor); });
  table.add("aten::where.self", where);
}

}  // namespace assay::backend
