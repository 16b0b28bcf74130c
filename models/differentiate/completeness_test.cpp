// Every operator has a derivative, alone or by decomposition, or is listed here with the reason why not.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "core/decompose/decompose.h"
#include "core/opset/classify.h"
#include "core/opset/required.h"
#include "core/opset/schema.h"
#include "models/differentiate/derivatives.h"
#include "reference/evaluate.h"

namespace assay::models {
namespace {

struct Without {
  const char* why;
  std::vector<std::string> names;  // of aten, without overload
};

const std::vector<Without>& without_derivative() {
  static const std::vector<Without> list{
      {"gives booleans or integers", {"_is_all_true", "any",         "argmax",
                                      "argmin",       "bitwise_and", "bitwise_left_shift",
                                      "bitwise_not",  "bitwise_or",  "bitwise_right_shift",
                                      "bitwise_xor",  "bucketize",   "eq",
                                      "gcd",          "ge",          "gt",
                                      "isinf",        "isnan",       "lcm",
                                      "le",           "logical_and", "logical_not",
                                      "logical_or",   "logical_xor", "lt",
                                      "ne",           "nonzero",     "nonzero_static",
                                      "searchsorted", "signbit"}},
      {"how many results there are depends on data, so that graphs of fixed sizes do not hold it",
       {"_unique2", "masked_select", "repeat_interleave.Tensor", "unique_consecutive", "unique_dim"}},
      {"counts; PyTorch has no derivative of it",
       {"_histogramdd_bin_edges", "_histogramdd_from_bin_cts", "_histogramdd_from_bin_tensors", "histc",
        "histogram"}},
      {"changes its argument; what torch.export writes does not hold it", {"resize_"}},
      {"PyTorch has no derivative of it: steps of the number format, rows scaled in place",
       {"nextafter", "embedding_renorm"}},
      {"its derivative is no combination of operators; PyTorch has none", {"special_airy_ai"}},
      {"a gradient that rules write, and whose own derivative nobody has asked for",
       {"_cdist_backward", "cumprod_backward", "grid_sampler_2d_backward", "grid_sampler_3d_backward"}},
  };
  return list;
}

// Between ranks: what a rank's gradient is depends on how the others use the result. Parallel training emits
// the collectives of its backward pass itself.
bool is_between_ranks(const std::string& name) {
  static const std::set<std::string> own{"assay::all_gather_v.default", "assay::gather.default",
                                         "assay::reduce.default", "assay::reduce_scatter_v.default",
                                         "assay::scatter.default"};
  return name.starts_with("_c10d_functional") || name.starts_with("ranks::") || own.contains(name);
}

bool is_listed(const std::string& name) {
  for (const Without& group : without_derivative()) {
    for (const std::string& listed : group.names) {
      const std::string full = "aten::" + listed;
      if (name == full || name.substr(0, name.find('.')) == full) return true;
    }
  }
  return false;
}

bool has_rule(const std::string& name) {
  return derivatives().find(name) != nullptr || derivatives().find(name, true) != nullptr ||
         decompose_rules().find(name) != nullptr;
}

bool takes_and_gives_tensors(const Schema& schema) {
  const auto is_tensor = [](const SchemaType& type) { return type.base == BaseType::tensor; };
  return std::any_of(schema.arguments.begin(), schema.arguments.end(),
                     [&](const SchemaArgument& argument) { return is_tensor(argument.type); }) &&
         std::any_of(schema.returns.begin(), schema.returns.end(), is_tensor);
}

TEST(Derivatives, AreKnownOfEveryOperatorOrItIsSaidWhyNot) {
  const std::vector<std::string> names = reference::operator_names();
  const std::set<std::string> reference(names.begin(), names.end());
  for (const Schema& schema : all_schemas()) {
    const std::string name = schema.full_name();
    if (!is_required_operator(name) && !reference.contains(name)) continue;
    if (!takes_and_gives_tensors(schema)) continue;
    const bool excused = is_listed(name) || is_between_ranks(name);
    if (is_random_op(name)) continue;  // drawn numbers are constants, as in PyTorch; dropout has a rule
    EXPECT_NE(has_rule(name), excused) << name << (excused ? " has one, and is listed" : " has none");
  }
}

TEST(Derivatives, WhatIsListedExists) {
  for (const Without& group : without_derivative()) {
    for (const std::string& name : group.names) {
      const auto& schemas = all_schemas();
      EXPECT_TRUE(std::any_of(schemas.begin(), schemas.end(),
                              [&](const Schema& schema) {
                                return schema.name == "aten::" + name ||
                                       schema.full_name() == "aten::" + name;
                              }))
          << name << ": " << group.why;
    }
  }
}

}  // namespace
}  // namespace assay::models
