// What a schedule does to an element, and whether it is sound.
#include <algorithm>
#include <map>
#include <utility>

#include "backend/collectives/schedule.h"

namespace assay::backend {
namespace {

bool covers(const Place& start, int64_t count, const Place& element) {
  return start.rank == element.rank && start.buffer == element.buffer && start.offset <= element.offset &&
         element.offset < start.offset + count;
}

// How the element came about, looking back from a step.
std::string order_before(const Schedule& schedule, const Place& element, int step) {
  for (std::size_t k = schedule.transfers.size(); k-- > 0;) {
    const ScheduledTransfer& t = schedule.transfers[k];
    if (t.step >= step) continue;
    for (const Place& target : schedule.targets(t)) {
      if (!covers(target, t.count, element)) continue;
      std::string out;
      for (const Place& source : schedule.sources(t)) {
        const Place from{source.rank, source.buffer, source.offset + element.offset - target.offset};
        out += (out.empty() ? "" : " + ") + order_before(schedule, from, t.step);
      }
      if (t.sources == 1 && t.divisor == 1) return out;
      out = "(" + out + ")";
      if (t.divisor != 1) out = "(" + out + " / " + std::to_string(t.divisor) + ")";
      return out + "'";
    }
  }
  return element.buffer == BufferKind::input ? "r" + std::to_string(element.rank) : "";
}

// Ranges of every rank's buffers, and something known about each.
template <typename T>
class Ranges {
 public:
  explicit Ranges(int ranks) : ranges_(static_cast<std::size_t>(ranks) * 3) {}
  // Later entries for the same range replace earlier ones.
  void set(const Place& start, int64_t count, T value) { of(start)[{start.offset, count}] = value; }
  // `use` sees all entries that overlap the range.
  template <typename F>
  void each(const Place& start, int64_t count, F use) {
    auto& known = of(start);
    auto it = known.lower_bound({start.offset, 0});
    // Ranges that begin before it and reach into it: of equal begin, the longest is last.
    if (it != known.begin()) {
      const auto before = std::prev(it);
      if (before->first.first + before->first.second > start.offset) use(before->first, before->second);
    }
    for (; it != known.end() && it->first.first < start.offset + count; ++it) use(it->first, it->second);
  }
  void clear() {
    for (auto& known : ranges_) known.clear();
  }

 private:
  std::map<std::pair<int64_t, int64_t>, T>& of(const Place& place) {
    return ranges_[static_cast<std::size_t>(place.rank) * 3 + static_cast<std::size_t>(place.buffer)];
  }
  std::vector<std::map<std::pair<int64_t, int64_t>, T>> ranges_;
};

std::string text(const Place& place, int64_t count) {
  constexpr const char* kBuffers[] = {"input", "output", "scratch"};
  return std::string(kBuffers[static_cast<std::size_t>(place.buffer)]) + " " + std::to_string(place.offset) +
         " to " + std::to_string(place.offset + count) + " of rank " + std::to_string(place.rank);
}

}  // namespace

std::string reduction_order(const Schedule& schedule, int rank, int64_t element) {
  return order_before(schedule, {rank, BufferKind::output, element}, schedule.steps);
}

ReductionDepth reduction_depth(const Schedule& schedule) {
  ReductionDepth deepest;
  Ranges<ReductionDepth> known(schedule.collective.ranks);
  std::vector<std::pair<const ScheduledTransfer*, ReductionDepth>> step;
  for (std::size_t k = 0; k < schedule.transfers.size(); ++k) {
    const ScheduledTransfer& t = schedule.transfers[k];
    ReductionDepth depth{0, 0};
    for (const Place& source : schedule.sources(t)) {
      ReductionDepth one;
      known.each(source, t.count, [&](const auto&, const ReductionDepth& d) {
        one.roundings = std::max(one.roundings, d.roundings);
        one.operands = std::max(one.operands, d.operands);
      });
      depth.roundings = std::max(depth.roundings, one.roundings);
      depth.operands += one.operands;
    }
    if (t.sources > 1 || t.divisor != 1) ++depth.roundings;
    step.emplace_back(&t, depth);
    if (k + 1 < schedule.transfers.size() && schedule.transfers[k + 1].step == t.step) continue;
    for (const auto& [done, d] : step) {
      for (const Place& target : schedule.targets(*done)) {
        known.set(target, done->count, d);
        if (target.buffer != BufferKind::output) continue;
        deepest.roundings = std::max(deepest.roundings, d.roundings);
        deepest.operands = std::max(deepest.operands, d.operands);
      }
    }
    step.clear();
  }
  return deepest;
}

std::string defect(const Schedule& schedule) {
  const Collective& c = schedule.collective;
  if (c.op == CollectiveOp::barrier) return "";
  const auto size = [&](const Place& place) {
    switch (place.buffer) {
      case BufferKind::input:
        return c.input_count(place.rank);
      case BufferKind::output:
        return c.output_count(place.rank);
      case BufferKind::scratch:
        break;
    }
    return schedule.scratch[static_cast<std::size_t>(place.rank)];
  };
  Ranges<const ScheduledTransfer*> writes(c.ranks);
  std::vector<std::map<int64_t, int64_t>> written(
      static_cast<std::size_t>(c.ranks));  // of outputs: begin, end
  for (std::size_t first = 0; first < schedule.transfers.size();) {
    std::size_t end = first;
    while (end < schedule.transfers.size() &&
           schedule.transfers[end].step == schedule.transfers[first].step) {
      ++end;
    }
    writes.clear();
    std::string found;
    for (std::size_t k = first; k < end; ++k) {
      const ScheduledTransfer& t = schedule.transfers[k];
      for (const Place& target : schedule.targets(t)) {
        if (target.offset < 0 || target.offset + t.count > size(target) ||
            target.buffer == BufferKind::input) {
          return "step " + std::to_string(t.step) + " writes to " + text(target, t.count);
        }
        writes.each(target, t.count, [&](const auto&, const ScheduledTransfer*) {
          found = "step " + std::to_string(t.step) + " writes twice to " + text(target, t.count);
        });
        writes.set(target, t.count, &t);
        if (target.buffer == BufferKind::output) {
          int64_t& to = written[static_cast<std::size_t>(target.rank)][target.offset];
          to = std::max(to, target.offset + t.count);
        }
      }
    }
    for (std::size_t k = first; k < end; ++k) {
      const ScheduledTransfer& t = schedule.transfers[k];
      for (const Place& source : schedule.sources(t)) {
        if (source.offset < 0 || source.offset + t.count > size(source)) {
          return "step " + std::to_string(t.step) + " reads " + text(source, t.count);
        }
        writes.each(source, t.count, [&](const auto& range, const ScheduledTransfer* writer) {
          // A transfer may write over what it reads, element by element.
          if (writer == &t && range.first == source.offset) return;
          found = "step " + std::to_string(t.step) + " reads what it writes, " + text(source, t.count);
        });
      }
    }
    if (!found.empty()) return found;
    first = end;
  }
  for (int rank = 0; rank < c.ranks; ++rank) {
    int64_t reached = 0;
    for (const auto& [begin, end] : written[static_cast<std::size_t>(rank)]) {
      if (begin > reached) break;
      reached = std::max(reached, end);
    }
    if (reached != c.output_count(rank)) {
      return "nothing writes element " + std::to_string(reached) + " of rank " + std::to_string(rank) +
             "'s output";
    }
  }
  return "";
}

}  // namespace assay::backend
