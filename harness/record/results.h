// A run's folder: lock, run.json, results.jsonl, nodes.jsonl, failures/ (docs/records.md).
#pragma once

#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/io/safetensors.h"
#include "harness/record/record.h"

namespace assay {

// Records of a results.jsonl, in order. A last line without a newline is what a killed writer left: it is
// dropped, and `complete_bytes` says where it begins. Throws Error{malformed_file} naming file, line and
// field for a bad line, Error{io} if the file cannot be read. A missing file has no records.
std::vector<Record> read_results(const std::string& path, uint64_t* complete_bytes = nullptr);
std::vector<NodeRecord> read_nodes(const std::string& path);

class RunFolder {
 public:
  // Creates the folder (parents too) and locks it. Throws Error: cannot be created, in use, or `resume` is
  // false and it holds results already.
  RunFolder(const std::string& path, bool resume);
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  const std::string& path() const { return path_; }
  const std::vector<Record>& previous() const { return previous_; }  // of the run that is resumed

  std::string read_run_json() const;             // "" if there is none
  void write_run_json(const std::string& text);  // atomic
  // Details of nodes first, then the record: a record never lacks its nodes. Each line is written by one call
  // and reaches the kernel before this returns; what does not fit is taken back, so that the file ends with a
  // whole line. Throws Error{io}. Thread safe.
  void append(const Record& record, const std::vector<NodeRecord>& nodes);
  // failures/ID/NAME.safetensors, unless the files of this run together would pass `limit` bytes. Errors are
  // not reported: these files are a help, not a result.
  void save_tensors(const std::string& id, const std::string& name, const TensorFile& file, uint64_t limit);
  void sync();  // fsync; throws Error{io}

 private:
  std::string path_;
  int lock_ = -1, results_ = -1, nodes_ = -1;
  uint64_t results_size_ = 0, nodes_size_ = 0;
  uint64_t saved_bytes_ = 0;
  std::vector<Record> previous_;
  std::mutex mutex_;
};

// A case id as a relative path that stays inside its folder: no "..", no absolute path, no control
// characters.
std::string safe_path(const std::string& id);

}  // namespace assay
