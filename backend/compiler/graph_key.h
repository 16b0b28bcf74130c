// What a compiled graph depends on, as text: the key of the compile cache.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "backend/compiler/options.h"
#include "core/graph/graph.h"
#include "core/opset/call.h"

namespace assay::backend {

// Two graphs with equal keys compile to equal Programs. Not in a key: names of values, nodes, inputs and
// parameters, source links, the graph's id, and process groups' names (only which nodes share a group). The
// name of a node that draws random numbers is, since it selects the node's stream.
struct GraphKey {
  // Sections in the order in which a recompile is explained by them.
  enum Section : std::size_t { version, options, dtypes, shapes, arguments, sections };
  std::string structure;  // operators and which value each reads
  std::array<std::string, sections> text;

  std::string whole() const;  // all of the above, unambiguously
};

// `version` identifies the compiler (compiler_version()).
GraphKey graph_key(const Graph& graph, Generation target, const CompileOptions& options,
                   std::string_view version);
// The same for one operator that crosses the ABI as canonical JSON (eager mode). `stream` is the node's name
// if it draws random numbers, else "". The JSON says everything; `inputs` tell apart why a node is compiled
// again.
GraphKey node_key(std::string_view op, std::string_view json, std::span<const TensorMeta> inputs,
                  std::string_view stream, Generation target, const CompileOptions& options,
                  std::string_view version);

// Identifies the code of this compiler: its linker's build id, so that a rebuilt compiler never runs what an
// older one left behind. Falls back to the time of compilation where the linker wrote none.
const std::string& compiler_version();

// Why a graph is compiled although others of its structure were compiled `earlier`: the first section in
// which the nearest of them (the fewest sections that differ; of equals the first) differs, as "new version",
// "new option", "new dtype", "new shape" or "new argument"; kEvicted if one is equal; "" if there is none.
inline constexpr std::string_view kEvicted = "evicted";
using SectionHashes = std::array<uint64_t, GraphKey::sections>;
SectionHashes hashes_of(const GraphKey& key);
std::string_view reason_of_miss(const SectionHashes& now, std::span<const SectionHashes> earlier);

}  // namespace assay::backend
