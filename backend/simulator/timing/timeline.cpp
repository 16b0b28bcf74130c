#include "backend/simulator/timing/timeline.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.h"

namespace assay::backend {

Timeline::Stream Timeline::stream(std::string name) {
  streams_.push_back({std::move(name)});
  return streams_.size() - 1;
}

Timeline::Done Timeline::add(Stream stream, double seconds, std::initializer_list<Done> after) {
  State& state = streams_.at(stream);
  if (!(seconds >= 0) || !std::isfinite(seconds)) {
    throw Error(ErrorCode::invalid_argument,
                "stream " + state.name + ": work of " + std::to_string(seconds) + " seconds");
  }
  double start = state.free_s;
  for (const Done& done : after) start = std::max(start, done.at_s);
  state.free_s = start + seconds;
  state.busy_s += seconds;
  return {state.free_s};
}

double Timeline::seconds() const {
  double end = 0;
  for (const State& state : streams_) end = std::max(end, state.free_s);
  return end;
}

}  // namespace assay::backend
