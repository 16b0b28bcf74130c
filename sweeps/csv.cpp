#include "sweeps/csv.h"

#include <csv.h>

#include <set>
#include <utility>

#include "core/error.h"
#include "core/io/file.h"

namespace assay::sweeps {
namespace {

struct Collector {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> current;
  static void field(void* text, std::size_t size, void* self) {
    static_cast<Collector*>(self)->current.emplace_back(static_cast<const char*>(text), size);
  }
  static void row(int, void* self) {
    auto* collector = static_cast<Collector*>(self);
    collector->rows.push_back(std::exchange(collector->current, {}));
  }
};

std::vector<std::vector<std::string>> split(std::string_view text, const std::string& origin) {
  csv_parser parser;
  if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI | CSV_APPEND_NULL) != 0) {
    throw Error(ErrorCode::internal, "libcsv cannot be initialised");
  }
  Collector collector;
  const std::size_t done =
      csv_parse(&parser, text.data(), text.size(), Collector::field, Collector::row, &collector);
  const bool finished =
      done == text.size() && csv_fini(&parser, Collector::field, Collector::row, &collector) == 0;
  const std::string problem = csv_strerror(csv_error(&parser));
  csv_free(&parser);
  if (!finished) {
    throw Error(ErrorCode::malformed_file, origin + ": row " + std::to_string(collector.rows.size() + 1) +
                                               ": not valid CSV (" + problem + ")");
  }
  return std::move(collector.rows);
}

}  // namespace

const std::string& CsvRow::at(std::string_view column) const {
  static const std::string empty;
  const auto found = fields.find(column);
  return found == fields.end() ? empty : found->second;
}

std::vector<CsvRow> parse_csv(std::string_view text, const std::string& origin,
                              const std::vector<std::string>& required_columns) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // spreadsheets write one
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const auto lines = split(text, origin);
  if (lines.empty()) throw Error(ErrorCode::malformed_file, origin + ": empty; a header line was expected");
  const auto& header = lines.front();
  const std::set<std::string> columns(header.begin(), header.end());
  if (columns.size() != header.size())
    throw Error(ErrorCode::malformed_file, origin + ": row 1: a column is named twice");
  for (const std::string& column : required_columns) {
    if (!columns.contains(column))
      throw Error(ErrorCode::malformed_file, origin + ": row 1: column '" + column + "' is missing");
  }
  std::vector<CsvRow> rows;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].size() != header.size()) {
      throw Error(ErrorCode::malformed_file, origin + ": row " + std::to_string(i + 1) + ": has " +
                                                 std::to_string(lines[i].size()) +
                                                 " fields; the header has " + std::to_string(header.size()));
    }
    CsvRow row;
    row.line = static_cast<int64_t>(i + 1);
    for (std::size_t f = 0; f < header.size(); ++f) row.fields[header[f]] = lines[i][f];
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<CsvRow> read_csv(const std::string& path, const std::vector<std::string>& required_columns) {
  return parse_csv(read_file(path), path, required_columns);
}

}  // namespace assay::sweeps
