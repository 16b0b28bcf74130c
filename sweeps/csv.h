// Catalogue tables: CSV as RFC 4180 writes it, with a header line.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace assay::sweeps {

struct CsvRow {
  int64_t line = 0;  // 1-based number of the row, header included
  std::map<std::string, std::string, std::less<>> fields;
  const std::string& at(std::string_view column) const;  // "" if the column is absent
};

// Throws Error{malformed_file} naming origin and row: unterminated quotes, rows with more or fewer fields
// than the header, duplicate or missing columns; Error{io} if unreadable.
std::vector<CsvRow> read_csv(const std::string& path, const std::vector<std::string>& required_columns);
std::vector<CsvRow> parse_csv(std::string_view text, const std::string& origin,
                              const std::vector<std::string>& required_columns);

}  // namespace assay::sweeps
