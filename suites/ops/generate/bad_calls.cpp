#include "suites/ops/generate/bad_calls.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace assay::suites {
namespace {

bool names_dim(std::string_view name) {
  static const std::set<std::string_view> names{"dim",   "dims",  "dim0",      "dim1",    "dim2",
                                                "axis0", "axis1", "start_dim", "end_dim", "dimension"};
  return names.contains(name);
}

class Bad {
 public:
  Bad(const Schema& schema, const CallForm& good) : schema_(schema), good_(good) {}

  std::vector<CallForm> all() {
    for (const SchemaArgument& argument : schema_.arguments) {
      if (argument.type.base == BaseType::integer && names_dim(argument.name)) dims(argument);
      if (argument.type.base == BaseType::string && !argument.type.list) word(argument);
      if (!argument.default_value && !argument.type.optional) missing(argument);
    }
    number_as_word();
    shapes();
    index_dtypes();
    return std::move(out_);
  }

 private:
  CallForm& add(std::string label) {
    out_.push_back(good_);
    out_.back().label = std::move(label);
    out_.back().bad = true;
    return out_.back();
  }

  static void set(CallForm& call, const std::string& name, Argument value) {
    for (NamedArgument& argument : call.arguments) {
      if (argument.name != name) continue;
      argument.value = std::move(value);
      return;
    }
    call.arguments.push_back({name, std::move(value)});
  }

  int64_t rank() const {
    for (const TensorArgument& tensor : good_.tensors) {
      if (!tensor.forms.empty() && !tensor.forms[0].none)
        return static_cast<int64_t>(tensor.forms[0].shape.size());
    }
    return -1;
  }

  void dims(const SchemaArgument& argument) {
    // stack and unsqueeze number the dims of their result: two beyond is wrong for them, too.
    const int64_t r = std::max<int64_t>(1, rank());
    if (rank() < 0) return;
    for (const int64_t dim : {r + 1, -r - 2}) {
      CallForm& call = add(argument.name + "=" + std::to_string(dim));
      set(call, argument.name, argument.type.list ? Argument(IntListArg{{dim}, {}}) : Argument(dim));
    }
    if (!argument.type.list) return;
    set(add(argument.name + "=[0,0]"), argument.name, IntListArg{{0, 0}, {}});
  }

  void word(const SchemaArgument& argument) {
    if (argument.name == "equation" || argument.name.ends_with("msg")) return;
    set(add(argument.name + "=sideways"), argument.name, std::string("sideways"));
  }

  void missing(const SchemaArgument& argument) {
    const auto is_it = [&](const auto& given) { return given.name == argument.name; };
    const bool tensor = std::any_of(good_.tensors.begin(), good_.tensors.end(), is_it);
    const bool other = std::any_of(good_.arguments.begin(), good_.arguments.end(), is_it);
    if (!tensor && !other) return;
    CallForm& call = add("missing-" + argument.name);
    std::erase_if(call.tensors, is_it);
    std::erase_if(call.arguments, is_it);
  }

  // A number given as a word: one argument is enough, the check is common to all.
  void number_as_word() {
    for (const SchemaArgument& argument : schema_.arguments) {
      const BaseType base = argument.type.base;
      if (argument.name == "pin_memory" || argument.name == "non_blocking") continue;  // of the host's copy
      if (argument.type.list || (base != BaseType::scalar && base != BaseType::floating &&
                                 base != BaseType::integer && base != BaseType::boolean)) {
        continue;
      }
      set(add(argument.name + "=word"), argument.name, std::string("word"));
      return;
    }
  }

  // Sizes that do not fit each other where operands were equal.
  void shapes() {
    if (good_.tensors.size() < 2) return;
    const TensorForm& first = good_.tensors[0].forms[0];
    const TensorForm& second = good_.tensors[1].forms[0];
    if (first.none || second.none || first.shape != second.shape || first.shape.empty()) return;
    if (!second.values.empty()) return;
    CallForm& wider = add("shape-of-" + good_.tensors[1].name);
    wider.tensors[1].forms[0].shape.back() += 1;
    CallForm& taller = add("shape-of-" + good_.tensors[0].name);
    taller.tensors[0].forms[0].shape.front() += 1;
  }

  void index_dtypes() {
    for (std::size_t i = 0; i < good_.tensors.size(); ++i) {
      const TensorForm& form = good_.tensors[i].forms[0];
      const bool index = good_.tensors[i].name == "index" || good_.tensors[i].name == "indices";
      if (!index || form.none || form.dtype != DType::i64) continue;
      CallForm& call = add("dtype-of-" + good_.tensors[i].name);
      call.tensors[i].forms[0].dtype = DType::f32;
      call.tensors[i].forms[0].ints = {0, 1};
      call.tensors[i].forms[0].values.clear();
      // Beyond any dim that the tables use.
      if (!form.ints) continue;
      CallForm& far = add(good_.tensors[i].name + "-beyond");
      far.tensors[i].forms[0].ints = {form.ints->second + 1000, form.ints->second + 1001};
    }
  }

  const Schema& schema_;
  const CallForm& good_;
  std::vector<CallForm> out_;
};

}  // namespace

std::vector<CallForm> bad_calls(const Schema& schema, const CallForm& good) {
  return Bad(schema, good).all();
}

}  // namespace assay::suites
