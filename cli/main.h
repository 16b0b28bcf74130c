// The program `assay`.
#pragma once

namespace assay::cli {

int run_main(int argc, char** argv);

}  // namespace assay::cli
