#include "harness/run/eligibility.h"

#include <gtest/gtest.h>

#include <memory>

namespace assay {
namespace {

const BackendSpec kOurs{.text = "trainium", .path = {}, .target = {}, .is_ours = true};
const BackendSpec kForeign{.text = "vendor.so", .path = {}, .target = {}};

Record unsupported(const std::string& reason, const std::vector<std::string>& fallbacks = {},
                   const std::string& op = "aten::add.Tensor") {
  Record record = make_record();
  record.status = Status::unsupported;
  record.reason = reason;
  for (const std::string& why : fallbacks) record.fallbacks.push_back({op, why, 1, 0, 0});
  return record;
}

TEST(Ineligible, KindsOfNumbersThatABackendDoesNotHave) {
  const Case single;
  EXPECT_EQ(ineligible(single, unsupported("float64"), kOurs), "float64");
  EXPECT_EQ(ineligible(single, unsupported("nothing_ran_on_device", {"complex", "complex"}), kOurs),
            "complex");
  EXPECT_EQ(ineligible(single, unsupported("dtype"), kForeign), "dtype");
  EXPECT_EQ(ineligible(single, unsupported("argument"), kForeign), "argument");
}

TEST(Ineligible, WhatABackendShouldHaveStaysAFailure) {
  const Case single;
  EXPECT_FALSE(ineligible(single, unsupported("operator"), kForeign));
  EXPECT_FALSE(ineligible(single, unsupported("dtype"), kOurs));
  EXPECT_FALSE(ineligible(single, unsupported("argument"), kOurs));
  EXPECT_FALSE(ineligible(single, unsupported("nothing_ran_on_device"), kOurs));
  EXPECT_FALSE(ineligible(single, unsupported("nothing_ran_on_device", {"float64", "operator"}), kOurs));
  Record wrong = unsupported("float64");
  wrong.status = Status::wrong;
  EXPECT_FALSE(ineligible(single, wrong, kOurs));
}

TEST(Ineligible, OperatorsThatADeviceNeedNotHave) {
  const Record optional = unsupported("nothing_ran_on_device", {"operator"}, "aten::kthvalue.default");
  EXPECT_EQ(ineligible(Case(), optional, kOurs), "optional_operator");
  EXPECT_EQ(ineligible(Case(), optional, kForeign), "optional_operator");
  BackendSpec reference = kOurs;
  reference.is_reference = true;
  EXPECT_FALSE(ineligible(Case(), optional, reference));
  // Models need it.
  EXPECT_FALSE(ineligible(
      Case(), unsupported("nothing_ran_on_device", {"operator"}, "aten::grid_sampler_2d.default"), kOurs));
  // The device has it, but not for this shape.
  EXPECT_FALSE(
      ineligible(Case(), unsupported("nothing_ran_on_device", {"shape"}, "aten::kthvalue.default"), kOurs));
  // Nobody ran it: the user forbade the host, or the host cannot.
  EXPECT_FALSE(ineligible(Case(), unsupported("operator", {}, "aten::kthvalue.default"), kOurs));
}

TEST(Ineligible, FloatsOf8BitsThatAGenerationDoesNotHave) {
  const auto graph = std::make_shared<Graph>();
  graph->values.emplace_back().dtype = DType::f8e4m3fn;
  Case c;
  c.graph = graph;
  const Record record = unsupported("nothing_ran_on_device", {"dtype"}, "aten::_to_copy.default");
  BackendSpec backend = kOurs;
  for (const char* target : {"", "trn1", "trn2"}) {
    backend.target = target;
    EXPECT_EQ(ineligible(c, record, backend), "dtype") << target;
  }
  backend.target = "trn3";
  EXPECT_FALSE(ineligible(c, record, backend));
  graph->values[0].dtype = DType::f8e5m2;
  EXPECT_FALSE(ineligible(c, record, kOurs));
}

TEST(Ineligible, ModelsAndUsersFilesAreNever) {
  Case file;
  file.file = "model.pt2";
  EXPECT_FALSE(ineligible(file, unsupported("float64"), kOurs));
  Case model;
  model.golden = "golden.safetensors";
  EXPECT_FALSE(ineligible(model, unsupported("float64"), kOurs));
}

}  // namespace
}  // namespace assay
