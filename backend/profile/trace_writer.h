// Events of the Chrome trace format, as text ("Trace Event Format", Chromium's documents; what Perfetto
// reads).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace assay::backend {

// `text` as a JSON string, quotes included.
std::string json_string(std::string_view text);

// Members of an object in the order of their adding.
class JsonMembers {
 public:
  JsonMembers& add(std::string_view name, std::string_view text);
  JsonMembers& add(std::string_view name, double number);
  JsonMembers& add(std::string_view name, int64_t number);
  JsonMembers& add_json(std::string_view name, std::string_view json);
  std::string object() const { return "{" + text_ + "}"; }

 private:
  std::string& member(std::string_view name);
  std::string text_;
};

// Seconds here, microseconds in the file.
class TraceWriter {
 public:
  struct Track {
    int process, thread;
  };
  // Tracks are shown by `order` within a process.
  void name_process(int process, std::string_view name);
  void name_track(Track track, std::string_view name, int order);
  void slice(Track track, std::string_view name, std::string_view category, double start_s, double end_s,
             const JsonMembers& arguments);
  // From a slice that ends there to one that starts there.
  void flow(Track from, double from_s, Track to, double to_s, std::string_view name);
  void counter(int process, std::string_view name, double at_s, std::string_view series, double value);
  void metadata(int process, std::string_view name, std::string_view arguments_json);

  int64_t events() const { return events_; }
  std::string take();  // the JSON array; the writer is empty afterwards

 private:
  void begin(char phase, Track track, std::string_view name);
  std::string text_;
  int64_t events_ = 0, flows_ = 0;
};

}  // namespace assay::backend
