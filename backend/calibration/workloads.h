// The workloads of published measurements, written as Programs the way a kernel for the device would be.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "backend/isa/program.h"

namespace assay::backend {

// "vector_add n=25600 partitions=128 columns=2 dtype=f32": a name and its parameters.
struct Workload {
  std::string name;
  std::map<std::string, std::string> parameters;
};

// Throws Error{invalid_argument} that names `origin` and what is wrong: no name, a parameter without '='
// or given twice.
Workload parse_workload(const std::string& text, const std::string& origin);

// The Program, and how many of its instructions or loop iterations a row of boundary `instruction` is divided
// by. Throws Error{invalid_argument} for an unknown workload (the message lists them), an unknown, missing or
// bad parameter, and ProgramError if it does not fit the core.
struct BuiltWorkload {
  Program program;
  int64_t steps = 1;
};
BuiltWorkload build(const Workload& workload, const CoreDescription& core, const std::string& origin);

// Names and parameters, for messages and documents.
std::vector<std::string> workload_descriptions();

}  // namespace assay::backend
