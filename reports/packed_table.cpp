#include "reports/packed_table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <vector>

namespace assay::reports {
namespace {

// Of both texts' beginnings, what is equal and ASCII: a character is then the same length in C++ and in
// JavaScript, and no character is cut.
std::size_t shared_prefix(std::string_view a, std::string_view b) {
  std::size_t n = 0;
  const std::size_t limit = std::min(a.size(), b.size());
  while (n < limit && a[n] == b[n] && static_cast<unsigned char>(a[n]) < 0x80) ++n;
  return n;
}

std::string number_text(double value, int digits) {
  std::array<char, 64> text{};
  const auto end = digits > 0 ? std::to_chars(text.data(), text.data() + text.size(), value,
                                              std::chars_format::general, digits)
                              : std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), end.ptr};
}

}  // namespace

std::string json_cell(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string json_cell(double value) {
  if (std::isnan(value)) return "\"nan\"";
  if (std::isinf(value)) return value > 0 ? "\"inf\"" : "\"-inf\"";
  return number_text(value, 0);
}

std::string json_cell(double value, int digits) {
  if (!std::isfinite(value)) return json_cell(value);
  const double rounded = std::strtod(number_text(value, digits).c_str(), nullptr);
  // 1 is the limit that margins are held against: a rounded one must not seem to be on the other side.
  if ((value < 1) != (rounded < 1) || (value > 1) != (rounded > 1)) return json_cell(value);
  return number_text(rounded, 0);
}

void PackedTable::begin(std::string_view name) {
  if (!columns_.empty()) columns_ += ',';
  columns_ += json_cell(name) + ':';
}

void PackedTable::add(std::string_view name, const std::function<std::string(std::size_t)>& cell) {
  std::unordered_map<std::string, uint32_t> known;
  std::vector<const std::string*> of;
  std::vector<uint32_t> index;
  index.reserve(rows_);
  std::size_t plain = 0;
  for (std::size_t row = 0; row < rows_; ++row) {
    const auto [found, added] = known.try_emplace(cell(row), static_cast<uint32_t>(of.size()));
    if (added) of.push_back(&found->first);
    index.push_back(found->second);
    plain += found->first.size() + 1;
  }
  std::string runs;
  for (std::size_t row = 0; row < rows_;) {
    std::size_t next = row;
    while (next < rows_ && index[next] == index[row]) ++next;
    if (!runs.empty()) runs += ',';
    runs += std::to_string(index[row]) + ',' + std::to_string(next - row);
    row = next;
  }
  std::size_t packed = runs.size();
  for (const std::string* text : of) packed += text->size() + 1;

  begin(name);
  const auto list = [&](std::size_t count, const auto& at) {
    for (std::size_t i = 0; i < count; ++i) {
      if (i) columns_ += ',';
      columns_ += at(i);
    }
  };
  if (packed < plain) {
    columns_ += "{\"of\":[";
    list(of.size(), [&](std::size_t i) -> const std::string& { return *of[i]; });
    columns_ += "],\"runs\":[" + runs + "]}";
  } else {
    columns_ += "{\"values\":[";
    list(rows_, [&](std::size_t row) -> const std::string& { return *of[index[row]]; });
    columns_ += "]}";
  }
}

void PackedTable::add_names(std::string_view name, const std::function<std::string_view(std::size_t)>& text) {
  std::string shared, rest;
  std::string_view before;
  for (std::size_t row = 0; row < rows_; ++row) {
    const std::string_view now = text(row);
    const std::size_t n = shared_prefix(before, now);
    if (row) {
      shared += ',';
      rest += ',';
    }
    shared += std::to_string(n);
    rest += json_cell(now.substr(n));
    before = now;
  }
  begin(name);
  columns_ += "{\"shared\":[" + shared + "],\"rest\":[" + rest + "]}";
}

void PackedTable::add_rising(std::string_view name, const std::function<int64_t(std::size_t)>& value) {
  begin(name);
  columns_ += "{\"steps\":[";
  int64_t before = 0;
  for (std::size_t row = 0; row < rows_; ++row) {
    const int64_t now = value(row);
    if (row) columns_ += ',';
    columns_ += std::to_string(now - before);
    before = now;
  }
  columns_ += "]}";
}

std::string PackedTable::json() const {
  return "{\"rows\":" + std::to_string(rows_) + ",\"columns\":{" + columns_ + "}}";
}

void add_repro(PackedTable& table, const std::function<Repro(std::size_t)>& repro) {
  table.add("repro_before", [&](std::size_t row) {
    const Repro r = repro(row);
    return json_cell(std::string_view(r.line).substr(0, r.line.find(r.id)));
  });
  table.add("repro_after", [&](std::size_t row) {
    const Repro r = repro(row);
    const std::size_t at = r.line.find(r.id);
    return at == std::string::npos ? "null" : json_cell(std::string_view(r.line).substr(at + r.id.size()));
  });
}

}  // namespace assay::reports
