// Hostile and broken files through the program: a clear message that names file and place, and the right exit
// status. The readers' own tests (core/io) hold every detail; here it is what a user sees.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "cli/testing/pt2_file.h"
#include "cli/testing/run_program.h"
#include "core/graph/builder.h"
#include "core/graph/json.h"
#include "core/io/safetensors.h"

namespace assay::cli {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kModel = "tied/models/model.json";
constexpr const char* kConstants = "tied/data/constants/model_constants_config.json";

class BadInput : public ProgramTest {
 protected:
  // Refused as a file on the command line (2), and as a record (1) in a folder beside a good model.
  void expect_refused(const std::string& bytes, const testing::Matcher<const std::string&>& message) {
    const std::string name = "bad" + std::to_string(++count_);
    write(name + ".pt2", bytes);
    const ProgramResult r = assay({"check", name + ".pt2", "--backend", "reference", "--out", name + "1"});
    EXPECT_EQ(r.status, 2) << r;
    EXPECT_THAT(r.err, AllOf(HasSubstr(name + ".pt2"), message));
    EXPECT_THAT(r.err, Not(HasSubstr("internal")));

    write("folder" + name + "/" + name + ".pt2", bytes);
    std::filesystem::copy_file(testdata("kinds"), folder_ / ("folder" + name) / "good.pt2");
    const ProgramResult many =
        assay({"check", "folder" + name, "--backend", "reference", "--out", name + "2"});
    EXPECT_EQ(many.status, 1) << many;
    EXPECT_EQ(many.last_line(), "1 passed, 1 failed, 0 skipped");
    const auto both = records(name + "2");
    EXPECT_EQ(name_of(both.at(name + " eager").status), "malformed_file");
    EXPECT_THAT(both.at(name + " eager").detail, message);
    EXPECT_EQ(name_of(both.at("good eager").status), "pass");
  }
  template <typename Change>
  std::string changed(Change change) {
    Archive entries = entries_of("tied");
    json document = json::parse(entries.at(kModel).content);
    change(document["graph_module"]["graph"]);
    entries[kModel] = {document.dump()};
    return make_archive(entries);
  }

  int count_ = 0, files_ = 0;
};

TEST_F(BadInput, Archives) {
  const std::string whole = make_archive(entries_of("tied"));
  expect_refused("", HasSubstr("bad1"));
  expect_refused(whole.substr(0, whole.size() / 2), HasSubstr("zip"));
  expect_refused(whole.substr(0, whole.size() - 1), HasSubstr("zip"));

  Archive bomb = entries_of("tied");
  bomb["tied/data/weights/weight_0"] = {std::string(std::size_t{200} << 20, '\0'), true};
  expect_refused(make_archive(bomb), HasSubstr("weight_0"));

  Archive escape = entries_of("tied");
  escape["../../escaped"] = {"x"};
  expect_refused(make_archive(escape), HasSubstr("../../escaped"));
}

TEST_F(BadInput, Json) {
  Archive entries = entries_of("tied");
  entries[kModel] = {std::string(200'000, '[')};
  expect_refused(make_archive(entries), AllOf(HasSubstr("model.json"), HasSubstr("nesting")));
  std::string deep;
  for (int i = 0; i < 200'000; ++i) deep += "{\"a\":";
  entries[kModel] = {deep};
  expect_refused(make_archive(entries), AllOf(HasSubstr("model.json"), HasSubstr("nesting")));
  entries[kModel] = {R"({"graph_module": 1, "graph_module": 2})"};
  expect_refused(make_archive(entries), AllOf(HasSubstr("model.json"), HasSubstr("twice")));
  entries[kModel] = {"{\"graph_module\": \"\xff\xfe\"}"};
  expect_refused(make_archive(entries), AllOf(HasSubstr("model.json"), HasSubstr("UTF-8")));
  entries[kModel] = {"[]"};
  expect_refused(make_archive(entries), HasSubstr("model.json"));
}

TEST_F(BadInput, TensorsPastTheEndOfTheirStorage) {
  Archive entries = entries_of("tied");
  json document = json::parse(entries.at(kConstants).content);
  document["config"]["strided"]["tensor_meta"]["storage_offset"] = {{"as_int", 1000}};
  entries[kConstants] = {document.dump()};
  expect_refused(make_archive(entries), AllOf(HasSubstr("strided"), HasSubstr("pass the end")));
}

TEST_F(BadInput, Graphs) {
  expect_refused(changed([](json& graph) { graph["nodes"][0]["target"] = "torch.ops.evil.twice.default"; }),
                 HasSubstr("evil::twice.default"));
  // An argument of another type than the schema's.
  expect_refused(changed([](json& graph) {
                   graph["nodes"][0]["inputs"][0]["arg"] = {{"as_string", "a string"}};
                 }),
                 HasSubstr("model.json"));
  // A cycle: the first node reads what the last one writes.
  expect_refused(changed([](json& graph) {
                   json& nodes = graph["nodes"];
                   nodes.front()["inputs"].back()["arg"] = nodes.back()["outputs"][0];
                 }),
                 HasSubstr("model.json"));
  expect_refused(changed([](json& graph) {
                   graph["outputs"][0] = {{"as_tensor", {{"name", "nobody"}}}};
                 }),
                 HasSubstr("nobody"));
}

TEST_F(BadInput, ExpectedFiles) {
  const auto check = [&](const TensorFile& file, const testing::Matcher<const std::string&>& words) {
    write_safetensors(path("e.safetensors"), file);
    const ProgramResult r = assay({"check", testdata("kinds"), "--backend", "reference", "--expect",
                                   "e.safetensors", "--out", "o" + std::to_string(++files_)});
    EXPECT_TRUE(r.status == 1 || r.status == 2) << r;
    EXPECT_THAT(r.err, words) << r;
  };
  TensorFile none, shape;
  none.tensors["no_such_output"] = Tensor::from_doubles(DType::f32, {1}, {1.0});
  check(none, HasSubstr("no_such_output"));
  shape.tensors["6"] = Tensor::from_doubles(DType::f64, {1}, {1.0});
  check(shape, HasSubstr("6"));
}

TEST_F(BadInput, NamesThatAreNotUtf8) {
  std::filesystem::create_directories(folder_ / "models");
  const std::string name = "bad\xff\xfename";
  std::filesystem::copy_file(testdata("kinds"), folder_ / "models" / (name + ".pt2"));
  const ProgramResult r = assay({"check", "models", "--backend", "null", "--out", "o"});
  EXPECT_EQ(r.status, 1) << r;
  const auto all = records("o");
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all.begin()->second.id, "bad\xEF\xBF\xBD\xEF\xBF\xBDname");
  for (const char* flag : {"--html", "--junit", "--json", "--csv", "--markdown"}) {
    EXPECT_EQ(assay({"report", "o", flag, "r"}).status, 0) << flag;
  }
  // The record's name is not the file's, yet the run goes on where it was.
  const ProgramResult again = assay({"check", "models", "--backend", "null", "--out", "o", "--resume"});
  EXPECT_EQ(again.status, 1) << again;
  EXPECT_EQ(records("o").size(), 1U);
}

// NaN goes in everywhere. What IEEE 754 says comes out: NaN, which is right, and a number is wrong.
TEST_F(BadInput, NanEverywhere) {
  GraphBuilder builder("nan");
  const ValueId x = builder.input("x", DType::f32, {16});
  builder.output(builder.call("aten::exp.default", {{"self", ValueArg{x}}}));
  write("nan.pt2", pt2_of(graph_to_json(builder.build())));
  const auto file = [&](const char* name, const char* key, double value) {
    TensorFile file;
    file.tensors[key] = Tensor::from_doubles(DType::f32, {16}, std::vector<double>(16, value));
    write_safetensors(path(name), file);
  };
  file("nan.safetensors", "x", std::numeric_limits<double>::quiet_NaN());
  file("numbers.safetensors", "0", 1.0);
  for (const std::string backend : {"reference", "trainium", "null"}) {
    const auto check = [&](const std::string& out, std::vector<std::string> more) {
      more.insert(more.begin(),
                  {"check", "nan.pt2", "--inputs", "nan.safetensors", "--backend", backend, "--out", out});
      const ProgramResult r = assay(more);
      EXPECT_TRUE(r.status == 0 || r.status == 1) << r;
      return std::string(name_of(records(out).at("nan eager").status));
    };
    if (backend == "null") {
      EXPECT_THAT(check("null", {}), testing::AnyOf("vacuous", "nan_mismatch", "wrong"));
      continue;
    }
    EXPECT_EQ(check(backend, {}), "pass");
    EXPECT_EQ(check(backend + "2", {"--expect", "numbers.safetensors"}), "nan_mismatch");
  }
}

TEST_F(BadInput, PluginsThatAreNone) {
  write("text.so", "not a library");
  write("empty.so", "");
  for (const std::string& plugin : {path("text.so"), path("empty.so"), std::string("/usr/bin/env")}) {
    const ProgramResult r = assay({"check", testdata("kinds"), "--backend", plugin, "--out", "o"});
    EXPECT_EQ(r.status, 2) << r;
    EXPECT_THAT(r.err, HasSubstr(plugin));
  }
  EXPECT_EQ(assay({"check", testdata("kinds"), "--backend", folder_.string(), "--out", "o"}).status, 2);
}

TEST_F(BadInput, RunFoldersOfOthers) {
  ASSERT_EQ(assay({"run", "--backend", "reference", "--filter", "ops/exp/f32/drawn", "--out", "o"}).status,
            0);
  const std::string good = read("o/results.jsonl");
  const auto with = [&](const std::string& line) {
    write("o/results.jsonl", good + line + "\n");
    const ProgramResult r = assay({"report", "o", "--html", "page.html"});
    EXPECT_EQ(r.status, 2) << r;
    EXPECT_THAT(r.err, HasSubstr("results.jsonl:2"));
    const ProgramResult resumed =
        assay({"run", "--backend", "reference", "--filter", "ops/exp/f32/drawn", "--out", "o", "--resume"});
    EXPECT_EQ(resumed.status, 2) << resumed;
    EXPECT_EQ(read("o/results.jsonl"), good + line + "\n");
  };
  with("{}");
  with("[1]");
  with("\xff");
  with(std::string(200'000, '['));
  with(replace_all(good.substr(0, good.size() - 1), "\"pass\"", "\"excellent\""));
  // Records of other runs.
  for (const auto& [from, to] : {std::pair{"\"backend\":\"reference\"", "\"backend\":\"null\""},
                                 std::pair{"\"seed\":0", "\"seed\":7"}}) {
    const std::string other = replace_all(good, from, to);
    ASSERT_NE(other, good);
    write("o/results.jsonl", other);
    const ProgramResult resumed =
        assay({"run", "--backend", "reference", "--filter", "ops/exp/f32/drawn", "--out", "o", "--resume"});
    EXPECT_EQ(resumed.status, 2) << resumed;
    EXPECT_THAT(resumed.err, HasSubstr("of another run"));
    EXPECT_EQ(read("o/results.jsonl"), other);
  }
  // A torn last line is what a killed run leaves.
  write("o/results.jsonl", good + "{\"schema\":1,");
  EXPECT_EQ(assay({"report", "o", "--html", "page.html"}).status, 0);
  // Two records of one case.
  write("o/results.jsonl", good + good);
  EXPECT_EQ(
      assay({"run", "--backend", "reference", "--filter", "ops/exp/f32/drawn", "--out", "o", "--resume"})
          .status,
      2);
  write("o/run.json", std::string(200'000, '['));
  const ProgramResult r = assay({"report", "o"});
  EXPECT_EQ(r.status, 2) << r;
  EXPECT_THAT(r.err, HasSubstr("run.json"));
}

TEST_F(BadInput, FilesThatAreNotFiles) {
  const ProgramResult device =
      Program(command({"sweep", "/dev/zero", "--backend", "reference", "--out", "p"}), folder_.string())
          .wait(20);
  EXPECT_EQ(device.status, 2) << device;
  EXPECT_THAT(device.err, HasSubstr("/dev/zero"));
  EXPECT_EQ(assay({"check", "/dev/zero", "--backend", "reference", "--out", "p"}).status, 2);
  ASSERT_EQ(::mkfifo(path("pipe.pt2").c_str(), 0600), 0);
  for (const std::vector<std::string>& words : {std::vector<std::string>{"pipe.pt2"},
                                                {testdata("kinds"), "--inputs", "pipe.pt2"},
                                                {testdata("kinds"), "--inputs", "/dev/zero"},
                                                {testdata("kinds"), "--expect", "/dev/zero"}}) {
    std::vector<std::string> line{"check", "--backend", "reference", "--out", "p"};
    line.insert(line.end(), words.begin(), words.end());
    const ProgramResult r = Program(command(line), folder_.string()).wait(20);
    EXPECT_EQ(r.status, 2) << r;
    EXPECT_THAT(r.err, HasSubstr(words.back()));
  }
  std::filesystem::create_directories(folder_ / "loop");
  std::filesystem::create_directory_symlink(folder_ / "loop", folder_ / "loop" / "again");
  const ProgramResult loop =
      Program(command({"check", "loop", "--backend", "reference", "--out", "q"}), folder_.string()).wait(20);
  EXPECT_TRUE(loop.status == 2 || loop.status == 3) << loop;
}

// With and without a file of inputs the message is the same.
TEST_F(BadInput, InputsThatAreNumbers) {
  constexpr const char* kJson = R"json({"schema_version": {"major": 8, "minor": 20}, "graph_module": {
      "graph": {"inputs": [{"as_tensor": {"name": "x"}}, {"as_sym_int": {"as_name": "n"}}],
                "outputs": [{"as_tensor": {"name": "y"}}],
                "nodes": [{"target": "torch.ops.aten.relu.default", "name": "relu", "metadata": {},
                           "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "x"}}, "kind": 1}],
                           "outputs": [{"as_tensor": {"name": "y"}}]}],
                "tensor_values": {"x": {"dtype": 7, "sizes": [{"as_int": 2}], "layout": 7},
                                  "y": {"dtype": 7, "sizes": [{"as_int": 2}], "layout": 7}},
                "sym_int_values": {"n": {"as_expr": {"expr_str": "Symbol('s0', integer=True)"}}},
                "sym_bool_values": {}, "sym_float_values": {}},
      "signature": {"input_specs": [{"user_input": {"arg": {"as_tensor": {"name": "x"}}}},
                                    {"user_input": {"arg": {"as_sym_int": {"as_name": "n"}}}}],
                    "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": "y"}}}}]}}})json";
  write("number.pt2", pt2_of(kJson));
  TensorFile file;
  file.tensors["x"] = Tensor::from_doubles(DType::f32, {2}, {1, -1});
  file.tensors["n"] = Tensor::from_ints(DType::i64, {}, {4});
  write_safetensors(path("number.safetensors"), file);
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{}, {"--inputs", "number.safetensors"}}) {
    std::vector<std::string> line{"check", "number.pt2", "--backend", "reference", "--out", "n"};
    line.insert(line.end(), more.begin(), more.end());
    const ProgramResult r = assay(line);
    EXPECT_EQ(r.status, 2) << r;
    EXPECT_THAT(r.err, AllOf(HasSubstr("number.pt2"), HasSubstr("'n' is a symbolic number")));
  }
}

// A report is written into a pipe or through a link; neither becomes a file.
TEST_F(BadInput, ReportsIntoWhatIsNoFile) {
  ASSERT_EQ(assay({"run", "--backend", "reference", "--filter", "ops/exp/f32/drawn", "--out", "o"}).status,
            0);
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  const int reader = ::open(path("pipe").c_str(), O_RDWR | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  std::filesystem::create_symlink(path("real.json"), folder_ / "link.json");
  write("real.json", "old");
  EXPECT_EQ(assay({"report", "o", "--json", "pipe"}).status, 0);
  EXPECT_TRUE(std::filesystem::is_fifo(folder_ / "pipe"));
  EXPECT_EQ(assay({"report", "o", "--json", "link.json"}).status, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "link.json"));
  std::string got(read("real.json").size(), '\0');
  EXPECT_EQ(::read(reader, got.data(), got.size()), static_cast<ssize_t>(got.size()));
  EXPECT_EQ(got, read("real.json"));
  ::close(reader);
}

}  // namespace
}  // namespace assay::cli
