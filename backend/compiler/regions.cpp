#include "backend/compiler/regions.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "backend/kernels/custom.h"
#include "backend/kernels/region.h"
#include "backend/kernels/rows.h"

namespace assay::backend {
namespace {

enum class Role { elementwise, softmax, layer_norm, reduction, product };

struct Form {
  Role role = Role::elementwise;
  int64_t rows = 0, unit = 0;
  std::vector<int64_t> columns;  // of each result
  int row_operand = -1;          // whose rows are the result's; elementwise: every operand
  int64_t matrix = 0;            // product: elements of the right operand's matrix
  bool batched = false;
};

// Columns of a result that a block of rows may have, and bytes a partition of all results of a region.
constexpr int64_t kMaxColumns = 2048;
constexpr int64_t kMaxHeldBytes = 40 << 10;
constexpr std::size_t kMaxFollowers = 10;
// Blocks under way at the same time.
constexpr int64_t kMaxTurns = 8;
// Elements of a matrix that may be loaded again for each 128 rows of a longer product.
constexpr int64_t kSmallMatrix = 64 << 10;

struct Known {
  Role role;
  const char* row_operand;  // argument
};

const Known* known(std::string_view op) {
  static const std::map<std::string, Known, std::less<>> all = [] {
    std::map<std::string, Known, std::less<>> out{
        {"aten::_softmax.default", {Role::softmax, "self"}},
        {"aten::_log_softmax.default", {Role::softmax, "self"}},
        {"aten::native_layer_norm.default", {Role::layer_norm, "input"}},
        {"aten::mean.dim", {Role::reduction, "self"}},
        {"aten::sum.dim_IntList", {Role::reduction, "self"}},
        {"aten::mm.default", {Role::product, "self"}},
        {"aten::addmm.default", {Role::product, "mat1"}},
        {"aten::bmm.default", {Role::product, "self"}},
        {"aten::baddbmm.default", {Role::product, "batch1"}},
    };
    for (const char* op :
         {"add.Tensor",        "sub.Tensor",         "mul.Tensor",         "div.Tensor",
          "add.Scalar",        "sub.Scalar",         "mul.Scalar",         "div.Scalar",
          "minimum.default",   "maximum.default",    "where.self",         "exp.default",
          "sigmoid.default",   "tanh.default",       "erf.default",        "silu.default",
          "gelu.default",      "relu.default",       "neg.default",        "abs.default",
          "sqrt.default",      "rsqrt.default",      "reciprocal.default", "log.default",
          "pow.Tensor_Scalar", "pow.Tensor_Tensor",  "clamp.default",      "clamp_min.default",
          "clamp_max.default", "leaky_relu.default", "elu.default",        "hardtanh.default",
          "_to_copy.default"}) {
      out["aten::" + std::string(op)] = {Role::elementwise, ""};
    }
    return out;
  }();
  const auto it = all.find(op);
  return it == all.end() ? nullptr : &it->second;
}

int64_t last(const Shape& shape) { return shape.empty() ? 1 : shape.back(); }

bool reduces_last_dim(const OpCall& call, int64_t rank) {
  if (call.is_none("dim")) return false;
  const std::vector<int64_t> dims = call.integers("dim");
  return dims.size() == 1 && rank > 0 && normalise_dim(dims[0], rank, call) == rank - 1;
}

// nullopt: not part of any region.
std::optional<Form> form_of(const LegalNode& node) {
  const OpCall& call = node.call;
  const Known* kind = known(call.op());
  if (kind == nullptr || call.outputs().empty() || has_custom_kernel(call.op())) return std::nullopt;
  const auto real = [](const TensorMeta& meta) { return is_float(meta.dtype); };
  if (!std::all_of(call.outputs().begin(), call.outputs().end(), real)) return std::nullopt;
  for (const TensorMeta& meta : call.inputs()) {
    if (!real(meta) && !(kind->role == Role::elementwise && meta.dtype == DType::boolean))
      return std::nullopt;
  }
  Form form;
  form.role = kind->role;
  const TensorMeta& out = call.outputs()[0];
  if (*kind->row_operand != '\0') form.row_operand = call.tensor(kind->row_operand);
  const Shape& shape = form.role == Role::elementwise || form.role == Role::product
                           ? out.shape
                           : call.input(form.row_operand).shape;
  const int64_t rank = static_cast<int64_t>(shape.size()), count = element_count(shape);
  if (rank == 0 || count == 0) return std::nullopt;
  form.rows = form.unit = count / last(shape);
  for (const TensorMeta& meta : call.outputs()) form.columns.push_back(last(meta.shape));
  switch (form.role) {
    case Role::elementwise:
      // A cast between equal dtypes is a copy, and one from bool goes from HBM to HBM: neither knows of
      // regions.
      if (call.inputs().empty() || (call.op() == "aten::_to_copy.default" &&
                                    (call.input(0).dtype == out.dtype || !real(call.input(0)))))
        return std::nullopt;
      break;
    case Role::softmax:
      if (normalise_dim(call.integer("dim"), rank, call) != rank - 1) return std::nullopt;
      break;
    case Role::layer_norm:
      if (call.integers("normalized_shape").size() != 1 || call.outputs().size() != 3) return std::nullopt;
      break;
    case Role::reduction:
      if (!reduces_last_dim(call, rank)) return std::nullopt;
      form.columns[0] = 1;
      break;
    case Role::product: {
      const int64_t depth = last(call.input(form.row_operand).shape);
      const auto not_zero = [&](const char* name) {
        return call.schema().find(name) == nullptr || call.scalar(name).as_double() != 0;
      };
      if (depth == 0 || !not_zero("alpha")) return std::nullopt;
      form.batched = rank == 3;
      if (form.batched) form.unit = shape[1];
      form.matrix = depth * last(shape);
      break;
    }
  }
  if (form.role != Role::product && last(shape) > kRowPiece) return std::nullopt;
  return form;
}

struct Open {
  RegionPlan plan;
  bool plain = true;                   // elementwise only
  std::map<ValueId, int64_t> columns;  // of each value
  int64_t held = 0;                    // bytes a partition
  bool open = true;
};

class Planner {
 public:
  Planner(const Graph& graph, const Aliases& aliases, const std::vector<LegalNode>& nodes,
          const CoreDescription& core)
      : graph_(graph),
        aliases_(aliases),
        nodes_(nodes),
        core_(core),
        owner_(graph.values.size(), -1),
        consumers_(graph.values.size()) {}

  std::vector<RegionPlan> run() {
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      if (!aliases_.no_copy[n]) visit(static_cast<int>(n));
    }
    std::vector<RegionPlan> out;
    std::vector<bool> returned(graph_.values.size(), false);
    for (const GraphOutput& output : graph_.outputs) {
      if (output.value >= 0) returned[static_cast<std::size_t>(base(output.value))] = true;
    }
    for (Open& region : regions_) {
      if (!worthwhile(region)) continue;
      bind(region, returned);
      out.push_back(std::move(region.plan));
    }
    return out;
  }

 private:
  ValueId base(ValueId id) const { return aliases_.base[static_cast<std::size_t>(id)]; }

  void visit(int n) {
    const LegalNode& node = nodes_[static_cast<std::size_t>(n)];
    const std::optional<Form> form = form_of(node);
    std::set<std::size_t, std::greater<>> read;  // regions, the latest first
    for (const ValueId id : node.inputs) {
      consumers_[static_cast<std::size_t>(base(id))].push_back(n);
      const int owner = owner_[static_cast<std::size_t>(base(id))];
      if (owner >= 0) read.insert(static_cast<std::size_t>(owner));
    }
    std::optional<std::size_t> joined;
    for (const std::size_t k : read) {
      if (!joined && form && regions_[k].open && fits(node, *form, regions_[k])) {
        joined = k;
      } else {
        regions_[k].open = false;  // somebody outside needs its results before this
      }
    }
    if (!joined) {
      if (!form || !starts(node, *form)) return;
      joined = regions_.size();
      Open& region = regions_.emplace_back();
      region.plan.rows = form->rows;
      region.plan.unit = form->unit;
      region.plan.by_tiles = visits_tiles(*form);
    }
    for (const ValueId id : node.outputs)
      owner_[static_cast<std::size_t>(base(id))] = static_cast<int>(*joined);
    add(n, node, *form, regions_[*joined]);
  }

  static bool visits_tiles(const Form& form) {
    if (form.role != Role::product) return false;
    if (form.columns[0] > kMaxColumns) return true;
    if (form.batched) return form.unit > kPartitions && form.matrix > kSmallMatrix;
    return form.rows > kPartitions;
  }

  bool starts(const LegalNode& node, const Form& form) const {
    return visits_tiles(form) || held_bytes(node, form) <= kMaxHeldBytes / 2;
  }

  static int64_t held_bytes(const LegalNode& node, const Form& form) {
    int64_t bytes = 0;
    for (std::size_t k = 0; k < form.columns.size(); ++k)
      bytes += form.columns[k] * static_cast<int64_t>(size_of(node.call.outputs()[k].dtype));
    return bytes;
  }

  bool fits(const LegalNode& node, const Form& form, const Open& region) const {
    if (form.rows != region.plan.rows) return false;
    const auto [small, large] = std::minmax(form.unit, region.plan.unit);
    if (large % small != 0) return false;
    if (form.role == Role::product && (visits_tiles(form) || !core_.exact_transpose)) return false;
    if (region.plan.by_tiles) {
      if (form.role != Role::elementwise || region.plan.nodes.size() > kMaxFollowers) return false;
      if (form.columns[0] != region.plan.columns[0][0]) return false;
    } else if (region.held + held_bytes(node, form) > kMaxHeldBytes) {
      return false;
    }
    const Shape& out = node.call.outputs()[0].shape;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const auto member = region.columns.find(base(node.inputs[k]));
      if (member == region.columns.end()) continue;
      const TensorMeta& meta = node.call.inputs()[k];
      if (aliases_.turned[static_cast<std::size_t>(node.inputs[k])]) return false;
      if (meta.shape.empty() || meta.shape.back() != member->second || !is_float(meta.dtype) ||
          element_count(meta.shape) != form.rows * member->second)
        return false;
      if (form.role != Role::elementwise) {
        if (static_cast<int>(k) != form.row_operand) return false;
        continue;
      }
      const bool leading =
          meta.shape.size() == out.size() && std::equal(out.begin(), out.end() - 1, meta.shape.begin());
      const bool along = member->second == out.back() || (member->second == 1 && !region.plan.by_tiles);
      if (!leading || !along) return false;
    }
    return true;
  }

  void add(int n, const LegalNode& node, const Form& form, Open& region) {
    region.plan.nodes.push_back(n);
    region.plan.unit = std::min(region.plan.unit, form.unit);
    region.plan.columns.push_back(form.columns);
    region.held += held_bytes(node, form);
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      region.columns[base(node.outputs[k])] = form.columns[k];
    }
    region.plain = region.plain && form.role == Role::elementwise;
  }

  // A block of rows pays its fixed costs once more for each kernel; few or short rows leave partitions idle.
  static bool worthwhile(const Open& region) {
    const RegionPlan& plan = region.plan;
    if (plan.nodes.size() < 2 || region.plain) return false;
    if (plan.by_tiles) return true;
    int64_t widest = 0;
    for (const std::vector<int64_t>& columns : plan.columns) {
      for (const int64_t c : columns) widest = std::max(widest, c);
    }
    const int64_t blocks = plan.rows / plan.unit * ((plan.unit + kPartitions - 1) / kPartitions);
    if (blocks == 1) return true;
    return std::min(plan.unit, kPartitions) >= 16 && (blocks <= 16 || widest >= 256);
  }

  // Inputs, and those results that somebody else reads.
  void bind(Open& region, const std::vector<bool>& returned) const {
    RegionPlan& plan = region.plan;
    const auto wanted = [&](ValueId id) {
      const std::vector<int>& consumers = consumers_[static_cast<std::size_t>(id)];
      return returned[static_cast<std::size_t>(id)] ||
             std::any_of(consumers.begin(), consumers.end(),
                         [&](int n) { return !std::binary_search(plan.nodes.begin(), plan.nodes.end(), n); });
    };
    for (const int n : plan.nodes) {
      const LegalNode& node = nodes_[static_cast<std::size_t>(n)];
      for (const ValueId id : node.inputs) {
        const ValueId b = base(id);
        if (!region.columns.contains(b) &&
            std::find(plan.inputs.begin(), plan.inputs.end(), b) == plan.inputs.end())
          plan.inputs.push_back(b);
      }
      for (const ValueId id : node.outputs) {
        if (wanted(base(id))) plan.outputs.push_back(base(id));
      }
    }
  }

  const Graph& graph_;
  const Aliases& aliases_;
  const std::vector<LegalNode>& nodes_;
  const CoreDescription& core_;
  std::vector<Open> regions_;
  std::vector<int> owner_;                   // region of each value, -1: none
  std::vector<std::vector<int>> consumers_;  // nodes that read each value
};

class RegionWriter {
 public:
  RegionWriter(const RegionPlan& plan, const Aliases& aliases, const std::vector<LegalNode>& nodes,
               const CoreDescription& core, const CompileOptions& options)
      : plan_(plan), aliases_(aliases), nodes_(nodes), options_(options), builder_(core) {}

  Program write() {
    name_tensors();
    for (std::size_t k = 0; k < plan_.nodes.size(); ++k) {
      const LegalNode& node = legal(k);
      KernelContext context{
          node.call, builder_, options_, {}, {}, &region_, aliases_.turned_inputs(node.inputs)};
      for (const ValueId id : node.inputs) context.inputs.push_back(number(id));
      for (const ValueId id : node.outputs) context.outputs.push_back(number(id));
      contexts_.push_back(std::move(context));
    }
    plan_.by_tiles ? write_tiles() : write_rows();
    return builder_.program();
  }

 private:
  const LegalNode& legal(std::size_t k) const { return nodes_[static_cast<std::size_t>(plan_.nodes[k])]; }
  ValueId base(ValueId id) const { return aliases_.base[static_cast<std::size_t>(id)]; }
  int32_t number(ValueId id) const { return numbers_.at(base(id)); }

  void name_tensors() {
    std::map<ValueId, TensorMeta> metas;
    for (std::size_t k = 0; k < plan_.nodes.size(); ++k) {
      const LegalNode& node = legal(k);
      for (std::size_t i = 0; i < node.inputs.size(); ++i)
        metas[base(node.inputs[i])] = node.call.inputs()[i];
      for (std::size_t i = 0; i < node.outputs.size(); ++i)
        metas[base(node.outputs[i])] = node.call.outputs()[i];
    }
    for (const ValueId id : plan_.inputs) {
      const TensorMeta& meta = metas.at(id);
      numbers_[id] =
          builder_.input("input" + std::to_string(numbers_.size()), meta.dtype, element_count(meta.shape));
    }
    for (const ValueId id : plan_.outputs) {
      const TensorMeta& meta = metas.at(id);
      numbers_[id] =
          builder_.output("output" + std::to_string(numbers_.size()), meta.dtype, element_count(meta.shape));
    }
    for (const auto& [id, meta] : metas)
      numbers_.try_emplace(id, Region::kNowhere + static_cast<int32_t>(numbers_.size()));
  }

  // Nodes from `first` on, on the region's rows and columns.
  void run(std::size_t first) {
    for (std::size_t k = first; k < contexts_.size(); ++k) {
      const LegalNode& node = legal(k);
      for (std::size_t i = 0; i < node.outputs.size(); ++i) {
        region_.hold(number(node.outputs[i]),
                     builder_.sbuf(node.call.outputs()[i].dtype, static_cast<int>(region_.rows),
                                   {region_.columns_of(plan_.columns[k][i])}));
      }
      const ProgramBuilder::Mark mark = builder_.mark();
      builder_.set_node(std::to_string(k));
      (*node.kernel)(contexts_[k]);
      builder_.release(mark);
    }
  }

  // Blocks go round in SBUF and PSUM, so that the loads of the next ones need not wait for this one.
  void write_rows() {
    const ProgramBuilder::Mark start = builder_.mark();
    int64_t block = 0, sbuf_turns = 1, psum_turns = 1, sbuf_bytes = 0, psum_columns = 0;
    for (int64_t first = 0; first < plan_.rows; first += plan_.unit) {
      for (int64_t row = 0; row < plan_.unit; row += kPartitions, ++block) {
        region_.row = first + row;
        region_.rows = std::min(kPartitions, plan_.unit - row);
        builder_.release(start);
        if (block % sbuf_turns > 0) builder_.sbuf(DType::u8, 1, {block % sbuf_turns * sbuf_bytes});
        if (block % psum_turns > 0) builder_.psum(DType::u8, 1, {block % psum_turns * psum_columns});
        run(0);
        if (block > 0) continue;
        const CoreDescription& core = builder_.core();
        const int64_t usable = core.sbuf_usable_bytes_per_partition;
        sbuf_bytes = std::max<int64_t>(builder_.program().peak_sbuf_bytes, 1);
        sbuf_turns =
            std::max(std::min(kMaxTurns, usable / 2 / sbuf_bytes), std::min<int64_t>(2, usable / sbuf_bytes));
        const int64_t banks = std::max<int64_t>(builder_.program().peak_psum_banks, 1);
        psum_columns = banks * core.psum_bank_bytes;
        psum_turns = std::max<int64_t>(core.psum_banks / banks, 1);
      }
    }
  }

  void write_tiles() {
    region_.then = [this](const AccessPattern& result) {
      region_.hold(number(legal(0).outputs[0]), result);
      run(1);
      builder_.set_node("0");
    };
    builder_.set_node("0");
    (*legal(0).kernel)(contexts_[0]);
  }

  const RegionPlan& plan_;
  const Aliases& aliases_;
  const std::vector<LegalNode>& nodes_;
  const CompileOptions& options_;
  ProgramBuilder builder_;
  Region region_;
  std::map<ValueId, int32_t> numbers_;  // by the value that holds the bytes
  std::vector<KernelContext> contexts_;
};

}  // namespace

std::vector<RegionPlan> plan_regions(const Graph& graph, const Aliases& aliases,
                                     const std::vector<LegalNode>& nodes, const CoreDescription& core) {
  return Planner(graph, aliases, nodes, core).run();
}

std::string region_key(const RegionPlan& plan, const Aliases& aliases, const std::vector<LegalNode>& nodes,
                       const std::function<std::string(const OpCall&)>& text) {
  std::map<ValueId, std::size_t> numbers;
  const auto number = [&](ValueId id) {
    const ValueId base = aliases.base[static_cast<std::size_t>(id)];
    return std::to_string(numbers.try_emplace(base, numbers.size()).first->second);
  };
  std::string out = "region";
  for (const ValueId id : plan.inputs) out += " " + number(id);
  for (const int n : plan.nodes) {
    const LegalNode& node = nodes[static_cast<std::size_t>(n)];
    out += "\n" + text(node.call);
    for (const ValueId id : node.inputs)
      out += (aliases.turned[static_cast<std::size_t>(id)] ? " t" : " ") + number(id);
    out += " ->";
    for (const ValueId id : node.outputs) out += " " + number(id);
  }
  out += "\nstored";
  for (const ValueId id : plan.outputs) out += " " + number(id);
  return out;
}

Program write_region(const RegionPlan& plan, const Aliases& aliases, const std::vector<LegalNode>& nodes,
                     const CoreDescription& core, const CompileOptions& options) {
  return RegionWriter(plan, aliases, nodes, core, options).write();
}

}  // namespace assay::backend
