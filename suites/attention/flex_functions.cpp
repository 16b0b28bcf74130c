#include "suites/attention/flex_functions.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/error.h"
#include "core/graph/json.h"
#include "core/graph/symbolic_expression.h"

extern "C" const char assay_asset_flex_functions_begin[], assay_asset_flex_functions_end[];

namespace assay::suites {
namespace {

using Json = nlohmann::json;

int64_t size_of(const std::string& text, const std::map<std::string, int64_t>& sizes) {
  const auto size = evaluate(parse_expression(text), sizes);
  if (!size) throw Error(ErrorCode::internal, "flex_functions.json: the size " + text + " has no value");
  return *size;
}

std::vector<FlexFunction> read(const Json& table) {
  std::vector<FlexFunction> functions;
  for (const Json& entry : table) {
    FlexFunction function;
    function.name = entry.at("name").get<std::string>();
    for (const Json& buffer : entry.at("buffers")) {
      const auto dtype = parse_dtype(buffer.at("dtype").get<std::string>());
      if (!dtype) throw Error(ErrorCode::internal, "flex_functions.json: " + buffer.at("dtype").dump());
      function.buffers.push_back({buffer.at("shape").get<std::vector<std::string>>(), *dtype,
                                  buffer.at("low").get<std::string>(), buffer.at("high").get<std::string>()});
    }
    function.graph = function_from_json(entry.at("graph").dump(), "flex_functions.json: " + function.name);
    functions.push_back(std::move(function));
  }
  return functions;
}

struct Tables {
  std::vector<FlexFunction> scores, masks;
};
const Tables& tables() {
  static const Tables made = [] {
    const Json data = Json::parse(std::string_view(
        assay_asset_flex_functions_begin,
        static_cast<std::size_t>(assay_asset_flex_functions_end - assay_asset_flex_functions_begin)));
    return Tables{read(data.at("scores")), read(data.at("masks"))};
  }();
  return made;
}

const FlexFunction& find(const std::vector<FlexFunction>& functions, const std::string& name) {
  const auto found = std::find_if(functions.begin(), functions.end(),
                                  [&](const FlexFunction& function) { return function.name == name; });
  if (found == functions.end())
    throw Error(ErrorCode::internal, "flex_functions.json has no function " + name);
  return *found;
}

}  // namespace

TensorRecipe FlexBuffer::recipe(const std::map<std::string, int64_t>& sizes) const {
  Shape made;
  for (const std::string& size : shape) made.push_back(size_of(size, sizes));
  if (is_float(dtype)) return {dtype, made, UniformDraw{0, 1}};
  return {dtype, made, IntegerDraw{size_of(low, sizes), size_of(high, sizes)}};
}

const FlexFunction& score_function(const std::string& name) { return find(tables().scores, name); }
const FlexFunction& mask_function(const std::string& name) { return find(tables().masks, name); }
const std::vector<FlexFunction>& score_functions() { return tables().scores; }
const std::vector<FlexFunction>& mask_functions() { return tables().masks; }

}  // namespace assay::suites
