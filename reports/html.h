// The report as one HTML file that opens offline.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/run_folder.h"

namespace assay::reports {

std::string html(const std::vector<RunFolder>& runs);

// The page of a profile (docs/profile.md): `profile_json` is what profile.json holds.
std::string profile_html(const std::string& title, const std::string& backend,
                         const std::string& profile_json);

// The pages of `assay bench recall` and `assay bench laplace` (docs/training.md, docs/laplace.md): what
// recall.json and laplace.json hold.
std::string recall_html(const std::string& recall_json);
std::string laplace_html(const std::string& laplace_json);

// A page of the house's style around scripts and their data (reports/html/; library.js and table.js always
// come first). The data is JSON text and is
// escaped so that no text in it can end the element that holds it; scripts write it as text, never as HTML.
std::string html_page(const std::string& title, const std::vector<std::string_view>& scripts,
                      const std::string& data_json, bool with_charts);

}  // namespace assay::reports
