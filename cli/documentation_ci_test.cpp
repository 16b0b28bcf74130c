// What README.md and docs/ tell users to type works, and --help names every documented option.
#include <gmock/gmock.h>

#include <regex>
#include <set>

#include "cli/testing/run_program.h"

namespace assay::cli {
namespace {

using testing::HasSubstr;

struct Command {
  std::string file, line;
};

// Lines of ```sh blocks, without their comments.
std::vector<Command> documented_commands() {
  std::vector<std::filesystem::path> files{ASSAY_SOURCE_DIR "/README.md"};
  for (const auto& entry : std::filesystem::directory_iterator(ASSAY_SOURCE_DIR "/docs")) {
    if (entry.path().extension() == ".md") files.push_back(entry.path());
  }
  std::vector<Command> commands;
  for (const auto& path : files) {
    std::ifstream file(path);
    bool inside = false;
    std::string line, joined;
    while (std::getline(file, line)) {
      if (line.starts_with("```")) {
        inside = !inside && line == "```sh";
        continue;
      }
      if (!inside) continue;
      joined += std::regex_replace(line, std::regex("(^|\\s+)#.*$"), "");
      if (joined.ends_with('\\')) {
        joined.back() = ' ';
        continue;
      }
      if (joined.find_first_not_of(' ') != std::string::npos)
        commands.push_back({path.filename().string(), joined});
      joined.clear();
    }
  }
  return commands;
}

// Commands that a test must not run, and why.
const std::pair<const char*, const char*> kNotRun[] = {
    {"./quickstart", "installs packages and builds"},
    {"cmake ", "builds"},
    {"ctest ", "runs this test"},
    {"apt", "installs packages"},
    {"sbatch ", "needs a Slurm cluster"},
    {"pip ", "installs packages"},
    {"python3 -m sweeps.export", "needs transformers, which the tests do not install"},
    {"git ", "changes the repository"},
    {"bench ", "measures; takes minutes"},
};

class Documentation : public ProgramTest {
 protected:
  // What the documents call MODEL.pt2, FOLDER, PLUGIN.so, all.jsonl.zst, and runs.
  void make_what_documents_name() const {
    const std::string model = ASSAY_SOURCE_DIR "/core/io/testdata/kinds.pt2";
    std::filesystem::copy_file(model, path("MODEL.pt2"));
    std::filesystem::create_directories(folder_ / "FOLDER");
    std::filesystem::copy_file(model, path("FOLDER/NAME.pt2"));
    std::filesystem::copy_file(ASSAY_BINARY_DIR "/lib/assay_null.so", path("PLUGIN.so"));
    std::filesystem::copy_file(ASSAY_SOURCE_DIR "/suites/witness/data/opinfo.jsonl.zst",
                               path("all.jsonl.zst"));
    for (const char* name : {"sweeps", "docs"}) {
      std::filesystem::create_directory_symlink(std::filesystem::path(ASSAY_SOURCE_DIR) / name,
                                                folder_ / name);
    }
    for (const char* out : {"assay-out/RUN", "BASE_RUN", "CURRENT_RUN"}) {
      ASSERT_EQ(assay({"run", "--backend", "reference", "--filter", "ops/relu/*", "--out", out}).status, 0);
    }
  }
};

TEST_F(Documentation, CommandsWork) {
  make_what_documents_name();
  const std::string torch =
      shell("${ASSAY_PYTHON:-python3} -c 'import torch'").status == 0 ? "" : "PyTorch is not installed";
  int run = 0;
  std::string skipped;
  for (const Command& command : documented_commands()) {
    std::string why;
    for (const auto& [text, reason] : kNotRun) {
      if (command.line.find(text) != std::string::npos && why.empty()) why = reason;
    }
    if (command.line.find("bench laplace --filter") != std::string::npos) why.clear();  // seconds, no timer
    if (command.line.find("torch:") != std::string::npos && why.empty()) why = torch;
    if (!why.empty()) {
      skipped += command.line + ": " + why + "\n";
      continue;
    }
    std::string line =
        std::regex_replace(command.line, std::regex("build/release/"), std::string(ASSAY_BINARY_DIR "/"));
    line = "PATH=" + std::string(binary_folder()) + ":$PATH; " + line;
    const ProgramResult r = shell(line);
    EXPECT_EQ(r.status, 0) << command.file << ": " << command.line << "\n" << r;
    ++run;
    std::filesystem::remove_all(folder_ / "assay-out" / "again");
  }
  std::printf("%d commands were run; not run:\n%s", run, skipped.c_str());
  EXPECT_GE(run, 8);
}

TEST_F(Documentation, HelpNamesEveryOption) {
  const std::vector<std::string> run{"--backend",         "--out",    "--mode",     "--filter",
                                     "--shard",           "--jobs",   "--timeout",  "--compile-timeout",
                                     "--memory",          "--seed",   "--resume",   "--no-fallback",
                                     "--fullgraph",       "--option", "--contract", "--ranks",
                                     "--compile-repeats", "--cache",  "--nodes",    "--quiet",
                                     "--waivers"};
  std::map<std::string, std::vector<std::string>> options{
      {"run", run},
      {"check", run},
      {"sweep", run},
      {"bench", run},
      {"profile", run},
      {"list", {"--json", "--generated"}},
      {"report", {"--html", "--json", "--junit", "--csv", "--markdown"}},
      {"compare", {"--waivers", "--html", "--junit"}},
      {"abi-test", {"PLUGIN"}},
      {"doctor", {"--help"}}};
  options["check"].insert(options["check"].end(), {"--inputs", "--expect", "PATH"});
  options["bench"].push_back("--against");
  options["profile"].push_back("--trace");
  const std::string overview = assay({"--help"}).out;
  for (const auto& [verb, names] : options) {
    EXPECT_THAT(overview, HasSubstr("  " + verb + " ")) << verb;
    const ProgramResult r = assay({verb, "--help"});
    EXPECT_EQ(r.status, 0) << r;
    for (const std::string& name : names) EXPECT_THAT(r.out, HasSubstr(name)) << verb;
  }
}

TEST_F(Documentation, EveryStatusAndReasonIsDescribed) {
  std::ifstream file(ASSAY_SOURCE_DIR "/docs/records.md");
  std::ostringstream text;
  text << file.rdbuf();
  for (int i = 0; i <= static_cast<int>(Status::infrastructure_error); ++i) {
    const std::string name(name_of(static_cast<Status>(i)));
    EXPECT_THAT(text.str(), HasSubstr("`" + name + "`"));
  }
  for (const auto& [reason, meaning] : all_reasons()) {
    EXPECT_THAT(text.str(), HasSubstr("| `" + reason + "` | " + meaning + " |"));
  }
}

TEST_F(Documentation, DoctorFindsNothingBroken) {
  const ProgramResult r = assay({"doctor"});
  EXPECT_EQ(r.status, 0) << r;
  EXPECT_THAT(r.out, testing::Not(HasSubstr("BROKEN")));
  for (const char* backend : {"reference", "trainium", "null", "torch:cpu"})
    EXPECT_THAT(r.out, HasSubstr(backend));
}

}  // namespace
}  // namespace assay::cli
