// What a Walker holds. Internal to this room.
#pragma once

#include "reference/evaluate.h"
#include "reference/walk.h"

namespace assay::reference {

struct Walker::State {
  explicit State(const Graph& graph) : plan(graph) {}
  WalkPlan plan;
};

}  // namespace assay::reference
