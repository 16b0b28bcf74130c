#include "harness/run/eligibility.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

Record unsupported(const std::string& reason, const std::vector<std::string>& fallbacks = {}) {
  Record record = make_record();
  record.status = Status::unsupported;
  record.reason = reason;
  for (const std::string& why : fallbacks) record.fallbacks.push_back({"aten::add.Tensor", why, 1, 0, 0});
  return record;
}

TEST(Ineligible, KindsOfNumbersThatABackendDoesNotHave) {
  const Case single;
  EXPECT_EQ(ineligible(single, unsupported("float64"), true), "float64");
  EXPECT_EQ(ineligible(single, unsupported("nothing_ran_on_device", {"complex", "complex"}), true),
            "complex");
  EXPECT_EQ(ineligible(single, unsupported("dtype"), false), "dtype");
  EXPECT_EQ(ineligible(single, unsupported("argument"), false), "argument");
}

TEST(Ineligible, WhatABackendShouldHaveStaysAFailure) {
  const Case single;
  EXPECT_FALSE(ineligible(single, unsupported("operator"), false));
  EXPECT_FALSE(ineligible(single, unsupported("dtype"), true));
  EXPECT_FALSE(ineligible(single, unsupported("argument"), true));
  EXPECT_FALSE(ineligible(single, unsupported("nothing_ran_on_device"), true));
  EXPECT_FALSE(ineligible(single, unsupported("nothing_ran_on_device", {"float64", "operator"}), true));
  Record wrong = unsupported("float64");
  wrong.status = Status::wrong;
  EXPECT_FALSE(ineligible(single, wrong, true));
}

TEST(Ineligible, ModelsAndUsersFilesAreNever) {
  Case file;
  file.file = "model.pt2";
  EXPECT_FALSE(ineligible(file, unsupported("float64"), true));
  Case model;
  model.golden = "golden.safetensors";
  EXPECT_FALSE(ineligible(model, unsupported("float64"), true));
}

}  // namespace
}  // namespace assay
