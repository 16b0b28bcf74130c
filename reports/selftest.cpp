#include "reports/selftest.h"

#include <fmt/format.h>

namespace assay::reports {
namespace {

void count(const Record& record, KillRate& rate) {
  if (record.status == Status::pass) {
    ++rate.killed;
  } else if (record.reason == "mutant_not_applicable") {
    ++rate.not_applicable;
  } else if (record.reason == "contract_allows") {
    ++rate.explained;
  } else if (record.reason == "mutant_survived") {
    ++rate.survived;
  } else {
    ++rate.not_run;
  }
}

double percent(int64_t part, int64_t whole) {
  return whole == 0 ? 100.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

std::string table(const std::string& heading, const std::map<std::string, KillRate>& rows) {
  std::string text = fmt::format("{:<44}{:>8}{:>12}{:>11}{:>10}\n", heading, "killed", "applicable",
                                 "explained", "survived");
  for (const auto& [name, rate] : rows) {
    if (rate.applicable() == 0) continue;
    text += fmt::format("{:<44}{:>8}{:>12}{:>11}{:>10}{:>8.1f} %\n", name, rate.killed, rate.applicable(),
                        rate.explained, rate.survived, percent(rate.killed, rate.applicable()));
  }
  return text;
}

}  // namespace

SelfTest selftest_of(const std::vector<Record>& records) {
  SelfTest selftest;
  for (const Record& record : records) {
    const auto first = record.id.find('/'), last = record.id.rfind('/');
    if (record.suite != "selftest" || first == last) continue;
    count(record, selftest.total);
    count(record, selftest.operators[record.id.substr(first + 1, last - first - 1)]);
    count(record, selftest.mutants[record.id.substr(last + 1)]);
    if (record.reason == "mutant_survived") selftest.survivors.push_back(record.id);
  }
  return selftest;
}

std::string to_text(const SelfTest& selftest) {
  const KillRate& total = selftest.total;
  if (selftest.operators.empty()) return "";
  std::string text = table("operator", selftest.operators) + "\n" + table("planted defect", selftest.mutants);
  text += fmt::format(
      "\nkill rate {:.1f} %: {} of {} pairs of defect and operator; {} explained ({:.1f} %), {} survived; {} "
      "not "
      "applicable, {} not run\n",
      percent(total.killed, total.applicable()), total.killed, total.applicable(), total.explained,
      100 - percent(total.applicable() - total.explained, total.applicable()), total.survived,
      total.not_applicable, total.not_run);
  for (const std::string& id : selftest.survivors) text += "survived: " + id + "\n";
  return text;
}

}  // namespace assay::reports
