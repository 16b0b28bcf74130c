// Known failures in a run (--waivers): what becomes `waived`, what passes though nobody expects it to, and
// which waivers are out of date.
#pragma once

#include <string>
#include <vector>

#include "harness/record/record.h"
#include "harness/record/waivers.h"

namespace assay {

class KnownFailures {
 public:
  KnownFailures() = default;
  // `today` is YYYY-MM-DD.
  KnownFailures(std::vector<Waiver> waivers, std::string backend_version, std::string today);

  // A failure that an unexpired waiver covers becomes `waived`, and its detail names the waiver. A case that
  // a waiver names by itself, without a wildcard, and that passes becomes `unexpected_pass`. Everything else
  // is left alone.
  void apply(Record& record);
  // A record of the run that is resumed: it counts, and stays what it is.
  void count(const Record& record);

  // A sentence for each waiver that expired and covers a case of this run, and, where the `whole` of the
  // suites ran, for each that covers cases of which none fails.
  std::vector<std::string> out_of_date(bool whole) const;

 private:
  struct Entry {
    Waiver waiver;
    bool covers_some = false;
    bool used = false;
  };
  std::vector<Entry> entries_;
  std::string backend_version_, today_;
};

}  // namespace assay
