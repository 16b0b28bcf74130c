// Files that the program writes for its user.
#pragma once

#include <string>
#include <string_view>

namespace assay::cli {

// Through a temporary file beside it, then renamed, so that a reader never sees half. Throws Error{io} naming
// the path.
void write_file(const std::string& path, std::string_view text);

// Throws Error{io} unless `path` is a folder, a file or a pipe: devices never end.
void require_input(const std::string& path, const std::string& expected);

}  // namespace assay::cli
