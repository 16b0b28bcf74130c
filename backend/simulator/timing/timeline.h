// A step of one rank without data, above single Programs: Programs, collectives and what the host does, each
// with its seconds, on streams. How Programs and collectives get their seconds is clock.h's and
// collectives/cost.h's; here they wait for one another.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

namespace assay::backend {

class Timeline {
 public:
  using Stream = std::size_t;
  // When work ends, in seconds from the start of the step; what later work waits for.
  struct Done {
    double at_s = 0;
  };

  // Work of one stream runs in the order in which it is added, one after another.
  Stream stream(std::string name);

  // Starts when the stream is free and all of `after` has ended. Throws Error{invalid_argument} for negative
  // or non-finite seconds.
  Done add(Stream stream, double seconds, std::initializer_list<Done> after = {});

  // From the start to the end of all streams.
  double seconds() const;
  double busy_s(Stream stream) const { return streams_.at(stream).busy_s; }
  // Time in which the stream had nothing to do before its last work ended.
  double idle_s(Stream stream) const { return streams_.at(stream).free_s - streams_.at(stream).busy_s; }
  const std::string& name(Stream stream) const { return streams_.at(stream).name; }

 private:
  struct State {
    std::string name;
    double free_s = 0, busy_s = 0;
  };
  std::vector<State> streams_;
};

}  // namespace assay::backend
