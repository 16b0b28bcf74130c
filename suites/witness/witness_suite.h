// The suite `witness`: answers that somebody else computed.
#pragma once

#include <memory>

#include "harness/case/case.h"

namespace assay::suites {

// One case for each of PyTorch's OpInfo samples in data/opinfo.jsonl.zst, with the inputs and the fp64
// outputs that sweeps/export/opinfo.py wrote: "witness/ENTRY/NUMBER".
std::unique_ptr<Suite> make_witness_suite();

}  // namespace assay::suites
