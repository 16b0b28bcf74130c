// What every way to a Model checks.
#pragma once

#include "core/io/model.h"

namespace assay {

// Every parameter, buffer and constant of the graph has a tensor of the declared dtype and shape. Throws
// Error{malformed_file} naming file and tensor.
void check_weights(const Model& model);

}  // namespace assay
