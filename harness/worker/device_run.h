// One case on one device: what eager and compile mode have in common.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/case/run_result.h"
#include "harness/ledger/ledger.h"
#include "harness/mutant/mutant.h"
#include "harness/worker/host_scalars.h"
#include "harness/worker/plugin.h"

namespace assay {

// What outputs hold before a node or a graph writes them: NaN in every float format, -1 in integers, no value
// of a bool.
inline constexpr uint8_t kPoison = 0xff;

// Runs while started; poisoning and reading back for the judge happen while it is stopped.
class Stopwatch {
 public:
  void start() { since_ = Clock::now(); }
  void stop() { seconds_ += std::chrono::duration<double>(Clock::now() - since_).count(); }
  double seconds() const { return seconds_; }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point since_;
  double seconds_ = 0;
};

// Ends a run with a status that is no error of the device.
struct RunFailure {
  Status status;
  std::string reason, detail;
};

class DeviceRun {
 public:
  using Progress = std::function<void(const char* phase, int node)>;

  // `request` must outlive the run. Throws Error if names and tensors do not fit the graph.
  DeviceRun(Device& device, Graph graph, const RunRequest& request, Progress progress);
  virtual ~DeviceRun() = default;

  // Everything that the request asks for. Errors of the device become RunResult::failure; nothing but
  // Error{internal} and std::bad_alloc is thrown.
  RunResult run();

  // For benchmarks: load() once (throws PluginError, RunFailure, Error), then passes.
  void load();
  struct Pass {
    double seconds = 0;
    double aside_s = 0;  // simulated, while the pass was paused
    Ledger ledger;
  };
  Pass pass(bool first);
  // A pass that notes what the host does in it.
  std::vector<HostSpan> watched_pass();
  Phases phases() const { return result_.phases; }
  Compiles compiles() const { return result_.compiles; }

 protected:
  enum class Kind { host_scalar, assertion, tensor };
  struct PlannedNode {
    Kind kind = Kind::tensor;
    bool metadata = false;
    bool dynamic = false;                // depends on data (item, nonzero): planned while it runs
    std::shared_ptr<NodeHandle> handle;  // null for host scalars, assertions and dynamic nodes
    NodeSupport support;
    NodeCost cost;  // of tensor nodes that are not dynamic
  };
  // A value on the device, on the host, or both.
  struct Slot {
    BufferPtr device;
    Tensor host;
    std::string fallback_op, fallback_reason;  // who made it on the host: pays for its way to the device
  };

  // Compiles what can be compiled before the first pass. Called by load() after the nodes were planned.
  virtual void prepare_pass() {}
  // Executes all nodes in order. `slots_` holds the graph's inputs.
  virtual void execute_pass(bool first) = 0;
  // Fills RunResult beyond outputs and ledger.
  virtual void finish(RunResult& result) = 0;

  // Blocks shared by the modes. All of them name the node in what they throw.
  std::shared_ptr<NodeHandle> make_handle(int i, const HostScalars& scalars);
  void host_scalar(int i, HostScalars& scalars);
  void run_on_device(int i, const NodeHandle& handle);
  void run_on_host(int i, const Node& node, const NodeSupport& support);
  // What the buffers of a node's outputs hold before it runs; empty unless the request's mutant reads it.
  std::vector<Tensor> contents_before(const std::vector<BufferPtr>& outputs) const;
  // Plants the request's mutant, if any and if it applies, in what the node left on the device. Not timed.
  void plant(const NodeHandle& handle, const std::vector<BufferPtr>& inputs,
             const std::vector<BufferPtr>& outputs, const std::vector<Tensor>& before);
  // Around what the harness does for itself in a pass: neither measured nor simulated time counts it.
  void pause();
  void go_on();
  BufferPtr on_device(ValueId id);
  const Tensor& on_host(ValueId id);
  std::vector<BufferPtr> create_outputs(const std::vector<TensorMeta>& metas,
                                        const std::vector<ValueId>& ids);
  int rank(ValueId id) const { return device_.rank_for(value(id).name); }
  void set_meta(ValueId id, const TensorMeta& meta);  // of a value whose shape depends on data
  void release_after(int i);
  NodeCost cost_of(const Node& node) const;  // zero where it cannot be told
  // Operators that the device does not run, each once, with its message; "" if there are none.
  std::string unsupported_operators() const;
  bool is_free_node(int i) const;
  Slot& slot(ValueId id) { return slots_.at(static_cast<std::size_t>(id)); }
  const Value& value(ValueId id) const { return graph_.values.at(static_cast<std::size_t>(id)); }

  Device& device_;
  Graph graph_;
  const RunRequest& request_;
  Progress progress_;
  std::vector<PlannedNode> plan_;
  std::vector<std::pair<ValueId, Tensor>> inputs_;  // tensors of the graph's inputs
  HostScalars scalars_;
  std::vector<Slot> slots_;
  Ledger ledger_;        // of the pass that runs
  Stopwatch stopwatch_;  // of the pass that runs
  int64_t asked_ = 0;    // nodes that the device was asked to execute in this pass
  std::vector<NodeOutcome> outcomes_;
  RunResult result_;
  int current_ = -1;  // node being run
  BufferPtr guard_;   // of the local pass: a buffer that nobody is given, which must stay as it is

 private:
  void plan();
  double simulated_seconds();  // of the device so far; 0 if it is none that is simulated
  void upload_inputs();
  void compare_inputs();
  std::vector<Tensor> read_outputs();
  void fail(Status status, const std::string& reason, const std::string& detail);

  void note_host(const std::string& name, const std::string& op, const std::string& reason, double seconds,
                 int64_t bytes);

  std::vector<HostSpan>* host_spans_ = nullptr;  // of a watched pass
  double watched_from_s_ = 0;
  double paused_at_s_ = 0, aside_s_ = 0;  // simulated, of the pass that runs
  std::vector<int> last_use_;             // by value; the node count for values that stay
  std::vector<Shape> declared_shapes_;    // by value, -1 where it depends on data
  bool uninitialised_ = false;            // the graph holds aten::empty: its bits are nobody's
  const Mutant* mutant_ = nullptr;        // the request's; nullptr for none
  int64_t executions_ = 0;                // of nodes in which it is planted
};

// The harness's answer to an error of a backend.
void set_failure(const PluginError& error, bool negative, RunResult& result);

std::unique_ptr<DeviceRun> make_run(Device& device, Graph graph, const RunRequest& request,
                                    DeviceRun::Progress progress);

}  // namespace assay
