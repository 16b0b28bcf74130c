// Catalogue files: a zstd frame around the JSON of a graph and an object "assay" (sweeps/export/weights.md).
#include <fmt/format.h>
#include <zstd.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/graph/json_cursor.h"
#include "core/io/base64.h"
#include "core/io/file.h"
#include "core/io/model.h"
#include "core/io/weights.h"

namespace assay {
namespace {

constexpr std::size_t kMaxText = std::size_t{64} << 20;
constexpr uint64_t kMaxTensors = uint64_t{4} << 30;  // all weights and inputs of a reduced model
constexpr int kMaxWindowLog = 27;                    // 128 MiB, what zstd itself allows by default

std::string decompress(std::string_view bytes, const std::string& origin) {
  const auto fail = [&](const std::string& what) {
    throw Error(ErrorCode::malformed_file, fmt::format("{}: {}", origin, what));
  };
  const std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(), ZSTD_freeDCtx);
  if (!context) throw Error(ErrorCode::internal, fmt::format("{}: zstd has no memory", origin));
  ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, kMaxWindowLog);
  std::string text;
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  std::string chunk(ZSTD_DStreamOutSize(), '\0');
  for (;;) {
    ZSTD_outBuffer out{chunk.data(), chunk.size(), 0};
    const std::size_t left = ZSTD_decompressStream(context.get(), &out, &in);
    if (ZSTD_isError(left)) {
      fail(fmt::format("byte {}: damaged zstd frame: {}", in.pos, ZSTD_getErrorName(left)));
    }
    if (text.size() + out.pos > kMaxText)
      fail(fmt::format("unpacks to more than {} bytes, the limit", kMaxText));
    text.append(chunk, 0, out.pos);
    if (left == 0) break;
    if (in.pos == in.size && out.pos < out.size) fail("the zstd frame is cut off");
  }
  if (in.pos != in.size) fail(fmt::format("byte {}: data after the zstd frame", in.pos));
  return text;
}

class Reader {
 public:
  Reader(const nlohmann::json& document, const std::string& origin) : assay_(document, origin, "") {
    assay_ = assay_.at("assay");
  }

  void run(Model& model) {
    const JsonCursor format = assay_.at("format");
    if (format.integer() != 1) {
      throw Error(ErrorCode::unsupported, fmt::format("{}: catalogue format {} is not supported, only 1",
                                                      format.place(), format.integer()));
    }
    read_weights(model);
    check_weights(model);
    read_inputs(model);
  }

 private:
  TensorRecipe read_recipe(const JsonCursor& entry) {
    TensorRecipe recipe;
    const JsonCursor dtype_text = entry.at("dtype");
    const auto dtype = parse_dtype(dtype_text.string());
    if (!dtype) dtype_text.fail(fmt::format("'{}' is no dtype", dtype_text.string()));
    recipe.dtype = *dtype;
    const JsonCursor shape = entry.at("shape");
    if (shape.size() > 64) shape.fail("rank beyond 64, the limit");
    for (std::size_t i = 0; i < shape.size(); ++i) recipe.shape.push_back(shape.at(i).integer());
    const auto bytes = checked_bytes(recipe.shape, recipe.dtype);
    if (!bytes) shape.fail(fmt::format("shape {} is not possible", to_string(recipe.shape)));
    if (*bytes > kMaxTensors - total_) {
      shape.fail(
          fmt::format("the tensors take more than {} bytes, the limit for a catalogue file", kMaxTensors));
    }
    total_ += *bytes;

    const auto draw = entry.find("draw");
    const auto integers = entry.find("integers");
    const auto data = entry.find("data");
    if ((draw ? 1 : 0) + (integers ? 1 : 0) + (data ? 1 : 0) != 1) {
      entry.fail("expected one of 'draw', 'integers' and 'data'");
    }
    if (draw) {
      const UniformDraw uniform{draw->at("center").number(), draw->at("scale").number()};
      if (!std::isfinite(uniform.center) || !std::isfinite(uniform.scale)) draw->fail("not a finite range");
      if (is_integral(recipe.dtype))
        draw->fail(fmt::format("{} cannot be drawn from a range", name_of(recipe.dtype)));
      recipe.source = uniform;
    } else if (integers) {
      const IntegerDraw range{integers->at("low").integer(), integers->at("high").integer()};
      const auto width = static_cast<uint64_t>(range.high) - static_cast<uint64_t>(range.low);
      if (range.high <= range.low || width > (uint64_t{1} << 32) || is_complex(recipe.dtype)) {
        integers->fail(
            fmt::format("cannot draw {} from [{}, {})", name_of(recipe.dtype), range.low, range.high));
      }
      recipe.source = range;
    } else {
      const auto content = decode_base64(data->string());
      if (!content) data->fail("not valid base64");
      if (content->size() != *bytes) {
        data->fail(fmt::format("{} bytes, but shape {} of {} takes {}", content->size(),
                               to_string(recipe.shape), name_of(recipe.dtype), *bytes));
      }
      recipe.source = Tensor::from_bytes(recipe.dtype, recipe.shape, content->data(), content->size());
    }
    return recipe;
  }

  void read_weights(Model& model) {
    std::map<std::string, const GraphInput*> wanted;
    for (const GraphInput& input : model.graph.inputs) {
      if (input.kind != InputKind::user) wanted.emplace(input.target, &input);
    }
    const auto weights = assay_.at("weights").members();
    for (const auto& [name, entry] : weights) {
      if (wanted.count(name) == 0) entry.fail("is no parameter, buffer or constant of the graph");
      if (!entry.find("same_as")) model.weights.emplace(name, materialise(read_recipe(entry), name, 0));
    }
    for (const auto& [name, entry] : weights) {
      const auto same = entry.find("same_as");
      if (!same) continue;
      const auto other = model.weights.find(same->string());
      if (other == model.weights.end() || assay_.at("weights").at(same->string()).find("same_as")) {
        same->fail(fmt::format("'{}' is no weight with an entry of its own", same->string()));
      }
      model.weights.emplace(name, other->second);
    }
  }

  void read_inputs(Model& model) {
    std::map<std::string, const Value*> users;
    for (const GraphInput& input : model.graph.inputs) {
      if (input.kind == InputKind::user && input.value >= 0) {
        users.emplace(input.target, &model.graph.values.at(static_cast<std::size_t>(input.value)));
      }
    }
    for (const auto& [name, entry] : assay_.at("inputs").members()) {
      const auto user = users.find(name);
      if (user == users.end()) entry.fail("is no user input of the graph");
      TensorRecipe recipe = read_recipe(entry);
      const Value& declared = *user->second;
      bool equal = recipe.dtype == declared.dtype && recipe.shape.size() == declared.shape.size();
      for (std::size_t i = 0; equal && i < recipe.shape.size(); ++i) {
        equal = declared.shape[i] == -1 || declared.shape[i] == recipe.shape[i];
      }
      if (!equal) {
        entry.fail(fmt::format("{} {}, but the graph declares {} {}", name_of(recipe.dtype),
                               to_string(recipe.shape), name_of(declared.dtype), to_string(declared.shape)));
      }
      model.inputs.emplace(name, std::move(recipe));
    }
    for (const auto& [name, value] : users) {
      if (model.inputs.count(name) == 0)
        assay_.at("inputs").fail(fmt::format("user input '{}' is missing", name));
    }
  }

  JsonCursor assay_;
  uint64_t total_ = 0;
};

}  // namespace

Model parse_catalogue(std::string_view bytes, const std::string& origin) {
  const nlohmann::json document = parse_json(decompress(bytes, origin), origin);
  Model model;
  model.origin = origin;
  model.graph = graph_from_document(document, origin);
  Reader(document, origin).run(model);
  return model;
}

}  // namespace assay
