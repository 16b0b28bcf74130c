// Kill rates: how many planted defects the suite `selftest` found, by operator and by defect.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/record/record.h"

namespace assay::reports {

struct KillRate {
  int64_t killed = 0, explained = 0, survived = 0;  // pairs in which the defect changed results
  int64_t not_applicable = 0, not_run = 0;          // it changed none; it could not be planted or judged
  int64_t applicable() const { return killed + explained + survived; }
};

struct SelfTest {
  KillRate total;
  std::map<std::string, KillRate> operators, mutants;
  std::vector<std::string> survivors;  // ids without an explanation
};

// From the records of suite selftest ("selftest/OPERATOR/MUTANT"); others are ignored.
SelfTest selftest_of(const std::vector<Record>& records);

// Tables for people; "" where there is no such record.
std::string to_text(const SelfTest& selftest);

}  // namespace assay::reports
