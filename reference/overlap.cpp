#include "reference/overlap.h"

#include <cmath>
#include <map>

#include "reference/ops/indexing.h"

namespace assay::reference {
namespace {

using Places = std::map<int64_t, std::vector<int64_t>>;

// Distance in the order in which a wrong value is worse than a rounded one; NaN is at NaN.
double distance(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b) ? 0 : HUGE_VAL;
  if (a == b) return std::signbit(a) == std::signbit(b) ? 0 : std::numeric_limits<double>::denorm_min();
  return std::fabs(a - b);
}

bool is_index_put(std::string_view op) {
  return op == "aten::index_put.default" || op == "aten::_unsafe_index_put.default";
}

}  // namespace

bool writes_may_meet(const OpCall& call) {
  return call.op() == "aten::scatter.src" || (is_index_put(call.op()) && !call.boolean("accumulate"));
}

bool writes_may_meet(const Node& node) {
  if (node.op == "aten::scatter.src") return true;
  const NamedArgument* accumulate = node.find("accumulate");
  const bool* adds = accumulate == nullptr ? nullptr : std::get_if<bool>(&accumulate->value);
  return is_index_put(node.op) && (adds == nullptr || !*adds);
}

Contests contested_writes(const OpCall& call, const std::vector<const Wide*>& inputs) {
  Contests contests;
  if (!writes_may_meet(call)) return contests;
  const Wide& self = *inputs[at(call.tensor("self"))];
  Places written;
  if (is_index_put(call.op())) {
    const IndexPlan plan = index_plan(call, inputs, self.meta.shape);
    const Wide& given = *inputs[at(call.tensor("values"))];
    if (broadcast(given.meta.shape, plan.result, call) != plan.result) return contests;
    contests.values =
        strided(given, {given.meta.dtype, plan.result}, broadcast_strides(given.meta.shape, plan.result));
    int64_t from = 0;
    for (const int64_t o : plan.before) {
      for (const int64_t b : plan.middle) {
        for (const int64_t n : plan.after) written[o + b + n].push_back(from++);
      }
    }
  } else {
    const Wide& index = *inputs[at(call.tensor("index"))];
    contests.values = scatter_source(call, inputs, index);
    for_each_indexed(call, index, self.meta.shape,
                     [&](int64_t from, int64_t to) { written[to].push_back(from); });
  }
  for (auto& [to, from] : written) {
    if (from.size() > 1) contests.places.emplace_back(to, std::move(from));
  }
  return contests;
}

void follow_writes(const Contests& contests, const Tensor& got, Wide& want) {
  if (contests.empty() || got.dtype() != want.meta.dtype || got.shape() != want.meta.shape) return;
  const Wide device = Wide::from(got);
  const int64_t parts = want.parts();
  for (const auto& [to, sources] : contests.places) {
    int64_t best = sources.back();
    double least = HUGE_VAL;
    for (const int64_t from : sources) {
      double far = 0;
      if (want.is_integral()) {
        far = contests.values.integer[at(from)] == device.integer[at(to)] ? 0 : 1;
      } else {
        for (int64_t p = 0; p < parts; ++p) {
          far = std::max(
              far, distance(contests.values.real[at(from * parts + p)], device.real[at(to * parts + p)]));
        }
      }
      if (far < least) {
        least = far;
        best = from;
      }
    }
    copy_run(contests.values, best, want, to, 1);
  }
}

}  // namespace assay::reference
