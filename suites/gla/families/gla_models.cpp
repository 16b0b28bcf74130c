// The layer and a small language model: prefill, decode, loss and gradients.
#include "models/gla/gla.h"
#include "suites/gla/gla_case.h"
#include "suites/ops/op_case.h"

namespace assay::suites {
namespace {

using models::GlaConfig;
using models::GlaForm;
using models::GlaGraph;

GlaConfig small() {
  GlaConfig config;
  config.hidden_size = 32;
  config.num_hidden_layers = 2;
  config.num_heads = 2;
  config.vocab_size = 64;
  config.intermediate_size = 48;
  config.gate_low_rank_dim = 8;
  return config;
}

struct Variant {
  const char* name;
  GlaConfig config;
};
std::vector<Variant> variants() {
  std::vector<Variant> all;
  for (const char* name :
       {"plain", "shared-heads", "short-convolution", "clamped-gate", "no-output-gate", "normaliser-0.1"}) {
    all.push_back({name, small()});
  }
  all[1].config.num_kv_heads = 1;
  all[1].config.feature_map = "relu";
  all[2].config.use_short_conv = true;
  all[3].config.clamp_min = -0.04;
  all[4].config.use_output_gate = false;
  all[4].config.elementwise_affine = false;
  all[5].config.gate_logit_normalizer = 0.1;
  return all;
}

std::string form_name(GlaForm form) { return form == GlaForm::fused ? "" : "-parts"; }

TensorRecipe mask_of(int64_t length, int64_t valid) {
  std::vector<int64_t> mask;
  for (int64_t row = 0; row < 2; ++row) {
    // One sequence padded on the left, one on the right.
    for (int64_t t = 0; t < length; ++t) mask.push_back(row == 0 ? t >= length - valid : t < valid);
  }
  return {DType::boolean, {2, length}, Tensor::from_ints(DType::boolean, {2, length}, mask)};
}

// Rows of 1 and 2 make a convolution's chunk shorter than its history (flash-linear-attention issue 1140).
void layers(const CaseSink& sink) {
  for (const GlaForm form : {GlaForm::fused, GlaForm::chunked}) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      for (const Variant& v : variants()) {
        for (const int64_t length : {1, 2, 65}) {
          if (length == 2 && !v.config.use_short_conv) continue;
          if (length == 1 && form == GlaForm::chunked && dtype == DType::bf16) continue;
          GlaGraph graph;
          graph.batch = 2;
          graph.length = length;
          graph.dtype = dtype;
          graph.form = form;
          graph.state = length < 65;
          const std::string id = "gla/layer" + form_name(form) + "/" + dtype_name(dtype) + "/" + v.name +
                                 (graph.state ? "-continued-" : "-") + std::to_string(length);
          sink(case_of_graph(id, "gla_layer", gla_layer_graph(v.config, graph)));
        }
      }
      GlaGraph graph;
      graph.batch = 2;
      graph.length = 40;
      graph.dtype = dtype;
      graph.form = form;
      graph.mask = true;
      sink(case_of_graph("gla/layer" + form_name(form) + "/" + dtype_name(dtype) + "/padded", "gla_layer",
                         gla_layer_graph(small(), graph), {{"mask", mask_of(40, 23)}}));
      GlaGraph packed;
      packed.length = 70;
      packed.dtype = dtype;
      packed.form = form;
      packed.offsets = {0, 33, 33, 64, 70};
      sink(case_of_graph("gla/layer" + form_name(form) + "/" + dtype_name(dtype) + "/packed", "gla_layer",
                         gla_layer_graph(small(), packed)));
    }
  }
}

void language_models(const CaseSink& sink) {
  for (const GlaForm form : {GlaForm::fused, GlaForm::chunked}) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const std::string place = form_name(form) + "/" + dtype_name(dtype) + "/";
      for (const char* kind : {"prefill", "decode", "loss", "gradients"}) {
        const std::string name = kind;
        GlaGraph graph;
        graph.batch = 2;
        graph.length = name == "decode" ? 1 : name == "prefill" ? 65 : 20;
        graph.dtype = dtype;
        graph.form = form;
        graph.state = name == "decode";
        graph.loss = name == "loss";
        const Shape rows{graph.batch, graph.length};
        std::map<std::string, TensorRecipe> given{{"input_ids", {DType::i64, rows, IntegerDraw{0, 64}}}};
        if (name == "loss" || name == "gradients") given["labels"] = {DType::i64, rows, IntegerDraw{0, 64}};
        Graph made =
            name == "gradients" ? gla_gradient_graph(small(), graph) : gla_model_graph(small(), graph);
        sink(case_of_graph("gla/model" + place + name, "gla_model", std::move(made), std::move(given)));
      }
    }
  }
}

}  // namespace

void register_gla_models(OpFamilies& table) {
  table.add(layers);
  table.add(language_models);
}

}  // namespace assay::suites
