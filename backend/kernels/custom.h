// Kernels that users add to the device (docs/custom_kernel.md): for an operator, or for a pattern of several.
// One file NAME.cpp holds one, and defines `void register_NAME(assay::backend::CustomKernels&)`; CMake's
// assay_trainium_kernels() makes a plug-in of the device with it.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "backend/kernels/kernel.h"
#include "core/graph/argument.h"

namespace assay::backend {

// What a pattern's nodes read and give: an input, an attribute, or a node's first result.
struct PatternValue {
  int index = -1;
};

// Nodes that compute one result, as a graph has them. In compile mode, each occurrence becomes a call of
// op(), whose arguments are the pattern's inputs and attributes by name. An occurrence is one where
//  - operators and arguments are equal; an argument that is not named has its schema's default, or is a
//    keyword without effect on results (device, layout, memory_format),
//  - nothing else reads what lies between its nodes, and the graph does not return it.
// Reshapes between its nodes that keep the last dimension are looked through.
class Pattern {
 public:
  struct Given {
    std::string name;  // of the argument
    std::variant<PatternValue, Argument> value;
  };
  struct Node {
    std::string op;  // "aten::addmm.default"
    std::vector<Given> arguments;
  };
  enum class Kind { input, attribute, node };
  struct Entry {
    Kind kind;
    std::string name, type;  // of an input or attribute; type as in a schema: "Tensor", "float", "int[]"
    Node node;
  };

  // `name`: an identifier; the operator is custom::NAME.default.
  explicit Pattern(std::string name) : name_(std::move(name)) {}

  PatternValue input(std::string name);
  // An argument that may have any value of a type.
  PatternValue attribute(std::string name, std::string type);
  PatternValue call(std::string op, std::vector<Given> arguments);
  // The last node.
  void returns(PatternValue node) { result_ = node; }

  std::string op() const { return "custom::" + name_ + ".default"; }
  std::string schema() const;  // of op()
  const std::vector<Entry>& entries() const { return entries_; }
  const Entry& entry(PatternValue value) const { return entries_.at(static_cast<std::size_t>(value.index)); }
  PatternValue result() const { return result_; }

 private:
  PatternValue add(Entry entry);
  std::string name_;
  std::vector<Entry> entries_;
  PatternValue result_;
};

class CustomKernels {
 public:
  // Whether a kernel takes a call; nodes of a pattern that it does not take stay as they are.
  using Accepts = std::function<bool(const OpCall&, const CoreDescription&)>;
  struct Fused {
    Pattern pattern;
    Accepts accepts;
  };

  // For an operator, in both modes, in place of the device's own kernel if it has one. Throws Error{internal}
  // if there already is a custom kernel, Error{unknown_operator}.
  void add(const std::string& full_name, Kernel kernel);
  // For a pattern, in compile mode. Throws Error{invalid_argument} for a pattern that cannot be: operators
  // and arguments that are unknown, no result, an input or attribute that nothing reads.
  void fuse(Pattern pattern, Kernel kernel, Accepts accepts = nullptr);

  const std::map<std::string, Kernel, std::less<>>& kernels() const { return kernels_; }  // patterns' too
  const std::deque<Fused>& fused() const {
    return fused_;
  }  // as they were added; the first that fits is used

 private:
  std::map<std::string, Kernel, std::less<>> kernels_;
  std::deque<Fused> fused_;
};

// Those of this plug-in.
const CustomKernels& custom_kernels();
// Whether one of them is the operator's kernel. It computes its call as a whole, from operands that lie in
// HBM as they are.
bool has_custom_kernel(std::string_view op);

}  // namespace assay::backend
