// Calls of an operator as text: what the tables of facts are written in.
//
//   call    := ["label:"] { token }
//   token   := NAME shape {shape} [source]   tensor, or tensor list if there are several shapes or a '+'
//            | NAME "=" value                number, bool, word, dtype, None, or [list] by the schema's type
//            | "bad:"                        the call must be refused
//   shape   := "[" sizes "]" | "[-]"         [-] is None in a list; [] is a 0-d tensor
//   source  := [":" dtype] [ "=" low ".." high     integers, high excluded; i64 unless a dtype is given
//                          | "~" center "," scale  floats around another center than the operator's
//                          | "{" values "}" ]      these values; complex: real parts, or both
//
// A tensor without ":dtype" has the dtype of the case; so has dtype=T. A call that contains one of these
// words stands for a list of calls:
//   @pointwise  every required tensor argument, over 0-d, zero-size, size-1, prime and broadcast shapes,
//   sizes
//               around 128 and 512, and higher ranks
//   @dims       one tensor and the schema's dim (int, int? or int[]), over shapes and every dim, negative
//   ones
//               too
//   @shapes     the first tensor over shapes
// There a NAME with a source and no shape says how that tensor is filled ("@pointwise other~4,3"), and the
// name of an optional tensor includes it ("@pointwise min max").
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/argument.h"
#include "core/graph/graph.h"
#include "core/opset/schema.h"
#include "suites/ops/generate/facts.h"

namespace assay::suites {

struct TensorForm {
  bool none = false;
  Shape shape;
  std::optional<DType> dtype;                       // nullopt: the dtype of the case
  std::optional<Domain> domain;                     // nullopt: the operator's
  std::optional<std::pair<int64_t, int64_t>> ints;  // [low, high)
  std::vector<double> values;                       // given elements
};

struct TensorArgument {
  std::string name;
  std::vector<TensorForm> forms;
  bool list = false;
};

struct CallForm {
  std::string label;  // unique among the calls of an operator: "5x7,dim=-1,keepdim=true"
  std::vector<TensorArgument> tensors;
  std::vector<NamedArgument> arguments;  // an argument `dtype=T` is in dtype_arguments instead
  std::vector<std::string> case_dtype_arguments;
  bool bad = false;  // must be refused
};

// All calls of a table entry, forms expanded. Throws Error{internal} naming the operator and the token that
// the schema does not have or that cannot be read.
std::vector<CallForm> parse_calls(const OpFacts& facts);
// Keyword variants: each a list of arguments to add to a call, with its label.
struct KeywordForm {
  std::string label;
  std::vector<NamedArgument> arguments;
};
std::vector<KeywordForm> keyword_variants(const OpFacts& facts);

// One keyword's value by the schema's type.
Argument parse_argument(const Schema& schema, const SchemaArgument& argument, const std::string& text);

}  // namespace assay::suites
