// Which operators a device must have.
#pragma once

#include <string_view>

namespace assay {

// PyTorch's Core ATen set, what exported models hold, inference and training (required_operators.txt, with
// the source of each), and all operators outside of `aten::` (attention, gated linear attention,
// collectives). By full name, overload spelled. Of every other operator a device may say that it has no
// kernel, since the harness runs it on the host; the reference must have them all.
bool is_required_operator(std::string_view full_name);

}  // namespace assay
