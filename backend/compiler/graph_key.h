// What a compiled graph depends on, as text: the key of the compile cache.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "backend/compiler/options.h"
#include "core/graph/graph.h"

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
// if it draws random numbers, else "".
GraphKey node_key(std::string_view op, std::string_view json, std::string_view stream, Generation target,
                  const CompileOptions& options, std::string_view version);

// Identifies the code of this compiler: its linker's build id, so that a rebuilt compiler never runs what an
// older one left behind. Falls back to the time of compilation where the linker wrote none.
const std::string& compiler_version();

// Why a graph is compiled although one with `earlier`'s sections was compiled before: the first section that
// differs, as "new version", "new option", "new dtype", "new shape" or "new argument".
using SectionHashes = std::array<uint64_t, GraphKey::sections>;
SectionHashes hashes_of(const GraphKey& key);
std::string_view reason_of_miss(const SectionHashes& now, const SectionHashes& earlier);
// The number of sections that differ.
int distance(const SectionHashes& a, const SectionHashes& b);

}  // namespace assay::backend
