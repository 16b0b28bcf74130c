#include "cli/main.h"

int main(int argc, char** argv) { return assay::cli::run_main(argc, argv); }
