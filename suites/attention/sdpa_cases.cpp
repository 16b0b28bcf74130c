// Attention over dtypes, lengths around the sizes of tiles, masks, alignments, head maps, scales and batches.
#include <array>

#include "suites/attention/attention_case.h"

namespace assay::suites {
namespace {

constexpr const char* kFlash = "aten::_scaled_dot_product_flash_attention_for_cpu.default";
constexpr const char* kMath = "aten::_scaled_dot_product_attention_math.default";
constexpr const char* kAligned = "assay::scaled_dot_product_attention.default";

struct Lengths {
  int64_t rows, keys;
  std::string name() const { return std::to_string(rows) + "x" + std::to_string(keys); }
};
constexpr std::array<Lengths, 16> kLengths{{{1, 1},
                                            {1, 128},
                                            {1, 513},
                                            {2, 3},
                                            {3, 2},
                                            {5, 7},
                                            {7, 5},
                                            {127, 127},
                                            {128, 128},
                                            {129, 129},
                                            {127, 129},
                                            {129, 127},
                                            {128, 513},
                                            {513, 129},
                                            {0, 4},
                                            {4, 0}}};
constexpr std::array<MaskKind, 6> kMasks{MaskKind::boolean,       MaskKind::boolean_dead, MaskKind::additive,
                                         MaskKind::additive_dead, MaskKind::lowest,       MaskKind::nan};

void emit(const CaseSink& sink, const SdpaSpec& spec) {
  sink(in_attention(sdpa_call(spec).build(), id_of(spec)));
}

SdpaSpec of_shape(DType dtype, const Lengths& n, int64_t depth, int64_t width, Shape batch = {1, 2}) {
  SdpaSpec spec;
  spec.dtype = dtype;
  spec.query = spec.key = spec.value = std::move(batch);
  spec.query.insert(spec.query.end(), {n.rows, depth});
  spec.key.insert(spec.key.end(), {n.keys, depth});
  spec.value.insert(spec.value.end(), {n.keys, width});
  return spec;
}

void lengths_and_masks(const CaseSink& sink, DType dtype) {
  for (const Lengths& n : kLengths) {
    for (const MaskKind mask : {MaskKind::none, MaskKind::causal}) {
      SdpaSpec spec = of_shape(dtype, n, 16, 16);
      spec.mask = mask;
      spec.name = n.name() + "/" + name_of(mask);
      emit(sink, spec);
    }
    if (n.rows * n.keys == 0) continue;
    for (const MaskKind mask : kMasks) {
      SdpaSpec spec = of_shape(dtype, n, 8, 8);
      spec.mask = mask;
      spec.name = n.name() + "/" + name_of(mask);
      emit(sink, spec);
    }
  }
}

void head_sizes(const CaseSink& sink, DType dtype) {
  for (const auto& [depth, width] : std::initializer_list<std::pair<int64_t, int64_t>>{{1, 1},
                                                                                       {2, 2},
                                                                                       {8, 8},
                                                                                       {16, 32},
                                                                                       {64, 64},
                                                                                       {80, 80},
                                                                                       {96, 48},
                                                                                       {128, 128},
                                                                                       {129, 129},
                                                                                       {256, 256}}) {
    for (const MaskKind mask : {MaskKind::none, MaskKind::causal}) {
      SdpaSpec spec = of_shape(dtype, {33, 65}, depth, width);
      spec.mask = mask;
      spec.name = "heads-of-" + std::to_string(depth) + "-" + std::to_string(width) + "/" + name_of(mask);
      spec.spread = 1;
      emit(sink, spec);
    }
  }
}

void grouped_heads(const CaseSink& sink, DType dtype) {
  for (const auto& [heads, kv] :
       std::initializer_list<std::pair<int64_t, int64_t>>{{4, 1}, {4, 2}, {4, 4}, {6, 3}, {8, 2}}) {
    for (const MaskKind mask : {MaskKind::none, MaskKind::causal, MaskKind::boolean_dead}) {
      SdpaSpec spec;
      spec.dtype = dtype;
      spec.query = {2, heads, 19, 16};
      spec.key = {2, kv, 23, 16};
      spec.value = {2, kv, 23, 16};
      spec.mask = mask;
      spec.arguments = {{"enable_gqa", true}};
      spec.name = "groups-" + std::to_string(heads) + "-" + std::to_string(kv) + "/" + name_of(mask);
      emit(sink, spec);
    }
  }
}

void scales(const CaseSink& sink, DType dtype) {
  for (const double scale : {0.0, 1.0, 0.3, -0.5, 8.0}) {
    SdpaSpec spec = of_shape(dtype, {9, 21}, 8, 8);
    spec.arguments = {{"scale", scale}};
    spec.name = "scale-" + to_string(Argument{scale});
    emit(sink, spec);
  }
}

void batches(const CaseSink& sink, DType dtype) {
  const auto shaped = [&](const char* name, Shape query, Shape key, std::optional<Shape> mask) {
    SdpaSpec spec;
    spec.dtype = dtype;
    spec.query = std::move(query);
    spec.key = spec.value = std::move(key);
    spec.name = name;
    if (mask) spec.given_mask = integers(DType::boolean, *mask, 0, 2);
    emit(sink, spec);
  };
  shaped("batch-2d", {6, 8}, {9, 8}, std::nullopt);
  shaped("batch-3d", {3, 6, 8}, {3, 9, 8}, std::nullopt);
  shaped("batch-5d", {2, 1, 3, 6, 8}, {2, 1, 3, 9, 8}, std::nullopt);
  shaped("batch-empty", {0, 2, 6, 8}, {0, 2, 9, 8}, std::nullopt);
  shaped("mask-4d", {2, 3, 6, 8}, {2, 3, 9, 8}, Shape{2, 3, 6, 9});
  shaped("mask-a-head", {2, 3, 6, 8}, {2, 3, 9, 8}, Shape{1, 3, 6, 9});
  shaped("mask-a-batch", {2, 3, 6, 8}, {2, 3, 9, 8}, Shape{2, 1, 1, 9});
  shaped("mask-a-row", {2, 3, 6, 8}, {2, 3, 9, 8}, Shape{6, 1});
}

// One open key for each query: its value comes back bit for bit. Finds shifted heads, swapped tiles and masks
// read transposed.
void exact_probes(const CaseSink& sink, DType dtype) {
  for (const auto& [heads, kv] : std::initializer_list<std::pair<int64_t, int64_t>>{{2, 2}, {6, 2}}) {
    constexpr int64_t kRows = 130, kKeys = 140;
    std::vector<double> open(static_cast<std::size_t>(kRows * kKeys), 0);
    for (int64_t i = 0; i < kRows; ++i) open[static_cast<std::size_t>(i * kKeys + (i * 37 + 5) % kKeys)] = 1;
    OpCase made("aten::scaled_dot_product_attention.default", dtype_tag(dtype));
    made.tensor("query", uniform(dtype, {1, heads, kRows, 4}))
        .tensor("key", uniform(dtype, {1, kv, kKeys, 4}))
        .tensor("value", integers(dtype, {1, kv, kKeys, 3}, -100, 101))
        .tensor("attn_mask", values(DType::boolean, {kRows, kKeys}, open))
        .arg("enable_gqa", heads != kv)
        .probe();
    sink(in_attention(made.build(), "sdpa/" + dtype_tag(dtype) + "/one-open-key-" + std::to_string(heads) +
                                        "-" + std::to_string(kv)));
  }
}

// The operators that fuse it, with what they return beside the output.
void variants(const CaseSink& sink, DType dtype) {
  for (const char* op : {kFlash, kMath}) {
    for (const Lengths& n : {Lengths{5, 7}, Lengths{129, 130}, Lengths{2, 600}}) {
      // They take masks that are added only.
      for (const MaskKind mask :
           {MaskKind::none, MaskKind::causal, MaskKind::additive, MaskKind::additive_dead}) {
        SdpaSpec spec = of_shape(dtype, n, 16, 16, {2, 2});
        spec.op = op;
        spec.mask = mask;
        spec.name = n.name() + "/" + name_of(mask);
        emit(sink, spec);
      }
    }
    SdpaSpec spec = of_shape(dtype, {6, 10}, 8, 8, {1, 4});
    spec.op = op;
    spec.key[1] = spec.value[1] = 2;
    if (op == kMath) spec.arguments = {{"enable_gqa", true}};
    spec.arguments.push_back({"scale", 0.7});
    spec.name = "groups-4-2";
    emit(sink, spec);
  }
}

// Alignment of the causal mask as an attribute, and capped scores.
void alignments(const CaseSink& sink, DType dtype) {
  for (const Lengths& n :
       {Lengths{2, 3}, Lengths{3, 2}, Lengths{1, 9}, Lengths{130, 200}, Lengths{200, 130}}) {
    for (const char* causal : {"none", "top_left", "bottom_right"}) {
      for (const double softcap : {0.0, 2.0}) {
        SdpaSpec spec = of_shape(dtype, n, 8, 8, {1, 4});
        spec.op = kAligned;
        spec.key[1] = spec.value[1] = 2;
        spec.arguments = {{"causal", std::string(causal)}, {"softcap", softcap}, {"enable_gqa", true}};
        spec.name = n.name() + "/" + causal + (softcap > 0 ? "/softcap" : "");
        emit(sink, spec);
      }
    }
  }
}

}  // namespace

void make_sdpa_cases(const CaseSink& sink) {
  for (const DType dtype : compute_floats()) {
    lengths_and_masks(sink, dtype);
    head_sizes(sink, dtype);
    grouped_heads(sink, dtype);
    scales(sink, dtype);
    batches(sink, dtype);
    exact_probes(sink, dtype);
    variants(sink, dtype);
    alignments(sink, dtype);
  }
}

}  // namespace assay::suites
