#include "backend/compiler/graph_compiler.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "backend/compiler/compile_error.h"
#include "backend/compiler/core_split.h"
#include "backend/compiler/eager.h"
#include "backend/compiler/graph_key.h"
#include "backend/compiler/legalise.h"
#include "backend/compiler/linker.h"
#include "backend/compiler/patterns.h"
#include "backend/compiler/regions.h"
#include "backend/compiler/storage.h"
#include "core/error.h"
#include "core/opset/classify.h"
#include "core/philox.h"

namespace assay::backend {
namespace {

[[noreturn]] void fail(CompileErrorClass error_class, const std::string& message,
                       const Node* node = nullptr) {
  throw CompileFailure({{error_class, node ? node->name : "", node ? node->op : "",
                         node ? node->source.location : "", message}});
}

std::vector<TensorMeta> metas_of(const Graph& graph, const std::vector<ValueId>& ids, const char* what) {
  std::vector<TensorMeta> out;
  for (const ValueId id : ids) {
    const Value& value = graph.values[static_cast<std::size_t>(id)];
    const bool sized = std::all_of(value.shape.begin(), value.shape.end(), [](int64_t s) { return s >= 0; });
    if (value.kind != ValueKind::tensor || !sized) {
      fail(CompileErrorClass::dynamic_shape,
           std::string(what) + " '" + value.name +
               "' has no fixed size; every size must be a number before the graph is compiled");
    }
    out.push_back({value.dtype, value.shape});
  }
  return out;
}

std::vector<ValueId> input_values(const Graph& graph) {
  std::vector<ValueId> out;
  for (const GraphInput& input : graph.inputs) {
    if (input.value >= 0) out.push_back(input.value);
  }
  return out;
}

std::vector<ValueId> output_values(const Graph& graph) {
  std::vector<ValueId> out;
  for (const GraphOutput& output : graph.outputs) {
    if (output.value >= 0) out.push_back(output.value);
  }
  return out;
}

int64_t bytes_of_meta(const TensorMeta& meta) {
  return element_count(meta.shape) * static_cast<int64_t>(size_of(meta.dtype));
}

// A call's kernel, written once; equal calls share the piece.
class Pieces {
 public:
  Pieces(const CoreDescription& core, const CompileOptions& options) : core_(core), options_(options) {}

  const Program& of(const LegalNode& node, const std::string& name, uint64_t turned = 0) {
    if (is_random_op(node.call.op())) {  // a stream of its own
      CompileOptions options = options_;
      options.draw_key = fnv1a64(name);
      unique_.push_back(write(node, options));
      return unique_.back();
    }
    std::string key = signature(node.call) + (turned == 0 ? "" : " turned " + std::to_string(turned));
    const auto known = pieces_.find(key);
    if (known != pieces_.end()) return known->second;
    return pieces_.emplace(std::move(key), write(node, options_, turned)).first->second;
  }
  const Program& of(const RegionPlan& plan, const Aliases& aliases, const std::vector<LegalNode>& nodes) {
    std::string key = region_key(plan, aliases, nodes, signature);
    const auto known = pieces_.find(key);
    if (known != pieces_.end()) return known->second;
    Program piece = for_cores(options_, [&](const CompileOptions& options) {
      return write_region(plan, aliases, nodes, core_, options);
    });
    return pieces_.emplace(std::move(key), std::move(piece)).first->second;
  }
  std::size_t size() const { return pieces_.size() + unique_.size(); }

 private:
  // The call alone as a graph: the text that its key would have.
  static std::string signature(const OpCall& call) {
    Graph graph;
    Node node;
    node.op = call.op();
    node.arguments = call.arguments();
    const auto add = [&](const TensorMeta& meta) {
      Value value;
      value.dtype = meta.dtype;
      value.shape = meta.shape;
      graph.values.push_back(std::move(value));
      return static_cast<ValueId>(graph.values.size()) - 1;
    };
    for (const TensorMeta& meta : call.inputs()) {
      GraphInput input;
      input.value = add(meta);
      graph.inputs.push_back(std::move(input));
    }
    for (const TensorMeta& meta : call.outputs()) node.outputs.push_back(add(meta));
    graph.nodes.push_back(std::move(node));
    return graph_key(graph, Generation::trn2, {}, "").whole();
  }

  Program write(const LegalNode& node, const CompileOptions& options, uint64_t turned = 0) const {
    return for_cores(options, [&](const CompileOptions& o) {
      ProgramBuilder builder(core_);
      write_call(node.call, *node.kernel, builder, o, turned);
      return builder.program();
    });
  }
  template <typename Write>
  Program for_cores(const CompileOptions& options, const Write& write) const {
    return options.lnc == 1 ? write(options) : fastest_on_two_cores(options, core_, write);
  }

  const CoreDescription& core_;
  const CompileOptions& options_;
  std::map<std::string, Program> pieces_;
  std::deque<Program> unique_;
};

class GraphCompiler {
 public:
  GraphCompiler(const Graph& graph, const CoreDescription& core, const CompileOptions& options,
                int64_t hbm_bytes)
      : graph_(graph),
        hbm_bytes_(hbm_bytes),
        aliases_(graph, options.fuse && core.dma_transpose_efficiency > 0),
        core_(core),
        fuse_(options.fuse),
        pieces_(core, options),
        linker_(core, options.lnc, options.fuse),
        tensor_(graph.values.size(), -1),
        in_pool_(graph.values.size(), false),
        region_of_(graph.nodes.size(), nullptr) {}

  CompiledGraph compile() {
    bind();
    const std::vector<LegalNode> nodes = legalise(graph_);
    out_.statistics.nodes = static_cast<int64_t>(nodes.size());
    if (fuse_) plan(nodes);
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      if (region_of_[n] == nullptr) {
        add(static_cast<int>(n), nodes[n]);
      } else if (region_of_[n]->plan.nodes.back() == static_cast<int>(n)) {
        add(*region_of_[n], nodes);
      }
    }
    copy_outputs();
    finish();
    return std::move(out_);
  }

 private:
  ValueId base_of(ValueId id) const { return aliases_.base[static_cast<std::size_t>(id)]; }
  int32_t& tensor_of(ValueId base) { return tensor_[static_cast<std::size_t>(base)]; }

  // Graph inputs and outputs. The first output among values that share bytes is where they live, so that most
  // outputs are written in place.
  void bind() {
    const std::vector<ValueId> inputs = input_values(graph_), outputs = output_values(graph_);
    out_.inputs = input_metas(graph_);
    out_.outputs = output_metas(graph_);
    int64_t bytes = 0;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const TensorMeta& meta = out_.inputs[k];
      tensor_of(inputs[k]) =
          linker_.input("input" + std::to_string(k), meta.dtype, element_count(meta.shape));
      bytes += bytes_of_meta(meta);
    }
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const TensorMeta& meta = out_.outputs[k];
      const int32_t tensor =
          linker_.output("output" + std::to_string(k), meta.dtype, element_count(meta.shape));
      bytes += bytes_of_meta(meta);
      const ValueId base = base_of(outputs[k]);
      if (tensor_of(base) < 0) {
        tensor_of(base) = tensor;
      } else {
        copies_.push_back({base, tensor, meta});
        // Kept to the end, when it is copied.
        aliases_.last_use[static_cast<std::size_t>(base)] = static_cast<int>(graph_.nodes.size());
      }
    }
    bound_bytes_ = bytes;
  }

  struct PlannedRegion {
    RegionPlan plan;
    const Program* piece;
  };

  // Regions whose kernels can be written; what does not fit is compiled node by node.
  void plan(const std::vector<LegalNode>& nodes) {
    for (RegionPlan& plan : plan_regions(graph_, aliases_, nodes, core_)) {
      const Program* piece = nullptr;
      try {
        piece = &pieces_.of(plan, aliases_, nodes);
      } catch (const Unsupported&) {
        continue;
      } catch (const ProgramError&) {
        continue;
      }
      const int last = plan.nodes.back();
      for (const ValueId id : plan.inputs) {
        int& use = aliases_.last_use[static_cast<std::size_t>(id)];
        use = std::max(use, last);
      }
      regions_.push_back({std::move(plan), piece});
      for (const int n : regions_.back().plan.nodes)
        region_of_[static_cast<std::size_t>(n)] = &regions_.back();
    }
  }

  void add(const PlannedRegion& region, const std::vector<LegalNode>& nodes) {
    const RegionPlan& plan = region.plan;
    std::map<ValueId, int64_t> bytes;
    for (const int n : plan.nodes) {
      const LegalNode& legal = nodes[static_cast<std::size_t>(n)];
      for (std::size_t k = 0; k < legal.outputs.size(); ++k)
        bytes[base_of(legal.outputs[k])] = bytes_of_meta(legal.call.outputs()[k]);
    }
    std::vector<int32_t> inputs, outputs;
    for (const ValueId id : plan.inputs) inputs.push_back(tensor_of(id));
    for (const ValueId id : plan.outputs) outputs.push_back(place(id, bytes.at(id)));
    const int last = plan.nodes.back();
    append(region, inputs, outputs);
    ++out_.statistics.regions;
    out_.statistics.fused_nodes += static_cast<int64_t>(plan.nodes.size());
    for (const ValueId id : plan.inputs) release(id, last);
    for (const ValueId id : plan.outputs) release(id, last);
  }

  int32_t place(ValueId base, int64_t bytes) {
    int32_t& tensor = tensor_of(base);
    if (tensor < 0) {
      tensor = linker_.take(bytes);
      in_pool_[static_cast<std::size_t>(base)] = true;
    }
    return tensor;
  }

  void add(int n, const LegalNode& legal) {
    const Node& node = graph_.nodes[static_cast<std::size_t>(n)];
    if (aliases_.no_copy[static_cast<std::size_t>(n)]) {
      ++out_.statistics.reinterpretations;
    } else {
      std::vector<int32_t> inputs, outputs;
      for (const ValueId id : legal.inputs) inputs.push_back(tensor_of(base_of(id)));
      for (std::size_t k = 0; k < legal.outputs.size(); ++k) {
        outputs.push_back(place(legal.outputs[k], bytes_of_meta(legal.call.outputs()[k])));
      }
      append(legal, node, inputs, outputs);
    }
    for (const ValueId id : legal.inputs) release(base_of(id), n);
    for (const ValueId id : legal.outputs) release(base_of(id), n);
  }

  void release(ValueId base, int n) {
    if (!in_pool_[static_cast<std::size_t>(base)] || aliases_.last_use[static_cast<std::size_t>(base)] > n)
      return;
    linker_.give_back(tensor_of(base));
    in_pool_[static_cast<std::size_t>(base)] = false;
  }

  void append(const LegalNode& legal, const Node& node, const std::vector<int32_t>& inputs,
              const std::vector<int32_t>& outputs) {
    try {
      link(pieces_.of(legal, node.name, aliases_.turned_inputs(legal.inputs)), {&node}, inputs, outputs);
    } catch (const Unsupported& error) {
      faults_.push_back({class_of(error.reason()), node.name, node.op, node.source.location, error.what()});
    } catch (const ProgramError& error) {
      fault(node, error);
    }
  }

  void append(const PlannedRegion& region, const std::vector<int32_t>& inputs,
              const std::vector<int32_t>& outputs) {
    std::vector<const Node*> members;
    for (const int n : region.plan.nodes) members.push_back(&graph_.nodes[static_cast<std::size_t>(n)]);
    try {
      link(*region.piece, members, inputs, outputs);
    } catch (const ProgramError& error) {
      fault(*members.back(), error);
    }
  }

  void link(const Program& piece, const std::vector<const Node*>& members, const std::vector<int32_t>& inputs,
            const std::vector<int32_t>& outputs) {
    std::vector<std::string> names;
    for (const Node* node : members) names.push_back(node->name);
    const std::size_t before = linker_.program().nodes.size();
    linker_.append(piece, inputs, outputs, names);
    if (linker_.program().nodes.size() == before) return;  // no instructions
    for (const Node* node : members) out_.sources.push_back(node->source.location);
  }

  void fault(const Node& node, const ProgramError& error) {
    // Later nodes would only repeat that the Program is full.
    if (error.error_class() == ProgramErrorClass::instruction_limit && faults_.empty()) {
      fail(CompileErrorClass::instruction_limit, error.what(), &node);
    }
    faults_.push_back(
        {class_of(error.error_class()), node.name, node.op, node.source.location, error.what()});
  }

  void copy_outputs() {
    for (const Copy& copy : copies_) {
      Node node;
      node.name = "copy_of_output";
      node.op = "aten::clone.default";
      node.arguments = {{"self", ValueArg{0}}};
      LegalNode legal{OpCall(node.op, {copy.meta}, node.arguments, {copy.meta}), nullptr, {}, {}};
      try {
        legal.kernel = &check_call(legal.call);
      } catch (const Unsupported& error) {
        faults_.push_back({class_of(error.reason()), node.name, node.op, "", error.what()});
        continue;
      }
      append(legal, node, {tensor_of(copy.base)}, {copy.tensor});
      ++out_.statistics.copies;
    }
  }

  void finish() {
    if (!faults_.empty()) throw CompileFailure(std::move(faults_));
    CompileStatistics& s = out_.statistics;
    s.pieces = static_cast<int64_t>(pieces_.size());
    s.kept_loads = linker_.residency().dropped_loads();
    s.kept_stores = linker_.residency().dropped_stores();
    s.scratch_bytes = linker_.pool().held_bytes();
    s.scratch_bytes_without_reuse = linker_.pool().requested_bytes();
    const int64_t total = bound_bytes_ + linker_.program().scratch_bytes();
    if (total > hbm_bytes_) {
      fail(CompileErrorClass::hbm_overflow,
           "inputs and outputs (" + std::to_string(bound_bytes_) + " bytes) and intermediates (" +
               std::to_string(linker_.program().scratch_bytes()) + " bytes) do not fit into the " +
               std::to_string(hbm_bytes_) + " bytes of HBM of one core [" +
               std::string(code_of(ProgramErrorClass::hbm_out_of_memory)) + "]");
    }
    try {
      out_.program = linker_.finish();
    } catch (const ProgramError& error) {
      fail(class_of(error.error_class()), error.what());
    }
  }

  struct Copy {
    ValueId base;
    int32_t tensor;
    TensorMeta meta;
  };
  const Graph& graph_;
  int64_t hbm_bytes_, bound_bytes_ = 0;
  Aliases aliases_;
  const CoreDescription& core_;
  bool fuse_;
  Pieces pieces_;
  Linker linker_;
  std::vector<int32_t> tensor_;  // by base; -1: nowhere yet
  std::vector<bool> in_pool_;    // by base
  std::deque<PlannedRegion> regions_;
  std::vector<const PlannedRegion*> region_of_;  // by node; null: alone
  std::vector<Copy> copies_;
  std::vector<CompileError> faults_;
  CompiledGraph out_;
};

}  // namespace

std::vector<TensorMeta> input_metas(const Graph& graph) {
  return metas_of(graph, input_values(graph), "the input");
}

std::vector<TensorMeta> output_metas(const Graph& graph) {
  return metas_of(graph, output_values(graph), "the output");
}

CompiledGraph compile_graph(const Graph& graph, const CoreDescription& core, const CompileOptions& options,
                            int64_t hbm_bytes) {
  if (!options.fuse || custom_kernels().fused().empty())
    return GraphCompiler(graph, core, options, hbm_bytes).compile();
  const Graph rewritten = with_custom_kernels(graph, custom_kernels(), core);
  CompiledGraph out = GraphCompiler(rewritten, core, options, hbm_bytes).compile();
  out.statistics.nodes = static_cast<int64_t>(graph.nodes.size());  // that it stands for
  return out;
}

std::string CompiledGraph::diagnostics() const {
  const CompileStatistics& s = statistics;
  std::string out = std::to_string(s.nodes) + " nodes: " + std::to_string(s.pieces) + " kernels written, " +
                    std::to_string(s.reinterpretations) + " nodes without instructions, " +
                    std::to_string(s.copies) + " copies of outputs\n";
  out += std::to_string(s.fused_nodes) + " nodes in " + std::to_string(s.regions) + " fused regions; " +
         std::to_string(s.kept_loads) + " loads and " + std::to_string(s.kept_stores) +
         " stores saved by tiles that stay in SBUF\n";
  out += std::to_string(program.instructions.size()) + " instructions, " +
         std::to_string(program.semaphores) + " semaphores, " + std::to_string(program.peak_sbuf_bytes) +
         " bytes of SBUF a partition, " + std::to_string(program.peak_psum_banks) + " PSUM banks\n";
  out += std::to_string(s.scratch_bytes) + " bytes of HBM for intermediates (" +
         std::to_string(s.scratch_bytes_without_reuse) + " without reuse), " +
         std::to_string(program.constant_bytes.size()) + " for constants";
  return out;
}

}  // namespace assay::backend
