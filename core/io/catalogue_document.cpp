#include "core/io/catalogue_document.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"
#include "core/io/base64.h"
#include "core/io/expected.h"
#include "core/io/file.h"
#include "core/io/weights.h"

namespace assay {
namespace {

constexpr uint64_t kMaxTensors = uint64_t{4} << 30;  // all weights and inputs of a reduced model
constexpr std::size_t kMaxId = 200;

// Ids are shown, filtered by and made into names of folders.
bool is_id(const std::string& id) {
  bool good = !id.empty() && id.size() <= kMaxId && id.front() != '/' && id.back() != '/';
  for (const char c : id) good = good && c > ' ' && c < 0x7f;
  return good && id.find("//") == std::string::npos && ("/" + id + "/").find("/../") == std::string::npos;
}

}  // namespace

CatalogueDocument::CatalogueDocument(const nlohmann::json& document, const std::string& origin)
    : document_(document), origin_(origin), assay_(JsonCursor(document, origin).at("assay")) {}

Model CatalogueDocument::model() {
  const JsonCursor format = assay_.at("format");
  if (format.integer() != 1) {
    throw Error(ErrorCode::unsupported, fmt::format("{}: catalogue format {} is not supported, only 1",
                                                    format.place(), format.integer()));
  }
  Model model;
  model.origin = origin_;
  model.graph = graph_from_document(document_, origin_);
  read_weights(model);
  check_weights(model);
  read_inputs(model);
  return model;
}

std::string CatalogueDocument::id() const {
  const JsonCursor id = assay_.at("id");
  if (!is_id(id.string())) {
    id.fail(
        fmt::format("expected an id of at most {} printable ASCII characters, parts joined by '/'", kMaxId));
  }
  return id.string();
}

std::map<std::string, Tensor> CatalogueDocument::expected(const Graph& graph) {
  std::map<std::string, Tensor> tensors;
  const JsonCursor expected = assay_.at("expected");
  for (const auto& [name, entry] : expected.members()) {
    if (!entry.find("data")) entry.fail("an expected output is stored, as 'data'");
    tensors.emplace(name, std::get<Tensor>(read_recipe(entry).source));
  }
  check_expected(graph, tensors, expected.place());
  return tensors;
}

Tensor CatalogueDocument::read_data(const JsonCursor& data, const TensorRecipe& recipe, uint64_t bytes) {
  const auto content = decode_base64(data.string());
  if (!content) data.fail("not valid base64");
  if (content->size() != bytes) {
    data.fail(fmt::format("{} bytes, but shape {} of {} takes {}", content->size(), to_string(recipe.shape),
                          name_of(recipe.dtype), bytes));
  }
  return Tensor::from_bytes(recipe.dtype, recipe.shape, content->data(), content->size());
}

TensorRecipe CatalogueDocument::read_recipe(const JsonCursor& entry) {
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
    recipe.source = read_data(*data, recipe, *bytes);
  }
  return recipe;
}

void CatalogueDocument::read_weights(Model& model) {
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

void CatalogueDocument::read_inputs(Model& model) {
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

}  // namespace assay
