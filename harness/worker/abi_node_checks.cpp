// Checks of `assay abi-test` about nodes: supports, execution, counters, compile.
#include <fmt/format.h>

#include <cstddef>
#include <cstring>

#include "core/graph/builder.h"
#include "core/graph/json.h"
#include "harness/worker/abi_subject.h"

namespace assay::abi {
// --- nodes
// -----------------------------------------------------------------------------------------------------

namespace {

struct NodeCase {
  std::string what;
  Graph graph;
};

std::vector<NodeCase> node_cases() {
  std::vector<NodeCase> cases;
  const DType dtypes[] = {DType::f32, DType::bf16, DType::f16, DType::f64, DType::i64, DType::boolean};
  for (const DType dtype : dtypes) {
    for (const char* op :
         {"aten::neg.default", "aten::relu.default", "aten::add.Tensor", "aten::mm.default"}) {
      try {
        GraphBuilder builder("node");
        std::vector<NamedArgument> arguments{{"self", ValueArg{builder.input("x", dtype, {4, 4})}}};
        if (std::string_view(op) == "aten::add.Tensor") {
          arguments.push_back({"other", ValueArg{builder.input("y", dtype, {4, 4})}});
        }
        if (std::string_view(op) == "aten::mm.default") {
          arguments.push_back({"mat2", ValueArg{builder.input("y", dtype, {4, 4})}});
        }
        builder.output(builder.call(op, std::move(arguments)));
        cases.push_back({fmt::format("{} of {}", op, name_of(dtype)), builder.build()});
      } catch (const Error&) {
        continue;  // the operator does not take this dtype
      }
    }
  }
  return cases;
}

std::vector<BufferPtr> upload_inputs(Device& device, const NodeHandle& node) {
  std::vector<BufferPtr> inputs;
  for (const TensorMeta& meta : node.inputs()) {
    Tensor tensor(meta.dtype, meta.shape);
    std::memset(tensor.mutable_data(), meta.dtype == DType::boolean ? 1 : 0x3c, tensor.bytes());
    inputs.push_back(device.upload(tensor));
  }
  return inputs;
}

}  // namespace

void supports_agrees_with_execution(const Subject& s) {
  const auto device = s.device();
  int supported = 0;
  for (const NodeCase& c : node_cases()) {
    const NodeHandle node(c.graph, c.graph.nodes[0]);
    const NodeSupport support = device->supports(node);
    expect(device->supports(node).supported == support.supported, c.what + ": supports changed its mind");
    if (!support.supported && support.message.empty()) fail(c.what + ": refused without a message");
    std::vector<BufferPtr> inputs;
    try {
      inputs = upload_inputs(*device, node);
    } catch (const PluginError& error) {
      expect(!support.supported, c.what + " is supported, but its buffers are not: " + error.what());
      continue;
    }
    std::vector<BufferPtr> outputs;
    try {
      for (const TensorMeta& meta : node.outputs()) outputs.push_back(device->create(meta));
      device->execute(node, inputs, outputs);
      ++supported;
      expect(support.supported, c.what + " is not supported, but was executed");
    } catch (const PluginError& error) {
      expect(!support.supported, c.what + " is supported, but: " + error.what());
      continue;
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      expect(outputs[i]->meta() == node.outputs()[i], c.what + ": the output buffer changed its meta");
    }
  }
  expect(supported > 0, "the device supports none of neg, relu, add and mm in any dtype");
}

void unknown_operator(const Subject& s) {
  GraphBuilder builder("node");
  const ValueId x = builder.input("x", DType::f32, {4});
  builder.output(builder.call("aten::relu.default", {{"self", ValueArg{x}}}));
  Graph graph = builder.build();
  graph.nodes[0].op = "made_up::operator.default";
  const NodeHandle node(graph, graph.nodes[0]);
  const auto device = s.device();
  try {
    const NodeSupport support = device->supports(node);
    if (s.is_null()) return;  // accepts all, as it says
    expect(!support.supported, "an operator that does not exist is supported");
    expect(!support.message.empty(), "an operator that does not exist is refused without a message");
  } catch (const PluginError&) {
    return;  // an error is an answer, too
  }
}

void supports_short(const Subject& s) {
  GraphBuilder builder("node");
  const ValueId x = builder.input("x", DType::f32, {4});
  builder.output(builder.call("aten::relu.default", {{"self", ValueArg{x}}}));
  const Graph graph = builder.build();
  const NodeHandle node(graph, graph.nodes[0]);
  assay_device* device = s.raw_device();
  assay_supports_args args;
  std::memset(&args, kSentinel, sizeof args);
  args.struct_size = offsetof(assay_supports_args, native);
  args.device = device;
  args.node = node.handle();
  args.supported = -1;
  if (assay_error* error = s.api().supports(&args)) {
    s.refused(error, "supports with a short struct");
  } else {
    expect(args.supported == 0 || args.supported == 1, "supports gave no answer");
  }
  s.api().destroy(device);
  const auto* bytes = reinterpret_cast<const unsigned char*>(&args);
  for (std::size_t i = offsetof(assay_supports_args, native); i < sizeof args; ++i) {
    expect(bytes[i] == kSentinel, "supports wrote beyond struct_size");
  }
}

void bad_execution(const Subject& s) {
  const auto device = s.device();
  for (const NodeCase& c : node_cases()) {
    const NodeHandle node(c.graph, c.graph.nodes[0]);
    if (!device->supports(node).supported) continue;
    std::vector<BufferPtr> outputs;
    for (const TensorMeta& meta : node.outputs()) outputs.push_back(device->create(meta));
    const std::vector<BufferPtr> nulls(node.inputs().size());
    try {
      device->execute(node, nulls, outputs);
      fail(c.what + " with null inputs was executed");
    } catch (const PluginError& error) {
      expect(*error.what() != '\0', "no message");
    }
    return;
  }
  fail("the device supports none of neg, relu, add and mm in any dtype");
}

void inputs_stay(const Subject& s) {
  const auto device = s.device();
  for (const NodeCase& c : node_cases()) {
    const NodeHandle node(c.graph, c.graph.nodes[0]);
    if (!device->supports(node).supported) continue;
    const std::vector<BufferPtr> inputs = upload_inputs(*device, node);
    std::vector<Tensor> before;
    for (std::size_t i = 0; i < inputs.size(); ++i) before.push_back(inputs[i]->read(node.inputs()[i]));
    std::vector<BufferPtr> outputs;
    for (const TensorMeta& meta : node.outputs()) outputs.push_back(device->create(meta));
    device->execute(node, inputs, outputs);
    for (std::size_t k = 0; k < outputs.size(); ++k) outputs[k]->fill(node.outputs()[k], kSentinel);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      expect(inputs[i]->read(node.inputs()[i]).bitwise_equal(before[i]),
             c.what + fmt::format(": input {} changed; outputs must not alias inputs", i));
    }
  }
}

void counters_count(const Subject& s) {
  const auto device = s.device();
  const auto before = device->totals();
  if (!before || s.is_null()) return;  // optional; and nothing is executed by the null backend
  for (const NodeCase& c : node_cases()) {
    const NodeHandle node(c.graph, c.graph.nodes[0]);
    if (!device->supports(node).supported) continue;
    const std::vector<BufferPtr> inputs = upload_inputs(*device, node);
    std::vector<BufferPtr> outputs;
    for (const TensorMeta& meta : node.outputs()) outputs.push_back(device->create(meta));
    device->execute(node, inputs, outputs);
    const auto after = device->totals();
    expect(after->nodes_executed == 0 || after->nodes_executed == before->nodes_executed + 1,
           fmt::format("one execution moved nodes_executed from {} to {}", before->nodes_executed,
                       after->nodes_executed));
    expect(after->cycles >= before->cycles && after->device_seconds >= before->device_seconds,
           "counters ran backwards");
    return;
  }
}

void compile_bad_graphs(const Subject& s) {
  if (!s.plugin->has_compile()) return;  // optional
  if (s.is_null()) return;
  const auto device = s.device();
  for (const char* text : {"", "{", "null", "[]", "{\"schema_version\": {\"major\": 8}}"}) {
    try {
      device->compile(text);
      fail(fmt::format("compile accepted the graph '{}'", text));
    } catch (const PluginError& error) {
      expect(*error.what() != '\0', "no message");
    }
  }
}

void compile_one_node(const Subject& s) {
  if (!s.plugin->has_compile()) return;  // optional
  const auto device = s.device();
  for (const NodeCase& c : node_cases()) {
    const NodeHandle node(c.graph, c.graph.nodes[0]);
    if (!device->supports(node).supported) continue;
    const auto executable = device->compile(graph_to_json(c.graph));
    const std::vector<BufferPtr> inputs = upload_inputs(*device, node);
    std::vector<BufferPtr> outputs;
    for (const TensorMeta& meta : node.outputs()) outputs.push_back(device->create(meta));
    device->execute(*executable, inputs, outputs);
    return;
  }
  fail("the device supports none of neg, relu, add and mm in any dtype");
}

}  // namespace assay::abi
