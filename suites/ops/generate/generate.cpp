#include "suites/ops/generate/generate.h"

#include <algorithm>
#include <optional>
#include <sstream>

#include "core/decompose/decompose.h"
#include "core/error.h"
#include "core/opset/schema.h"
#include "core/philox.h"
#include "suites/ops/generate/bad_calls.h"
#include "suites/ops/generate/call_text.h"
#include "suites/ops/generate/edge_values.h"
#include "suites/ops/op_case.h"

namespace assay::suites {
namespace {

// Pairs of dtypes that PyTorch promotes in different ways.
struct DTypePair {
  DType first, second;
};
constexpr DTypePair kMixed[] = {
    {DType::i64, DType::f32},  {DType::f32, DType::i64},     {DType::bf16, DType::f32},
    {DType::f16, DType::bf16}, {DType::u8, DType::i8},       {DType::boolean, DType::f32},
    {DType::i32, DType::f16},  {DType::boolean, DType::i64}, {DType::f32, DType::f64},
    {DType::i16, DType::u8},
};

constexpr int64_t kSmall = 64;        // elements of calls that edge values and layouts are tried on
constexpr int64_t kProbeSize = 2048;  // elements of exact probes

bool has_case_dtype(const CallForm& call) {
  if (!call.case_dtype_arguments.empty()) return true;
  for (const TensorArgument& argument : call.tensors) {
    for (const TensorForm& form : argument.forms) {
      if (!form.none && !form.dtype) return true;
    }
  }
  return false;
}

bool is_filled_freely(const TensorForm& form) {
  return !form.none && !form.dtype && form.values.empty() && !form.ints;
}

int64_t largest(const CallForm& call) {
  int64_t out = 0;
  for (const TensorArgument& argument : call.tensors) {
    for (const TensorForm& form : argument.forms) {
      if (!form.none) out = std::max(out, element_count(form.shape));
    }
  }
  return out;
}

// One case being made.
struct Variant {
  DType dtype = DType::f32;
  std::optional<DType> second = {};  // dtype of the second free tensor
  const KeywordForm* keyword = nullptr;
  const EdgeClass* edges = nullptr;  // of `dtype`
  bool only_edges = false;
  std::string argument = {};  // edges and layout: of this argument alone; "" of all
  Layout layout = Layout::contiguous;
  bool probe = false;
  std::string suffix = {};  // of the id
};

class Generator {
 public:
  Generator(const OpFacts& facts, const CaseSink& sink)
      : facts_(facts),
        schema_(*find_schema(facts.op)),
        calls_(parse_calls(facts)),
        keywords_(keyword_variants(facts)),
        sink_(sink) {}

  void run() {
    find_dtypes();
    for (std::size_t i = 0; i < calls_.size(); ++i) plain(calls_[i], i == 0);
    if (const CallForm* base = first_good()) {
      keywords(*base);
      refused_dtypes(*base);
      for (const CallForm& bad : bad_calls(schema_, *base)) {
        refused(bad);
      }
    }
    if ((facts_.flags & kNoValues) != 0) return;
    int small = 0;
    for (const CallForm& call : calls_) {
      if (call.bad || !has_case_dtype(call) || call.tensors.empty()) continue;
      mixed(call);
      probes(call);
      if (const int64_t size = largest(call); size > 1 && size <= kSmall && small < 2) {
        if ((facts_.flags & kNoEdges) == 0) edges(call, small == 0);
        layouts(call, small == 0);
        ++small;
      }
    }
    if ((facts_.flags & kNoEdges) == 0) edge_pairs();
  }

  Case single(DType dtype, const std::string& variant, Layout layout) const {
    if (calls_.size() != 1) {
      throw Error(ErrorCode::internal, std::string("facts of ") + facts_.op + ": one call is expected");
    }
    if (calls_[0].bad) return refused(calls_[0], dtype, variant);
    Case made = make(calls_[0], {.dtype = dtype, .layout = layout}, variant).build_as_ruled();
    if (!made.checks.negative) take_apart(made);
    return made;
  }

 private:
  const CallForm* first_good() const {
    const auto it = std::find_if(calls_.begin(), calls_.end(), [](const CallForm& c) { return !c.bad; });
    return it == calls_.end() ? nullptr : &*it;
  }

  // The most important dtype that is taken: cases that try something else are made in it.
  DType main_dtype() const { return dtypes_.empty() ? DType::f32 : dtypes_.front(); }
  bool takes(DType dtype) const { return std::find(dtypes_.begin(), dtypes_.end(), dtype) != dtypes_.end(); }

  void find_dtypes() {
    const CallForm* base = first_good();
    if (base == nullptr) return;
    std::vector<DType> candidates;
    std::istringstream listed(facts_.dtypes);
    for (std::string name; listed >> name;) {
      const auto dtype = parse_dtype(name);
      if (!dtype)
        throw Error(ErrorCode::internal, std::string("facts of ") + facts_.op + ": no dtype " + name);
      candidates.push_back(*dtype);
    }
    const bool given = !candidates.empty();
    if (!given) candidates = case_dtypes();
    for (const DType dtype : candidates) {
      const bool narrow = dtype == DType::f8e4m3fn || dtype == DType::f8e5m2;
      if (narrow && (facts_.flags & kFloat8) == 0 && !given) continue;
      const Checks checks = make(*base, {.dtype = dtype}, "probe").build_as_ruled().checks;
      if (checks.negative) {
        // Complex numbers of two f16 exist, only not in Assay: nothing that everybody must refuse.
        const bool half = dtype == DType::f16 &&
                          checks.expect_error.find("complex numbers are made of") != std::string::npos;
        if (!given && !half) refused_.push_back(dtype);
      } else {
        dtypes_.push_back(dtype);
      }
    }
    if (dtypes_.empty()) {
      throw Error(ErrorCode::internal, std::string("facts of ") + facts_.op + ": the call '" + base->label +
                                           "' is refused in every dtype");
    }
  }

  std::string tag(const CallForm& call, const Variant& variant) const {
    std::string out = has_case_dtype(call) ? dtype_tag(variant.dtype) : "any";
    if (variant.second) out += "-" + dtype_tag(*variant.second);
    return out;
  }

  std::string id(const CallForm& call, const Variant& variant) const {
    std::string out = tag(call, variant) + "/" + call.label;
    if (variant.keyword != nullptr) out += "," + variant.keyword->label;
    if (!variant.suffix.empty()) out += "/" + variant.suffix;
    if (!variant.argument.empty()) out += "-" + variant.argument;
    return out;
  }

  TensorSpec spec(const std::string& argument, const TensorForm& form, const Variant& variant,
                  int free) const {
    const bool at_second = free == 1 && variant.second;
    TensorSpec out;
    out.dtype = form.dtype.value_or(at_second ? *variant.second : variant.dtype);
    out.shape = form.shape;
    const Domain domain = form.domain.value_or(facts_.domain);
    const bool chosen = is_filled_freely(form) && (variant.argument.empty() || variant.argument == argument);
    if (!form.values.empty()) {
      out.source = values(out.dtype, form.shape, form.values).source;
    } else if (form.ints) {
      out.source = IntegerDraw{form.ints->first, form.ints->second};
    } else if (variant.edges != nullptr && chosen) {
      out.source = with_edges(out.dtype, form.shape, domain, *variant.edges, free, variant.only_edges);
    } else if (variant.probe && !is_complex(out.dtype)) {
      const auto [low, high] = integers_of(DType::i8, {domain.center, std::min(domain.scale, 4.0)});
      out.source = IntegerDraw{low, high};
    } else if (is_integral(out.dtype)) {
      const auto [low, high] = integers_of(out.dtype, domain);
      out.source = IntegerDraw{low, high};
    } else {
      out.source = UniformDraw{domain.center, domain.scale};
    }
    if (variant.layout != Layout::contiguous && chosen) {
      const std::vector<Layout> possible = layouts_of(form.shape);
      if (std::find(possible.begin(), possible.end(), variant.layout) != possible.end()) {
        out.layout = variant.layout;
      }
    }
    return out;
  }

  OpCase make(const CallForm& call, const Variant& variant, const std::string& name) const {
    OpCase out(facts_.op, name);
    int free = 0;
    for (const TensorArgument& argument : call.tensors) {
      if (overridden(variant.keyword, argument.name)) continue;  // a number in place of the tensor
      std::vector<std::optional<TensorSpec>> specs;
      for (const TensorForm& form : argument.forms) {
        specs.push_back(form.none ? std::nullopt : std::optional(spec(argument.name, form, variant, free)));
        if (is_filled_freely(form)) ++free;
      }
      if (argument.list) {
        out.none_or_tensors(argument.name, std::move(specs));
      } else if (specs.at(0)) {
        out.tensor(argument.name, std::move(*specs.at(0)));
      } else {
        out.arg(argument.name, NoneArg{});
      }
    }
    for (const NamedArgument& argument : call.arguments) {
      if (!overridden(variant.keyword, argument.name)) out.arg(argument.name, argument.value);
    }
    for (const std::string& argument : call.case_dtype_arguments) {
      if (!overridden(variant.keyword, argument)) out.arg(argument, DTypeArg{variant.dtype});
    }
    if (variant.keyword != nullptr) {
      for (const NamedArgument& argument : variant.keyword->arguments) out.arg(argument.name, argument.value);
    }
    if (variant.probe) out.probe();
    return out;
  }

  static bool overridden(const KeywordForm* keyword, const std::string& name) {
    return keyword != nullptr && std::any_of(keyword->arguments.begin(), keyword->arguments.end(),
                                             [&](const NamedArgument& a) { return a.name == name; });
  }

  // Results that `output_mask` declines are none, as in exported graphs.
  static void drop_masked(Graph& graph) {
    for (Node& node : graph.nodes) {
      const NamedArgument* given = node.find("output_mask");
      const auto* mask = given == nullptr ? nullptr : std::get_if<std::vector<bool>>(&given->value);
      for (std::size_t i = 0; mask != nullptr && i < node.outputs.size(); ++i) {
        if (mask->at(i)) continue;
        std::erase_if(graph.outputs, [&](const GraphOutput& o) { return o.value == node.outputs[i]; });
        node.outputs[i] = -1;
      }
    }
  }

  void take_apart(Case& made) const {
    if ((facts_.flags & kParts) == 0) return;
    Graph parts = *made.graph;
    drop_masked(parts);
    decompose(parts);
    made.graph = std::make_shared<const Graph>(std::move(parts));
  }

  void emit(const CallForm& call, const Variant& variant) const {
    Case made = make(call, variant, id(call, variant)).build_as_ruled();
    if (!made.checks.negative) take_apart(made);
    if (!made.checks.negative) statistical_checks(call, variant, made);
    sink_(std::move(made));
  }

  // Gates that need exchangeable draws, or results that are rounded once.
  void statistical_checks(const CallForm& call, const Variant& variant, Case& made) const {
    if (variant.edges != nullptr || variant.probe || !is_float(variant.dtype) || variant.second ||
        variant.layout != Layout::contiguous) {
      return;
    }
    const Value& result = made.graph->values.at(static_cast<std::size_t>(made.graph->outputs.at(0).value));
    const int64_t count = std::find(result.shape.begin(), result.shape.end(), -1) == result.shape.end()
                              ? element_count(result.shape)
                              : 0;
    bool equal_shapes = true;  // an operand that is broadcast makes errors alike
    for (const TensorArgument& argument : call.tensors) {
      for (const TensorForm& form : argument.forms) {
        equal_shapes = equal_shapes && !form.none && form.shape == call.tensors[0].forms[0].shape;
      }
    }
    const bool pointwise = equal_shapes || (facts_.flags & kExactOnIntegers) != 0;
    if ((facts_.flags & kDrawn) != 0 && count >= 256 && count <= 4096 && pointwise) {
      made.checks.suite_drawn = true;
    }
    const bool narrow = variant.dtype == DType::bf16 || variant.dtype == DType::f16;
    if ((facts_.flags & kRounded16) != 0 && narrow && variant.keyword == nullptr)
      made.checks.exact_probe = true;
  }

  void plain(const CallForm& call, bool first) {
    if (call.bad) {
      refused(call);
      return;
    }
    if (!has_case_dtype(call)) return emit(call, {.dtype = main_dtype()});
    const bool big = largest(call) > 4096;
    for (const DType dtype : dtypes_) {
      const bool computes = dtype == DType::f32 || dtype == DType::bf16 || dtype == DType::f16;
      // A third of the other dtypes' calls, chosen by name so that adding calls changes none.
      const bool sampled =
          fnv1a64(std::string(facts_.op) + call.label + dtype_tag(dtype)) % 3 == 0 || dtype == main_dtype();
      if (first || (computes && !big) || sampled) emit(call, {.dtype = dtype});
    }
  }

  // Bad input: by the shape rules' sentence, or, where only data shows it (an index out of range), by any
  // sentence that names the index.
  Case refused(const CallForm& call, DType dtype, const std::string& variant) const {
    const OpCase bad = make(call, {.dtype = dtype}, variant);
    Case made = bad.build_as_ruled();
    if (made.checks.negative) return made;
    if ((facts_.flags & kParts) == 0) return OpCase(bad).negative("index").build();
    take_apart(made);
    made.checks.negative = true;
    made.checks.expect_error = "index";
    return made;
  }
  void refused(const CallForm& call) const { sink_(refused(call, main_dtype(), "bad/" + call.label)); }

  void keywords(const CallForm& base) const {
    for (const KeywordForm& keyword : keywords_) {
      for (const DType dtype : dtypes_) {
        const bool computes = dtype == DType::f32 || dtype == DType::bf16 || dtype == DType::f16 ||
                              dtype == DType::i64 || dtype == DType::i32 || dtype == main_dtype();
        // A call without a dtype of its own is one case.
        const bool own = has_case_dtype(base) || dtype == main_dtype();
        if (own && (computes || dtypes_.size() <= 4)) emit(base, {.dtype = dtype, .keyword = &keyword});
      }
      // On a second call, whose shape is another, and with edge values: alpha = 0 with NaN.
      for (const CallForm& call : calls_) {
        if (call.bad || &call == &base || largest(call) > kSmall || largest(call) < 2) continue;
        emit(call, {.dtype = main_dtype(), .keyword = &keyword});
        if ((facts_.flags & (kNoEdges | kNoValues)) == 0 && !edge_classes(main_dtype()).empty()) {
          emit(call, {.dtype = main_dtype(),
                      .keyword = &keyword,
                      .edges = &edge_classes(main_dtype()).back(),
                      .suffix = "edge-mixed"});
        }
        break;
      }
    }
  }

  void refused_dtypes(const CallForm& base) const {
    for (const DType dtype : refused_) {
      sink_(make(base, {.dtype = dtype}, "bad/dtype-" + dtype_tag(dtype)).build_as_ruled());
    }
  }

  // Promotion: free tensors of equal standing. Where an operator is defined by its parts, what these take is
  // nobody's promise, and refusing it is not asked for.
  void mixed(const CallForm& call) const {
    if (std::string_view(facts_.calls).find("@pointwise") == std::string_view::npos) return;
    if (call.tensors.size() < 2 || largest(call) > kSmall) return;
    if (!is_filled_freely(call.tensors[0].forms[0]) || !is_filled_freely(call.tensors[1].forms[0])) return;
    if (schema_.arguments[0].type.alias.ends_with('!')) return;
    const bool scalar = call.tensors[1].forms[0].shape.empty() && !call.tensors[0].forms[0].shape.empty();
    const bool same =
        call.tensors[0].forms[0].shape == Shape{3, 5} && call.tensors[1].forms[0].shape == Shape{3, 5};
    if (!scalar && !same) return;
    for (const auto& [first, second] : kMixed) {
      const Variant variant{.dtype = first, .second = second};
      if ((facts_.flags & kParts) != 0 &&
          make(call, variant, id(call, variant)).build_as_ruled().checks.negative) {
        continue;
      }
      emit(call, variant);
    }
  }

  void probes(const CallForm& call) const {
    if ((facts_.flags & kExactOnIntegers) == 0 || largest(call) > kProbeSize) return;
    if (fnv1a64(std::string(facts_.op) + call.label) % 2 != 0) return;
    for (const DType dtype : dtypes_) {
      if (is_float(dtype)) emit(call, {.dtype = dtype, .probe = true, .suffix = "probe"});
    }
  }

  std::vector<std::string> free_arguments(const CallForm& call) const {
    std::vector<std::string> out;
    for (const TensorArgument& argument : call.tensors) {
      if (std::any_of(argument.forms.begin(), argument.forms.end(), is_filled_freely))
        out.push_back(argument.name);
    }
    return out;
  }

  void edges(const CallForm& call, bool all_dtypes) const {
    const std::vector<std::string> arguments = free_arguments(call);
    if (arguments.empty()) return;
    for (const DType dtype : dtypes_) {
      if (!all_dtypes && dtype != main_dtype()) continue;
      for (const EdgeClass& edges : edge_classes(dtype)) {
        const std::string suffix = std::string("edge-") + edges.name;
        emit(call, {.dtype = dtype, .edges = &edges, .suffix = suffix});
        if (dtype != main_dtype() || arguments.size() < 2) continue;
        for (const std::string& argument : arguments) {
          emit(call, {.dtype = dtype, .edges = &edges, .argument = argument, .suffix = suffix});
        }
      }
    }
  }

  // Every edge value of one operand with every one of the other.
  void edge_pairs() const {
    const CallForm* base = first_good();
    if (base == nullptr || !has_case_dtype(*base) || largest(*base) > 4096 || free_arguments(*base).empty())
      return;
    for (const DType dtype : dtypes_) {
      if (edge_classes(dtype).empty()) continue;
      emit(
          *base,
          {.dtype = dtype, .edges = &edge_classes(dtype).back(), .only_edges = true, .suffix = "edge-pairs"});
    }
  }

  void layouts(const CallForm& call, bool all) const {
    // A view that is changed in place changes the tensor that it views: no graph says that.
    if (schema_.arguments.at(0).type.alias.ends_with('!') || (facts_.flags & kNoLayouts) != 0) return;
    const std::vector<std::string> arguments = free_arguments(call);
    std::vector<Layout> possible;
    for (const TensorArgument& argument : call.tensors) {
      for (const TensorForm& form : argument.forms) {
        if (!is_filled_freely(form)) continue;
        for (const Layout layout : layouts_of(form.shape)) {
          if (std::find(possible.begin(), possible.end(), layout) == possible.end())
            possible.push_back(layout);
        }
      }
    }
    for (const Layout layout : possible) {
      for (const DType dtype : dtypes_) {
        if (dtype != main_dtype() && dtype != DType::bf16 && dtype != DType::i64) continue;
        emit(call, {.dtype = dtype, .layout = layout, .suffix = name_of(layout)});
      }
      if (!all || arguments.size() < 2) continue;
      for (const std::string& argument : arguments) {
        emit(call,
             {.dtype = main_dtype(), .argument = argument, .layout = layout, .suffix = name_of(layout)});
      }
    }
  }

  const OpFacts& facts_;
  const Schema& schema_;
  std::vector<CallForm> calls_;
  std::vector<KeywordForm> keywords_;
  std::vector<DType> dtypes_, refused_;
  const CaseSink& sink_;
};

}  // namespace

const std::vector<DType>& case_dtypes() {
  static const std::vector<DType> dtypes{
      DType::f32, DType::bf16, DType::f16,     DType::f64, DType::i64,  DType::i32,      DType::i16,
      DType::i8,  DType::u8,   DType::boolean, DType::c64, DType::c128, DType::f8e4m3fn, DType::f8e5m2,
  };
  return dtypes;
}

void generate_cases(const OpFacts& facts, const CaseSink& sink) {
  if (find_schema(facts.op) == nullptr) {
    throw Error(ErrorCode::internal, std::string("facts of ") + facts.op + ", which has no schema");
  }
  Generator(facts, sink).run();
}

Case make_single_case(const OpFacts& facts, DType dtype, const std::string& variant, Layout layout) {
  const CaseSink nowhere;
  return Generator(facts, nowhere).single(dtype, variant, layout);
}

}  // namespace assay::suites
