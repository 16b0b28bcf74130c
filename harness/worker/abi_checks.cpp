// The checks of `assay abi-test`. They call the table directly where the C++ wrappers would hide what is
// checked.
#include <dlfcn.h>
#include <fmt/format.h>

#include <cstddef>
#include <cstring>

#include "core/contract/contract.h"
#include "core/graph/builder.h"
#include "harness/worker/abi_subject.h"
#include "harness/worker/abi_test.h"

namespace assay {
namespace abi {
namespace {

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

}  // namespace
}  // namespace abi

namespace {

using namespace abi;

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
