// Tables inside a page, packed by column: 64,000 rows have few different cells, and ids that begin alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace assay::reports {

// JSON text of one cell. Text that is no UTF-8 has what is wrong replaced; non-finite numbers are the strings
// of INTERFACE §3.
std::string json_cell(std::string_view text);
std::string json_cell(double value);              // the shortest text that reads back as the same number
std::string json_cell(double value, int digits);  // significant digits; stays on its side of 1
inline std::string json_cell(int64_t value) { return std::to_string(value); }

// {"rows": N, "columns": {NAME: COLUMN}}, a COLUMN being one of
//   {"values": [cell, ...]}
//   {"of": [cell, ...], "runs": [index into `of`, how often, ...]}    whichever of the two is shorter
//   {"shared": [n, ...], "rest": [text, ...]}   a row's text: n characters of the row before it, then the
//   rest
//   {"steps": [n, ...]}                         a row's integer: n more than the row before it
// html/library.js unpacks them.
class PackedTable {
 public:
  explicit PackedTable(std::size_t rows) : rows_(rows) {}

  // `cell(row)`: JSON text.
  void add(std::string_view name, const std::function<std::string(std::size_t row)>& cell);
  // For texts in an order that lets neighbours begin alike, hardly two the same.
  void add_names(std::string_view name, const std::function<std::string_view(std::size_t row)>& text);
  void add_rising(std::string_view name, const std::function<int64_t(std::size_t row)>& value);

  std::string json() const;  // the whole table

 private:
  void begin(std::string_view name);
  std::size_t rows_;
  std::string columns_;
};

// Command lines that hold a case's id, as two columns with few different cells: "repro_before" and
// "repro_after" the id; the latter is null where the id does not stand in the line.
struct Repro {
  const std::string &line, &id;
};
void add_repro(PackedTable& table, const std::function<Repro(std::size_t row)>& repro);

}  // namespace assay::reports
