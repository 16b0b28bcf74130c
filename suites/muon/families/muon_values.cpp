// Muon's orthogonalisation and updates, AdamW and SGD.
#include <cmath>

#include "models/optimisers/optimisers.h"
#include "suites/graph_case.h"
#include "suites/ops/op_case.h"

namespace assay::suites {
namespace {

std::string name_of_dtype(DType dtype) { return std::string(name_of(dtype)); }

struct Call {
  std::string variant;
  Shape shape;
  DType dtype = DType::f32;
  std::vector<NamedArgument> arguments = {};
  double scale = 1;
  std::optional<Tensor> given = {};
};

void emit(const CaseSink& sink, const Call& call) {
  for (const bool parts : {false, true}) {
    if (parts && call.dtype == DType::f64) continue;
    GraphCase c("muon/orthogonalize" + std::string(parts ? "-parts/" : "/") + name_of_dtype(call.dtype) +
                    "/" + call.variant,
                "assay::muon_orthogonalize.default");
    const ValueId x =
        call.given ? c.fixed("x", *call.given) : c.draw("x", call.dtype, call.shape, 0, call.scale);
    auto arguments = call.arguments;
    arguments.push_back({"self", ValueArg{x}});
    c.output(c.emit().call("assay::muon_orthogonalize.default", arguments));
    c.checks().suite_drawn = !parts && !call.given;
    sink(c.build(parts));
  }
}

void shapes(const CaseSink& sink) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const Shape& shape : {Shape{16, 16}, Shape{32, 96}, Shape{96, 32}, Shape{1, 64}, Shape{64, 1},
                               Shape{1, 1}, Shape{127, 129}, Shape{130, 10}, Shape{0, 4}}) {
      if (dtype == DType::f16 && shape[0] != 32) continue;
      emit(sink, {std::to_string(shape[0]) + "x" + std::to_string(shape[1]), shape, dtype});
    }
  }
  emit(sink, {"20x30", {20, 30}, DType::f64});
  for (const int64_t steps : {0, 1, 3, 4, 6}) {
    emit(sink, {"steps-" + std::to_string(steps), {24, 40}, DType::f32, {{"steps", steps}}});
  }
  emit(sink, {"clamped-norm", {24, 40}, DType::f32, {{"clamp_norm", true}}});
  emit(sink, {"eps-large", {24, 40}, DType::f32, {{"eps", 10.0}}});
  emit(sink, {"cubic", {24, 40}, DType::f32, {{"a", 1.5}, {"b", -0.5}, {"c", 0.0}}});
  // Scaling by powers of two, and norms whose squares leave the normal range of 32 bits.
  emit(sink, {"scale-2^-20", {24, 40}, DType::f32, {}, 0x1p-20});
  emit(sink, {"scale-2^20", {24, 40}, DType::f32, {}, 0x1p20});
  emit(sink, {"scale-1e-30", {24, 40}, DType::f32, {}, 1e-30});
  emit(sink, {"scale-1e-8", {24, 40}, DType::f32, {}, 1e-8});
}

// Singular values from 1 down to 1e-6 in a rotated basis, ranks below the size, zero rows: where the
// polynomial does not reach [0.68, 1.20], the exact answer is no orthogonal matrix.
void spectra(const CaseSink& sink) {
  const auto matrix = [](int64_t n, int64_t k, const std::function<double(int64_t, int64_t)>& f) {
    std::vector<double> values;
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < k; ++j) values.push_back(f(i, j));
    }
    return Tensor::from_doubles(DType::f32, {n, k}, values);
  };
  // A Hadamard matrix of 16 rows scaled row by row: its rows are orthogonal, so the scales are the singular
  // values, divided by 4.
  const auto hadamard = [](int64_t i, int64_t j) {
    return __builtin_parityll(static_cast<uint64_t>(i & j)) != 0 ? -0.25 : 0.25;
  };
  const auto give = [&](const char* name, Tensor tensor) {
    Call call{name, tensor.shape()};
    call.given = std::move(tensor);
    emit(sink, call);
  };
  give("singular-values-to-1e-6", matrix(16, 16, [&](int64_t i, int64_t j) {
         return hadamard(i, j) * std::pow(10.0, -0.4 * static_cast<double>(i));
       }));
  give("orthogonal", matrix(16, 16, [&](int64_t i, int64_t j) { return hadamard(i, j); }));
  give("rank-1", matrix(16, 24, [](int64_t i, int64_t j) {
         return std::sin(static_cast<double>(i + 1)) * std::cos(static_cast<double>(j));
       }));
  give("zero-rows",
       matrix(20, 16, [&](int64_t i, int64_t j) { return i < 16 && i % 2 == 0 ? hadamard(i, j) : 0; }));
  give("all-zero", matrix(8, 8, [](int64_t, int64_t) { return 0.0; }));
  give("one-nan", matrix(8, 8, [](int64_t i, int64_t j) {
         return i == 2 && j == 5 ? std::nan("") : 1.0 / static_cast<double>(1 + i + j);
       }));
}

void updates(const CaseSink& sink) {
  const std::pair<const char*, models::MuonOptions> presets[] = {{"jordan", models::jordan_muon()},
                                                                 {"torch", models::torch_muon()},
                                                                 {"moonlight", models::moonlight_muon()},
                                                                 {"dion", models::dion_muon()}};
  for (const auto& [name, preset] : presets) {
    for (const Shape& shape : {Shape{24, 40}, Shape{40, 24}}) {
      for (const bool parts : {false, true}) {
        for (const bool nothing : {false, true}) {
          if (nothing && (parts || shape[0] != 24)) continue;
          models::MuonOptions options = preset;
          if (nothing) options.lr = 0;  // parameters stay as they are, momentum moves
          GraphCase c("muon/update" + std::string(parts ? "-parts/" : "/") + "f32/" + name +
                          (nothing ? "-lr-0" : "") + "-" + std::to_string(shape[0]) + "x" +
                          std::to_string(shape[1]),
                      "muon_update");
          const ValueId p = c.draw("parameter", DType::f32, shape), g = c.draw("gradient", DType::f32, shape),
                        m = c.draw("momentum", DType::f32, shape);
          const models::Updated updated = models::muon_update(c.emit(), p, g, m, options);
          c.output(updated.parameter);
          for (const ValueId state : updated.state) c.output(state);
          sink(c.build(parts));
        }
      }
    }
  }
  for (const double step : {1.0, 10.0, 1000.0}) {
    GraphCase c("muon/adamw/f32/step-" + std::to_string(static_cast<int>(step)), "adamw_update");
    const Shape shape{16, 20};
    const ValueId p = c.draw("parameter", DType::f32, shape), g = c.draw("gradient", DType::f32, shape),
                  m = c.draw("first", DType::f32, shape), v = c.draw("second", DType::f32, shape, 1, 0.9),
                  t = c.fixed("step", Tensor::scalar(DType::f32, step));
    const models::Updated updated = models::adamw_update(c.emit(), p, g, m, v, t, {});
    c.output(updated.parameter);
    for (const ValueId state : updated.state) c.output(state);
    sink(c.build());
  }
  for (const bool nesterov : {false, true}) {
    GraphCase c(nesterov ? "muon/sgd/f32/nesterov" : "muon/sgd/f32/momentum", "sgd_update");
    const Shape shape{16, 20};
    const ValueId p = c.draw("parameter", DType::f32, shape), g = c.draw("gradient", DType::f32, shape),
                  m = c.draw("momentum", DType::f32, shape);
    const models::Updated updated = models::sgd_update(c.emit(), p, g, m, {0.1, 0.9, 0, 0.01, nesterov});
    c.output(updated.parameter);
    c.output(updated.state.at(0));
    sink(c.build());
  }
}

void bad_input(const CaseSink& sink) {
  const auto refuse = [&](const char* name, const char* mention, DType dtype, const Shape& shape,
                          const std::vector<NamedArgument>& others) {
    GraphCase c(std::string("muon/bad-input/") + name, "assay::muon_orthogonalize.default");
    auto arguments = others;
    arguments.push_back({"self", ValueArg{is_float(dtype) ? c.draw("x", dtype, shape)
                                                          : c.integers("x", dtype, shape, 0, 5)}});
    for (const ValueId id :
         c.builder().declared_node("assay::muon_orthogonalize.default", arguments, {{dtype, shape}})) {
      c.output(id);
    }
    sink(c.refused(mention));
  };
  refuse("vector", "Muon takes matrices", DType::f32, {8}, {});
  refuse("rank-3", "Muon takes matrices", DType::f32, {2, 3, 4}, {});
  refuse("rank-4", "Muon takes matrices", DType::f32, {2, 3, 4, 5}, {});
  refuse("integers", "self has dtype i64", DType::i64, {4, 4}, {});
  refuse("steps-negative", "steps is -1", DType::f32, {4, 4}, {{"steps", int64_t{-1}}});
  refuse("steps-100", "steps is 100", DType::f32, {4, 4}, {{"steps", int64_t{100}}});
  refuse("eps-0", "eps is 0", DType::f32, {4, 4}, {{"eps", 0.0}});
  refuse("coefficient-infinite", "must be finite", DType::f32, {4, 4}, {{"a", HUGE_VAL}});
}

}  // namespace

void register_muon_values(OpFamilies& table) {
  for (auto* make : {shapes, spectra, updates, bad_input}) table.add(make);
}

}  // namespace assay::suites
