// assay doctor: what this machine has, and what it lacks.
#include <sys/statvfs.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <thread>

#include "cli/verb.h"
#include "core/error.h"
#include "harness/worker/locate.h"
#include "harness/worker/worker_client.h"

namespace assay::cli {
namespace {

enum class Health { good, missing, broken };

struct Finding {
  Health health;
  std::string what, detail;
};

std::string cpu_features() {
  std::string text = std::to_string(std::thread::hardware_concurrency()) + " cores";
#if defined(__x86_64__)
  __builtin_cpu_init();
  text += __builtin_cpu_supports("avx2") ? ", AVX2" : ", no AVX2";
  text += __builtin_cpu_supports("avx512f") ? ", AVX-512" : ", no AVX-512";
  text += __builtin_cpu_supports("avx512bf16") ? " with BF16"
                                               : ", no AVX-512 BF16 (the portable tile kernel is used)";
#endif
  return text;
}

Finding backend(const std::string& name, bool optional) {
  try {
    WorkerClient client(parse_backend(name), HelloRequest{}, ExchangeLimits{});
    const BackendInfo& info = client.hello();
    return {Health::good, "backend " + name, info.name + " " + info.version + ", " + info.device};
  } catch (const BackendMissing& missing) {
    return {optional ? Health::missing : Health::broken, "backend " + name, missing.message};
  } catch (const Error& error) {
    return {optional ? Health::missing : Health::broken, "backend " + name, error.what()};
  }
}

Finding data(const std::string& relative) {
  try {
    return {Health::good, "data " + relative, find_data(relative)};
  } catch (const Error& error) {
    return {Health::broken, "data " + relative, error.what()};
  }
}

Finding disk() {
  struct statvfs info {};
  if (statvfs(".", &info) != 0) return {Health::broken, "disk", "the current folder cannot be asked"};
  const double gib =
      static_cast<double>(info.f_bavail) * static_cast<double>(info.f_frsize) / (1024.0 * 1024 * 1024);
  char text[64];
  std::snprintf(text, sizeof text, "%.1f GiB free here", gib);
  return {gib > 1 ? Health::good : Health::missing, "disk", text};
}

int doctor() {
  const Finding findings[] = {{Health::good, "cpu", cpu_features()},
                              disk(),
                              data("sweeps/catalogue/architectures.csv"),
                              data("harness/contracts/torch_cpu.json"),
                              backend("reference", false),
                              backend("trainium", false),
                              backend("null", false),
                              backend("torch:cpu", true)};
  bool broken = false;
  for (const Finding& finding : findings) {
    const char* mark = finding.health == Health::good      ? "ok     "
                       : finding.health == Health::missing ? "missing"
                                                           : "BROKEN ";
    std::printf("%s  %s: %s\n", mark, finding.what.c_str(), finding.detail.c_str());
    broken = broken || finding.health == Health::broken;
  }
  return broken ? kFailures : kOk;
}

}  // namespace

void register_doctor(VerbTable& table) {
  table.add({"doctor", "what this machine has and lacks",
             [](CLI::App&) -> std::function<int()> { return doctor; }});
}

}  // namespace assay::cli
