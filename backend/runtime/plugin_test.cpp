// The plug-in through its C functions, as a harness uses it.
#include <dlfcn.h>

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include "assay/backend.h"
#include "core/contract/contract.h"
#include "core/opset/call.h"

namespace assay::backend {
namespace {

using testing::HasSubstr;

// A node of two tensor inputs, or one and an int list, as assay_node_api shows it.
struct FakeNode {
  struct Tensor {
    int32_t dtype;
    std::vector<int64_t> sizes;
  };
  struct Argument {
    std::string name;
    int32_t kind;
    std::vector<int64_t> ints;
  };
  std::string op;
  std::vector<Argument> arguments;
  std::vector<Tensor> inputs, outputs;
  std::string name = "node_1";

  std::string json() const {
    std::string out = op;
    for (const auto& a : arguments) {
      out += "|" + a.name;
      for (int64_t i : a.ints) out += "," + std::to_string(i);
    }
    for (const auto* tensors : {&inputs, &outputs}) {
      for (const auto& t : *tensors) {
        out += "|" + std::to_string(t.dtype);
        for (int64_t s : t.sizes) out += "," + std::to_string(s);
      }
    }
    return out;
  }
  mutable std::string text = {};
  const assay_node* handle() const { return reinterpret_cast<const assay_node*>(this); }
  static const FakeNode& of(const assay_node* node) { return *reinterpret_cast<const FakeNode*>(node); }
};

int32_t meta(const std::vector<FakeNode::Tensor>& tensors, std::size_t i, assay_tensor_meta* out) {
  if (i >= tensors.size()) return -1;
  out->dtype = tensors[i].dtype;
  out->rank = static_cast<int32_t>(tensors[i].sizes.size());
  out->sizes = tensors[i].sizes.data();
  return 0;
}

const assay_node_api kNodeApi{
    sizeof(assay_node_api),
    [](const assay_node* n) { return FakeNode::of(n).name.c_str(); },
    [](const assay_node* n) { return FakeNode::of(n).op.c_str(); },
    [](const assay_node*) { return ""; },
    [](const assay_node*) { return ""; },
    [](const assay_node* n) { return FakeNode::of(n).arguments.size(); },
    [](const assay_node* n, std::size_t i, assay_argument* out) -> int32_t {
      const auto& a = FakeNode::of(n).arguments[i];
      out->name = a.name.c_str();
      out->kind = a.kind;
      out->count = a.ints.size();
      out->ints = a.ints.data();
      return 0;
    },
    [](const assay_node* n) { return FakeNode::of(n).inputs.size(); },
    [](const assay_node* n, std::size_t i, assay_tensor_meta* out) {
      return meta(FakeNode::of(n).inputs, i, out);
    },
    [](const assay_node* n) { return FakeNode::of(n).outputs.size(); },
    [](const assay_node* n, std::size_t i, assay_tensor_meta* out) {
      return meta(FakeNode::of(n).outputs, i, out);
    },
    [](const assay_node* n, std::size_t* size) {
      const FakeNode& node = FakeNode::of(n);
      if (std::string now = node.json(); node.text != now) node.text = std::move(now);  // views stay valid
      *size = node.text.size();
      return node.text.c_str();
    },
};

FakeNode add(int32_t dtype, const std::vector<int64_t>& sizes) {
  return {"aten::add.Tensor",
          {{"self", ASSAY_ARG_TENSOR, {0}}, {"other", ASSAY_ARG_TENSOR, {1}}},
          {{dtype, sizes}, {dtype, sizes}},
          {{dtype, sizes}}};
}

class Plugin : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    void* library = dlopen(ASSAY_BINARY_DIR "/lib/assay_trainium.so", RTLD_NOW);
    ASSERT_NE(library, nullptr) << dlerror();
    const auto get = reinterpret_cast<assay_get_api_fn>(dlsym(library, ASSAY_GET_API_SYMBOL));
    ASSERT_NE(get, nullptr);
    api = get();
  }
  void SetUp() override { device = create("", {}); }
  void TearDown() override { api->destroy(device); }

  static assay_device* create(const char* target, std::vector<assay_option> options) {
    assay_create_args args{};
    args.struct_size = sizeof args;
    args.node_api = &kNodeApi;
    args.target = target;
    args.options = options.data();
    args.option_count = options.size();
    message = take(api->create(&args));
    return message.empty() ? args.device : nullptr;
  }
  // The error's message, and its code in `code`; "" for none.
  static std::string take(assay_error* error) {
    code = 0;
    if (error == nullptr) return "";
    assay_error_info info{};
    info.struct_size = sizeof info;
    api->error_info(error, &info);
    code = info.code;
    reason = info.reason;
    std::string out = info.message;
    api->error_destroy(error);
    return out;
  }
  assay_buffer* buffer(const FakeNode::Tensor& tensor) {
    assay_buffer_create_args args{};
    args.struct_size = sizeof args;
    args.device = device;
    args.meta = {sizeof(assay_tensor_meta), tensor.dtype, static_cast<int32_t>(tensor.sizes.size()),
                 tensor.sizes.data()};
    message = take(api->buffer_create(&args));
    return message.empty() ? args.buffer : nullptr;
  }
  template <typename T>
  std::string to_device(assay_buffer* b, std::vector<T> values) {
    assay_copy_args args{sizeof args, device, b, values.data(), values.size() * sizeof(T)};
    return take(api->copy_to_device(&args));
  }
  template <typename T>
  std::vector<T> to_host(assay_buffer* b, std::size_t n) {
    std::vector<T> out(n);
    assay_copy_args args{sizeof args, device, b, out.data(), n * sizeof(T)};
    EXPECT_EQ(take(api->copy_to_host(&args)), "");
    return out;
  }
  std::string execute(const FakeNode& node, std::vector<assay_buffer*> in, std::vector<assay_buffer*> out) {
    assay_eager_args args{};
    args.struct_size = sizeof args;
    args.device = device;
    args.node = node.handle();
    args.inputs = in.data();
    args.input_count = in.size();
    args.outputs = out.data();
    args.output_count = out.size();
    std::string failed = take(api->execute_eager(&args));
    cache_hit = args.cache_hit;
    if (failed.empty()) miss_reason = args.miss_reason;
    return failed;
  }
  assay_counters counters() {
    assay_counters out{};
    out.struct_size = sizeof out;
    out.device = device;
    EXPECT_EQ(take(api->counters(&out)), "");
    return out;
  }
  assay_supports_args supports(const FakeNode& node) {
    assay_supports_args out{};
    out.struct_size = sizeof out;
    out.device = device;
    out.node = node.handle();
    message = take(api->supports(&out));
    return out;
  }

  static inline const assay_api* api = nullptr;
  int32_t cache_hit = -1;
  std::string miss_reason;
  static inline int32_t code = 0, reason = 0;
  static inline std::string message;
  assay_device* device = nullptr;
};

TEST_F(Plugin, AddsAndCountsOneCompilation) {
  const FakeNode node = add(ASSAY_F32, {3});
  assay_buffer *a = buffer(node.inputs[0]), *b = buffer(node.inputs[1]), *c = buffer(node.outputs[0]);
  ASSERT_EQ(to_device<float>(a, {1, 2, 3}), "");
  ASSERT_EQ(to_device<float>(b, {10, 20, 30}), "");
  EXPECT_EQ(supports(node).native, 1);
  EXPECT_EQ(counters().compiles, 0u);  // asking is free of effects
  ASSERT_EQ(execute(node, {a, b}, {c}), "");
  EXPECT_THAT(to_host<float>(c, 3), testing::ElementsAre(11, 22, 33));
  ASSERT_EQ(execute(node, {a, b}, {c}), "");
  const assay_counters n = counters();
  EXPECT_EQ(n.compiles, 1u);
  EXPECT_EQ(n.memory_hits, 1u);
  EXPECT_EQ(n.nodes_executed, 2u);
  EXPECT_GT(n.instructions, 0u);
  EXPECT_EQ(n.bytes_to_device, 24u);
  EXPECT_EQ(n.bytes_to_host, 12u);
  EXPECT_GE(n.peak_bytes, 36u);
  for (assay_buffer* x : {a, b, c}) api->buffer_destroy(x);
}

// Every launch costs the host's time and the Program's; a repeated node is not timed again but costs the
// same.
TEST_F(Plugin, SimulatedTimeCountsLaunchesAndCopies) {
  const FakeNode node = add(ASSAY_F32, {128, 512});
  assay_buffer *a = buffer(node.inputs[0]), *b = buffer(node.inputs[1]), *c = buffer(node.outputs[0]);
  EXPECT_EQ(counters().device_seconds, 0);
  supports(node);
  EXPECT_EQ(counters().device_seconds, 0);
  const std::vector<float> values(std::size_t{128} * 512, 1.0f);
  ASSERT_EQ(to_device(a, values), "");
  const double copied = counters().device_seconds;
  EXPECT_GT(copied, 0);
  ASSERT_EQ(to_device(b, values), "");
  EXPECT_DOUBLE_EQ(counters().device_seconds, 2 * copied);
  EXPECT_EQ(counters().cycles, 0u);
  ASSERT_EQ(execute(node, {a, b}, {c}), "");
  const assay_counters once = counters();
  const double ran = once.device_seconds - 2 * copied;
  EXPECT_GT(ran, 78e-6);  // no less than the launch
  EXPECT_LT(ran, 200e-6);
  // Cycles are the device's own time, without the launch.
  EXPECT_NEAR(static_cast<double>(once.cycles) / 1.2e9, ran - 78e-6, 1e-6);
  ASSERT_EQ(execute(node, {a, b}, {c}), "");
  EXPECT_EQ(counters().cycles, 2 * once.cycles);
  EXPECT_NEAR(counters().device_seconds - once.device_seconds, ran, 1e-12);
  for (assay_buffer* x : {a, b, c}) api->buffer_destroy(x);
}

// Whether `supports` compiled it or the execution did; a harness of an older ABI is left alone.
TEST_F(Plugin, SaysWhyANodeIsCompiledAgain) {
  const auto run = [this](const FakeNode& node, bool ask) {
    if (ask) supports(node);
    assay_buffer *a = buffer(node.inputs[0]), *b = buffer(node.inputs[1]), *c = buffer(node.outputs[0]);
    const std::string failed = execute(node, {a, b}, {c});
    for (assay_buffer* x : {a, b, c}) api->buffer_destroy(x);
    return failed.empty() ? std::to_string(cache_hit) + miss_reason : failed;
  };
  const FakeNode base = add(ASSAY_F32, {3});
  EXPECT_EQ(run(base, false), "0new operator");
  EXPECT_EQ(run(base, true), "2");
  EXPECT_EQ(run(add(ASSAY_F32, {4}), true), "0new shape");
  EXPECT_EQ(run(add(ASSAY_BF16, {4}), true), "0new dtype");
  FakeNode scaled = base;
  scaled.arguments.push_back({"alpha", ASSAY_ARG_INT, {2}});
  EXPECT_EQ(run(scaled, false), "0new argument");
  EXPECT_EQ(counters().compiles, 4u);

  assay_buffer *a = buffer(base.inputs[0]), *b = buffer(base.inputs[1]), *c = buffer(base.outputs[0]);
  assay_buffer* in[] = {a, b};
  assay_eager_args old{};
  old.struct_size = offsetof(assay_eager_args, cache_hit);
  old.device = device;
  old.node = base.handle();
  old.inputs = in;
  old.input_count = 2;
  old.outputs = &c;
  old.output_count = 1;
  old.cache_hit = -1;
  EXPECT_EQ(take(api->execute_eager(&old)), "");
  EXPECT_EQ(old.cache_hit, -1);
  EXPECT_EQ(old.miss_reason, nullptr);
  for (assay_buffer* x : {a, b, c}) api->buffer_destroy(x);
}

TEST_F(Plugin, SaysWhyNot) {
  const assay_supports_args f64 = supports(add(ASSAY_F64, {3}));
  EXPECT_EQ(f64.supported, 0);
  EXPECT_EQ(f64.reason, ASSAY_REASON_FLOAT64);
  EXPECT_THAT(f64.message, HasSubstr("float64"));
  EXPECT_EQ(supports(add(ASSAY_C64, {3})).reason, ASSAY_REASON_COMPLEX);
  EXPECT_EQ(supports(add(ASSAY_I64, {3})).native, 2);
  FakeNode unknown = add(ASSAY_F32, {3});
  unknown.op = "aten::no_such_operator.default";
  EXPECT_EQ(supports(unknown).reason, ASSAY_REASON_OPERATOR);
}

TEST_F(Plugin, BadArgumentsGiveTheSharedSentence) {
  FakeNode node = add(ASSAY_F32, {3});
  node.inputs[1].sizes = {4};
  supports(node);
  EXPECT_EQ(code, ASSAY_INVALID_ARGUMENT);
  EXPECT_THAT(message, HasSubstr("aten::add.Tensor"));
}

TEST_F(Plugin, TrapsNameTheNode) {
  const FakeNode node{"aten::embedding.default",
                      {{"weight", ASSAY_ARG_TENSOR, {0}}, {"indices", ASSAY_ARG_TENSOR, {1}}},
                      {{ASSAY_F32, {2, 2}}, {ASSAY_I64, {1}}},
                      {{ASSAY_F32, {1, 2}}},
                      "embed_7"};
  assay_buffer *w = buffer(node.inputs[0]), *i = buffer(node.inputs[1]), *o = buffer(node.outputs[0]);
  to_device<float>(w, {1, 2, 3, 4});
  to_device<int64_t>(i, {2});
  EXPECT_THAT(execute(node, {w, i}, {o}), testing::AllOf(HasSubstr("embed_7"), HasSubstr("dma_gather")));
  EXPECT_EQ(code, ASSAY_EXECUTION_ERROR);
  to_device<int64_t>(i, {1});
  EXPECT_EQ(execute(node, {w, i}, {o}), "");  // the device survives
  EXPECT_THAT(to_host<float>(o, 2), testing::ElementsAre(3, 4));
  for (assay_buffer* x : {w, i, o}) api->buffer_destroy(x);
}

TEST_F(Plugin, HostileHandlesAreErrors) {
  const FakeNode node = add(ASSAY_F32, {3});
  assay_buffer *a = buffer(node.inputs[0]), *b = buffer(node.inputs[1]), *c = buffer(node.outputs[0]);
  EXPECT_NE(execute(node, {a, b}, {a}), "");  // an output that is an input
  EXPECT_EQ(code, ASSAY_INVALID_ARGUMENT);
  EXPECT_NE(execute(node, {a}, {c}), "");
  EXPECT_NE(execute(node, {a, nullptr}, {c}), "");
  int foreign = 0;
  EXPECT_NE(execute(node, {a, reinterpret_cast<assay_buffer*>(&foreign)}, {c}), "");
  EXPECT_NE(to_device<float>(a, {1, 2}), "");  // wrong size
  api->buffer_destroy(b);
  EXPECT_NE(execute(node, {a, b}, {c}), "");
  api->buffer_destroy(b);                                     // twice: ignored
  EXPECT_NE(execute(add(ASSAY_BF16, {3}), {a, a}, {c}), "");  // metas that are not the buffers'
  assay_device* other = create("trn1", {});
  assay_eager_args args{};
  args.struct_size = sizeof args;
  args.device = other;
  args.node = node.handle();
  assay_buffer* in[] = {a, a};
  args.inputs = in;
  args.input_count = 2;
  args.outputs = &c;
  args.output_count = 1;
  EXPECT_THAT(take(api->execute_eager(&args)), HasSubstr("another device"));
  api->destroy(other);
  api->destroy(other);
  EXPECT_NE(take(api->execute_eager(&args)), "");
  api->buffer_destroy(a);
  api->buffer_destroy(c);
}

TEST_F(Plugin, MemoryIsLimited) {
  EXPECT_EQ(buffer({ASSAY_F32, {int64_t{1} << 40}}), nullptr);
  EXPECT_EQ(code, ASSAY_OUT_OF_MEMORY);
  EXPECT_EQ(buffer({ASSAY_F32, {-3}}), nullptr);
  EXPECT_EQ(code, ASSAY_INVALID_ARGUMENT);
}

TEST_F(Plugin, OptionsAndTargetsAreChecked) {
  const auto option = [](const char* key, const char* value) {
    return std::vector<assay_option>{{sizeof(assay_option), key, value}};
  };
  for (const char* target : {"trn1", "trn2", "trn3", "trn2.48xlarge"}) {
    assay_device* d = create(target, option("stochastic_rounding", "1"));
    EXPECT_EQ(message, "") << target;
    api->destroy(d);
  }
  EXPECT_EQ(create("trn9", {}), nullptr);
  EXPECT_THAT(message, HasSubstr("trn2"));
  EXPECT_EQ(create("", option("fast", "1")), nullptr);
  EXPECT_THAT(message, testing::AllOf(HasSubstr("fast"), HasSubstr("auto_cast")));
  EXPECT_EQ(create("", option("lnc", "3")), nullptr);
  EXPECT_EQ(code, ASSAY_INVALID_ARGUMENT);
  EXPECT_EQ(create("trn1", option("lnc", "2")), nullptr);
  EXPECT_THAT(message, HasSubstr("EARG001"));
  assay_device* pair = create("trn2", option("lnc", "2"));
  ASSERT_NE(pair, nullptr) << message;
  assay_description d{};
  d.struct_size = sizeof d;
  ASSERT_EQ(take(api->describe(pair, &d)), "");
  EXPECT_THAT(d.device, HasSubstr("logical core of 2"));
  api->destroy(pair);
}

TEST_F(Plugin, TheContractIsValid) {
  assay_description d{};
  d.struct_size = sizeof d;
  ASSERT_EQ(take(api->describe(device, &d)), "");
  const Contract contract = Contract::parse(d.contract_json, "trainium");
  EXPECT_EQ(contract.precision("aten::mm.default", DType::bf16, "eager").accumulator, DType::f32);
  EXPECT_TRUE(contract.precision("aten::mm.default", DType::bf16, "eager").ftz_in);
  EXPECT_FALSE(contract.precision("aten::mm.default", DType::f32, "eager").ftz_in);
  EXPECT_EQ(contract.precision("aten::mm.default", DType::f32, "eager", {{"auto_cast", "matmult"}}).input,
            DType::bf16);
  const std::map<std::string, std::string> downcast{{"implicit_integer_downcast", "default"}};
  EXPECT_EQ(contract.precision("aten::mm.default", DType::i32, "eager", downcast).int_exact_bits, 24);
  EXPECT_EQ(contract.precision("aten::mm.default", DType::i32, "eager").int_exact_bits, std::nullopt);
  EXPECT_STREQ(d.device, "trn2, 1 NeuronCore-v3 (simulated)");
}

TEST_F(Plugin, ShortStructsAreRefusedOrFilledAsFarAsTheyReach) {
  assay_create_args args{};
  args.struct_size = 8;
  EXPECT_NE(take(api->create(&args)), "");
  EXPECT_NE(take(api->create(nullptr)), "");
  assay_description d{};
  d.struct_size = offsetof(assay_description, version);
  EXPECT_EQ(take(api->describe(device, &d)), "");
  EXPECT_STREQ(d.name, "trainium");
  EXPECT_EQ(d.version, nullptr);
}

}  // namespace
}  // namespace assay::backend
