// Runs the built program as its users do. For tests.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "harness/record/results.h"

namespace assay::cli {

struct ProgramResult {
  int status = -1;  // exit status; -1 if it died of `signal`
  int signal = 0;
  std::string out, err;

  std::string last_line() const {
    std::string text = out;
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text.substr(text.rfind('\n') + 1);
  }
};

inline std::ostream& operator<<(std::ostream& stream, const ProgramResult& r) {
  return stream << "status " << r.status << ", signal " << r.signal << "\nstdout:\n"
                << r.out << "\nstderr:\n"
                << r.err;
}

// A program that runs, with a process group of its own. Killed with its group when this goes out of scope.
class Program {
 public:
  // `out_path`: where its stdout goes; "": it is captured.
  explicit Program(const std::vector<std::string>& argv, const std::string& folder = "",
                   const std::string& out_path = "")
      : out_(out_path.empty() ? memfd_create("stdout", MFD_CLOEXEC)
                              : ::open(out_path.c_str(), O_WRONLY | O_CLOEXEC)),
        err_(memfd_create("stderr", MFD_CLOEXEC)),
        captured_(out_path.empty()) {
    std::vector<char*> words;
    for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::setpgid(0, 0);
      const int null = ::open("/dev/null", O_RDONLY);
      if (!folder.empty() && ::chdir(folder.c_str()) != 0) _exit(126);
      ::dup2(null, 0);
      ::dup2(out_, 1);
      ::dup2(err_, 2);
      ::execvp(words[0], words.data());
      _exit(127);
    }
    ::setpgid(pid_, pid_);
  }
  ~Program() {
    signal_group(SIGKILL);
    if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
    ::close(out_);
    ::close(err_);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t pid() const { return pid_; }
  void signal_group(int number) {
    if (pid_ > 0) ::kill(-pid_, number);
  }
  bool running() {
    siginfo_t info{};
    return pid_ > 0 && ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == 0;
  }
  // Processes that it started and whose name is `name`.
  std::vector<pid_t> children(const std::string& name) const {
    std::vector<pid_t> found;
    std::error_code error;
    const std::string tasks = "/proc/" + std::to_string(pid_) + "/task";
    for (const auto& task : std::filesystem::directory_iterator(tasks, error)) {
      std::ifstream file(task.path() / "children");
      for (pid_t child = 0; file >> child;) {
        std::ifstream comm("/proc/" + std::to_string(child) + "/comm");
        std::string text;
        std::getline(comm, text);
        if (text == name) found.push_back(child);
      }
    }
    return found;
  }
  ProgramResult wait(double limit_s = 300) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(limit_s);
    while (running() && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    if (running()) {
      ADD_FAILURE() << "the program did not end within " << limit_s << " s";
      signal_group(SIGKILL);
    }
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    ProgramResult result;
    if (WIFEXITED(status)) result.status = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
    if (captured_) result.out = contents(out_);
    result.err = contents(err_);
    return result;
  }

 private:
  static std::string contents(int fd) {
    std::string text(static_cast<std::size_t>(::lseek(fd, 0, SEEK_END)), '\0');
    if (::pread(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) text.clear();
    return text;
  }
  int out_, err_;
  bool captured_;
  pid_t pid_ = -1;
};

inline const char* binary_folder() { return ASSAY_BINARY_DIR "/bin"; }
inline std::string assay_program() { return std::string(binary_folder()) + "/assay"; }

// A folder of its own, and the program run in it.
class ProgramTest : public testing::Test {
 protected:
  ProgramTest() {
    std::string pattern = testing::TempDir() + "/assay-cli-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    ::setenv("ASSAY_CACHE_DIR", (folder_ / "cache").c_str(), 1);
  }
  ~ProgramTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  static std::vector<std::string> command(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), assay_program());
    return arguments;
  }
  ProgramResult assay(std::vector<std::string> arguments) const {
    return Program(command(std::move(arguments)), folder_.string()).wait();
  }
  ProgramResult shell(const std::string& line) const {
    return Program({"/bin/sh", "-c", line}, folder_.string()).wait();
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return path(name);
  }
  std::string read(const std::string& name) const {
    std::ifstream file(folder_ / name, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  // By id and mode; a record that is there twice fails the test.
  std::map<std::string, Record> records(const std::string& out) const {
    std::map<std::string, Record> by_id;
    for (Record& record : read_results(path(out + "/results.jsonl"))) {
      const std::string key = record.id + " " + record.mode;
      EXPECT_TRUE(by_id.emplace(key, std::move(record)).second) << key << " twice";
    }
    return by_id;
  }
  std::int64_t lines(const std::string& out) const {
    const std::string text = read(out + "/results.jsonl");
    return std::count(text.begin(), text.end(), '\n');
  }
  // Whether `out` holds at least `count` records while the program still runs.
  bool wait_for_records(Program& program, const std::string& out, std::int64_t count) const {
    while (program.running()) {
      if (lines(out) >= count) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return false;
  }

  std::filesystem::path folder_;
};

// A record without what may differ between two runs of the same case (docs/records.md).
inline std::string without_times(Record record) {
  record.phases = {};
  record.wall_s = 0;
  record.judge_s.reset();
  record.device.reset();
  record.compiles = {};
  for (Fallback& fallback : record.fallbacks) fallback.seconds = 0;
  return to_json_line(record);
}

inline void expect_equal_but_for_times(const std::map<std::string, Record>& got,
                                       const std::map<std::string, Record>& want) {
  EXPECT_EQ(got.size(), want.size());
  for (const auto& [key, record] : want) {
    ASSERT_TRUE(got.contains(key)) << key << " is lost";
    EXPECT_EQ(without_times(got.at(key)), without_times(record));
  }
}

}  // namespace assay::cli
