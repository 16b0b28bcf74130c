// Progress of long work: a bar on a terminal, plain lines elsewhere.
#pragma once

#include "harness/run/run.h"

namespace assay::cli {

// Writes to stderr, so that stdout holds results only. `quiet`: failures and progress are not shown.
ProgressCallback make_progress(bool quiet);

}  // namespace assay::cli
