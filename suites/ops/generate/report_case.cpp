#include "suites/ops/generate/report_case.h"

#include <charconv>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "core/error.h"
#include "suites/ops/generate/generate.h"

namespace assay::suites {
namespace {

std::vector<double> numbers(const std::string& text, const std::string& where) {
  std::vector<double> out;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, ',');) {
    const std::size_t first = word.find_first_not_of(' ');
    const std::size_t last = word.find_last_not_of(' ');
    const std::string number = first == std::string::npos ? "" : word.substr(first, last - first + 1);
    double value = std::numeric_limits<double>::quiet_NaN();
    if (number != "nan") {
      const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
      if (error != std::errc() || end != number.data() + number.size()) {
        throw Error(ErrorCode::internal, where + ": '" + number + "' is no number");
      }
    }
    out.push_back(value);
  }
  return out;
}

// Floats are given in f64: the judge allows for the rounding to the output's dtype.
Tensor expected_tensor(const Value& value, const std::vector<double>& elements, const std::string& where) {
  const int64_t parts = is_complex(value.dtype) ? 2 : 1;
  if (static_cast<int64_t>(elements.size()) != element_count(value.shape) * parts) {
    throw Error(ErrorCode::internal, where + ": the expected output has another number of elements");
  }
  if (is_complex(value.dtype)) return Tensor::from_doubles(DType::c128, value.shape, elements);
  if (is_float(value.dtype)) return Tensor::from_doubles(DType::f64, value.shape, elements);
  std::vector<int64_t> whole(elements.begin(), elements.end());
  return Tensor::from_ints(value.dtype, value.shape, whole);
}

void expect(const Report& report, Case& made) {
  std::map<std::string, Tensor> outputs;
  std::istringstream in(report.expected);
  std::string part;
  for (std::size_t i = 0; std::getline(in, part, ';'); ++i) {
    if (part.find_first_not_of(' ') == std::string::npos) continue;
    if (i >= made.graph->outputs.size()) {
      throw Error(ErrorCode::internal, made.id + ": more outputs are expected than there are");
    }
    const Value& value = made.graph->values.at(static_cast<std::size_t>(made.graph->outputs[i].value));
    outputs.emplace(std::to_string(i), expected_tensor(value, numbers(part, made.id), made.id));
  }
  if (outputs.empty()) return;
  made.load_expected = [outputs] { return outputs; };
  made.expected_source = "expected_file";
}

// Whether an operator is defined by its parts is a fact about it.
unsigned flags_of(std::string_view op) {
  for (const OpFacts& facts : op_facts().facts()) {
    if (facts.op == op) return facts.flags & kParts;
  }
  return 0;
}

}  // namespace

void add_reports(const CaseSink& sink, const Report* reports, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const Report& report = reports[i];
    std::istringstream dtypes(report.dtypes);
    for (std::string name; dtypes >> name;) {
      const auto dtype = parse_dtype(name);
      if (!dtype) throw Error(ErrorCode::internal, std::string(report.source) + ": no dtype " + name);
      const std::string about = *report.about == '\0' ? "" : std::string("-") + report.about;
      OpFacts facts{report.op, report.call};
      facts.flags = flags_of(report.op);
      Case made = make_single_case(facts, *dtype, report.source + about + "/" + name, report.layout);
      const bool bad = std::string_view(report.call).find("bad:") != std::string_view::npos;
      if (made.checks.negative && !bad) {
        throw Error(ErrorCode::internal, made.id + " is refused: " + made.checks.expect_error);
      }
      if (!bad) expect(report, made);
      sink(std::move(made));
    }
  }
}

}  // namespace assay::suites
