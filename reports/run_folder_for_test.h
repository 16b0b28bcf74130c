// Records and run folders for tests.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "reports/run_folder.h"

namespace assay::reports {

inline Record record_of(const std::string& id, Status status, const std::string& mode = "eager") {
  Record record = make_record();
  record.id = id;
  record.suite = "ops";
  record.backend = "trainium";
  record.mode = mode;
  record.status = status;
  record.detail = "detail of " + id;
  record.repro = "assay run ops --filter " + id;
  record.wall_s = 0.25;
  return record;
}

inline RunFolder run_of(std::vector<Record> records) {
  RunFolder run;
  run.path = "out";
  run.run_json = "{}";
  run.backend = "trainium";
  run.backend_version = "1.2";
  run.records = std::move(records);
  return run;
}

// What somebody may call a model.
inline const std::vector<std::string>& hostile_names() {
  static const std::vector<std::string> names{
      "</script><script>document.title='owned'</script>",
      "<img src=x onerror=\"document.title='owned'\">",
      "]]></testcase><!-- & \"quoted\" 'single'",
      "=HYPERLINK(\"http://evil\";\"x\")",
      "a|b\\c`d*e_f[g](javascript:alert(1))",
      "line\nbreak\rreturn\ttab",
      std::string("nul\0bell\a", 9),
      "not utf-8 \xff\xc3( \xed\xa0\x80 \xef\xbf\xbf",
      "\xE2\x80\xAEright to left \xF0\x9F\x98\x80",
      "{{DATA}} {{SCRIPT}}",
      "<!--<script>",
  };
  return names;
}

// A run in which everything is called so.
inline RunFolder hostile_run() {
  RunFolder run = run_of({});
  int i = 0;
  for (const std::string& name : hostile_names()) {
    Record record = record_of(name, i % 3 == 0   ? Status::wrong
                                    : i % 3 == 1 ? Status::infrastructure_error
                                                 : Status::skip_policy);
    record.detail = name;
    record.repro = name;
    record.fallbacks = {{name, "operator", 1, 8, 0.5}};
    run.records.push_back(std::move(record));
    ++i;
  }
  run.not_exported.push_back({"</skipped>", "</a>", "</b>", "</c>", "reason & <more>"});
  run.backend = "\"><script>";
  return run;
}

}  // namespace assay::reports
