// Cases from packs (core/io/pack.h).
#pragma once

#include <string>

#include "core/io/pack.h"
#include "harness/case/case.h"

namespace assay {

// Judged by the stored outputs; NaN among them is the answer that was given. `file` is the pack's name,
// without its folder: the record's witness is "golden:FILE". Composite operators are decomposed. A model that
// cannot be run becomes a case with `graph_error`. Id, and subject where the graph is not one node, are the
// pack's; suite and `Case::file` are left to the caller.
Case case_of(PackedModel packed, const std::string& file);

}  // namespace assay
