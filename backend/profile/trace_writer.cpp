#include "backend/profile/trace_writer.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <utility>

namespace assay::backend {
namespace {

void append_string(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  out += '"';
}

// Picoseconds are kept, so that slices of one track that touch do not overlap after rounding.
void append_time(std::string& out, double seconds) {
  fmt::format_to(std::back_inserter(out), "{:.6f}", seconds * 1e6);
}

}  // namespace

std::string json_string(std::string_view text) {
  std::string out;
  append_string(out, text);
  return out;
}

std::string& JsonMembers::member(std::string_view name) {
  if (!text_.empty()) text_ += ',';
  append_string(text_, name);
  return text_ += ':';
}
JsonMembers& JsonMembers::add(std::string_view name, std::string_view text) {
  append_string(member(name), text);
  return *this;
}
JsonMembers& JsonMembers::add(std::string_view name, double number) {
  member(name) += std::isfinite(number) ? fmt::format("{:.12g}", number) : "0";
  return *this;
}
JsonMembers& JsonMembers::add(std::string_view name, int64_t number) {
  member(name) += std::to_string(number);
  return *this;
}
JsonMembers& JsonMembers::add_json(std::string_view name, std::string_view json) {
  member(name) += json;
  return *this;
}

void TraceWriter::begin(char phase, Track track, std::string_view name) {
  text_ += events_++ == 0 ? "[\n{\"ph\":\"" : ",\n{\"ph\":\"";
  text_ += phase;
  fmt::format_to(std::back_inserter(text_), "\",\"pid\":{},\"tid\":{},\"name\":", track.process,
                 track.thread);
  append_string(text_, name);
}

void TraceWriter::name_process(int process, std::string_view name) {
  metadata(process, "process_name", JsonMembers().add("name", name).object());
}

void TraceWriter::name_track(Track track, std::string_view name, int order) {
  begin('M', track, "thread_name");
  text_ += ",\"args\":" + JsonMembers().add("name", name).object() + "}";
  begin('M', track, "thread_sort_index");
  text_ += ",\"args\":" + JsonMembers().add("sort_index", int64_t{order}).object() + "}";
}

void TraceWriter::metadata(int process, std::string_view name, std::string_view arguments_json) {
  begin('M', {process, 0}, name);
  text_ += ",\"args\":";
  text_ += arguments_json;
  text_ += '}';
}

void TraceWriter::slice(Track track, std::string_view name, std::string_view category, double start_s,
                        double end_s, const JsonMembers& arguments) {
  begin('X', track, name);
  text_ += ",\"cat\":";
  append_string(text_, category);
  text_ += ",\"ts\":";
  append_time(text_, start_s);
  text_ += ",\"dur\":";
  append_time(text_, end_s - start_s);
  text_ += ",\"args\":" + arguments.object() + "}";
}

void TraceWriter::flow(Track from, double from_s, Track to, double to_s, std::string_view name) {
  const int64_t id = ++flows_;
  const auto end = [&](char phase, Track track, double at) {
    begin(phase, track, name);
    fmt::format_to(std::back_inserter(text_), ",\"cat\":\"dependency\",\"id\":{},\"ts\":", id);
    append_time(text_, at);
    // "e": binds to the slice that encloses this time, not to the next one.
    text_ += phase == 'f' ? ",\"bp\":\"e\"}" : "}";
  };
  end('s', from, from_s);
  end('f', to, to_s);
}

void TraceWriter::counter(int process, std::string_view name, double at_s, std::string_view series,
                          double value) {
  begin('C', {process, 0}, name);
  text_ += ",\"ts\":";
  append_time(text_, at_s);
  text_ += ",\"args\":" + JsonMembers().add(series, value).object() + "}";
}

std::string TraceWriter::take() {
  std::string out = events_ == 0 ? "[]" : std::move(text_) + "\n]";
  text_.clear();
  events_ = flows_ = 0;
  return out;
}

}  // namespace assay::backend
