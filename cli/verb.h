// One verb of the program: its command line and what it does.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace assay::cli {

// Exit statuses (INTERFACE §1).
enum Exit { kOk = 0, kFailures = 1, kUsage = 2, kNothingPassed = 3, kInfrastructure = 4 };

// A verb adds its subcommand to the program and returns what to do when it was chosen; that returns the exit
// status and may throw Error (exit status 2).
struct Verb {
  std::string name;
  std::string summary;
  std::function<std::function<int()>(CLI::App& command)> define;
};

class VerbTable {
 public:
  void add(Verb verb) { verbs_.push_back(std::move(verb)); }
  const std::vector<Verb>& verbs() const { return verbs_; }

 private:
  std::vector<Verb> verbs_;
};

}  // namespace assay::cli
