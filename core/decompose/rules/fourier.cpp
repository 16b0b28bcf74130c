// torch.fft in terms of the three transforms that backends know: real to complex, complex to complex, complex
// to real.
#include <algorithm>
#include <optional>
#include <string>

#include "core/decompose/shorthands.h"

namespace assay {
namespace {

enum class Kind { complex, from_real, to_real };

struct Transform {
  Kind kind;
  bool forward;    // the sign of the exponent and which of the two is scaled
  bool conjugate;  // Hermitian variants: of what is given (to_real) or of the result (from_real)
};

// PyTorch's numbers: 0 not scaled, 1 by the root of the size, 2 by the size. The default scales the inverse.
std::optional<int64_t> scaling(const OpCall& call, bool forward) {
  const std::string norm = call.string_opt("norm").value_or("backward");
  if (norm == "ortho") return 1;
  if (norm != "backward" && norm != "forward") return std::nullopt;
  return (norm == "forward") == forward ? 2 : 0;
}

// The first `size` elements along dim, zeros behind them if there are fewer.
ValueId resized(Rewriter& w, ValueId x, int64_t dim, int64_t size) {
  const int64_t now = w.shape(x).at(static_cast<std::size_t>(dim));
  if (size < now) return slice(w, x, dim, 0, size);
  if (size == now) return x;
  std::vector<int64_t> pad(2 * static_cast<std::size_t>(rank_of(w, x) - dim), 0);
  pad.back() = size - now;
  return padded(w, x, pad);
}

ValueId as_float(Rewriter& w, ValueId x) { return is_integral(w.dtype(x)) ? w.cast(x, DType::f32) : x; }

ValueId as_complex(Rewriter& w, ValueId x) {
  x = as_float(w, x);
  if (is_complex(w.dtype(x))) return x;
  return w.cast(x, w.dtype(x) == DType::f64 ? DType::c128 : DType::c64);
}

ValueId conjugated(Rewriter& w, ValueId x) { return unary(w, "aten::_conj.default", x); }

// Dims and the size of the transform in each (of the result in the last one, where that is real).
struct Places {
  std::vector<int64_t> dims, sizes;
};

std::optional<Places> places_of(Rewriter& w, const OpCall& call, Kind kind) {
  const ValueId self = value_of(call, "self");
  const int64_t rank = rank_of(w, self);
  Places places;
  std::optional<std::vector<int64_t>> given;
  if (call.schema().find("n")) {
    places.dims = {call.integer("dim")};
    if (const auto n = call.integer_opt("n")) given = std::vector<int64_t>{*n};
  } else {
    const auto dims = call.integers_opt("dim");
    given = call.integers_opt("s");
    if (dims) {
      places.dims = *dims;
    } else {
      const int64_t count = given ? static_cast<int64_t>(given->size()) : rank;
      for (int64_t d = rank - count; d < rank; ++d) places.dims.push_back(d);
    }
  }
  if (places.dims.empty() || (given && given->size() != places.dims.size())) return std::nullopt;
  for (std::size_t i = 0; i < places.dims.size(); ++i) {
    places.dims[i] = normalise_dim(places.dims[i], rank, call);
    const int64_t own = w.shape(self).at(static_cast<std::size_t>(places.dims[i]));
    const bool halved = kind == Kind::to_real && i + 1 == places.dims.size();
    const int64_t size = given && given->at(i) != -1 ? given->at(i) : halved ? 2 * (own - 1) : own;
    if (size < 1 ||
        std::count(places.dims.begin(), places.dims.begin() + static_cast<int64_t>(i), places.dims[i]))
      return std::nullopt;
    places.sizes.push_back(size);
  }
  return places;
}

Ids transform(Rewriter& w, const OpCall& call, const Transform& how) {
  const auto places = places_of(w, call, how.kind);
  const auto norm = scaling(call, how.forward);
  if (!places || !norm) return {};
  ValueId x = value_of(call, "self");
  if (how.kind == Kind::from_real && is_complex(w.dtype(x))) return {};
  const bool real = how.kind != Kind::to_real && !is_complex(w.dtype(x));
  x = real ? as_float(w, x) : as_complex(w, x);
  for (std::size_t i = 0; i < places->dims.size(); ++i) {
    const bool halved = how.kind == Kind::to_real && i + 1 == places->dims.size();
    x = resized(w, x, places->dims[i], halved ? places->sizes[i] / 2 + 1 : places->sizes[i]);
  }
  const IntListArg dims{places->dims, {}};
  if (how.kind == Kind::to_real) {
    if (how.conjugate) x = conjugated(w, x);
    return {w.emit("aten::_fft_c2r.default", {{"self", ValueArg{x}},
                                              {"dim", dims},
                                              {"normalization", *norm},
                                              {"last_dim_size", places->sizes.back()}})};
  }
  if (how.kind == Kind::from_real) {
    x = w.emit("aten::_fft_r2c.default",
               {{"self", ValueArg{x}}, {"dim", dims}, {"normalization", *norm}, {"onesided", true}});
    return {how.conjugate ? conjugated(w, x) : x};
  }
  return {w.emit("aten::_fft_c2c.default", {{"self", ValueArg{as_complex(w, x)}},
                                            {"dim", dims},
                                            {"normalization", *norm},
                                            {"forward", how.forward}})};
}

// Zero frequency to the middle, or back.
Ids shifted(Rewriter& w, const OpCall& call, bool back) {
  const ValueId self = value_of(call, "self");
  const std::vector<int64_t> dims = call.integers_opt("dim").value_or(every_dim(w, self));
  ValueId x = self;
  for (const int64_t given : dims) {
    const int64_t dim = normalise_dim(given, rank_of(w, self), call);
    const int64_t size = w.shape(self).at(static_cast<std::size_t>(dim));
    x = rolled(w, x, dim, back ? (size + 1) / 2 : size / 2);
  }
  return {x};
}

}  // namespace

void register_fourier(DecomposeTable& table) {
  const std::pair<const char*, Transform> kinds[] = {
      {"fft", {Kind::complex, true, false}},     {"ifft", {Kind::complex, false, false}},
      {"rfft", {Kind::from_real, true, false}},  {"irfft", {Kind::to_real, false, false}},
      {"ihfft", {Kind::from_real, false, true}}, {"hfft", {Kind::to_real, true, true}},
  };
  for (const auto& [name, how] : kinds) {
    const DecomposeRule rule = [how = how](Rewriter& w, const OpCall& call) {
      return transform(w, call, how);
    };
    const std::string stem = std::string("aten::fft_") + name;
    for (const char* rank : {"", "2", "n"}) table.add(stem + rank + ".default", rule);
  }
  table.add("aten::fft_fftshift.default",
            [](Rewriter& w, const OpCall& call) { return shifted(w, call, false); });
  table.add("aten::fft_ifftshift.default",
            [](Rewriter& w, const OpCall& call) { return shifted(w, call, true); });
}

}  // namespace assay
