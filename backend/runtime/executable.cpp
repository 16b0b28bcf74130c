#include "backend/runtime/executable.h"

#include <charconv>
#include <utility>

#include "backend/isa/program_file.h"
#include "backend/isa/validate.h"
#include "core/error.h"

namespace assay::backend {
namespace {

// Lines before the Program: statistics, then one source link a node of the Program.
constexpr std::size_t kStatistics = 10;

std::array<int64_t*, kStatistics> fields(CompileStatistics& s) {
  return {
      &s.nodes,       &s.pieces,     &s.reinterpretations, &s.copies,        &s.regions,
      &s.fused_nodes, &s.kept_loads, &s.kept_stores,       &s.scratch_bytes, &s.scratch_bytes_without_reuse};
}

std::string_view line(std::string_view& rest, const std::string& origin) {
  const std::size_t end = rest.find('\n');
  if (end == std::string_view::npos)
    throw Error(ErrorCode::malformed_file, origin + ": the header is cut off");
  const std::string_view out = rest.substr(0, end);
  rest.remove_prefix(end + 1);
  return out;
}

int64_t number(std::string_view text, const std::string& origin) {
  int64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size() || out < 0) {
    throw Error(ErrorCode::malformed_file, origin + ": '" + std::string(text) + "' is no number");
  }
  return out;
}

std::size_t memory_of(const Program& p) {
  return p.instructions.size() * sizeof(Instruction) + p.operands.size() * sizeof(AccessPattern) +
         p.waits.size() * sizeof(SemaphoreWait) + p.integers.size() * sizeof(int64_t) +
         p.constant_bytes.size();
}

void check_bound(const Program& program, HbmKind kind, const std::vector<TensorMeta>& metas,
                 const std::string& origin) {
  std::size_t next = 0;
  bool good = true;
  for (const HbmTensor& tensor : program.tensors) {
    if (tensor.kind != kind) continue;
    good = good && next < metas.size() && tensor.dtype == metas[next].dtype &&
           tensor.elements == element_count(metas[next].shape);
    ++next;
  }
  if (!good || next != metas.size()) {
    throw Error(ErrorCode::malformed_file, origin + ": its inputs or outputs are not the graph's");
  }
}

}  // namespace

std::string write_compiled(const CompiledGraph& graph) {
  std::string out;
  CompileStatistics statistics = graph.statistics;
  for (const int64_t* field : fields(statistics)) out += std::to_string(*field) + "\n";
  out += std::to_string(graph.sources.size()) + "\n";
  for (std::string source : graph.sources) {
    for (char& c : source) c = c == '\n' ? ' ' : c;
    out += source + "\n";
  }
  return out + write_program(graph.program);
}

CompiledGraph read_compiled(std::string_view bytes, const Graph& graph, const CoreDescription& core,
                            const std::string& origin) {
  CompiledGraph out;
  out.inputs = input_metas(graph);
  out.outputs = output_metas(graph);
  for (int64_t* field : fields(out.statistics)) *field = number(line(bytes, origin), origin);
  const int64_t count = number(line(bytes, origin), origin);
  for (int64_t k = 0; k < count; ++k) out.sources.emplace_back(line(bytes, origin));
  out.program = read_program(bytes, origin);
  if (out.sources.size() != out.program.nodes.size()) {
    throw Error(ErrorCode::malformed_file, origin + ": source links are not those of the Program's nodes");
  }
  validate(out.program, core);
  check_bound(out.program, HbmKind::input, out.inputs, origin);
  check_bound(out.program, HbmKind::output, out.outputs, origin);
  return out;
}

std::shared_ptr<Executable> GraphCache::find(std::string_view text) const {
  const auto it = texts_.find(text);
  return it == texts_.end() ? nullptr : it->second.lock();
}

void GraphCache::remember(std::string_view text, const std::shared_ptr<Executable>& executable) {
  constexpr std::size_t kMaxBytes = std::size_t{64} << 20;
  text_bytes_ += text.size();
  if (text_bytes_ > kMaxBytes) {
    texts_.clear();
    text_bytes_ = text.size();
  }
  texts_.insert_or_assign(std::string(text), executable);
}

// A worker may see thousands of models; what is no longer kept is on disk, if anywhere.
void GraphCache::keep(std::string whole_key, std::shared_ptr<Executable> executable) {
  constexpr std::size_t kMaxBytes = std::size_t{256} << 20;
  kept_bytes_ += memory_of(executable->graph.program);
  kept_.push_back(whole_key);
  known_.emplace(std::move(whole_key), std::move(executable));
  while (kept_bytes_ > kMaxBytes && kept_.size() > 1) {
    const auto oldest = known_.find(kept_.front());
    kept_bytes_ -= memory_of(oldest->second->graph.program);
    known_.erase(oldest);
    kept_.pop_front();
  }
}

CompileResult GraphCache::get(const Graph& graph, const CoreDescription& core, const CompileOptions& options,
                              int64_t hbm_bytes) {
  const GraphKey key = graph_key(graph, core.generation, options, compiler_version());
  std::string whole = key.whole();
  CompileResult out;
  if (const auto it = known_.find(whole); it != known_.end()) {
    out.executable = it->second;
    out.hit = CacheHit::memory;
    return out;
  }
  auto executable = std::make_shared<Executable>();
  std::string on_disk;
  if (disk_ != nullptr) {
    DiskCache::Found found = disk_->load(key);
    on_disk = found.miss;
    out.notes = found.note;
    if (found.bytes) {
      try {
        executable->graph = read_compiled(*found.bytes, graph, core, "compile cache");
        executable->artifact_bytes = found.file_bytes;
        out.hit = CacheHit::disk;
      } catch (const Error& error) {  // ProgramError is one
        on_disk = kCorruptEntry;
        out.notes = error.what();
        disk_->discard(key);
      }
    }
  }
  if (out.hit != CacheHit::disk) {
    executable->graph = compile_graph(graph, core, options, hbm_bytes);
    out.miss_reason = reasons_.of(key, on_disk);
    const std::string bytes = write_compiled(executable->graph);
    executable->artifact_bytes = bytes.size();
    if (disk_ != nullptr) {
      std::string note;
      const uint64_t stored = disk_->store(key, bytes, note);
      if (stored != 0) executable->artifact_bytes = stored;
      if (!note.empty()) out.notes += (out.notes.empty() ? "" : "\n") + ("not kept on disk: " + note);
    }
  }
  reasons_.add(key);
  keep(std::move(whole), executable);
  out.executable = std::move(executable);
  return out;
}

}  // namespace assay::backend
