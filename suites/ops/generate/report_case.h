// Named regression cases: what users reported about one operator somewhere, with the right answer.
#pragma once

#include "harness/case/case.h"
#include "suites/ops/layouts.h"

namespace assay::suites {

struct Report {
  const char* source;  // "pytorch-130295": repository and number, or what was found by running it
  const char* op;
  const char* call;    // generate/call_text.h; after "bad:" it must be refused
  const char* dtypes;  // "f32 bf16": one case each
  // The right answer by a named authority, from which the reference is tested, too: the elements of each
  // output, outputs separated by ';' ("nan ; 1"). "" leaves an output to the reference; an answer that
  // depends on the dtype is left to it as well.
  const char* expected = "";
  const char* about = "";  // suffix of the id where one report has several cases
  Layout layout = Layout::contiguous;
};

// Cases "ops/OP/SOURCE[-ABOUT]/DTYPE". Throws Error{internal} naming the report that cannot be read.
void add_reports(const CaseSink& sink, const Report* reports, std::size_t count);

template <std::size_t N>
void add_reports(const CaseSink& sink, const Report (&reports)[N]) {
  add_reports(sink, reports, N);
}

}  // namespace assay::suites
