// The reference backend through its C ABI, as a harness sees it.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "assay/backend.h"
#include "core/contract/contract.h"
#include "core/graph/builder.h"
#include "core/graph/json.h"

namespace assay {
namespace {

// A node of one operator, as a harness describes it.
struct FakeNode {
  std::string op, json;
  std::vector<TensorMeta> inputs, outputs;
};
const FakeNode& fake(const assay_node* node) { return *reinterpret_cast<const FakeNode*>(node); }
int32_t give(const std::vector<TensorMeta>& metas, std::size_t i, assay_tensor_meta* out) {
  if (i >= metas.size()) return -1;
  out->dtype = static_cast<int32_t>(metas[i].dtype);
  out->rank = static_cast<int32_t>(metas[i].shape.size());
  out->sizes = metas[i].shape.data();
  return 0;
}

const assay_node_api kNodeApi = {sizeof(assay_node_api),
                                 [](const assay_node*) { return "node"; },
                                 [](const assay_node* node) { return fake(node).op.c_str(); },
                                 [](const assay_node*) { return ""; },
                                 [](const assay_node*) { return ""; },
                                 [](const assay_node*) { return std::size_t{0}; },
                                 [](const assay_node*, std::size_t, assay_argument*) { return int32_t{-1}; },
                                 [](const assay_node* node) { return fake(node).inputs.size(); },
                                 [](const assay_node* node, std::size_t i, assay_tensor_meta* out) {
                                   return give(fake(node).inputs, i, out);
                                 },
                                 [](const assay_node* node) { return fake(node).outputs.size(); },
                                 [](const assay_node* node, std::size_t i, assay_tensor_meta* out) {
                                   return give(fake(node).outputs, i, out);
                                 },
                                 [](const assay_node* node, std::size_t* size) {
                                   *size = fake(node).json.size();
                                   return fake(node).json.c_str();
                                 }};

class PluginTest : public testing::Test {
 protected:
  void SetUp() override {
    library_ = dlopen(ASSAY_BINARY_DIR "/lib/assay_reference.so", RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << dlerror();
    const auto get = reinterpret_cast<assay_get_api_fn>(dlsym(library_, ASSAY_GET_API_SYMBOL));
    ASSERT_NE(get, nullptr);
    api_ = get();
    assay_create_args args{};
    args.struct_size = sizeof(args);
    args.node_api = &kNodeApi;
    args.target = "";
    ASSERT_EQ(code(api_->create(&args)), 0) << message_;
    device_ = args.device;
  }
  void TearDown() override {
    for (assay_buffer* each : buffers_) api_->buffer_destroy(each);
    if (device_ != nullptr) api_->destroy(device_);
  }

  // 0, or the error's code; its message is kept.
  int code(assay_error* error) {
    if (error == nullptr) return 0;
    assay_error_info info{};
    info.struct_size = sizeof(info);
    api_->error_info(error, &info);
    message_ = info.message;
    api_->error_destroy(error);
    return info.code;
  }
  assay_buffer* buffer(const TensorMeta& meta) {
    assay_buffer_create_args args{};
    args.struct_size = sizeof(args);
    args.device = device_;
    args.meta = {sizeof(assay_tensor_meta), static_cast<int32_t>(meta.dtype),
                 static_cast<int32_t>(meta.shape.size()), meta.shape.data()};
    EXPECT_EQ(code(api_->buffer_create(&args)), 0) << message_;
    buffers_.push_back(args.buffer);
    return args.buffer;
  }
  assay_buffer* buffer(const Tensor& tensor) {
    assay_buffer* handle = buffer(TensorMeta{tensor.dtype(), tensor.shape()});
    Tensor copy = tensor.clone();
    assay_copy_args args{sizeof(args), device_, handle, copy.mutable_data(), copy.bytes()};
    EXPECT_EQ(code(api_->copy_to_device(&args)), 0) << message_;
    return handle;
  }
  std::vector<double> read(assay_buffer* handle, const TensorMeta& meta) {
    Tensor tensor(meta.dtype, meta.shape);
    assay_copy_args args{sizeof(args), device_, handle, tensor.mutable_data(), tensor.bytes()};
    EXPECT_EQ(code(api_->copy_to_host(&args)), 0) << message_;
    return tensor.to_doubles();
  }

  void* library_ = nullptr;
  const assay_api* api_ = nullptr;
  assay_device* device_ = nullptr;
  std::vector<assay_buffer*> buffers_;
  std::string message_;
};

const TensorMeta kPair{DType::f32, {2}};

FakeNode add_node() {
  GraphBuilder builder("add");
  const ValueId a = builder.input("a", DType::f32, {2});
  const ValueId b = builder.input("b", DType::f32, {2});
  builder.output(builder.call("aten::add.Tensor", {{"self", ValueArg{a}}, {"other", ValueArg{b}}}));
  const Graph graph = builder.build();
  return {
      "aten::add.Tensor", graph_to_json(single_node_graph(graph, graph.nodes[0])), {kPair, kPair}, {kPair}};
}

TEST_F(PluginTest, DescribesAContractThatParses) {
  assay_description out{};
  out.struct_size = sizeof(out);
  ASSERT_EQ(code(api_->describe(device_, &out)), 0) << message_;
  EXPECT_STREQ(out.name, "reference");
  const Contract contract = Contract::parse(out.contract_json, "reference");
  const Precision precision = contract.precision("aten::add.Tensor", DType::f32, "eager");
  EXPECT_EQ(precision.intermediate, DType::f64);
  EXPECT_EQ(precision.accumulator, DType::f64);
  EXPECT_TRUE(precision.correctly_rounded);
}

TEST_F(PluginTest, RunsANodeAndCountsIt) {
  const FakeNode node = add_node();
  const auto* handle = reinterpret_cast<const assay_node*>(&node);
  assay_buffer* inputs[] = {buffer(Tensor::from_doubles(DType::f32, {2}, {1, 2})),
                            buffer(Tensor::from_doubles(DType::f32, {2}, {10, 0x1p-30}))};
  assay_buffer* outputs[] = {buffer(kPair)};
  assay_eager_args args{};
  args.struct_size = sizeof(args);
  args.device = device_;
  args.node = handle;
  args.inputs = inputs;
  args.input_count = 2;
  args.outputs = outputs;
  args.output_count = 1;
  ASSERT_EQ(code(api_->execute_eager(&args)), 0) << message_;
  EXPECT_EQ(read(outputs[0], kPair), (std::vector<double>{11, 2}));
  ASSERT_EQ(code(api_->execute_eager(&args)), 0) << message_;

  assay_counters counters{};
  counters.struct_size = sizeof(counters);
  counters.device = device_;
  ASSERT_EQ(code(api_->counters(&counters)), 0) << message_;
  EXPECT_EQ(counters.nodes_executed, 2U);
  EXPECT_EQ(counters.compiles, 1U);
  EXPECT_EQ(counters.memory_hits, 1U);
  EXPECT_EQ(counters.bytes_to_device, 16U);
  EXPECT_EQ(counters.bytes_to_host, 8U);

  outputs[0] = inputs[0];
  EXPECT_EQ(code(api_->execute_eager(&args)), ASSAY_INVALID_ARGUMENT);
  EXPECT_NE(message_.find("also an input"), std::string::npos) << message_;
}

TEST_F(PluginTest, CompilesAndRunsAGraph) {
  GraphBuilder builder("graph");
  const ValueId x = builder.input("x", DType::bf16, {2});
  const ValueId square = builder.call("aten::mul.Tensor", {{"self", ValueArg{x}}, {"other", ValueArg{x}}});
  builder.output(builder.call("aten::add.Tensor", {{"self", ValueArg{square}}, {"other", int64_t{1}}}));
  const std::string json = graph_to_json(builder.build());
  assay_compile_args compile{};
  compile.struct_size = sizeof(compile);
  compile.device = device_;
  compile.graph_json = json.data();
  compile.graph_json_size = json.size();
  ASSERT_EQ(code(api_->compile(&compile)), 0) << message_;
  const TensorMeta meta{DType::bf16, {2}};
  assay_buffer* inputs[] = {buffer(Tensor::from_doubles(DType::bf16, {2}, {1.0078125, 3}))};
  assay_buffer* outputs[] = {buffer(meta)};
  assay_execute_args args{sizeof(args), device_, compile.executable, inputs, 1, outputs, 1};
  ASSERT_EQ(code(api_->execute(&args)), 0) << message_;
  EXPECT_EQ(read(outputs[0], meta), (std::vector<double>{2.015625, 10}));  // rounded at every node
  args.input_count = 0;
  EXPECT_EQ(code(api_->execute(&args)), ASSAY_INVALID_ARGUMENT);
  api_->executable_destroy(compile.executable);
  EXPECT_EQ(code(api_->execute(&args)), ASSAY_INVALID_ARGUMENT);
}

TEST_F(PluginTest, AnswersBadRequests) {
  EXPECT_EQ(code(api_->create(nullptr)), ASSAY_INVALID_ARGUMENT);
  assay_create_args create{};
  create.struct_size = sizeof(std::size_t);
  EXPECT_EQ(code(api_->create(&create)), ASSAY_INVALID_ARGUMENT);
  assay_description description{};
  description.struct_size = sizeof(std::size_t);  // room for nothing: nothing is written
  EXPECT_EQ(code(api_->describe(device_, &description)), 0);
  EXPECT_EQ(description.name, nullptr);
  EXPECT_EQ(code(api_->describe(reinterpret_cast<assay_device*>(&create), &description)),
            ASSAY_INVALID_ARGUMENT);
  assay_buffer* gone = buffer(kPair);
  api_->buffer_destroy(gone);
  api_->buffer_destroy(gone);
  char bytes[8];
  assay_copy_args copy{sizeof(copy), device_, gone, bytes, 8};
  EXPECT_EQ(code(api_->copy_to_host(&copy)), ASSAY_INVALID_ARGUMENT);
  copy.buffer = buffer(kPair);
  copy.size = 4;
  EXPECT_EQ(code(api_->copy_to_host(&copy)), ASSAY_INVALID_ARGUMENT);
  FakeNode node = add_node();
  node.json = "{";
  assay_eager_args eager{};
  eager.struct_size = sizeof(eager);
  eager.device = device_;
  eager.node = reinterpret_cast<assay_node*>(&node);
  EXPECT_NE(code(api_->execute_eager(&eager)), 0);
}

TEST_F(PluginTest, SupportsSaysWhyNot) {
  FakeNode node = add_node();
  assay_supports_args args{};
  args.struct_size = sizeof(args);
  args.device = device_;
  args.node = reinterpret_cast<assay_node*>(&node);
  ASSERT_EQ(code(api_->supports(&args)), 0) << message_;
  EXPECT_EQ(args.supported, 1);
  node.op = "aten::no_such_operator.default";
  ASSERT_EQ(code(api_->supports(&args)), 0) << message_;
  EXPECT_EQ(args.supported, 0);
  EXPECT_EQ(args.reason, ASSAY_REASON_OPERATOR);
  node = add_node();
  node.op = "aten::erf.default";  // has no complex kernel
  node.inputs[0].dtype = DType::c64;
  ASSERT_EQ(code(api_->supports(&args)), 0) << message_;
  EXPECT_EQ(args.reason, ASSAY_REASON_COMPLEX);
}

}  // namespace
}  // namespace assay
