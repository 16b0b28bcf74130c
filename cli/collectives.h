// assay bench collectives: the simulated NeuronLink against published nccom-test tables.
#pragma once

#include <string>

namespace assay::cli {

struct CollectivesFlags {
  std::string file;  // "": the rows that Assay ships
  bool json = false;
  std::string out;  // folder for collectives.json
  int ranks = 64;   // of the tables of algorithms and forms, on a trn2.48xlarge
};

// Prints the tables, or JSON; returns the exit status. Throws Error for a file that cannot be read or is
// malformed, or for more ranks than the instance has.
int bench_collectives(const CollectivesFlags& flags);

}  // namespace assay::cli
