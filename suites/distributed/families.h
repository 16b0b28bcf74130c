// The families of cases of the suite `distributed`, for a world of n ranks.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "suites/distributed/rank_case.h"

namespace assay::suites {

// All dtypes, and all words for a reduction: families go over both.
std::vector<DType> all_dtypes();
std::vector<std::string> all_reductions();

// Rows of each rank, some of them none.
using NamedSizes = std::pair<std::string, std::vector<int64_t>>;
std::vector<NamedSizes> uneven_sizes(int n);

void make_reductions(int n, const CaseSink& sink);
void make_movements(int n, const CaseSink& sink);
void make_variants(int n, const CaseSink& sink);
void make_programs(int n, const CaseSink& sink);
void make_asynchronous(int n, const CaseSink& sink);
void make_muon(int n, const CaseSink& sink);
void make_bad_calls(int n, const CaseSink& sink);
void make_faults(int n, const CaseSink& sink);

}  // namespace assay::suites
