#include "harness/run/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "core/error.h"
#include "core/io/file.h"
#include "harness/contracts/contracts.h"
#include "harness/plan/plan.h"
#include "harness/record/results.h"
#include "harness/record/utc.h"
#include "harness/run/case_runner.h"
#include "harness/run/known_failures.h"
#include "harness/run/run_json.h"

namespace assay {
namespace {

// --contract, the backend's own, or the data file for backends that have none.
Contract contract_for(const RunOptions& options, const BackendInfo& info) {
  if (!options.contract_file.empty()) {
    return Contract::parse(read_file(options.contract_file), options.contract_file);
  }
  if (!info.contract.empty()) return Contract::parse(info.contract, "Contract of backend " + options.backend);
  if (auto contract = default_contract(options.backend)) return *contract;
  std::string name = options.backend.substr(0, options.backend.find(':')) + "_cpu.json";
  if (const auto colon = options.backend.find(':'); colon != std::string::npos) {
    name = options.backend.substr(0, colon) + "_" + options.backend.substr(colon + 1) + ".json";
  }
  const std::string path = find_data("harness/contracts/" + name);
  return Contract::parse(read_file(path), path);
}

class Run {
 public:
  Run(const RunOptions& options, std::vector<Case> cases, const ProgressCallback& progress)
      : options_(options),
        spec_(parse_backend(options.backend)),
        plan_(make_plan(std::move(cases), options)),
        progress_(progress) {}

  RunSummary run() {
    // Slot 0 is this thread, with the worker that has told about its backend.
    CaseRunner first(options_, spec_, Contract(), static_cast<int>(slots()));
    greet(first);
    circumstances_.planned = static_cast<int64_t>(plan_.size());
    circumstances_.start = utc_now();
    RunFolder folder(options_.out, options_.resume);
    folder_ = &folder;
    summary_.out = options_.out;
    summary_.not_exported = static_cast<int64_t>(options_.not_exported.size());
    resume();
    folder.write_run_json(run_json(options_, circumstances_));
    report(nullptr);

    run_missing(false, first);
    run_missing(true, first);

    summary_.interrupted = stop_requested();
    // Other seeds draw other inputs: what fails with seed 0 need not fail with them.
    const bool whole =
        options_.filter.empty() && options_.shards == 1 && options_.seed == 0 && !summary_.interrupted;
    summary_.waivers_out_of_date = known_.out_of_date(whole);
    try {
      if (!summary_.write_failed) folder.sync();
      circumstances_.end = utc_now();
      if (!summary_.interrupted && !summary_.write_failed)
        folder.write_run_json(run_json(options_, circumstances_));
    } catch (const Error& error) {
      write_failed(error);
    }
    return summary_;
  }

 private:
  using Key = std::pair<std::string, std::string>;  // id, mode

  // Cases that run at once.
  std::size_t slots() const { return std::min(static_cast<std::size_t>(jobs_of(options_)), plan_.size()); }

  void greet(CaseRunner& runner) {
    try {
      circumstances_.backend = runner.worker().hello();
      circumstances_.contract = contract_for(options_, circumstances_.backend);
    } catch (const BackendMissing& missing) {
      missing_ = missing;
      circumstances_.backend_missing = missing.message;
      if (!options_.contract_file.empty()) circumstances_.contract = contract_for(options_, {});
    }
    circumstances_.loosened = looser_than_floor(
        circumstances_.contract, read_file(find_data("abi/contract_floor.json")), &options_.options);
    runner.set_contract(circumstances_.contract);
    if (!options_.waivers_file.empty()) {
      known_ =
          KnownFailures(read_waivers(options_.waivers_file), circumstances_.backend.version, today_utc());
    }
  }

  void resume() {
    if (!options_.resume) return;
    const std::string text = folder_->read_run_json();
    if (text.empty() && folder_->previous().empty()) return;  // killed before it began
    const std::string path = folder_->path() + "/run.json";
    if (text.empty()) throw Error(ErrorCode::invalid_argument, "--resume: " + path + " is missing");
    check_resumable(text, path, options_, circumstances_.contract);
    circumstances_.start = start_of(text);
    std::set<Key> planned;
    for (const PlannedCase& entry : plan_) planned.emplace(entry.c->id, entry.mode);
    for (const Record& record : folder_->previous()) {
      const Key key{record.id, record.mode};
      if (planned.count(key) == 0) {
        throw Error(
            ErrorCode::invalid_argument,
            fmt::format("--resume: {}/results.jsonl holds the case {} ({}), which this run does not have",
                        folder_->path(), record.id, record.mode));
      }
      if (record.backend != options_.backend || record.seed != options_.seed) {
        throw Error(
            ErrorCode::malformed_file,
            fmt::format("{}/results.jsonl: the record of {} ({}) is of another run: backend {}, seed {}",
                        folder_->path(), record.id, record.mode, record.backend, record.seed));
      }
      if (!done_.emplace(key, record).second) {
        throw Error(ErrorCode::malformed_file, fmt::format("{}/results.jsonl: two records of {} ({})",
                                                           folder_->path(), record.id, record.mode));
      }
      count(record);
      known_.count(record);
    }
  }

  // Cases that have no record yet: first those that stand for themselves, then those with an equal one.
  void run_missing(bool duplicates, CaseRunner& first) {
    std::vector<const PlannedCase*> work;
    for (const PlannedCase& entry : plan_) {
      if (entry.same_as.empty() == duplicates || done_.count({entry.c->id, entry.mode}) != 0) continue;
      work.push_back(&entry);
    }
    if (duplicates) {
      for (const PlannedCase* entry : work) {
        if (halted()) return;
        copy_duplicate(*entry);
      }
      return;
    }
    if (missing_) {
      for (const PlannedCase* entry : work) {
        if (halted()) return;
        Record record = blank_record(options_, *entry);
        record.status = Status::skip_environment;
        record.reason = missing_->reason;
        record.detail = missing_->message;
        finish({std::move(record), {}, {}, {}});
      }
      return;
    }
    std::atomic<std::size_t> next{0};
    const auto slot = [&](CaseRunner& runner) {
      while (!halted()) {
        const std::size_t i = next.fetch_add(1);
        if (i >= work.size()) return;
        auto outcome = runner.run(*work[i]);
        if (!outcome) return;  // stopped
        finish(std::move(*outcome));
      }
    };
    std::vector<std::thread> threads;
    for (std::size_t j = 1; j < std::min(slots(), work.size()); ++j) {
      threads.emplace_back([&] {
        CaseRunner runner(options_, spec_, circumstances_.contract, static_cast<int>(slots()));
        slot(runner);
      });
    }
    slot(first);
    for (std::thread& thread : threads) thread.join();
  }

  void copy_duplicate(const PlannedCase& entry) {
    const auto original = done_.find({entry.same_as, entry.mode});
    if (original == done_.end()) return;  // stopped before it was reached
    Record record = original->second;
    const Record blank = blank_record(options_, entry);
    record.id = blank.id;
    record.suite = blank.suite;
    record.weight = blank.weight;
    record.same_as = blank.same_as;
    record.repro = blank.repro;
    record.wall_s = 0;
    record.judge_s.reset();
    finish({std::move(record), {}, {}, {}});
  }

  void finish(CaseOutcome outcome) {
    Record& record = outcome.record;
    {
      const std::lock_guard lock(mutex_);
      known_.apply(record);
    }
    try {
      if (is_failure(record.status)) save(outcome);
      folder_->append(record, outcome.nodes);
    } catch (const Error& error) {
      return write_failed(error);
    }
    const std::lock_guard lock(mutex_);
    done_.emplace(Key{record.id, record.mode}, record);
    count(record);
    report(&record);
  }

  void save(const CaseOutcome& outcome) {
    const auto bytes = [](const TensorFile& file) {
      uint64_t sum = 0;
      for (const auto& [name, tensor] : file.tensors) sum += tensor.bytes();
      return sum;
    };
    const auto mib = [](int64_t n) { return static_cast<uint64_t>(n) << 20; };
    const std::string& id = outcome.record.id;
    if (bytes(outcome.inputs) + bytes(outcome.outputs) > mib(options_.failure_mib)) return;
    const uint64_t limit = mib(options_.failures_mib);
    if (!outcome.inputs.tensors.empty()) folder_->save_tensors(id, "inputs", outcome.inputs, limit);
    if (!outcome.outputs.tensors.empty()) {
      folder_->save_tensors(id, "outputs." + outcome.record.mode, outcome.outputs, limit);
    }
  }

  void count(const Record& record) {
    ++(is_pass(record.status)   ? summary_.passed
       : is_skip(record.status) ? summary_.skipped
                                : summary_.failed);
    summary_.infrastructure_error |= record.status == Status::infrastructure_error;
  }

  void report(const Record* record) {
    if (!progress_) return;
    Progress progress;
    progress.done = summary_.passed + summary_.failed + summary_.skipped;
    progress.total = static_cast<int64_t>(plan_.size());
    progress.passed = summary_.passed;
    progress.failed = summary_.failed;
    progress.skipped = summary_.skipped;
    progress.last = record;
    progress_(progress);
  }

  void write_failed(const Error& error) {
    const std::lock_guard lock(mutex_);
    if (!summary_.write_failed) summary_.write_error = error.what();
    summary_.write_failed = true;
    halt_ = true;
  }

  bool halted() const { return halt_ || stop_requested(); }

  const RunOptions& options_;
  const BackendSpec spec_;
  const std::vector<PlannedCase> plan_;
  const ProgressCallback& progress_;
  std::optional<BackendMissing> missing_;
  RunCircumstances circumstances_;
  KnownFailures known_;  // under mutex_ while threads run
  RunFolder* folder_ = nullptr;
  std::map<Key, Record> done_;
  std::mutex mutex_;
  std::atomic<bool> halt_{false};
  RunSummary summary_;
};

}  // namespace

std::string RunSummary::last_line() const {
  return fmt::format("{} passed, {} failed, {} skipped", passed, failed, skipped + not_exported);
}

int RunSummary::exit_status() const {
  if (infrastructure_error || write_failed || interrupted) return 4;
  if (failed > 0 || !waivers_out_of_date.empty()) return 1;
  return passed == 0 ? 3 : 0;
}

RunSummary run_cases(const RunOptions& options, std::vector<Case> cases, const ProgressCallback& progress) {
  return Run(options, std::move(cases), progress).run();
}

}  // namespace assay
