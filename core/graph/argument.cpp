#include "core/graph/argument.h"

#include <fmt/format.h>

#include "core/graph/graph.h"
#include "core/graph/json.h"

namespace assay {
namespace {

std::string value_text(ValueId id) { return id < 0 ? "None" : fmt::format("%{}", id); }

template <typename Range, typename Function>
std::string list_text(const Range& range, Function item) {
  std::string text = "[";
  for (std::size_t i = 0; i < range.size(); ++i) {
    if (i > 0) text += ", ";
    text += item(i);
  }
  return text + "]";
}

struct Printer {
  std::string operator()(const NoneArg&) const { return "None"; }
  std::string operator()(const ValueArg& a) const { return value_text(a.id); }
  std::string operator()(const ValueListArg& a) const {
    return list_text(a.ids, [&](std::size_t i) { return value_text(a.ids[i]); });
  }
  std::string operator()(int64_t a) const { return fmt::format("{}", a); }
  std::string operator()(double a) const {
    const std::string text = fmt::format("{}", a);
    // An integral double must not look like an integer.
    return text.find_first_of(".eni") == std::string::npos ? text + ".0" : text;
  }
  std::string operator()(bool a) const { return a ? "True" : "False"; }
  std::string operator()(const std::string& a) const { return fmt::format("'{}'", a); }
  std::string operator()(const IntListArg& a) const {
    return list_text(a.ints, [&](std::size_t i) {
      if (i < a.values.size() && a.values[i] >= 0) return value_text(a.values[i]);
      return fmt::format("{}", a.ints[i]);
    });
  }
  std::string operator()(const std::vector<double>& a) const {
    return list_text(a, [&](std::size_t i) { return (*this)(a[i]); });
  }
  std::string operator()(const std::vector<bool>& a) const {
    return list_text(a, [&](std::size_t i) { return (*this)(static_cast<bool>(a[i])); });
  }
  std::string operator()(const std::vector<std::string>& a) const {
    return list_text(a, [&](std::size_t i) { return (*this)(a[i]); });
  }
  std::string operator()(const DTypeArg& a) const { return std::string(torch_name(a.dtype)); }
  std::string operator()(const KeywordArg& a) const { return fmt::format("{}={}", a.kind, a.text); }
  std::string operator()(const GraphArg& a) const {
    return fmt::format("graph '{}' of {} nodes", a.name, a.graph ? a.graph->nodes.size() : 0);
  }
};

}  // namespace

bool GraphArg::operator==(const GraphArg& other) const {
  if (name != other.name) return false;
  if (graph == other.graph) return true;
  return graph && other.graph && graph_to_json(*graph) == graph_to_json(*other.graph);
}

std::string to_string(const Argument& argument) { return std::visit(Printer{}, argument); }

}  // namespace assay
