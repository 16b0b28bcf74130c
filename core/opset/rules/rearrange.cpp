// Copies that move, repeat or join elements.
#include "core/opset/checks.h"
#include "core/opset/number_checks.h"

#include <algorithm>

namespace assay {
namespace {

using namespace rules;

// A 1-d tensor without elements joins anything (torch.cat's legacy rule).
bool is_legacy_empty(const TensorMeta& tensor) { return tensor.shape == Shape{0}; }

Metas cat(const OpCall& call) {
  const std::vector<int> numbers = call.tensors("tensors");
  if (numbers.empty()) fail(call, "tensors is empty; it must hold at least one tensor");
  Metas tensors;
  const TensorMeta* first = nullptr;
  for (const int number : numbers) tensors.push_back(call.input(number));
  for (const TensorMeta& tensor : tensors) {
    if (tensor.shape.empty()) fail(call, "a 0-d tensor is among the tensors; they must have at least 1 dim");
    if (first == nullptr && !is_legacy_empty(tensor)) first = &tensor;
  }
  if (first == nullptr) first = &tensors[0];
  const int64_t dim = normalise_dim(call.integer("dim"), rank(*first), call);
  const auto d = static_cast<std::size_t>(dim);
  Shape shape = first->shape;
  shape[d] = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (is_legacy_empty(tensors[i])) continue;
    Shape rest = tensors[i].shape;
    Shape expected = first->shape;
    if (rest.size() == expected.size()) rest[d] = expected[d] = 0;
    if (rest != expected) {
      fail(call, "tensor {} has shape {}; all sizes but that of dim {} must equal those of {}", i,
           to_string(tensors[i].shape), dim, to_string(first->shape));
    }
    if (__builtin_add_overflow(shape[d], tensors[i].shape[d], &shape[d]))
      fail(call, "the result is too large");
  }
  return {{result_type(tensors, {}), shape}};
}

Metas stack(const OpCall& call) {
  const std::vector<int> numbers = call.tensors("tensors");
  if (numbers.empty()) fail(call, "tensors is empty; it must hold at least one tensor");
  Metas tensors;
  for (const int number : numbers) tensors.push_back(call.input(number));
  for (std::size_t i = 1; i < tensors.size(); ++i) {
    if (tensors[i].shape != tensors[0].shape) {
      fail(call, "tensor {} has shape {}; it must have the shape of the first, {}", i,
           to_string(tensors[i].shape), to_string(tensors[0].shape));
    }
  }
  Shape shape = tensors[0].shape;
  shape.insert(shape.begin() + normalise_dim(call.integer("dim"), rank(tensors[0]) + 1, call),
               static_cast<int64_t>(tensors.size()));
  return {{result_type(tensors, {}), shape}};
}

Metas repeat(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  Shape repeats = call.integers("repeats");
  require_sizes(call, "repeats", repeats);
  if (repeats.size() < self.shape.size()) {
    fail(call, "repeats {} has fewer entries than self of shape {} has dims", to_string(repeats),
         to_string(self.shape));
  }
  const std::size_t lead = repeats.size() - self.shape.size();
  for (std::size_t i = 0; i < self.shape.size(); ++i) {
    if (__builtin_mul_overflow(repeats[lead + i], self.shape[i], &repeats[lead + i])) {
      fail(call, "the result is too large");
    }
  }
  return {{self.dtype, repeats}};
}

// Like repeat, but missing leading repeats are 1.
Metas tile(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  Shape repeats = call.integers("dims");
  require_sizes(call, "dims", repeats);
  Shape shape = self.shape;
  if (repeats.size() > shape.size()) shape.insert(shape.begin(), repeats.size() - shape.size(), 1);
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    int64_t& size = shape[shape.size() - 1 - i];
    if (__builtin_mul_overflow(size, repeats[repeats.size() - 1 - i], &size))
      fail(call, "the result is too large");
  }
  return {{self.dtype, shape}};
}

// Each element `repeats` times along dim, or of the flattened self.
Metas repeat_interleave(const OpCall& call) {
  TensorMeta self = meta(call, "self");
  const int64_t repeats = call.integer("repeats");
  if (repeats < 0) fail(call, "repeats is {}; it cannot be negative", repeats);
  const std::optional<int64_t> dim = call.integer_opt("dim");
  if (dim && self.shape.empty()) fail(call, "dim is {} and self is a 0-d tensor; leave dim out", *dim);
  if (!dim) self.shape = {element_count(self.shape)};
  int64_t& size = self.shape[static_cast<std::size_t>(dim ? normalise_dim(*dim, rank(self), call) : 0)];
  if (__builtin_mul_overflow(size, repeats, &size)) fail(call, "the result is too large");
  const std::optional<int64_t> declared = call.integer_opt("output_size");
  if (declared && *declared != size) fail(call, "output_size is {}; it must be {}", *declared, size);
  return {self};
}

Metas flip(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  if (!call.integers("dims").empty()) reduced_dims(call, call.integers("dims"), rank(self));
  return {self};
}

Metas constant_pad(const OpCall& call) {
  TensorMeta self = meta(call, "self");
  const std::vector<int64_t> pad = call.integers("pad");
  if (pad.size() % 2 != 0 || pad.size() / 2 > self.shape.size()) {
    fail(call, "pad has {} entries; it must have an even number of at most {}", pad.size(),
         2 * self.shape.size());
  }
  for (std::size_t i = 0; i < pad.size() / 2; ++i) {
    int64_t& size = self.shape[self.shape.size() - 1 - i];
    int64_t padded = 0;
    if (__builtin_add_overflow(size, pad[2 * i], &padded) ||
        __builtin_add_overflow(padded, pad[2 * i + 1], &padded) || padded < 0) {
      fail(call, "size {} padded by {} and {} is {}; it cannot be negative", size, pad[2 * i], pad[2 * i + 1],
           padded);
    }
    size = padded;
  }
  if (!call.is_none("value")) require_number(call, "value", self.dtype);  // None is 0
  return {self};
}

// reflection_padNd and replication_padNd: N spatial dims and one or two before them.
Metas edge_pad(const OpCall& call, int64_t spatial, bool reflects, std::string_view pad_name = "padding") {
  require_rank(call, "self", spatial + 1, spatial + 2);
  TensorMeta self = meta(call, "self");
  const std::vector<int64_t> pad = call.integers(pad_name);
  require_length(call, pad_name, pad.size(), static_cast<std::size_t>(2 * spatial));
  const std::size_t batch = self.shape.size() == static_cast<std::size_t>(spatial) + 2 ? 1 : 0;
  for (std::size_t i = batch; i < self.shape.size(); ++i) {
    if (self.shape[i] == 0) {
      fail(call, "self has shape {}; only the batch may be empty", to_string(self.shape));
    }
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(spatial); ++i) {
    int64_t& size = self.shape[self.shape.size() - 1 - i];
    const int64_t before = pad[2 * i];
    const int64_t after = pad[2 * i + 1];
    if (reflects && (before >= size || after >= size)) {
      fail(call, "padding ({}, {}) must be smaller than the size {} that it reflects", before, after, size);
    }
    int64_t padded = 0;
    if (__builtin_add_overflow(size, before, &padded) || __builtin_add_overflow(padded, after, &padded) ||
        padded < 1) {
      fail(call, "size {} padded by {} and {} is {}; it must be positive", size, before, after, padded);
    }
    size = padded;
  }
  return {self};
}

// Circular padding may not wrap around more than once.
Metas circular_pad(const OpCall& call, int64_t spatial) {
  const Metas out = edge_pad(call, spatial, false, "pad");
  const Shape& shape = meta(call, "self").shape;
  const std::vector<int64_t> pad = call.integers("pad");
  for (std::size_t i = 0; i < pad.size(); ++i) {
    const int64_t size = shape[shape.size() - 1 - i / 2];
    if (pad[i] > size)
      fail(call, "pad holds {}; it must not be larger than the size {} that it wraps", pad[i], size);
  }
  return out;
}

Metas pad(const OpCall& call) {
  const std::string mode = call.string("mode");
  require_word(call, "mode", mode, {"constant", "reflect", "replicate", "circular"});
  if (mode == "constant") return constant_pad(call);
  if (!call.is_none("value")) fail(call, "value is given; it goes only with mode \"constant\"");
  const std::size_t entries = call.integers("pad").size();
  if (entries != 2 && entries != 4 && entries != 6) {
    fail(call, "pad has {} entries; with mode \"{}\" it must have 2, 4 or 6", entries, mode);
  }
  const auto spatial = static_cast<int64_t>(entries / 2);
  return mode == "circular" ? circular_pad(call, spatial) : edge_pad(call, spatial, mode == "reflect", "pad");
}

Metas triangle(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  if (rank(self) < 2) fail(call, "self has shape {}; it must have at least 2 dims", to_string(self.shape));
  return {self};
}

Metas resize(const OpCall& call) {
  require_sizes(call, "size", call.integers("size"));
  return {{meta(call, "self").dtype, call.integers("size")}};
}

Metas resize_as(const OpCall& call) { return {{meta(call, "self").dtype, meta(call, "the_template").shape}}; }

}  // namespace

void register_rearrange(ShapeTable& table) {
  table.add("aten::cat.default", cat);
  table.add("aten::stack.default", stack);
  table.add("aten::repeat.default", repeat);
  table.add("aten::tile.default", tile);
  table.add("aten::repeat_interleave.self_int", repeat_interleave);
  table.add("aten::flip.default", flip);
  table.add("aten::constant_pad_nd.default", constant_pad);
  table.add("aten::pad.default", pad);
  table.add("aten::reflection_pad1d.default", [](const OpCall& call) { return edge_pad(call, 1, true); });
  table.add("aten::reflection_pad2d.default", [](const OpCall& call) { return edge_pad(call, 2, true); });
  table.add("aten::reflection_pad3d.default", [](const OpCall& call) { return edge_pad(call, 3, true); });
  table.add("aten::replication_pad1d.default", [](const OpCall& call) { return edge_pad(call, 1, false); });
  table.add("aten::replication_pad2d.default", [](const OpCall& call) { return edge_pad(call, 2, false); });
  table.add("aten::replication_pad3d.default", [](const OpCall& call) { return edge_pad(call, 3, false); });
  table.add("aten::tril.default", triangle);
  table.add("aten::triu.default", triangle);
  table.add("aten::resize_.default", resize);
  table.add("aten::resize.default", resize);
  table.add("aten::resize_as.default", resize_as);
}

}  // namespace assay
