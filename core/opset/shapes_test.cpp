#include "core/opset/shapes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "core/error.h"

namespace assay {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

// "f32[2,3]"
TensorMeta meta_of(const std::string& text) {
  const std::size_t bracket = text.find('[');
  TensorMeta out{parse_dtype(text.substr(0, bracket)).value(), {}};
  std::stringstream sizes(text.substr(bracket + 1, text.size() - bracket - 2));
  for (std::string size; std::getline(sizes, size, ',');) out.shape.push_back(std::stoll(size));
  return out;
}

std::vector<TensorMeta> metas_of(const std::string& text) {
  std::vector<TensorMeta> out;
  std::stringstream words(text);
  for (std::string word; words >> word;) out.push_back(meta_of(word));
  return out;
}

bool is_tensor(const Json& json) { return json.is_string() && json.get<std::string>().starts_with("@"); }

ValueId tensor_of(const Json& json, std::vector<TensorMeta>& inputs) {
  if (json.is_null()) return -1;
  inputs.push_back(meta_of(json.get<std::string>().substr(1)));
  return static_cast<ValueId>(inputs.size() - 1);
}

Argument argument_of(const Json& json, std::vector<TensorMeta>& inputs) {
  if (json.is_null()) return NoneArg{};
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<int64_t>();
  if (json.is_number_float()) return json.get<double>();
  if (is_tensor(json)) return ValueArg{tensor_of(json, inputs)};
  if (json.is_string()) {
    const std::string text = json.get<std::string>();
    if (text.starts_with("%")) return DTypeArg{parse_dtype(text.substr(1)).value()};
    return text;
  }
  if (std::any_of(json.begin(), json.end(), is_tensor)) {
    ValueListArg out;
    for (const Json& entry : json) out.ids.push_back(tensor_of(entry, inputs));
    return out;
  }
  if (!json.empty() && json[0].is_number_float()) return json.get<std::vector<double>>();
  if (!json.empty() && json[0].is_boolean()) return json.get<std::vector<bool>>();
  return IntListArg{json.get<std::vector<int64_t>>(), {}};
}

std::optional<std::vector<TensorMeta>> run(const std::string& op, const Json& json) {
  std::vector<TensorMeta> inputs;
  std::vector<NamedArgument> arguments;
  for (const auto& [name, value] : json.items()) arguments.push_back({name, argument_of(value, inputs)});
  return infer(OpCall(op, inputs, arguments));
}

std::string to_string(const std::optional<std::vector<TensorMeta>>& metas) {
  if (!metas) return "unknown";
  std::string out;
  for (const TensorMeta& meta : *metas)
    out += std::string(name_of(meta.dtype)) + assay::to_string(meta.shape) + " ";
  return out;
}

// Calls that PyTorch's CPU kernels take although its documentation does not allow them; Assay refuses them.
const std::map<std::string, const char*> kStricter = {
    {"aten::addcmul.default", "value must be an integer for integer inputs (torch.addcmul)"},
    {"aten::addmm.default", "beta and alpha must be integers for integer inputs (torch.addmm)"},
    {"aten::scatter_reduce.two",
     "reduce is one of sum, prod, mean, amax, amin (torch.Tensor.scatter_reduce)"},
    {"aten::scaled_dot_product_attention.default",
     "key and value have the same length, and attn_mask excludes is_causal; only some kernels check it"},
    {"aten::_native_batch_norm_legit_no_training.default",
     "running_var has one entry a channel; the kernel reads beyond a shorter one"},
};

// PyTorch's own answers (testdata/shape_calls.py): equal dtypes and shapes, and a refusal wherever PyTorch
// refuses.
TEST(Shapes, AgreeWithPyTorch) {
  std::ifstream file(ASSAY_SOURCE_DIR "/core/opset/testdata/shape_calls.json");
  ASSERT_TRUE(file) << "cannot open core/opset/testdata/shape_calls.json";
  const Json calls = Json::parse(file);
  ASSERT_GT(calls.size(), 1200u);
  std::size_t accepted = 0;
  std::set<std::string> stricter;
  for (const Json& entry : calls) {
    const std::string op = "aten::" + entry.at(0).get<std::string>();
    const Json& expected = entry.at(2);
    try {
      const std::optional<std::vector<TensorMeta>> got = run(op, entry.at(1));
      ++accepted;
      if (expected.is_null()) {
        ADD_FAILURE() << "PyTorch refuses, Assay accepts: " << entry.dump() << " -> " << to_string(got);
      } else {
        EXPECT_TRUE(got && *got == metas_of(expected.get<std::string>()))
            << entry.dump() << " -> " << to_string(got);
      }
    } catch (const Error& error) {
      if (!expected.is_null()) {
        EXPECT_TRUE(kStricter.contains(op)) << "PyTorch accepts, Assay refuses: " << entry.dump() << "\n"
                                            << error.what();
        stricter.insert(op);
      }
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
      EXPECT_TRUE(std::string(error.what()).starts_with(op + ": ")) << error.what();
    }
  }
  EXPECT_GT(accepted, 800u);
  EXPECT_EQ(stricter.size(), kStricter.size()) << "an entry of kStricter is no longer needed";
}

}  // namespace
}  // namespace assay
