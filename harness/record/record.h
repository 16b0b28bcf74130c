// A Record: one line of results.jsonl. Fields and enums are those of INTERFACE §3; abi/record.schema.json
// holds the JSON schema and a test holds every record that is written against it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

enum class Status {
  pass,
  pass_with_fallback,
  wrong,
  nan_mismatch,
  meta_mismatch,
  nondeterministic,
  unmodelled,
  unsupported,
  compile_error,
  compile_timeout,
  run_timeout,
  crash,
  out_of_memory,
  rejected_bad_input,
  accepted_bad_input,
  skip_eligibility,
  skip_policy,
  skip_environment,
  vacuous,
  unexpected_pass,
  waived,
  malformed_file,
  infrastructure_error,
};
std::string_view name_of(Status status);
std::optional<Status> parse_status(std::string_view text);
bool is_pass(Status status);  // pass, pass_with_fallback, waived, rejected_bad_input
bool is_skip(Status status);  // skip_*
inline bool is_failure(Status status) { return !is_pass(status) && !is_skip(status); }

// `reason`: a closed enum, documented in docs/records.md (harness/record/reasons.cpp lists them); "" when
// none.
bool is_reason(std::string_view reason);
const std::vector<std::pair<std::string, std::string>>& all_reasons();  // name, meaning

enum class GateStatus { pass, fail, undetermined, not_applicable };
struct Gate {
  GateStatus status = GateStatus::not_applicable;
  std::optional<double> value;  // may be non-finite: written as "nan", "inf", "-inf"
  std::optional<double> limit;
};

struct Worst {
  std::string output;
  std::vector<int64_t> index;
  double got = 0, want = 0, bound = 0;
  std::optional<double> ulp;
};

struct BadNode {
  std::string name, op, source;
  std::optional<double> margin;
};

struct Fallback {
  std::string op, reason;
  int64_t count = 0, bytes = 0;
  double seconds = 0;
};

struct Residency {
  double nodes = 1, flops = 1, bytes = 1;  // shares in [0, 1]
  int64_t metadata = 0, host_scalar = 0;   // counts, outside the shares
};

struct Phases {  // seconds; nullopt where it did not happen
  std::optional<double> prepare_s, compile_cold_s, compile_disk_warm_s, compile_memory_warm_s, first_run_s;
  std::vector<double> steady_s;
};

struct Compiles {
  int64_t count = 0, hits_memory = 0, hits_disk = 0;
  std::vector<std::string> misses;  // reasons
};

struct DeviceCounters {
  int64_t cycles = 0, instructions = 0, peak_bytes = 0;
  double seconds = 0;
};

// Payload bytes that the ranks of a distributed case sent to and received from others.
struct RankTraffic {
  std::string algorithm;
  std::vector<int64_t> sent, received;  // by rank
  int64_t formula = 0;                  // what each of the two must add up to
};

struct Record {
  int schema = 1;
  std::string id, suite, backend, mode;
  uint64_t seed = 0;
  Status status = Status::infrastructure_error;
  std::string reason, detail;
  std::optional<double> margin;       // infinity is written as "inf"
  std::map<std::string, Gate> gates;  // always bound, rms, bias, probe, end_to_end
  std::optional<Worst> worst;
  std::optional<BadNode> first_bad_node;
  std::string witness;
  std::vector<Fallback> fallbacks;
  std::optional<Residency> residency;
  Phases phases;
  Compiles compiles;
  std::optional<DeviceCounters> device;
  std::optional<RankTraffic> traffic;  // written only if there is one
  int64_t weight = 1;
  std::string same_as;  // "" if none
  double wall_s = 0;
  std::optional<double> judge_s;  // of wall_s, spent by the judge; written only if it was asked
  std::string repro;
};

Record make_record();                            // with all five gates present and not applicable
std::string to_json_line(const Record& record);  // without newline; invalid UTF-8 is replaced
// Throws Error{malformed_file} naming origin ("results.jsonl:12") and field. Unknown members are ignored.
Record record_from_json(std::string_view line, const std::string& origin);

// Per-node detail, one line of nodes.jsonl.
struct NodeRecord {
  std::string case_id, backend, mode, name, op, source, module_path, dtype;
  std::vector<int64_t> shape;
  std::string status;  // judged: pass, wrong, ...; "fallback", "metadata", "host_scalar"
  std::optional<double> margin;
  std::optional<Worst> worst;
  std::string fallback_reason;
};
std::string to_json_line(const NodeRecord& record);
NodeRecord node_record_from_json(std::string_view line, const std::string& origin);

}  // namespace assay
