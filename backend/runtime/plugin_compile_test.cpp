// Compile mode of the plug-in through its C functions.
#include <dlfcn.h>

#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include "assay/backend.h"
#include "core/graph/builder.h"
#include "core/graph/json.h"

namespace assay::backend {
namespace {

using testing::HasSubstr;

const assay_node_api kNoNodes = [] {
  assay_node_api api{};
  api.struct_size = sizeof api;
  return api;
}();

// out0 = exp(x) + x, out1 = x
std::string graph_json(int64_t n, DType dtype = DType::f32, const std::string& name = "x") {
  GraphBuilder b("case_" + name);
  const ValueId x = b.input(name, dtype, {n});
  const ValueId e = b.call("aten::exp.default", {{"self", ValueArg{x}}}, {"model.py:3", ""});
  b.output(b.call("aten::add.Tensor", {{"self", ValueArg{e}}, {"other", ValueArg{x}}}));
  b.output(x);
  return graph_to_json(b.build());
}

class PluginCompile : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    void* library = dlopen(ASSAY_BINARY_DIR "/lib/assay_trainium.so", RTLD_NOW);
    ASSERT_NE(library, nullptr) << dlerror();
    api = reinterpret_cast<assay_get_api_fn>(dlsym(library, ASSAY_GET_API_SYMBOL))();
  }
  void SetUp() override { device = create(nullptr); }
  void TearDown() override { api->destroy(device); }

  static assay_device* create(const char* cache_dir) {
    assay_create_args args{};
    args.struct_size = sizeof args;
    args.node_api = &kNoNodes;
    args.target = "";
    args.cache_dir = cache_dir;
    EXPECT_EQ(take(api->create(&args)), "");
    return args.device;
  }
  static std::string take(assay_error* error) {
    code = 0;
    if (error == nullptr) return "";
    assay_error_info info{};
    info.struct_size = sizeof info;
    api->error_info(error, &info);
    code = info.code;
    std::string out = info.message;
    api->error_destroy(error);
    return out;
  }
  static std::string compile(assay_device* on, const std::string& json, assay_compile_args& args) {
    args = {};
    args.struct_size = sizeof args;
    args.device = on;
    args.graph_json = json.data();
    args.graph_json_size = json.size();
    return take(api->compile(&args));
  }
  assay_buffer* buffer(const std::vector<float>& values, assay_device* on = nullptr) {
    on = on == nullptr ? device : on;
    const auto size = static_cast<int64_t>(values.size());
    assay_buffer_create_args args{};
    args.struct_size = sizeof args;
    args.device = on;
    args.meta = {sizeof(assay_tensor_meta), ASSAY_F32, 1, &size};
    EXPECT_EQ(take(api->buffer_create(&args)), "");
    std::vector<float> copy = values;
    assay_copy_args to{sizeof to, on, args.buffer, copy.data(), copy.size() * sizeof(float)};
    EXPECT_EQ(take(api->copy_to_device(&to)), "");
    return args.buffer;
  }
  std::vector<float> host(assay_buffer* b, std::size_t n) {
    std::vector<float> out(n);
    assay_copy_args args{sizeof args, device, b, out.data(), n * sizeof(float)};
    EXPECT_EQ(take(api->copy_to_host(&args)), "");
    return out;
  }
  std::string execute(assay_executable* executable, std::vector<assay_buffer*> in,
                      std::vector<assay_buffer*> out, assay_device* on = nullptr) {
    assay_execute_args args{
        sizeof args, on == nullptr ? device : on, executable, in.data(), in.size(), out.data(), out.size()};
    return take(api->execute(&args));
  }
  assay_counters counters() {
    assay_counters out{};
    out.struct_size = sizeof out;
    out.device = device;
    EXPECT_EQ(take(api->counters(&out)), "");
    return out;
  }

  static inline const assay_api* api = nullptr;
  static inline int32_t code = 0;
  assay_device* device = nullptr;
};

TEST_F(PluginCompile, OneLaunchForTheWholeGraph) {
  assay_compile_args c{};
  ASSERT_EQ(compile(device, graph_json(3), c), "");
  EXPECT_EQ(c.cache_hit, ASSAY_CACHE_MISS);
  EXPECT_STREQ(c.miss_reason, "new graph");
  EXPECT_GT(c.artifact_bytes, 0u);
  EXPECT_THAT(c.diagnostics, HasSubstr("2 nodes: 3 kernels written, 0 nodes without instructions, 1 copies"));
  assay_buffer *x = buffer({0, 1, -1}), *sum = buffer({9, 9, 9}), *same = buffer({9, 9, 9});
  const assay_counters before = counters();
  ASSERT_EQ(execute(c.executable, {x}, {sum, same}), "");
  const assay_counters after = counters();
  EXPECT_THAT(host(sum, 3), testing::Pointwise(testing::FloatNear(1e-6f), {1.0f, 3.7182817f, -0.6321206f}));
  EXPECT_THAT(host(same, 3), testing::ElementsAre(0, 1, -1));
  EXPECT_EQ(after.nodes_executed - before.nodes_executed, 2u);
  EXPECT_EQ(after.compiles, 1u);
  const double seconds = after.device_seconds - before.device_seconds;
  EXPECT_GT(seconds, 78e-6);  // one launch
  EXPECT_LT(seconds, 2 * 78e-6);
  EXPECT_GT(after.cycles, before.cycles);
  const double copied = counters().device_seconds;  // results to the host
  ASSERT_EQ(execute(c.executable, {x}, {sum, same}), "");
  EXPECT_NEAR(counters().device_seconds - copied, seconds, 1e-12);
  api->executable_destroy(c.executable);

  assay_compile_args again{};
  ASSERT_EQ(compile(device, graph_json(3, DType::f32, "renamed"), again), "");
  EXPECT_EQ(again.cache_hit, ASSAY_CACHE_MEMORY);
  EXPECT_STREQ(again.miss_reason, "");
  ASSERT_EQ(execute(again.executable, {x}, {sum, same}), "");
  api->executable_destroy(again.executable);
  EXPECT_EQ(counters().memory_hits, 1u);
  ASSERT_EQ(compile(device, graph_json(4), again), "");
  EXPECT_STREQ(again.miss_reason, "new shape");
  api->executable_destroy(again.executable);
  for (assay_buffer* b : {x, sum, same}) api->buffer_destroy(b);
}

TEST_F(PluginCompile, AnotherDeviceFindsItOnDisk) {
  std::string folder = testing::TempDir() + "assay_plugin_cache_XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  for (const int hit : {ASSAY_CACHE_MISS, ASSAY_CACHE_DISK}) {
    assay_device* d = create(folder.c_str());
    assay_compile_args c{};
    ASSERT_EQ(compile(d, graph_json(3), c), "");
    EXPECT_EQ(c.cache_hit, hit);
    api->executable_destroy(c.executable);
    api->destroy(d);
  }
  std::filesystem::remove_all(folder);
}

TEST_F(PluginCompile, RefusalsListEverything) {
  assay_compile_args c{};
  const std::string message = compile(device, graph_json(3, DType::f64), c);
  EXPECT_EQ(code, ASSAY_COMPILE_ERROR);
  EXPECT_THAT(
      message,
      testing::AllOf(HasSubstr("[dtype] aten::exp.default (node exp_default_0, model.py:3): the device"),
                     HasSubstr("[dtype] aten::add.Tensor")));
  EXPECT_EQ(c.executable, nullptr);
  EXPECT_NE(compile(device, "{", c), "");
  EXPECT_EQ(code, ASSAY_INVALID_ARGUMENT);
  assay_compile_args none{};
  none.struct_size = sizeof none;
  none.device = device;
  EXPECT_NE(take(api->compile(&none)), "");
  none.struct_size = 8;
  EXPECT_NE(take(api->compile(&none)), "");
  EXPECT_EQ(counters().compiles, 0u);
}

TEST_F(PluginCompile, HostileHandlesAreErrors) {
  assay_compile_args c{};
  ASSERT_EQ(compile(device, graph_json(3), c), "");
  assay_buffer *x = buffer({0, 1, -1}), *a = buffer({9, 9, 9}), *b = buffer({9, 9, 9}), *small = buffer({1});
  EXPECT_THAT(execute(c.executable, {x}, {a}), HasSubstr("2 outputs, not 1"));
  EXPECT_THAT(execute(c.executable, {small}, {a, b}), HasSubstr("input 0"));
  EXPECT_THAT(execute(c.executable, {x}, {a, a}), HasSubstr("twice"));
  EXPECT_THAT(execute(c.executable, {x}, {a, x}), HasSubstr("also an input"));
  EXPECT_NE(execute(c.executable, {nullptr}, {a, b}), "");
  EXPECT_NE(execute(nullptr, {x}, {a, b}), "");
  assay_device* other = create(nullptr);
  EXPECT_THAT(execute(c.executable, {x}, {a, b}, other), HasSubstr("another device"));
  api->destroy(other);
  EXPECT_EQ(execute(c.executable, {x}, {a, b}), "");
  api->executable_destroy(c.executable);
  api->executable_destroy(c.executable);  // twice: ignored
  EXPECT_NE(execute(c.executable, {x}, {a, b}), "");
  for (assay_buffer* buffer : {x, a, b, small}) api->buffer_destroy(buffer);
}

}  // namespace
}  // namespace assay::backend
