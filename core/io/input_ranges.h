// Inputs for models that come without any.
#pragma once

#include <map>
#include <string>

#include "core/io/model.h"

namespace assay {

// A recipe for every tensor among the user inputs: floats and complex numbers uniform on (-1, 1); bools 0 or
// 1; integers inside the range that the graph needs, found by following the input through views, copies,
// casts to other integers and additions of constants to what it indexes (the rows of an embedding, the
// dimension that index, gather, index_select or scatter address), else [0, 2). Throws Error{unsupported} if a
// size is symbolic, naming the flag that gives inputs, or if an input is no tensor; Error{invalid_argument}
// if two uses leave no common range.
std::map<std::string, TensorRecipe> default_input_recipes(const Model& model);

}  // namespace assay
