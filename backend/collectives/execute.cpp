#include "backend/collectives/execute.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "core/error.h"

namespace assay::backend {
namespace {

constexpr int64_t kBlock = 512;  // elements that are reduced at a time

// IEEE 754-2019 maximum and minimum, as the Vector engine's.
float maximum(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? a : b;
  return a == b ? (std::signbit(a) ? b : a) : std::max(a, b);
}
float minimum(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? a : b;
  return a == b ? (std::signbit(a) ? a : b) : std::min(a, b);
}

float combined(Reduction reduction, float a, float b) {
  switch (reduction) {
    case Reduction::min:
      return minimum(a, b);
    case Reduction::max:
      return maximum(a, b);
    case Reduction::product:
      return a * b;
    case Reduction::sum:
    case Reduction::avg:
      break;
  }
  return a + b;
}
int64_t combined(Reduction reduction, int64_t a, int64_t b) {
  switch (reduction) {
    case Reduction::min:
      return std::min(a, b);
    case Reduction::max:
      return std::max(a, b);
    case Reduction::product:
      return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    case Reduction::sum:
    case Reduction::avg:
      break;
  }
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

// Back to an integral dtype, as the device converts: to the nearest limit where it does not fit.
double clamped(DType dtype, float value) {
  const auto low = static_cast<double>(int_min(dtype)), high = static_cast<double>(int_max(dtype));
  return std::clamp(static_cast<double>(value), low, high);
}

class ScheduleExecution {
 public:
  ScheduleExecution(const Schedule& schedule, const CollectiveNumerics& numerics)
      : schedule_(schedule), c_(schedule.collective), numerics_(numerics), width_(size_of(c_.dtype)) {
    for (int rank = 0; rank < c_.ranks; ++rank) {
      outputs_.emplace_back(c_.dtype, Shape{c_.output_count(rank)});
      scratch_.emplace_back(static_cast<std::size_t>(schedule.scratch[static_cast<std::size_t>(rank)]) *
                            width_);
      out_.push_back(outputs_.back().mutable_data());
    }
  }
  std::vector<Tensor> run(const std::vector<const std::byte*>& inputs) {
    inputs_ = inputs;
    for (const ScheduledTransfer& t : schedule_.transfers) {
      if (t.count == 0) continue;
      const std::span<const Place> sources = schedule_.sources(t), targets = schedule_.targets(t);
      if (sources.size() == 1 && t.divisor == 1) {
        for (const Place& target : targets) {
          std::memcpy(at(target), from(sources[0]), static_cast<std::size_t>(t.count) * width_);
        }
        continue;
      }
      // The first target may be one of the sources; block by block that is no harm.
      for (int64_t done = 0; done < t.count; done += kBlock) {
        const int64_t n = std::min(kBlock, t.count - done);
        std::byte* result = at(targets[0]) + static_cast<std::size_t>(done) * width_;
        if (is_integral(c_.dtype) && !numerics_.integers_through_f32) {
          reduce_integers(sources, done, n, result);
        } else {
          reduce_floats(sources, done, n, t.divisor, result);
        }
        for (const Place& target : targets.subspan(1)) {
          std::memcpy(at(target) + static_cast<std::size_t>(done) * width_, result,
                      static_cast<std::size_t>(n) * width_);
        }
      }
    }
    return std::move(outputs_);
  }

 private:
  const std::byte* from(const Place& place) {
    const auto rank = static_cast<std::size_t>(place.rank);
    return (place.buffer == BufferKind::input    ? inputs_[rank]
            : place.buffer == BufferKind::output ? out_[rank]
                                                 : scratch_[rank].data()) +
           static_cast<std::size_t>(place.offset) * width_;
  }
  std::byte* at(const Place& place) {
    const auto rank = static_cast<std::size_t>(place.rank);
    return (place.buffer == BufferKind::output ? out_[rank] : scratch_[rank].data()) +
           static_cast<std::size_t>(place.offset) * width_;
  }
  void reduce_integers(std::span<const Place> sources, int64_t done, int64_t n, std::byte* result) {
    const auto count = static_cast<std::size_t>(n);
    std::array<int64_t, kBlock> sum{}, next{};
    bool first = true;
    for (const Place& source : sources) {
      decode_ints(c_.dtype, from(source) + static_cast<std::size_t>(done) * width_,
                  first ? sum.data() : next.data(), count);
      for (std::size_t k = 0; !first && k < count; ++k) sum[k] = combined(c_.reduction, sum[k], next[k]);
      first = false;
    }
    encode_ints(c_.dtype, sum.data(), result, count);
  }
  void reduce_floats(std::span<const Place> sources, int64_t done, int64_t n, int divisor,
                     std::byte* result) {
    const auto count = static_cast<std::size_t>(n);
    std::array<double, kBlock> values{};
    std::array<float, kBlock> sum{};
    bool first = true;
    for (const Place& source : sources) {
      decode_floats(c_.dtype, from(source) + static_cast<std::size_t>(done) * width_, values.data(), count);
      for (std::size_t k = 0; k < count; ++k) {
        const auto value = static_cast<float>(values[k]);
        sum[k] = first ? value : combined(c_.reduction, sum[k], value);
      }
      first = false;
    }
    for (std::size_t k = 0; k < count; ++k) {
      const float value = divisor == 1 ? sum[k] : sum[k] / static_cast<float>(divisor);
      values[k] = is_integral(c_.dtype) ? clamped(c_.dtype, value) : static_cast<double>(value);
    }
    if (c_.dtype == DType::i64) return encode_large(values, count, result);
    encode_floats(c_.dtype, values.data(), result, count);
  }
  // 2^63 as a double is beyond the largest i64.
  void encode_large(const std::array<double, kBlock>& values, std::size_t count, std::byte* result) const {
    std::array<int64_t, kBlock> integers{};
    for (std::size_t k = 0; k < count; ++k) {
      integers[k] = values[k] >= 0x1p63 ? int_max(DType::i64) : static_cast<int64_t>(values[k]);
    }
    encode_ints(c_.dtype, integers.data(), result, count);
  }

  const Schedule& schedule_;
  const Collective& c_;
  CollectiveNumerics numerics_;
  std::size_t width_;
  std::vector<const std::byte*> inputs_;
  std::vector<Tensor> outputs_;
  std::vector<std::byte*> out_;
  std::vector<std::vector<std::byte>> scratch_;
};

void check_input(const Collective& c, int rank, const Tensor& input) {
  const int64_t needed = c.input_count(rank), given = input.defined() ? input.count() : 0;
  std::string what;
  if (given != needed) {
    what = "its input has " + std::to_string(given) + " elements; it needs " + std::to_string(needed);
  } else if (needed > 0 && input.dtype() != c.dtype) {
    what = "its input is of " + std::string(name_of(input.dtype())) + ", not of " +
           std::string(name_of(c.dtype));
  } else if (needed > 0 && !input.is_contiguous()) {
    what = "its input is not contiguous";
  }
  if (what.empty()) return;
  throw Error(ErrorCode::invalid_argument,
              std::string(name_of(c.op)) + ", rank " + std::to_string(rank) + ": " + what);
}

}  // namespace

std::vector<Tensor> execute(const Plan& plan, const std::vector<Tensor>& inputs,
                            const CollectiveNumerics& numerics) {
  const Collective& asked = plan.asked;
  if (inputs.size() != static_cast<std::size_t>(asked.ranks)) {
    throw Error(ErrorCode::invalid_argument, std::string(name_of(asked.op)) + " of " +
                                                 std::to_string(asked.ranks) +
                                                 " ranks: " + std::to_string(inputs.size()) + " inputs");
  }
  // The emulation zeroes the inputs of ranks that have none.
  const Collective& done = plan.schedule.collective;
  const Tensor zeros = plan.is_emulated ? Tensor(done.dtype, {done.input_count(0)}) : Tensor();
  std::vector<const std::byte*> data;
  for (int rank = 0; rank < asked.ranks; ++rank) {
    const Tensor& input = inputs[static_cast<std::size_t>(rank)];
    check_input(asked, rank, input);
    const bool has =
        asked.rooted() && (asked.op == CollectiveOp::broadcast || asked.op == CollectiveOp::scatter)
            ? rank == asked.root
            : true;
    if (!has && plan.is_emulated) {
      data.push_back(zeros.data());
    } else {
      data.push_back(input.defined() && asked.input_count(rank) > 0 ? input.data() : nullptr);
    }
  }
  std::vector<Tensor> outputs = ScheduleExecution(plan.schedule, numerics).run(data);
  for (int rank = 0; rank < asked.ranks; ++rank) {
    Tensor& output = outputs[static_cast<std::size_t>(rank)];
    const bool at_root = asked.op == CollectiveOp::reduce || asked.op == CollectiveOp::gather;
    const bool nowhere = asked.op == CollectiveOp::barrier || (at_root && rank != asked.root);
    const bool no_source = asked.op == CollectiveOp::permute &&
                           std::none_of(asked.pairs.begin(), asked.pairs.end(),
                                        [&](const auto& pair) { return pair.second == rank; });
    if (nowhere || no_source) output = Tensor();
  }
  return outputs;
}

}  // namespace assay::backend
