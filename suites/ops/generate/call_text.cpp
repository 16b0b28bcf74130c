#include "suites/ops/generate/call_text.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <set>
#include <sstream>

#include "core/error.h"
#include "suites/ops/generate/shape_lists.h"

namespace assay::suites {
namespace {

std::vector<std::string> words(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> out;
  if (text.empty()) return out;
  for (std::size_t at = 0;;) {
    const std::size_t end = text.find(separator, at);
    out.emplace_back(text.substr(at, end == std::string_view::npos ? end : end - at));
    if (end == std::string_view::npos) return out;
    at = end + 1;
  }
}

[[noreturn]] void fail(const std::string& where, const std::string& what) {
  throw Error(ErrorCode::internal, where + ": " + what);
}

double number(const std::string& text, const std::string& where) {
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) fail(where, "'" + text + "' is no number");
  return value;
}

bool is_integer(const std::string& text) {
  const std::size_t digits = text.starts_with('-') ? 1 : 0;
  return text.size() > digits && text.find_first_not_of("0123456789", digits) == std::string::npos;
}

int64_t integer(const std::string& text, const std::string& where) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) fail(where, "'" + text + "' is no integer");
  return value;
}

// "[2,3]" -> {"2", "3"}; also without brackets.
std::vector<std::string> items(std::string text) {
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  return split(text, ',');
}

Argument parse_list(const SchemaArgument& argument, const std::string& text, const std::string& where) {
  const std::vector<std::string> parts = items(text);
  switch (argument.type.base) {
    case BaseType::floating:
    case BaseType::scalar: {
      std::vector<double> out;
      for (const std::string& part : parts) out.push_back(number(part, where));
      return out;
    }
    case BaseType::boolean: {
      std::vector<bool> out;
      for (const std::string& part : parts) out.push_back(part == "true");
      return out;
    }
    case BaseType::integer: {
      std::vector<int64_t> out;
      for (const std::string& part : parts) out.push_back(integer(part, where));
      return IntListArg{std::move(out), {}};
    }
    default:
      return parts;
  }
}

// The lists that a word stands for, and how named tensors are filled.
struct Word {
  std::string form;  // "@pointwise", "" for a call that is written out
  std::map<std::string, TensorForm> fills;
  std::vector<std::string> names;  // of `fills`, in order
};

class Parser {
 public:
  explicit Parser(const OpFacts& facts)
      : facts_(facts), schema_(*checked(facts.op)), where_(std::string("facts of ") + facts.op) {}

  std::vector<CallForm> calls() {
    for (const std::string& text : split(facts_.calls, '|')) call(text);
    std::set<std::string> labels;
    for (const CallForm& form : out_) {
      const char* kind = form.bad ? "bad/" : form.case_dtype_arguments.empty() ? "" : "T/";
      if (!labels.insert(kind + form.label).second)
        fail(where_, "two calls are labelled '" + form.label + "'");
    }
    return std::move(out_);
  }

  KeywordForm keywords(const std::string& text) {
    KeywordForm out;
    for (const std::string& word : words(text)) {
      const std::size_t equals = word.find('=');
      if (equals == std::string::npos) fail(where_, "'" + word + "' is no NAME=VALUE");
      const SchemaArgument& argument = find(word.substr(0, equals));
      out.arguments.push_back({argument.name, parse_argument(schema_, argument, word.substr(equals + 1))});
      out.label += (out.label.empty() ? "" : ",") + word;
    }
    return out;
  }

 private:
  static const Schema* checked(const char* op) {
    const Schema* schema = find_schema(op);
    if (schema == nullptr) fail("facts", std::string(op) + " has no schema");
    return schema;
  }

  const SchemaArgument& find(const std::string& name) const {
    const SchemaArgument* argument = schema_.find(name);
    if (argument == nullptr) fail(where_, "the schema has no argument '" + name + "'");
    return *argument;
  }

  static std::string shape_label(const Shape& shape) {
    if (shape.empty()) return "0d";
    std::string out;
    for (const int64_t size : shape) out += (out.empty() ? "" : "x") + std::to_string(size);
    return out;
  }

  // "5x3", "5x3.f32", "4=0..7", "3{0,2,4}".
  static std::string tensor_label(const TensorArgument& argument) {
    std::string out;
    for (const TensorForm& form : argument.forms) {
      out += (out.empty() ? "" : "+") + (form.none ? "none" : shape_label(form.shape));
      const bool index = form.dtype == DType::i64;  // the usual dtype of an index
      if (form.dtype && !index) out += "." + std::string(name_of(*form.dtype));
      if (form.ints) out += "=" + std::to_string(form.ints->first) + ".." + std::to_string(form.ints->second);
      if (!form.values.empty()) {
        std::ostringstream text;
        for (std::size_t i = 0; i < form.values.size(); ++i) text << (i == 0 ? "{" : ",") << form.values[i];
        out += text.str() + "}";
      }
    }
    return out.empty() ? "none" : out;
  }

  // What follows the shape: dtype, range, domain, values.
  void source(std::string_view text, TensorForm& form) const {
    if (text.starts_with(':')) {
      const std::size_t end = text.find_first_of("=~{", 1);
      const std::string name(text.substr(1, end == std::string_view::npos ? end : end - 1));
      form.dtype = parse_dtype(name);
      if (!form.dtype) fail(where_, "'" + name + "' is no dtype");
      text = end == std::string_view::npos ? std::string_view() : text.substr(end);
    }
    if (text.empty()) return;
    const std::string rest(text.substr(1));
    if (text[0] == '=') {
      const std::size_t dots = rest.find("..");
      if (dots == std::string::npos) fail(where_, "'" + rest + "' is no range");
      form.ints = {integer(rest.substr(0, dots), where_), integer(rest.substr(dots + 2), where_)};
      if (!form.dtype) form.dtype = DType::i64;
    } else if (text[0] == '~') {
      const std::vector<std::string> parts = split(rest, ',');
      if (parts.size() != 2) fail(where_, "'" + rest + "' is no center and scale");
      form.domain = Domain{number(parts[0], where_), number(parts[1], where_)};
    } else {
      const std::size_t close = rest.find('}');
      if (close == std::string::npos) fail(where_, "'{" + rest + "' does not end");
      for (const std::string& part : split(std::string_view(rest).substr(0, close), ',')) {
        form.values.push_back(number(part, where_));
      }
      source(std::string_view(rest).substr(close + 1), form);
    }
  }

  // "index[4,3]:i64=0..7", "tensors[2,3][2,4]".
  TensorArgument tensor(const std::string& word, std::size_t bracket) const {
    TensorArgument out;
    const SchemaArgument& argument = find(word.substr(0, bracket));
    if (argument.type.base != BaseType::tensor) fail(where_, argument.name + " is no tensor");
    out.name = argument.name;
    out.list = argument.type.list;
    std::size_t at = bracket;
    while (at < word.size()) {
      if (word[at] != '[') fail(where_, "'" + word + "': a shape is expected at '" + word.substr(at) + "'");
      const std::size_t close = word.find(']', at);
      if (close == std::string::npos) fail(where_, "'" + word + "' has no ]");
      TensorForm form;
      const std::string sizes = word.substr(at + 1, close - at - 1);
      if (sizes == "-") {
        form.none = true;
      } else {
        for (const std::string& size : split(sizes, ',')) form.shape.push_back(integer(size, where_));
      }
      at = word.find('[', close);
      if (at == std::string::npos) at = word.size();
      source(std::string_view(word).substr(close + 1, at - close - 1), form);
      const auto given = static_cast<int64_t>(form.values.size());
      const int64_t count = element_count(form.shape);
      if (given != 0 && given != count && given != 2 * count) {
        fail(where_, "'" + word + "' has not as many values as elements (complex ones may have two each)");
      }
      out.forms.push_back(std::move(form));
    }
    if (!out.list && out.forms.size() != 1) fail(where_, argument.name + " is a single tensor");
    return out;
  }

  void call(const std::string& text) {
    CallForm form;
    Word list;
    std::vector<std::string> label;
    std::string given_label;
    for (const std::string& word : words(text)) {
      const std::size_t equals = word.find('=');
      const std::size_t bracket = word.find('[');
      if (word == "bad:") {
        form.bad = true;
      } else if (word.ends_with(':')) {
        given_label = word.substr(0, word.size() - 1);
      } else if (word.starts_with('@')) {
        list.form = word;
      } else if (bracket != std::string::npos && (equals == std::string::npos || bracket < equals)) {
        form.tensors.push_back(tensor(word, bracket));
        label.push_back(tensor_label(form.tensors.back()));
      } else if (const std::size_t end = word.find_first_of(":~={");
                 !list.form.empty() && find(word.substr(0, end)).type.base == BaseType::tensor) {
        TensorForm fill;
        if (end != std::string::npos) source(std::string_view(word).substr(end), fill);
        list.names.push_back(word.substr(0, end));
        list.fills[list.names.back()] = std::move(fill);
      } else if (equals == std::string::npos) {
        fail(where_, "'" + word + "' cannot be read");
      } else {
        const SchemaArgument& argument = find(word.substr(0, equals));
        if (argument.type.base == BaseType::dtype && word.substr(equals + 1) == "T") {
          form.case_dtype_arguments.push_back(argument.name);
        } else {
          form.arguments.push_back(
              {argument.name, parse_argument(schema_, argument, word.substr(equals + 1))});
          label.push_back(word);
        }
      }
    }
    if (!given_label.empty()) label = {given_label};
    if (list.form.empty()) {
      emit(std::move(form), label);
    } else if (list.form == "@pointwise") {
      pointwise(form, list, label);
    } else if (list.form == "@dims") {
      dims(form, list, label);
    } else if (list.form == "@shapes") {
      for (const Shape& shape : single_shapes()) shaped(form, list, label, shape);
    } else {
      fail(where_, "'" + list.form + "' is no list of calls");
    }
  }

  void emit(CallForm form, const std::vector<std::string>& label) {
    form.label.clear();
    for (const std::string& part : label) form.label += (form.label.empty() ? "" : ",") + part;
    if (form.label.empty()) form.label = "plain";
    out_.push_back(std::move(form));
  }

  TensorArgument filled(const std::string& name, const Shape& shape, const Word& list) const {
    TensorForm form;
    if (const auto fill = list.fills.find(name); fill != list.fills.end()) form = fill->second;
    form.shape = shape;
    return {name, {std::move(form)}, false};
  }

  void pointwise(const CallForm& base, const Word& list, const std::vector<std::string>& label) {
    std::vector<std::string> names;
    bool in_place = false;
    for (const SchemaArgument& argument : schema_.arguments) {
      if (argument.type.base != BaseType::tensor || argument.type.list) continue;
      const bool named = std::find(list.names.begin(), list.names.end(), argument.name) != list.names.end();
      if (!named && (argument.default_value || argument.type.optional)) continue;
      in_place = in_place || argument.type.alias.ends_with('!');
      names.push_back(argument.name);
    }
    for (const std::vector<Shape>& shapes : pointwise_shapes(names.size(), in_place)) {
      CallForm form = base;
      std::vector<std::string> parts;
      for (std::size_t i = 0; i < names.size(); ++i) {
        form.tensors.push_back(filled(names[i], shapes[i], list));
        parts.push_back(shape_label(shapes[i]));
      }
      parts.insert(parts.end(), label.begin(), label.end());
      emit(std::move(form), parts);
    }
  }

  const std::string& first_tensor() const {
    for (const SchemaArgument& argument : schema_.arguments) {
      if (argument.type.base == BaseType::tensor) return argument.name;
    }
    fail(where_, "the schema has no tensor");
  }

  void shaped(const CallForm& base, const Word& list, const std::vector<std::string>& label,
              const Shape& shape) {
    CallForm form = base;
    form.tensors.insert(form.tensors.begin(), filled(first_tensor(), shape, list));
    std::vector<std::string> parts{shape_label(shape)};
    parts.insert(parts.end(), label.begin(), label.end());
    emit(std::move(form), parts);
  }

  void dims(const CallForm& base, const Word& list, const std::vector<std::string>& label) {
    const SchemaArgument& dim = find("dim");
    const bool optional = dim.type.optional || dim.default_value.has_value();
    for (const ShapeAndDims& entry : shapes_and_dims()) {
      if (entry.dims.size() != 1 && !dim.type.list) continue;
      CallForm form = base;
      form.tensors.insert(form.tensors.begin(), filled(first_tensor(), entry.shape, list));
      std::vector<std::string> parts{shape_label(entry.shape)};
      std::string text;
      for (const int64_t d : entry.dims) text += (text.empty() ? "" : ",") + std::to_string(d);
      if (dim.type.list) text = "[" + text + "]";
      form.arguments.push_back({dim.name, parse_argument(schema_, dim, text)});
      parts.push_back("dim=" + text);
      parts.insert(parts.end(), label.begin(), label.end());
      emit(std::move(form), parts);
    }
    if (!optional) return;
    for (const Shape& shape : {Shape{5, 7}, Shape{}, Shape{3, 5, 7}, Shape{0, 3}, Shape{131}}) {
      CallForm form = base;
      form.tensors.insert(form.tensors.begin(), filled(first_tensor(), shape, list));
      // None has to be written where the argument has no default.
      if (!dim.default_value) form.arguments.push_back({dim.name, NoneArg{}});
      std::vector<std::string> parts{shape_label(shape), "all"};
      parts.insert(parts.end(), label.begin(), label.end());
      emit(std::move(form), parts);
    }
  }

  const OpFacts& facts_;
  const Schema& schema_;
  std::string where_;
  std::vector<CallForm> out_;
};

// Keywords whose interesting values follow from their name and type.
std::vector<std::string> automatic_keywords(const Schema& schema) {
  static const std::set<std::string> without_effect{"non_blocking", "pin_memory",  "copy",   "sparse",
                                                    "implicit",     "sparse_grad", "stable", "cudnn_enabled"};
  std::vector<std::string> out;
  for (const SchemaArgument& argument : schema.arguments) {
    if (!argument.default_value || without_effect.contains(argument.name)) continue;
    if (argument.type.base == BaseType::boolean && !argument.type.list) {
      out.push_back(argument.name + (argument.default_text == "False" ? "=true" : "=false"));
    } else if (argument.type.base == BaseType::dtype && argument.name == "dtype") {
      for (const char* dtype : {"f32", "f64", "bf16", "i64", "i32", "bool"}) {
        out.push_back(argument.name + "=" + dtype);
      }
    } else if (argument.type.base == BaseType::scalar &&
               (argument.name == "alpha" || argument.name == "beta") && argument.default_text == "1") {
      for (const char* value : {"0", "2", "-3", "-0.5"}) out.push_back(argument.name + "=" + value);
    }
  }
  return out;
}

}  // namespace

Argument parse_argument(const Schema& schema, const SchemaArgument& argument, const std::string& text) {
  const std::string where = "facts of " + schema.full_name() + ": " + argument.name;
  if (text == "None") return NoneArg{};
  if (argument.type.list && (argument.type.base != BaseType::integer || text.starts_with('[') ||
                             !argument.type.fixed_size || text.find(',') != std::string::npos)) {
    return parse_list(argument, text, where);
  }
  switch (argument.type.base) {
    case BaseType::integer:
      return integer(text, where);
    case BaseType::boolean:
      if (text != "true" && text != "false") fail(where, "'" + text + "' is no bool");
      return text == "true";
    case BaseType::floating:
      return number(text, where);
    case BaseType::scalar:
    case BaseType::tensor:
      if (text == "true" || text == "false") return text == "true";
      if (is_integer(text)) return integer(text, where);
      return number(text, where);
    case BaseType::dtype: {
      const auto dtype = parse_dtype(text);
      if (!dtype) fail(where, "'" + text + "' is no dtype");
      return DTypeArg{*dtype};
    }
    default:
      return text;
  }
}

std::vector<CallForm> parse_calls(const OpFacts& facts) { return Parser(facts).calls(); }

std::vector<KeywordForm> keyword_variants(const OpFacts& facts) {
  Parser parser(facts);
  std::vector<std::string> texts = automatic_keywords(*find_schema(facts.op));
  for (const std::string& text : split(facts.keywords, '|')) {
    const std::string trimmed = [&] {
      std::string out;
      for (const std::string& word : words(text)) out += (out.empty() ? "" : " ") + word;
      return out;
    }();
    if (!trimmed.empty() && std::find(texts.begin(), texts.end(), trimmed) == texts.end()) {
      texts.push_back(trimmed);
    }
  }
  std::vector<KeywordForm> out;
  for (const std::string& text : texts) out.push_back(parser.keywords(text));
  return out;
}

}  // namespace assay::suites
