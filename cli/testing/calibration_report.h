// What the reports of `assay bench calibration` and `assay bench collectives` have in common.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace assay::cli {

// Constants are told by several rows and equal to what the rows give today; rows have sources, a reason where
// nothing is predicted, and the errors that follow from their times. The rows of each role.
inline std::map<std::string, int> expect_report(const nlohmann::json& report) {
  for (const auto& constant : report.at("constants")) {
    EXPECT_GE(constant.at("rows"), 2) << constant;
    EXPECT_NEAR(constant.at("fitted").get<double>() / constant.at("shipped").get<double>(), 1, 0.01)
        << constant;
  }
  std::map<std::string, int> roles;
  for (const auto& row : report.at("rows")) {
    ++roles[row.at("role")];
    EXPECT_FALSE(row.at("source").get<std::string>().empty()) << row;
    if (row.at("predicted_us").is_null()) {
      EXPECT_EQ(row.at("role"), "context") << row;
      EXPECT_FALSE(row.at("not_predicted").get<std::string>().empty()) << row;
      continue;
    }
    const double error = row.at("predicted_us").get<double>() / row.at("measured_us").get<double>() - 1;
    EXPECT_NEAR(row.at("error").get<double>(), error, 1e-9) << row;
    EXPECT_EQ(row.at("left_out_error").is_null(), row.at("role") != "fit") << row;
  }
  return roles;
}

}  // namespace assay::cli
