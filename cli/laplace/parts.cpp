#include "cli/laplace/parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/compiler/eager.h"
#include "backend/compiler/graph_compiler.h"
#include "backend/compiler/graph_key.h"
#include "backend/compiler/legalise.h"
#include "core/graph/builder.h"
#include "models/optimisers/optimisers.h"

namespace assay::cli::laplace {
namespace {

// A Program is costed here even where its intermediates would not fit: what fits is told apart by step.cpp.
constexpr int64_t kAnyHbm = int64_t{1} << 50;
constexpr int64_t kColumns = 512;

std::string key_of(const models::GlaConfig& c, const Work& w) {
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {}", c.hidden_size, c.num_heads, c.key_size(),
                     c.value_size(), c.mlp_size(), c.vocab_size, c.chunk_size,
                     static_cast<int>(c.state_dtype.value_or(DType::f32)), w.batch, w.length, w.tp,
                     c.gate_low_rank_dim);
}

struct Both {
  PartCost forward, backward;
  int64_t saved = 0;
};
Both both(PartClock& clock, const Graph& part) {
  const models::PartitionedGraph halves = models::gla_part_passes(part);
  return {clock.cost(halves.forward), clock.cost(halves.backward), halves.saved_bytes};
}

Shape rows_of(int64_t elements) {
  return {std::max<int64_t>((elements + kColumns - 1) / kColumns, 1), kColumns};
}

// Computed once for a key; what throws is not remembered.
template <class Made, class Make>
const Made& remembered(std::map<std::string, Made>& known, const std::string& key, const Make& make) {
  const auto at = known.find(key);
  return (at != known.end() ? at : known.emplace(key, make()).first)->second;
}

}  // namespace

models::GlaPart part_of(const models::GlaConfig& config, const Work& work) {
  models::GlaPart part;
  part.whole = config;
  part.tp = work.tp;
  part.graph.batch = work.batch;
  part.graph.length = work.length;
  part.graph.dtype = DType::bf16;
  return part;
}

PartClock::PartClock(const backend::CoreDescription& core, int active_cores, bool eager, int lnc)
    : core_(core), clock_(core, {active_cores, false}), eager_(eager) {
  options_.lnc = lnc;
}

double PartClock::eager_call_s(const Graph& graph, const Node& node, bool& launched) {
  const Graph alone = single_node_graph(graph, node);
  const std::string key = backend::graph_key(alone, core_.generation, {}, "").whole();
  const auto [known, is_new] = calls_.try_emplace(key, -1);
  if (is_new) {
    const backend::LegalNode legal = backend::read_node(alone, alone.nodes.front());
    const backend::CompiledCall compiled = backend::compile_call(legal.call, core_, options_);
    timed_ += compiled.program.instructions.size();
    if (!compiled.program.instructions.empty()) known->second = clock_.time(compiled.program).seconds;
  }
  launched = known->second >= 0;
  return launched ? known->second + core_.launch_us * 1e-6 : 0;
}

PartCost PartClock::cost(const Graph& graph) {
  const backend::CompiledGraph compiled = backend::compile_graph(graph, core_, options_, kAnyHbm);
  const backend::TimingResult timing = clock_.time(compiled.program);
  timed_ += timing.instructions;
  PartCost out;
  out.seconds = timing.seconds - core_.kernel_floor_us * 1e-6;
  out.nodes = static_cast<int64_t>(graph.nodes.size());
  out.instructions = timing.instructions;
  out.matrix_flops = 2 * timing.macs;
  out.tensor_s = timing.engines[static_cast<std::size_t>(backend::Engine::tensor)].active_s;
  out.vector_s = timing.engines[static_cast<std::size_t>(backend::Engine::vector)].active_s;
  out.dma_s = timing.dma_active_s;
  if (!eager_) return out;
  for (const Node& node : graph.nodes) {
    bool launched = false;
    out.eager_s += eager_call_s(graph, node, launched);
    out.launches += launched ? 1 : 0;
  }
  return out;
}

double PartClock::in_full_s(const Graph& graph, int64_t repeats) {
  const backend::CompiledGraph compiled = backend::compile_graph(graph, core_, options_, kAnyHbm);
  const backend::Stretch stretch{&compiled.program, repeats};
  const backend::TimingResult timing = clock_.time({&stretch, 1});
  timed_ += timing.instructions;
  return timing.seconds - core_.kernel_floor_us * 1e-6;
}

const TrainingParts& PartClock::training(const models::GlaConfig& config, const Work& work) {
  return remembered(training_, key_of(config, work), [&] {
    TrainingParts out;
    models::GlaPart part = part_of(config, work);
    Both two = both(*this, models::gla_attention_part(part));
    out.attention = two.forward;
    out.attention_backward = two.backward;
    out.saved_layer = two.saved;
    two = both(*this, models::gla_mlp_part(part));
    out.mlp = two.forward;
    out.mlp_backward = two.backward;
    out.saved_layer += two.saved;
    two = both(*this, models::gla_embedding_part(part));
    out.embedding = two.forward;
    out.embedding_backward = two.backward;
    part.graph.loss = true;
    two = both(*this, models::gla_head_part(part));
    out.head = two.forward;
    out.head_backward = two.backward;
    out.saved_head = two.saved;
    return out;
  });
}

std::array<PartCost, 2> PartClock::attention(const models::GlaConfig& config, const Work& work) {
  const Both two = both(*this, models::gla_attention_part(part_of(config, work)));
  return {two.forward, two.backward};
}

const DecodeParts& PartClock::decode(const models::GlaConfig& config, const Work& work) {
  return remembered(decode_, key_of(config, work), [&] {
    models::GlaPart part = part_of(config, work);
    part.graph.state = true;
    return DecodeParts{cost(models::gla_embedding_part(part)), cost(models::gla_attention_part(part)),
                       cost(models::gla_mlp_part(part)), cost(models::gla_head_part(part))};
  });
}

const PartCost& PartClock::orthogonalise(const Shape& matrix) {
  return remembered(optimiser_, "orthogonalise " + to_string(matrix), [&] {
    GraphBuilder builder("orthogonalise");
    models::Emitter e(builder);
    const ValueId x = builder.input("direction", DType::bf16, matrix);
    builder.output(models::muon_orthogonalised(e, x, models::jordan_muon()));
    return cost(builder.build());
  });
}

const PartCost& PartClock::muon_elements(int64_t elements) {
  const Shape shape = rows_of(elements);
  return remembered(optimiser_, "muon " + to_string(shape), [&] {
    const models::MuonOptions o = models::jordan_muon();
    GraphBuilder builder("muon_elements");
    models::Emitter e(builder);
    const ValueId p = builder.input("p", DType::f32, shape), g = builder.input("g", DType::f32, shape);
    const ValueId m = builder.input("m", DType::f32, shape), u = builder.input("u", DType::bf16, shape);
    const models::MuonMomentum momentum = models::muon_momentum(e, g, m, o);
    const ValueId next = e.add(p, e.mul_number(e.cast(u, DType::f32), -o.lr));
    for (const ValueId out :
         {momentum.held, e.cast(momentum.direction, DType::bf16), next, e.cast(next, DType::bf16)}) {
      builder.output(out);
    }
    return cost(builder.build());
  });
}

const PartCost& PartClock::adamw_elements(int64_t elements) {
  const Shape shape = rows_of(elements);
  return remembered(optimiser_, "adamw " + to_string(shape), [&] {
    GraphBuilder builder("adamw_elements");
    models::Emitter e(builder);
    const ValueId p = builder.input("p", DType::f32, shape), g = builder.input("g", DType::f32, shape);
    const ValueId m = builder.input("m", DType::f32, shape), v = builder.input("v", DType::f32, shape);
    const ValueId step = builder.input("step", DType::f32, {});
    const models::Updated updated = models::adamw_update(e, p, g, m, v, step, {});
    builder.output(updated.parameter);
    for (const ValueId state : updated.state) builder.output(state);
    builder.output(e.cast(updated.parameter, DType::bf16));
    return cost(builder.build());
  });
}

}  // namespace assay::cli::laplace
