// In-place operators of exports that were not decomposed ("aten::add_.Tensor") become functional ones.
#pragma once

#include <string>
#include <string_view>

#include "core/graph/graph.h"

namespace assay {

// "aten::relu.default" for "aten::relu_.default"; "" if `op` is no in-place operator or has no known
// functional form.
std::string functional_form(std::string_view op);

// Some node has a functional form, or trains a batch norm and so changes its running statistics.
bool changes_in_place(const Graph& graph);

// Replaces every in-place operator by its functional form, later uses of what it changed by its result, and
// adds the mutations of buffers, parameters and user inputs to the outputs (before the user outputs, as
// PyTorch orders them). A write to a view changes the tensor that it views, and a write to a tensor its views
// (core/graph/views.h). Throws Error{unsupported} where something that is used afterwards shares or may share
// the memory and how is not known (as_strided, reshape): then only PyTorch's own functionalisation
// (run_decompositions) is right.
void functionalise(Graph& graph);

}  // namespace assay
