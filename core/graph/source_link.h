// Where a node comes from, out of the metadata that PyTorch's exporter leaves.
#pragma once

#include <string>
#include <string_view>

namespace assay {

// `path.py:LINE` of the innermost frame that is not PyTorch's own (the innermost of all if there is no
// other), from a Python stack trace; paths below site-packages are shortened to what follows it, others to
// their last two parts. Text without frames, as catalogue files hold it, is kept.
std::string source_location(std::string_view stack_trace);

// "model.layers.0" from "key,path,class;key,path,class;..."; text without commas is kept.
std::string module_path(std::string_view nn_module_stack);

}  // namespace assay
