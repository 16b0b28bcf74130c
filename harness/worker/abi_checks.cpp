// The checks of `assay abi-test`. They call the table directly where the C++ wrappers would hide what is
// checked.
#include <dlfcn.h>
#include <fmt/format.h>

#include <cstddef>
#include <cstring>
#include <functional>
#include <limits>

#include "core/contract/contract.h"
#include "core/error.h"
#include "core/graph/builder.h"
#include "core/graph/json.h"
#include "harness/worker/abi_test.h"
#include "harness/worker/plugin.h"

namespace assay {
namespace {

constexpr unsigned char kSentinel = 0xab;

[[noreturn]] void fail(const std::string& what) { throw Error(ErrorCode::invalid_argument, what); }
void expect(bool holds, const std::string& what) {
  if (!holds) fail(what);
}

struct Subject {
  std::shared_ptr<const Plugin> plugin;
  const assay_api* table;  // as the plug-in gave it
  std::string path;

  const assay_api& api() const { return plugin->api(); }
  // The null backend accepts everything and computes nothing, which is what it is for.
  bool is_null() const { return device()->info().name == "null"; }

  // The error must be one, readable, and is destroyed. Returns its message.
  std::string refused(assay_error* error, const std::string& what) const {
    expect(error != nullptr, what + " was accepted");
    assay_error_info info{};
    info.struct_size = sizeof info;
    api().error_info(error, &info);
    const std::string message = info.message != nullptr ? info.message : "";
    const bool known = info.code >= ASSAY_INVALID_ARGUMENT && info.code <= ASSAY_INTERNAL;
    api().error_destroy(error);
    expect(known, fmt::format("{}: the error's code {} is no assay_code", what, info.code));
    expect(!message.empty(), what + ": the error has no message");
    return message;
  }
  std::unique_ptr<Device> device() const { return std::make_unique<Device>(plugin, HelloRequest{}); }
  // A device handle of our own, to be given to the table's functions.
  assay_device* raw_device() const {
    assay_create_args args{};
    args.struct_size = sizeof args;
    args.node_api = &NodeHandle::api();
    args.target = "";
    plugin->check(api().create(&args), "create");
    expect(args.device != nullptr, "create gave a null device without an error");
    return args.device;
  }
};

// A struct followed by bytes that nobody may touch.
template <typename Struct>
struct Long {
  Struct args{};
  unsigned char beyond[64];
  Long() {
    args.struct_size = sizeof(*this);
    std::memset(beyond, kSentinel, sizeof beyond);
  }
  void check() const {
    for (const unsigned char byte : beyond)
      expect(byte == kSentinel, "bytes beyond the known members were written");
  }
};

// --- table and device
// ------------------------------------------------------------------------------------------

void table_is_static(const Subject& s) {
  void* library = ::dlopen(s.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  const auto get_api = reinterpret_cast<assay_get_api_fn>(::dlsym(library, ASSAY_GET_API_SYMBOL));
  expect(get_api() == get_api(), "assay_get_api returned two tables");
}

void older_minor(const Subject& s) {
  // What this plug-in would look like if it had been built before the optional functions existed.
  assay_api older = *s.table;
  older.struct_size = offsetof(assay_api, compile);
  older.abi_minor = 0;
  const auto plugin = Plugin::from_table(&older, s.path);
  expect(!plugin->has_compile() && plugin->api().counters == nullptr, "members beyond struct_size were read");
  Device device(plugin, HelloRequest{});
}

void create_short(const Subject& s) {
  assay_create_args args{};
  args.struct_size = offsetof(assay_create_args, device);
  s.refused(s.api().create(&args), "create with a struct that has no room for the device");
  expect(args.device == nullptr, "create wrote beyond struct_size");
  args.struct_size = 0;
  s.refused(s.api().create(&args), "create with struct_size 0");
}

void create_long(const Subject& s) {
  Long<assay_create_args> args;
  args.args.node_api = &NodeHandle::api();
  args.args.target = "";
  s.plugin->check(s.api().create(&args.args), "create");
  args.check();
  expect(args.args.device != nullptr, "create gave a null device without an error");
  s.api().destroy(args.args.device);
}

void create_with_long_options(const Subject& s) {
  // Two entries, each longer than this header's: they must be walked by their own struct_size.
  struct LongOption {
    assay_option option;
    unsigned char beyond[16];
  };
  LongOption options[2];
  std::memset(options, kSentinel, sizeof options);
  for (auto& entry : options) entry.option = {sizeof(LongOption), "assay_test_no_such_option", "1"};
  assay_create_args args{};
  args.struct_size = sizeof args;
  args.node_api = &NodeHandle::api();
  args.target = "";
  args.options = &options[0].option;
  args.option_count = 2;
  if (assay_error* error = s.api().create(&args)) {
    s.refused(error, "an unknown option");  // refusing it is as good as ignoring it
  } else {
    s.api().destroy(args.device);
  }
}

void create_unknown_target(const Subject& s) {
  assay_create_args args{};
  args.struct_size = sizeof args;
  args.node_api = &NodeHandle::api();
  args.target = "no-such-target";
  if (assay_error* error = s.api().create(&args)) {
    s.refused(error, "an unknown target");
  } else {
    s.api().destroy(args.device);
  }
}

void short_node_api(const Subject& s) {
  assay_node_api api = NodeHandle::api();
  api.struct_size = offsetof(assay_node_api, json);
  api.json = nullptr;
  assay_create_args args{};
  args.struct_size = sizeof args;
  args.node_api = &api;
  args.target = "";
  if (assay_error* error = s.api().create(&args)) {
    s.refused(error, "a node API without json");
    return;
  }
  GraphBuilder builder("relu");
  const ValueId x = builder.input("x", DType::f32, {4});
  builder.output(builder.call("aten::relu.default", {{"self", ValueArg{x}}}));
  const Graph graph = builder.build();
  const NodeHandle node(graph, graph.nodes[0]);
  assay_supports_args supports{};
  supports.struct_size = sizeof supports;
  supports.device = args.device;
  supports.node = node.handle();
  if (assay_error* error = s.api().supports(&supports))
    s.refused(error, "supports under a node API without json");
  s.api().destroy(args.device);
}

void describe_stable(const Subject& s) {
  const auto device = s.device();
  const BackendInfo& info = device->info();
  const Contract contract = Contract::parse(info.contract, "Contract");
  const auto again = s.device();
  expect(again->info().name == info.name && again->info().version == info.version &&
             again->info().device == info.device && again->info().contract == info.contract,
         "two devices of the same target describe themselves differently");
  expect(info.name.find_first_of(" \t\n/:") == std::string::npos,
         "the name is not one word: '" + info.name + "'");
}

void describe_short(const Subject& s) {
  assay_device* device = s.raw_device();
  assay_description out;
  std::memset(&out, kSentinel, sizeof out);
  out.struct_size = offsetof(assay_description, version);
  if (assay_error* error = s.api().describe(device, &out)) {
    s.refused(error, "describe with a short struct");  // refusing it is as good as filling what fits
  } else {
    expect(out.name != nullptr && *out.name != '\0', "describe left out the name");
  }
  s.api().destroy(device);
  const auto* bytes = reinterpret_cast<const unsigned char*>(&out);
  for (std::size_t i = offsetof(assay_description, version); i < sizeof out; ++i) {
    expect(bytes[i] == kSentinel, "describe wrote beyond struct_size");
  }
}

void describe_long(const Subject& s) {
  assay_device* device = s.raw_device();
  Long<assay_description> out;
  s.plugin->check(s.api().describe(device, &out.args), "describe");
  s.api().destroy(device);
  out.check();
}

void error_info_short(const Subject& s) {
  assay_error* error = s.api().create(nullptr);
  expect(error != nullptr, "create accepted a null struct");
  assay_error_info info;
  std::memset(&info, kSentinel, sizeof info);
  info.struct_size = offsetof(assay_error_info, reason);
  s.api().error_info(error, &info);
  expect(info.code >= ASSAY_INVALID_ARGUMENT && info.code <= ASSAY_INTERNAL, "error_info gave no code");
  const auto* bytes = reinterpret_cast<const unsigned char*>(&info);
  for (std::size_t i = offsetof(assay_error_info, reason); i < sizeof info; ++i) {
    expect(bytes[i] == kSentinel, "error_info wrote beyond struct_size");
  }
  s.refused(error, "create with a null struct");
}

void null_handles(const Subject& s) {
  assay_description description{};
  description.struct_size = sizeof description;
  s.refused(s.api().describe(nullptr, &description), "describe of a null device");
  assay_supports_args supports{};
  supports.struct_size = sizeof supports;
  s.refused(s.api().supports(&supports), "supports with a null device and node");
  assay_device* device = s.raw_device();
  supports.device = device;
  s.refused(s.api().supports(&supports), "supports with a null node");
  const int64_t sizes[] = {2};
  assay_buffer_create_args create{};
  create.struct_size = sizeof create;
  create.meta = {sizeof(assay_tensor_meta), ASSAY_F32, 1, sizes};
  s.refused(s.api().buffer_create(&create), "buffer_create with a null device");
  assay_tensor_meta meta{};
  meta.struct_size = sizeof meta;
  s.refused(s.api().buffer_meta(nullptr, &meta), "buffer_meta of a null buffer");
  float data[2] = {1, 2};
  assay_copy_args copy{sizeof copy, device, nullptr, data, sizeof data};
  s.refused(s.api().copy_to_device(&copy), "copy_to_device to a null buffer");
  s.refused(s.api().copy_to_host(&copy), "copy_to_host from a null buffer");
  assay_eager_args eager{};
  eager.struct_size = sizeof eager;
  s.refused(s.api().execute_eager(&eager), "execute_eager with a null device and node");
  s.api().destroy(device);
}

void two_devices(const Subject& s) {
  const auto a = s.device();
  auto b = s.device();
  const Tensor tensor = Tensor::from_doubles(DType::f32, {3}, {1, 2, 3});
  const BufferPtr buffer = a->upload(tensor);
  b.reset();
  expect(buffer->read({DType::f32, {3}}).bitwise_equal(tensor),
         "destroying one device changed another's buffer");
}

// --- buffers
// ---------------------------------------------------------------------------------------------------

void buffers_round_trip(const Subject& s) {
  const auto device = s.device();
  for (int32_t number = ASSAY_BOOL; number <= ASSAY_C128; ++number) {
    const auto dtype = static_cast<DType>(number);
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{3, 5}, Shape{2, 0, 7}, Shape{1, 2, 3, 4, 5}}) {
      const std::string what = fmt::format("a buffer of {}{}", name_of(dtype), to_string(shape));
      BufferPtr buffer;
      try {
        buffer = device->create({dtype, shape});
      } catch (const PluginError& error) {
        if (error.code() == ASSAY_UNSUPPORTED) continue;  // a device may lack a dtype
        fail(what + ": " + error.what());
      }
      const TensorMeta meta = buffer->meta();
      expect(meta == TensorMeta{dtype, shape}, what + " has the meta " + to_string(meta.shape));
      Tensor tensor(dtype, shape);
      auto* bytes = reinterpret_cast<unsigned char*>(tensor.mutable_data());
      for (std::size_t i = 0; i < tensor.bytes(); ++i) {
        bytes[i] = static_cast<unsigned char>(dtype == DType::boolean ? i % 2 : i * 37 + 11);
      }
      buffer->write(tensor);
      expect(buffer->read({dtype, shape}).bitwise_equal(tensor),
             what + " does not give back what was copied to it");
    }
  }
}

void bad_buffers(const Subject& s) {
  assay_device* device = s.raw_device();
  const auto create = [&](int32_t dtype, std::vector<int64_t> sizes, const std::string& what) {
    assay_buffer_create_args args{};
    args.struct_size = sizeof args;
    args.device = device;
    args.meta = {sizeof(assay_tensor_meta), dtype, static_cast<int32_t>(sizes.size()), sizes.data()};
    s.refused(s.api().buffer_create(&args), what);
  };
  create(0, {2}, "a buffer of dtype 0");
  create(99, {2}, "a buffer of dtype 99");
  create(ASSAY_F32, {-1}, "a buffer of size -1");
  create(ASSAY_F32, {int64_t{1} << 62}, "a buffer of 2^64 bytes");
  create(ASSAY_F32, {int64_t{1} << 40, int64_t{1} << 40}, "a buffer whose size overflows");
  assay_buffer_create_args args{};
  args.struct_size = sizeof args;
  args.device = device;
  args.meta = {sizeof(assay_tensor_meta), ASSAY_F32, 1, nullptr};
  s.refused(s.api().buffer_create(&args), "a buffer of rank 1 without sizes");
  s.api().destroy(device);
}

void copy_size_mismatch(const Subject& s) {
  const auto owner = s.device();
  const BufferPtr buffer = owner->create({DType::f32, {4}});
  unsigned char data[32] = {};
  assay_device* device = s.raw_device();
  for (const std::size_t size : {std::size_t{0}, std::size_t{15}, std::size_t{17}, std::size_t{32}}) {
    assay_copy_args args{sizeof args, device, buffer->handle(), data, size};
    s.refused(s.api().copy_to_device(&args), fmt::format("copying {} bytes to a buffer of 16", size));
    s.refused(s.api().copy_to_host(&args), fmt::format("copying {} bytes from a buffer of 16", size));
  }
  s.api().destroy(device);
}

// --- nodes
// -----------------------------------------------------------------------------------------------------

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

struct Entry {
  const char* name;
  const char* description;
  void (*run)(const Subject&);
};

constexpr Entry kChecks[] = {
    {"table: static", "assay_get_api returns the same table every time", table_is_static},
    {"table: older minor", "the plug-in works without the functions that are optional", older_minor},
    {"create: short struct", "a struct without room for the device is refused", create_short},
    {"create: long struct", "members that a newer harness appends are left alone", create_long},
    {"create: long options", "options are walked by their own struct_size", create_with_long_options},
    {"create: unknown target", "an unknown target is refused readably, or ignored", create_unknown_target},
    {"create: short node API", "a node API without json is refused readably, or enough", short_node_api},
    {"describe: stable", "name, version, device and Contract are given, parse, and do not change",
     describe_stable},
    {"describe: short struct", "a short struct is refused readably or filled as far as it goes, never beyond",
     describe_short},
    {"describe: long struct", "members that a newer harness appends are left alone", describe_long},
    {"errors: readable", "errors have a code and a message, and error_info takes a short struct",
     error_info_short},
    {"handles: null", "null handles are errors, not crashes", null_handles},
    {"handles: two devices", "devices are independent of one another", two_devices},
    {"buffers: round trip", "every dtype and shape comes back bit for bit", buffers_round_trip},
    {"buffers: bad metas", "impossible dtypes and sizes are refused", bad_buffers},
    {"buffers: size mismatch", "copies of another size than the buffer's are refused", copy_size_mismatch},
    {"supports: agrees with execution", "what is supported executes, what is not says why",
     supports_agrees_with_execution},
    {"supports: unknown operator", "an operator that does not exist is not supported", unknown_operator},
    {"supports: short struct", "a short struct is refused readably or filled as far as it goes, never beyond",
     supports_short},
    {"execute: null inputs", "null inputs are an error, not a crash", bad_execution},
    {"execute: inputs stay", "inputs are not modified and outputs do not alias them", inputs_stay},
    {"counters: count", "counters count one for one execution and never run backwards", counters_count},
    {"compile: bad graphs", "graphs that are none are refused", compile_bad_graphs},
    {"compile: one node", "a supported node compiles and executes", compile_one_node},
};

}  // namespace

std::vector<AbiCheck> abi_checks() {
  std::vector<AbiCheck> checks;
  for (const Entry& entry : kChecks) checks.push_back({entry.name, entry.description, false, ""});
  return checks;
}

AbiCheck run_abi_check(const std::string& path, const std::string& name) {
  for (const Entry& entry : kChecks) {
    if (name != entry.name) continue;
    AbiCheck check{entry.name, entry.description, false, ""};
    const auto plugin = Plugin::load(path);
    void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    const auto get_api = reinterpret_cast<assay_get_api_fn>(::dlsym(library, ASSAY_GET_API_SYMBOL));
    try {
      entry.run({plugin, get_api(), path});
      check.passed = true;
    } catch (const std::exception& error) {
      check.detail = error.what();
    }
    return check;
  }
  throw Error(ErrorCode::invalid_argument, "no such check: " + name);
}

}  // namespace assay
