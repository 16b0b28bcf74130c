#include "suites/ops/op_case.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/error.h"
#include "core/graph/builder.h"
#include "core/opset/classify.h"

namespace assay::suites {
namespace {

// "aten::add.Tensor" -> "add.Tensor", "aten::relu.default" -> "relu".
std::string short_name(const std::string& op) {
  std::string name = op.starts_with("aten::") ? op.substr(6) : op;
  if (name.ends_with(".default")) name.resize(name.size() - 8);
  return name;
}

}  // namespace

TensorSpec uniform(DType dtype, Shape shape, double center, double scale) {
  return {dtype, std::move(shape), UniformDraw{center, scale}};
}

TensorSpec integers(DType dtype, Shape shape, int64_t low, int64_t high) {
  return {dtype, std::move(shape), IntegerDraw{low, high}};
}

TensorSpec values(DType dtype, Shape shape, const std::vector<double>& data) {
  if (is_float(dtype)) return {dtype, shape, Tensor::from_doubles(dtype, shape, data)};
  if (is_complex(dtype)) {
    std::vector<double> parts = data;
    if (static_cast<int64_t>(data.size()) == element_count(shape)) {
      parts.clear();
      for (const double value : data) parts.insert(parts.end(), {value, 0.0});
    }
    return {dtype, shape, Tensor::from_doubles(dtype, shape, parts)};
  }
  std::vector<int64_t> whole(data.begin(), data.end());
  return {dtype, shape, Tensor::from_ints(dtype, shape, whole)};
}

OpCase::OpCase(std::string op, std::string variant) : op_(std::move(op)), variant_(std::move(variant)) {}

OpCase& OpCase::tensor(const std::string& argument, TensorSpec spec) {
  tensors_.push_back({argument, {std::move(spec)}, false});
  return *this;
}

OpCase& OpCase::tensors(const std::string& argument, std::vector<TensorSpec> specs) {
  Given given{argument, {}, true};
  for (auto& spec : specs) given.specs.emplace_back(std::move(spec));
  tensors_.push_back(std::move(given));
  return *this;
}

OpCase& OpCase::none_or_tensors(const std::string& argument, std::vector<std::optional<TensorSpec>> specs) {
  tensors_.push_back({argument, std::move(specs), true});
  return *this;
}

OpCase& OpCase::arg(const std::string& argument, Argument value) {
  arguments_.push_back({argument, std::move(value)});
  return *this;
}

OpCase& OpCase::ints(const std::string& argument, std::vector<int64_t> values) {
  return arg(argument, IntListArg{std::move(values), {}});
}

OpCase& OpCase::drawn() {
  checks_.suite_drawn = true;
  return *this;
}

OpCase& OpCase::probe() {
  checks_.exact_probe = true;
  return *this;
}

OpCase& OpCase::negative(std::string mention) {
  checks_.negative = true;
  checks_.expect_error = std::move(mention);
  return *this;
}

Case OpCase::empty_case() const {
  Case c;
  c.id = "ops/" + short_name(op_) + "/" + variant_;
  c.suite = "ops";
  c.subject = op_;
  c.checks = checks_;
  c.checks.nan_policy = !checks_.negative;
  return c;
}

std::vector<NamedArgument> OpCase::add_inputs(Case& c, GraphBuilder& builder) const {
  std::vector<NamedArgument> arguments;
  for (const Given& given : tensors_) {
    ValueListArg ids;
    for (std::size_t i = 0; i < given.specs.size(); ++i) {
      if (!given.specs[i]) {
        ids.ids.push_back(-1);
        continue;
      }
      const TensorSpec& spec = *given.specs[i];
      const std::string name = given.list ? given.argument + "_" + std::to_string(i) : given.argument;
      const Shape shape = base_shape(spec.layout, spec.shape);
      ids.ids.push_back(builder.input(name, spec.dtype, shape));
      c.inputs[name] = TensorRecipe{spec.dtype, shape, spec.source};
    }
    if (given.list) {
      arguments.push_back({given.argument, ids});
    } else {
      arguments.push_back({given.argument, ValueArg{ids.ids.at(0)}});
    }
  }
  // Views after all inputs, so that these keep the order of the arguments.
  for (std::size_t n = 0; n < tensors_.size(); ++n) {
    for (std::size_t i = 0; i < tensors_[n].specs.size(); ++i) {
      const auto& spec = tensors_[n].specs[i];
      if (!spec || spec->layout == Layout::contiguous) continue;
      ValueId& id = tensors_[n].list ? std::get<ValueListArg>(arguments[n].value).ids[i]
                                     : std::get<ValueArg>(arguments[n].value).id;
      id = append_view(builder, spec->layout, id, spec->shape);
    }
  }
  arguments.insert(arguments.end(), arguments_.begin(), arguments_.end());
  return arguments;
}

void OpCase::add_refused_node(Case& c, GraphBuilder& builder, std::vector<NamedArgument> arguments) const {
  // What the rules give, if only data shows that the call is bad (an index out of range); else as many as the
  // schema names, whatever they are: the call must be refused before they matter.
  std::vector<TensorMeta> results;
  try {
    results = builder.results_of(op_, arguments);
  } catch (const Error&) {
    const Schema* schema = find_schema(op_);
    results.assign(schema == nullptr ? 1 : std::max<std::size_t>(schema->returns.size(), 1),
                   TensorMeta{DType::f32, {1}});
  }
  const auto outputs = builder.declared_node(op_, std::move(arguments), results);
  builder.output(outputs.at(0));
  c.graph = std::make_shared<const Graph>(builder.build_unchecked());
}

// The graph whose outputs are those results of its last node that have a right value; the node has no others.
std::shared_ptr<const Graph> OpCase::with_outputs(GraphBuilder& builder, const std::vector<ValueId>& outputs,
                                                  bool checked) const {
  std::size_t count = outputs.size();
  if (count > 1) {
    Node last = builder.graph().nodes.back();
    last.outputs.clear();
    const OpCall call(builder.graph(), last);
    while (!is_defined_result(call, count - 1)) --count;
  }
  for (std::size_t i = 0; i < count; ++i) builder.output(outputs[i]);
  Graph graph = checked ? builder.build() : builder.build_unchecked();
  std::vector<ValueId>& made = graph.nodes.back().outputs;
  for (std::size_t i = count; i < made.size(); ++i) made[i] = -1;
  graph.values.resize(graph.values.size() - (made.size() - count));  // the node's results are the last values
  return std::make_shared<const Graph>(std::move(graph));
}

Case OpCase::build() const {
  Case c = empty_case();
  GraphBuilder builder(c.id);
  std::vector<NamedArgument> arguments = add_inputs(c, builder);
  if (checks_.negative) {
    add_refused_node(c, builder, std::move(arguments));
  } else {
    const auto outputs = builder.node(op_, std::move(arguments));
    c.graph = with_outputs(builder, outputs, true);
  }
  return c;
}

Case OpCase::build_as_ruled() const {
  Case c = empty_case();
  GraphBuilder builder(c.id);
  std::vector<NamedArgument> arguments = add_inputs(c, builder);
  std::vector<TensorMeta> results;
  try {
    results = builder.results_of(op_, arguments);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_argument) throw;
    const std::string sentence = error.what();
    const std::string prefix = op_ + ": ";
    c.checks = {};
    c.checks.negative = true;
    c.checks.expect_error = sentence.starts_with(prefix) ? sentence.substr(prefix.size()) : sentence;
    // Backends see what writes in place as its functional form, whose schema they quote.
    const auto schema = c.checks.expect_error.find("; the schema is ");
    if (schema != std::string::npos) c.checks.expect_error.resize(schema);
    add_refused_node(c, builder, std::move(arguments));
    return c;
  }
  const auto outputs = builder.declared_node(op_, std::move(arguments), results);
  c.graph = with_outputs(builder, outputs, false);
  return c;
}

const std::vector<DType>& compute_floats() {
  static const std::vector<DType> dtypes{DType::f32, DType::bf16, DType::f16};
  return dtypes;
}

std::string dtype_tag(DType dtype) { return std::string(name_of(dtype)); }

const std::vector<NamedShape>& edge_shapes() {
  static const std::vector<NamedShape> shapes{
      {"0d", {}},        {"empty", {0, 3}}, {"one", {1, 1}},   {"odd", {3, 5, 7}},
      {"127", {127, 2}}, {"129", {129, 3}}, {"513", {2, 513}}, {"4d", {2, 3, 4, 5}},
  };
  return shapes;
}

const Shape& drawn_shape() {
  static const Shape shape{8, 128};
  return shape;
}

}  // namespace assay::suites
