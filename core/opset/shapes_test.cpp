#include "core/opset/shapes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>

#include "core/decompose/decompose.h"
#include "core/error.h"
#include "core/graph/functionalise.h"

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
    {"aten::_histogramdd_bin_edges.default",
     "only floats have histograms (torch.histogramdd); the edges alone are given for every dtype"},
    {"aten::segment_reduce.default",
     "lengths and data agree in the dims before axis; the kernel does not look"},
    {"aten::_native_batch_norm_legit_no_training.default",
     "running_var has one entry a channel; the kernel reads beyond a shorter one"},
    {"aten::native_batch_norm.default",
     "weight has one entry a channel; the kernel reads beyond a shorter one"},
    {"aten::_fused_rms_norm.default", "the last sizes of input are normalized_shape (torch.nn.RMSNorm)"},
    {"aten::lstm.input",
     "hx is [layers * directions, N, size] (torch.nn.LSTM); too long a batch is only cut off"},
    {"aten::max_pool3d_with_indices_backward.default",
     "grad_output has the result's shape; the kernel checks nothing"},
    {"aten::unfold_backward.default", "grad_in has the result's shape; the kernel checks nothing"},
};

// What testdata/*.py wrote, one file a program.
Json all_calls() {
  Json calls = Json::array();
  for (const auto& entry : std::filesystem::directory_iterator(ASSAY_SOURCE_DIR "/core/opset/testdata")) {
    if (entry.path().extension() != ".json") continue;
    std::ifstream file(entry.path());
    for (Json& call : Json::parse(file)) calls.push_back(std::move(call));
  }
  return calls;
}

// PyTorch's own answers (testdata/*.py): equal dtypes and shapes, and a refusal wherever PyTorch
// refuses.
TEST(Shapes, AgreeWithPyTorch) {
  const Json calls = all_calls();
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

struct Sentence {
  const char* call;  // ["op", {arguments}]
  const char* says;
};
TEST(Shapes, SayWhatIsWrongAndWhatItMustBe) {
  const Sentence cases[] = {
      {R"(["mm.default", {"self": "@f32[2,3]", "mat2": "@f32[4,5]"}])",
       "aten::mm.default: mat2 has shape [4, 5]; its first size must equal the last size of self, 3"},
      {R"(["mm.default", {"self": "@f32[2,3]", "mat2": "@f64[3,5]"}])",
       "aten::mm.default: mat2 has dtype f64; it must equal the dtype of self, f32"},
      {R"(["mm.default", {"self": "@f32[2,3]", "mat2": "@f32[3]"}])",
       "aten::mm.default: mat2 has shape [3]; it must have 2 dims"},
      {R"(["add.Tensor", {"self": "@f32[2,3]", "other": "@f32[2,4]"}])",
       "aten::add.Tensor: shapes [2, 3] and [2, 4] cannot be broadcast: sizes 3 and 4 at dim -1 differ and "
       "neither is 1"},
      {R"(["_softmax.default", {"self": "@f32[2,3]", "dim": 2, "half_to_float": false}])",
       "aten::_softmax.default: dim 2 is out of range; it must be within [-2, 1] for a tensor of rank 2"},
      {R"(["embedding.default", {"weight": "@f32[2,3]", "indices": "@f32[2]"}])",
       "aten::embedding.default: indices has dtype f32; an index must be i64 or i32"},
      {R"(["view.default", {"self": "@f32[2,3]", "size": [4, -1]}])",
       "aten::view.default: a tensor of shape [2, 3] (6 elements) cannot be viewed as [4, -1]"},
      {R"(["mean.dim", {"self": "@i64[2,3]", "dim": [0]}])",
       "aten::mean.dim: self has dtype i64; it must be a float dtype or a complex dtype"},
      {R"(["topk.default", {"self": "@f32[2,3]", "k": 4}])",
       "aten::topk.default: k is 4; it must be within [0, 3], the size of dim 1"},
      {R"(["relu.default", {}])",
       "aten::relu.default: argument self is missing; the schema is aten::relu(Tensor self) -> Tensor"},
      {R"(["relu.default", {"self": 1.5}])", "aten::relu.default: argument self must be Tensor"},
      {R"(["relu.default", {"self": "@f32[2]", "inplace": true}])",
       "aten::relu.default: there is no argument inplace"},
      {R"(["fill.Scalar", {"self": "@i8[2]", "value": 300}])",
       "aten::fill.Scalar: value is 300; it must be a number that i8 can hold"},
      {R"(["masked_fill.Scalar", {"self": "@u8[2]", "mask": "@bool[2]", "value": -0.5}])",
       "aten::masked_fill.Scalar: value is -0.5; it must be a number that u8 can hold"},
      {R"(["hardtanh.default", {"self": "@i32[2]", "min_val": -1e30, "max_val": 1}])",
       "aten::hardtanh.default: min_val is -1e+30; it must be a number that i32 can hold"},
      {R"(["constant_pad_nd.default", {"self": "@f16[2]", "pad": [1, 1], "value": 65505}])",
       "aten::constant_pad_nd.default: value is 65505; it must be a number that f16 can hold"},
      {R"(["randperm.default", {"n": 129, "dtype": "%i8"}])",
       "aten::randperm.default: n is 129; dtype i8 cannot hold 128"},
      {R"(["full.default", {"size": [4611686018427387904, 4], "fill_value": 0}])",
       "aten::full.default: the result would have shape [4611686018427387904, 4], which is too large"},
  };
  for (const Sentence& sentence : cases) {
    const Json entry = Json::parse(sentence.call);
    try {
      run("aten::" + entry[0].get<std::string>(), entry[1]);
      ADD_FAILURE() << "accepted: " << sentence.call;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(sentence.says));
    }
  }
}

// In-place operators take the rules of their functional form; composite ones without a rule of their own are
// held against the results of their decomposition.
TEST(Shapes, EverySchemaHasARule) {
  std::vector<std::string> missing;
  for (const Schema& schema : all_schemas()) {
    const std::string name = schema.full_name();
    const std::string form = functional_form(name);
    const std::string& ruled = form.empty() ? name : form;
    if (shape_rules().find(ruled) == nullptr && decompose_rules().find(ruled) == nullptr)
      missing.push_back(name);
  }
  // Point-to-point batches: their results depend on the list of operations and on the peers. einsum: the
  // products that it is decomposed into are checked instead. Efficient attention: CUDA's alone. Linear
  // algebra: no backend computes it, so a file that holds it is unsupported whatever its shapes.
  const auto outside = [](const std::string& name) {
    for (const char* part : {"linalg_", "cholesky", "geqrf", "lu_unpack", "ormqr", "triangular_solve"}) {
      if (name.find(part) != std::string::npos) return true;
    }
    return name == "_c10d_functional::batch_p2p_ops.default" || name == "aten::einsum.default" ||
           name == "aten::_scaled_dot_product_efficient_attention.default";
  };
  std::erase_if(missing, outside);
  EXPECT_THAT(missing, testing::IsEmpty());
}

TEST(Shapes, SizesThatDependOnDataAreUnknown) {
  const OpCall nonzero("aten::nonzero.default", {{DType::f32, {2, 3}}}, {{"self", ValueArg{0}}});
  EXPECT_FALSE(infer(nonzero).has_value());
  const OpCall masked("aten::index.Tensor", {{DType::f32, {2, 3}}, {DType::boolean, {2}}},
                      {{"self", ValueArg{0}}, {"indices", ValueListArg{{1}}}});
  EXPECT_FALSE(infer(masked).has_value());
}

// Replaces one number or size of a legal call by an extreme one.
void make_hostile(Json& json, std::mt19937& random) {
  static constexpr int64_t kExtremes[] = {std::numeric_limits<int64_t>::min(),
                                          std::numeric_limits<int64_t>::max(),
                                          int64_t{1} << 40,
                                          -(int64_t{1} << 40),
                                          int64_t{1} << 61,
                                          -1,
                                          0,
                                          3};
  std::vector<Json*> places;
  const std::function<void(Json&)> collect = [&](Json& at) {
    if (at.is_structured()) {
      for (Json& child : at) collect(child);
    } else if (at.is_number() || is_tensor(at)) {
      places.push_back(&at);
    }
  };
  collect(json);
  if (places.empty()) return;
  Json& place = *places[random() % places.size()];
  const int64_t extreme = kExtremes[random() % std::size(kExtremes)];
  if (place.is_number_float()) {
    static constexpr double kFloats[] = {std::numeric_limits<double>::quiet_NaN(),
                                         std::numeric_limits<double>::infinity(), -1e300, 1e300, 0};
    place = kFloats[random() % std::size(kFloats)];
  } else if (place.is_number()) {
    place = extreme;
  } else {
    std::string text = place.get<std::string>();
    const std::string size = std::to_string(extreme < 0 ? 0 : extreme);
    switch (random() % 3) {
      case 0:
        text = text.substr(0, text.find('[')) + "[" + size + "]";
        break;
      case 1:
        text = text.substr(0, text.size() - 1) + (text.ends_with("[]") ? "" : ",") + size + "]";
        break;
      default:
        text = "@" + std::string(random() % 2 == 0 ? "i64" : "c128") + text.substr(text.find('['));
    }
    place = text;
  }
}

TEST(Shapes, HostileArgumentsAreRefusedOrHarmless) {
  const Json calls = all_calls();
  std::mt19937 random(7);
  for (const Json& entry : calls) {
    const std::string op = "aten::" + entry.at(0).get<std::string>();
    for (int i = 0; i < 20; ++i) {
      Json arguments = entry.at(1);
      make_hostile(arguments, random);
      if (i % 4 == 0) make_hostile(arguments, random);
      try {
        run(op, arguments);
      } catch (const Error& error) {
        EXPECT_NE(error.code(), ErrorCode::internal) << op << arguments.dump() << error.what();
        EXPECT_TRUE(std::string(error.what()).starts_with(op)) << op << arguments.dump() << error.what();
      }
    }
  }
}

TEST(Shapes, ResultType) {
  const Scalar one{Scalar::Kind::integer, 1, 1};
  const Scalar half{Scalar::Kind::floating, 0, 0.5};
  const Scalar truth{Scalar::Kind::boolean, 1, 1};
  EXPECT_EQ(result_type({{DType::bf16, {2}}}, {half}), DType::bf16);
  EXPECT_EQ(result_type({{DType::i8, {2}}}, {one}), DType::i8);
  EXPECT_EQ(result_type({{DType::i8, {2}}}, {half}), DType::f32);
  EXPECT_EQ(result_type({{DType::boolean, {2}}}, {one}), DType::i64);
  EXPECT_EQ(result_type({{DType::boolean, {2}}}, {truth}), DType::boolean);
  EXPECT_EQ(result_type({{DType::f16, {2}}, {DType::f64, {}}}, {}), DType::f16);
  EXPECT_EQ(result_type({{DType::i32, {2}}, {DType::f16, {}}}, {half}), DType::f16);
  EXPECT_EQ(result_type({{DType::f64, {2}}, {DType::c64, {}}}, {}), DType::c128);
  EXPECT_EQ(result_type({}, {half}), DType::f32);
}

}  // namespace
}  // namespace assay
