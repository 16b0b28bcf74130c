#include "cli/laplace/assumptions.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "backend/device/neuronlink.h"
#include "cli/files.h"
#include "core/error.h"
#include "core/io/file.h"
#include "core/philox.h"

namespace assay::cli::laplace {
namespace {

using Field = nlohmann::json;

constexpr int64_t kMost = int64_t{1} << 40;

class Reader {
 public:
  Reader(const Field& object, std::string place) : object_(object), place_(std::move(place)) {
    if (!object.is_object()) fail("is no object");
  }

  Reader at(const char* name) const { return {get(name), place_ + "." + name}; }
  std::vector<Reader> list(const char* name) const {
    std::vector<Reader> out;
    for (const Field& one : array(name))
      out.emplace_back(one, fmt::format("{}.{}[{}]", place_, name, out.size()));
    return out;
  }
  std::string text(const char* name) const {
    const Field& value = get(name);
    if (!value.is_string() || value.get<std::string>().empty())
      fail(fmt::format("field {} is no text", name));
    return value.get<std::string>();
  }
  int64_t integer(const char* name) const { return whole(get(name), name); }
  double number(const char* name) const {
    const Field& value = get(name);
    if (!value.is_number()) fail(fmt::format("field {} is no number", name));
    return value.get<double>();
  }
  std::vector<int64_t> integers(const char* name) const {
    std::vector<int64_t> out;
    for (const Field& value : array(name)) out.push_back(whole(value, name));
    return out;
  }
  std::vector<std::string> texts(const char* name) const {
    std::vector<std::string> out;
    for (const Field& value : array(name)) {
      if (!value.is_string()) fail(fmt::format("field {} holds something else than text", name));
      out.push_back(value.get<std::string>());
    }
    return out;
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::malformed_file, place_ + ": " + what);
  }

 private:
  const Field& get(const char* name) const {
    const auto it = object_.find(name);
    if (it == object_.end()) fail(fmt::format("field {} is missing", name));
    return *it;
  }
  const Field& array(const char* name) const {
    const Field& all = get(name);
    if (!all.is_array() || all.empty()) fail(fmt::format("field {} is no list with entries", name));
    return all;
  }
  int64_t whole(const Field& value, const char* name) const {
    if (!value.is_number_integer() || value.get<int64_t>() < 1 || value.get<int64_t>() > kMost) {
      fail(fmt::format("field {} is no whole number from 1 to {}", name, kMost));
    }
    return value.get<int64_t>();
  }

  const Field& object_;
  std::string place_;
};

int small(const Reader& at, const char* name) {
  const int64_t value = at.integer(name);
  if (value > 4096) at.fail(fmt::format("field {} is {}, more than 4096", name, value));
  return static_cast<int>(value);
}

Candidate candidate(const Reader& at) {
  Candidate out;
  out.id = at.text("id");
  out.source = at.text("source");
  models::GlaConfig& c = out.config;
  c.hidden_size = at.integer("hidden_size");
  c.num_hidden_layers = at.integer("layers");
  c.num_heads = at.integer("heads");
  const int64_t key = at.integer("head_key"), value = at.integer("head_value");
  c.set_head_sizes(key, value);
  c.intermediate_size = at.integer("intermediate_size");
  c.vocab_size = at.integer("vocab_size");
  const std::string dtype = at.text("state_dtype");
  if (dtype != "f32" && dtype != "bf16") at.fail("state_dtype is " + dtype + ", neither f32 nor bf16");
  c.state_dtype = dtype == "f32" ? DType::f32 : DType::bf16;
  try {
    c.check();
  } catch (const Error& error) {
    at.fail(error.what());
  }
  if (c.head_key() != key || c.head_value() != value) at.fail("the head sizes do not come out");
  return out;
}

void check_fills(const Reader& at, const std::string& instance_name, int lnc, int64_t ranks, bool exactly) {
  const backend::InstanceDescription& instance = backend::instance(instance_name);
  const int cores = instance.chips * backend::chip(instance.generation).cores / lnc;
  if (lnc > 2 || (exactly ? ranks != cores : cores % ranks != 0)) {
    at.fail(fmt::format("{} ranks do not fill the {} logical cores of a {} at LNC {}", ranks, cores,
                        instance_name, lnc));
  }
}

}  // namespace

int64_t Candidate::state_bytes() const {
  return config.state_elements() * static_cast<int64_t>(size_of(config.state_dtype.value_or(DType::f32)));
}

Assumptions read_assumptions(const std::string& path) {
  require_input(path, "assumptions (JSON)");
  const std::string bytes = read_file(path);
  const Field document = Field::parse(bytes, nullptr, false);
  if (document.is_discarded()) throw Error(ErrorCode::malformed_file, path + ": this is no JSON");
  const Reader all(document, path);
  Assumptions out;
  out.hash = fmt::format("{:016x}", fnv1a64(bytes));
  const Reader published = all.at("published");
  const auto figure = [&](const char* name) { return published.at(name).number("value"); };
  out.published = {figure("training_tokens_per_s"), figure("decode_tokens_per_s"), figure("chunk_gain"),
                   figure("state_mb"), figure("muon_gain")};
  out.instance = all.at("instance").text("value");
  for (const Reader& one : all.list("candidates")) out.candidates.push_back(candidate(one));
  const Reader training = all.at("training");
  out.sequence_length = training.at("sequence_length").integer("value");
  out.chunk_size = training.at("chunk_size").integer("value");
  for (Candidate& one : out.candidates) one.config.chunk_size = out.chunk_size;
  out.chunk_sizes = training.at("chunk_sizes").integers("value");
  out.chunk_candidates = training.at("chunk_candidates").texts("value");
  out.accumulation = training.at("accumulation").integers("value");
  for (const Reader& one : training.list("layouts")) {
    TrainingLayout layout{one.text("id"),
                          one.text("source"),
                          small(one, "lnc"),
                          small(one, "tp"),
                          small(one, "fsdp"),
                          small(one, "replicas"),
                          1};
    layout.sequences = one.integer("sequences");
    check_fills(one, out.instance, layout.lnc, int64_t{layout.tp} * layout.fsdp * layout.replicas, true);
    if (layout.sequences % layout.lnc != 0) one.fail("the cores of a rank cannot share its sequences evenly");
    out.training.push_back(layout);
  }
  const Reader decode = all.at("decode");
  out.decode_sequences = decode.at("sequences").integer("value");
  for (const Reader& one : decode.list("layouts")) {
    out.decode.push_back({one.text("id"), one.text("source"), small(one, "lnc"), small(one, "tp")});
    check_fills(one, out.instance, out.decode.back().lnc, out.decode.back().tp, false);
  }
  const Reader concurrency = all.at("concurrency");
  out.memory_gib = concurrency.at("memory_gib").integers("value");
  out.weight_copies = concurrency.at("weight_copies").integers("value");
  if (out.memory_gib.size() != out.weight_copies.size()) {
    concurrency.fail("memory_gib and weight_copies have different numbers of entries");
  }
  for (const int64_t log2 : concurrency.at("context_lengths_log2").integers("value")) {
    if (log2 > 30) concurrency.fail("a context length is above 2^30");
    out.context_lengths.push_back(int64_t{1} << log2);
  }
  return out;
}

}  // namespace assay::cli::laplace
