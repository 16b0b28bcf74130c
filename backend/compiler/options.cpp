#include "backend/compiler/options.h"

#include <charconv>
#include <functional>
#include <string_view>
#include <utility>

#include "core/error.h"

namespace assay::backend {
namespace {

struct Setting {
  std::string key, value;
};

[[noreturn]] void refuse(const Setting& s, const std::string& expected) {
  throw Error(ErrorCode::invalid_argument,
              "trainium: option " + s.key + "=" + s.value + ": expected " + expected);
}

bool flag(const Setting& s) {
  if (s.value == "0") return false;
  if (s.value == "1") return true;
  refuse(s, "0 or 1");
}

uint64_t number(const Setting& s, uint64_t limit) {
  uint64_t out = 0;
  const char* end = s.value.data() + s.value.size();
  const auto [rest, error] = std::from_chars(s.value.data(), end, out);
  if (error != std::errc() || rest != end || out > limit) {
    refuse(s, "a whole number up to " + std::to_string(limit));
  }
  return out;
}

using Setter = std::function<void(DeviceOptions&, const Setting&)>;

const std::map<std::string, Setter, std::less<>>& setters() {
  static const std::map<std::string, Setter, std::less<>> all{
      {"lnc",
       [](DeviceOptions& o, const Setting& s) {
         if (s.value != "1" && s.value != "2") refuse(s, "1 or 2, physical cores a logical one");
         o.compile.lnc = s.value == "2" ? 2 : 1;
         if (o.compile.lnc == 2 && o.target == Generation::trn1) refuse(s, "1: trn1 has no other [EARG001]");
       }},
      {"fuse", [](DeviceOptions& o, const Setting& s) { o.compile.fuse = flag(s); }},
      {"cache_mib",
       [](DeviceOptions& o, const Setting& s) { o.cache_bytes = number(s, uint64_t{1} << 24) << 20; }},
      {"profile_events",
       [](DeviceOptions& o, const Setting& s) {
         o.profile_events = static_cast<int64_t>(number(s, 100'000'000));
       }},
      {"auto_cast",
       [](DeviceOptions& o, const Setting& s) {
         if (s.value == "none") {
           o.compile.matmult_cast.reset();
         } else if (s.value == "matmult") {
           o.compile.matmult_cast = DType::bf16;
         } else {
           refuse(s, "none or matmult");
         }
       }},
      {"implicit_integer_downcast",
       [](DeviceOptions& o, const Setting& s) {
         if (s.value != "none" && s.value != "default") refuse(s, "none or default");
         o.compile.integer_downcast = s.value == "default";
       }},
      {"stochastic_rounding",
       [](DeviceOptions& o, const Setting& s) { o.simulator.stochastic_rounding = flag(s); }},
      {"threads",
       [](DeviceOptions& o, const Setting& s) { o.simulator.threads = static_cast<int>(number(s, 1024)); }},
      {"shuffle",
       [](DeviceOptions& o, const Setting& s) {
         o.simulator.shuffle = true;
         o.simulator.shuffle_seed = number(s, UINT64_MAX);
       }},
      {"quirk_integers_through_fp32",
       [](DeviceOptions& o, const Setting& s) { o.simulator.quirks.integers_through_fp32 = flag(s); }},
      {"quirk_activation_range",
       [](DeviceOptions& o, const Setting& s) {
         o.simulator.quirks.activation_range = flag(s);
         o.compile.range_reduction = !o.simulator.quirks.activation_range;
       }},
      {"quirk_non_ocp_fp8",
       [](DeviceOptions& o, const Setting& s) { o.simulator.quirks.non_ocp_fp8 = flag(s); }},
      {"quirk_matmul_truncates",
       [](DeviceOptions& o, const Setting& s) { o.simulator.quirks.matmul_truncates = flag(s); }},
      {"quirk_uninitialized_sbuf",
       [](DeviceOptions& o, const Setting& s) { o.simulator.quirks.uninitialized_sbuf = flag(s); }},
      {"quirk_psum_accumulate",
       [](DeviceOptions& o, const Setting& s) { o.simulator.quirks.psum_accumulate = flag(s); }},
      {"quirk_transpose_spreads_nan",
       [](DeviceOptions& o, const Setting& s) {
         o.simulator.quirks.transpose_spreads_nan = flag(s);
         o.compile.trusts_transpose = o.simulator.quirks.transpose_spreads_nan;
       }},
      {"traps", [](DeviceOptions& o, const Setting& s) { o.simulator.traps = flag(s); }},
  };
  return all;
}

}  // namespace

DeviceOptions parse_options(const std::string& target, const std::map<std::string, std::string>& options,
                            uint64_t seed) {
  DeviceOptions out;
  if (!target.empty()) out.target = parse_target(target);
  out.simulator.seed = seed;
  for (const auto& [key, value] : options) {
    const auto setter = setters().find(key);
    if (setter == setters().end()) {
      std::string known;
      for (const auto& [name, unused] : setters()) known += (known.empty() ? "" : ", ") + name;
      throw Error(ErrorCode::invalid_argument,
                  "trainium: there is no option " + key + "; the options are " + known);
    }
    setter->second(out, {key, value});
  }
  return out;
}

}  // namespace assay::backend
