// The compile cache on disk: what survives, what is refused, who may write at the same time.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include "backend/compiler/run_graph_test.h"
#include "backend/isa/program_file.h"
#include "backend/runtime/executable.h"
#include "core/error.h"
#include "core/graph/builder.h"
#include "core/io/file.h"

namespace assay::backend {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

Graph graph_of(int64_t rows, DType dtype = DType::f32, const std::string& name = "x") {
  GraphBuilder b("case");
  ValueId x = b.input(name, dtype, {rows, 16});
  for (int i = 0; i < 3; ++i) x = b.call("aten::exp.default", {{"self", ValueArg{x}}}, {"model.py:7", ""});
  b.output(b.call("aten::sum.dim_IntList", {{"self", ValueArg{x}}, {"dim", IntListArg{{1}, {}}}}));
  return b.build();
}

class CompileCache : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "assay_cache_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { fs::remove_all(folder); }

  // Entries, and what writers may have left of them.
  std::vector<fs::path> files() const {
    std::vector<fs::path> out;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.is_regular_file() && entry.path().filename() != "sizes") out.push_back(entry.path());
    }
    return out;
  }
  CompileResult get(DiskCache* disk, const Graph& graph, const CompileOptions& options = {}) const {
    GraphCache cache(disk);  // a new process: nothing in memory
    return cache.get(graph, core(Generation::trn2), options, kTestHbm);
  }
  static GraphKey key(const std::string& structure) {
    GraphKey out;
    out.structure = structure;
    return out;
  }
  std::string folder;
};

TEST_F(CompileCache, ColdThenDiskThenMemory) {
  DiskCache disk(folder, 1 << 20);
  const Graph graph = graph_of(4);
  const CompileResult cold = get(&disk, graph);
  EXPECT_EQ(cold.hit, CacheHit::miss);
  EXPECT_EQ(cold.miss_reason, "new graph");
  EXPECT_EQ(cold.notes, "");
  ASSERT_EQ(files().size(), 1u);
  EXPECT_EQ(cold.executable->artifact_bytes, fs::file_size(files()[0]));

  GraphCache second(&disk);
  const CompileResult warm =
      second.get(graph_of(4, DType::f32, "other_name"), core(Generation::trn2), {}, kTestHbm);
  EXPECT_EQ(warm.hit, CacheHit::disk);
  EXPECT_EQ(warm.miss_reason, "");
  EXPECT_EQ(warm.executable->artifact_bytes, cold.executable->artifact_bytes);
  EXPECT_EQ(write_program(warm.executable->graph.program), write_program(cold.executable->graph.program));
  EXPECT_EQ(warm.executable->graph.sources, cold.executable->graph.sources);
  EXPECT_EQ(warm.executable->graph.diagnostics(), cold.executable->graph.diagnostics());
  EXPECT_EQ(second.get(graph, core(Generation::trn2), {}, kTestHbm).hit, CacheHit::memory);

  const std::vector<Tensor> inputs = drawn_inputs(graph);
  const auto run = [&](const CompileResult& r) {
    return run_program(r.executable->graph.program, inputs, r.executable->graph.outputs)[0];
  };
  EXPECT_TRUE(run(warm).bitwise_equal(run(cold)));
}

TEST_F(CompileCache, RecompilesSayWhy) {
  for (const bool on_disk : {true, false}) {
    DiskCache disk(folder, 1 << 20);
    GraphCache cache(on_disk ? &disk : nullptr);
    const auto reason = [&](const Graph& graph, const CompileOptions& options = {}) {
      return cache.get(graph, core(Generation::trn2), options, kTestHbm).miss_reason;
    };
    EXPECT_EQ(reason(graph_of(4)), "new graph");
    EXPECT_EQ(reason(graph_of(5)), "new shape");
    EXPECT_EQ(reason(graph_of(5, DType::bf16)), "new dtype");
    CompileOptions cast;
    cast.matmult_cast = DType::bf16;
    EXPECT_EQ(reason(graph_of(5), cast), "new option");
    EXPECT_EQ(reason(graph_of(5)), "");
  }
}

TEST_F(CompileCache, DamagedEntriesAreCompiledAgainAndReplaced) {
  DiskCache disk(folder, 1 << 20);
  const Graph graph = graph_of(4);
  get(&disk, graph);
  const fs::path file = files().at(0);
  std::ifstream in(file, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  std::vector<std::string> damaged{"", "x", whole + "x"};
  for (std::size_t at = 0; at < whole.size(); at += 1 + whole.size() / 60) {
    damaged.push_back(whole.substr(0, at));
    damaged.push_back(whole);
    damaged.back()[at] = static_cast<char>(damaged.back()[at] ^ 0xff);
  }
  for (const std::string& bytes : damaged) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
    const CompileResult again = get(&disk, graph);
    ASSERT_EQ(again.hit, CacheHit::miss) << bytes.size();
    EXPECT_EQ(again.miss_reason, "corrupt entry");
    EXPECT_THAT(again.notes, HasSubstr(file.string()));
    ASSERT_EQ(get(&disk, graph).hit, CacheHit::disk);
  }
}

// Whole files with a right checksum whose content is no Program of this graph.
TEST_F(CompileCache, ForeignContentIsRefused) {
  DiskCache disk(folder, 1 << 20);
  const Graph graph = graph_of(4);
  const GraphKey k = graph_key(graph, Generation::trn2, {}, compiler_version());
  const std::string other = write_compiled(compile_graph(graph_of(5), core(Generation::trn2), {}, kTestHbm));
  std::string good = write_compiled(compile_graph(graph, core(Generation::trn2), {}, kTestHbm));
  std::string note;
  for (const std::string& content : {other, std::string(), good.substr(0, good.size() - 1), good + "x"}) {
    ASSERT_NE(disk.store(k, content, note), 0u);
    const CompileResult result = get(&disk, graph);
    EXPECT_EQ(result.miss_reason, "corrupt entry");
    EXPECT_THAT(result.notes, HasSubstr("compile cache"));
  }
  // Any byte of the content: refused or an equal answer's neighbour, never a crash.
  for (std::size_t at = 0; at < good.size(); at += 1 + good.size() / 300) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0xff);
    try {
      read_compiled(bad, graph, core(Generation::trn2), "test");
    } catch (const Error&) {
    }
  }
}

TEST_F(CompileCache, OtherKeysWithEqualHashesAreMisses) {
  DiskCache disk(folder, 1 << 20);
  std::string note;
  ASSERT_NE(disk.store(key("a"), "content", note), 0u);
  const fs::path at = files().at(0);
  ASSERT_NE(disk.store(key("b"), "other", note), 0u);
  for (const fs::path& file : files()) {
    if (file != at) fs::copy_file(at, file, fs::copy_options::overwrite_existing);  // as if "b" had a's hash
  }
  EXPECT_EQ(disk.load(key("a")).bytes, "content");
  EXPECT_EQ(disk.load(key("b")).bytes, std::nullopt);
  EXPECT_EQ(disk.load(key("b")).note, "");
}

TEST_F(CompileCache, TheOldestGoBeyondTheLimit) {
  std::string incompressible;
  for (uint64_t i = 0; i < 2500; ++i) {
    const uint32_t word = draw_word(key_of_name("noise"), 0, i);
    incompressible.append(reinterpret_cast<const char*>(&word), 4);
  }
  DiskCache disk(folder, 100'000);
  std::string note;
  for (int i = 0; i < 30; ++i) {
    ASSERT_NE(disk.store(key("k" + std::to_string(i)), incompressible, note), 0u) << note;
    // The first is used again and again, and so it stays.
    ASSERT_TRUE(disk.load(key("k0")).bytes) << i;
    for (const fs::path& file : files()) {
      fs::last_write_time(file, fs::last_write_time(file) - std::chrono::seconds(1));
    }
  }
  uint64_t total = 0;
  for (const fs::path& file : files()) total += fs::file_size(file);
  EXPECT_LE(total, 100'000u);
  EXPECT_GE(files().size(), 7u);
  EXPECT_TRUE(disk.load(key("k29")).bytes);
  EXPECT_FALSE(disk.load(key("k1")).bytes);
  DiskCache tiny(folder, 100);
  EXPECT_EQ(tiny.store(key("k"), incompressible, note), 0u);
  EXPECT_THAT(note, HasSubstr("100 bytes"));
}

TEST_F(CompileCache, TheNoteOfSizesSavesCountingAndIsNotTrusted) {
  const std::string content(1000, 'x'), note = folder + "/trainium/sizes";
  std::string why;
  DiskCache first(folder, 1 << 20);
  const uint64_t a = first.store(key("a"), content, why), b = first.store(key("b"), content, why);
  ASSERT_TRUE(a > 0 && b > 0) << why;
  const auto noted = [&] {
    const std::string text = read_file(note);
    uint64_t total = 0;
    for (std::size_t at = 0; at + 8 <= text.size(); at += 8) {
      uint64_t bytes = 0;
      std::memcpy(&bytes, text.data() + at, sizeof bytes);
      total += bytes;
    }
    return total;
  };
  EXPECT_EQ(noted(), a + b);
  const auto rewrite = [&](const std::string& text) { std::ofstream(note, std::ios::binary) << text; };
  // What cannot be a note, or claims a full cache, has the files counted.
  uint64_t c = 0;
  for (const std::string& text :
       {std::string(), std::string(7, 'x'), std::string(16, '\xff'), std::string(8, '\x01')}) {
    rewrite(text);
    DiskCache next(folder, 1 << 20);
    c = next.store(key("c"), content, why);
    EXPECT_GT(c, 0u) << why;
    EXPECT_TRUE(next.load(key("a")).bytes) << "evicted on a false note";
  }
  fs::remove(note);
  DiskCache last(folder, 1 << 20);
  const uint64_t d = last.store(key("d"), content, why);
  EXPECT_EQ(noted(), a + b + c + d) << "three as counted, then d";
}

TEST_F(CompileCache, WhereNothingCanBeWrittenGraphsStillCompile) {
  std::ofstream(folder + "/file") << "no folder";
  DiskCache disk(folder + "/file", 1 << 20);
  const CompileResult result = get(&disk, graph_of(4));
  EXPECT_EQ(result.hit, CacheHit::miss);
  EXPECT_THAT(result.notes, HasSubstr("not kept on disk"));

  // A full disk: this process may write no file beyond 64 bytes.
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{64, 64};
    setrlimit(RLIMIT_FSIZE, &limit);
    DiskCache full(folder, 1 << 20);
    const CompileResult r = get(&full, graph_of(6));
    const bool good =
        r.executable && r.notes.find("not kept on disk") != std::string::npos && files().size() == 1;
    _exit(good ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST_F(CompileCache, ManyCompilersShareOneCache) {
  constexpr int kProcesses = 4, kGraphs = 6;
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    const pid_t child = fork();
    if (child == 0) {
      bool good = true;
      for (int round = 0; round < 5; ++round) {
        DiskCache disk(folder, 60'000);  // small: they evict one another's entries too
        for (int g = 0; g < kGraphs; ++g) {
          const CompileResult r = get(&disk, graph_of(2 + (g + p) % kGraphs));
          good = good && r.executable && r.notes.empty() && r.miss_reason != "corrupt entry";
        }
      }
      _exit(good ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  for (const fs::path& file : files()) EXPECT_EQ(file.extension(), ".program");
  DiskCache disk(folder, 1 << 20);
  int hits = 0;
  for (int g = 0; g < kGraphs; ++g) hits += get(&disk, graph_of(2 + g)).hit == CacheHit::disk;
  EXPECT_GT(hits, 0);
}

// An entry that another process stores while this one looks for it is found, or was not there yet.
TEST_F(CompileCache, NothingIsEvictedWhereThereIsRoom) {
  constexpr int kProcesses = 3, kKeys = 400;
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    const pid_t child = fork();
    if (child == 0) {
      bool good = true;
      for (int k = 0; k < kKeys; ++k) {
        DiskCache disk(folder, 1 << 30);
        const GraphKey wanted = key(std::to_string(k));
        const DiskCache::Found found = disk.load(wanted);
        good = good && found.miss != kEvicted && found.note.empty();
        std::string note;
        if (!found.bytes) disk.store(wanted, "content", note);
      }
      _exit(good ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
}

}  // namespace
}  // namespace assay::backend
