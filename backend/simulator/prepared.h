// What a simulator needs to know of a Program that it runs repeatedly.
#pragma once

#include "backend/simulator/division.h"
#include "backend/simulator/pattern_numbers.h"

namespace assay::backend {

struct Prepared {
  PatternNumbers numbers;
  // For the simulator's workers. Empty where it does not pay, with a random order, and without traps or with
  // memsets that do nothing (Quirks): what was not written may be read then, and depends on everything that
  // ran before.
  Division division;
};

}  // namespace assay::backend
