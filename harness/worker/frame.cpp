#include "harness/worker/frame.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"
#include "core/io/json_object.h"

namespace assay {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kHeaderStep = std::size_t{1}
                                    << 20;  // memory follows what has arrived, not what is claimed

std::string io_message(const char* what) { return fmt::format("{}: {}", what, std::strerror(errno)); }

}  // namespace

Frame make_frame(Json header, std::vector<Tensor> tensors) {
  Json metas = Json::array();
  for (Tensor& tensor : tensors) {
    if (!tensor.defined()) throw Error(ErrorCode::internal, "a frame cannot hold an undefined tensor");
    tensor = tensor.contiguous();
    metas.push_back(json_map({{"dtype", name_of(tensor.dtype())}, {"shape", tensor.shape()}}));
  }
  header["tensors"] = std::move(metas);
  Frame frame;
  Json::to_msgpack(header, frame.header);
  frame.tensors = std::move(tensors);
  return frame;
}

const Json& header_of(const Frame& frame, const std::string& origin) {
  if (!frame.parsed) {
    frame.parsed = std::make_shared<const Json>(Json::from_msgpack(frame.header, true, false));
  }
  const Json& json = *frame.parsed;
  if (!json.is_object() || !json.contains("type") || !json.at("type").is_string()) {
    throw Error(ErrorCode::malformed_file, origin + ": frame header has no member \"type\"");
  }
  return json;
}

// --- reading
// ---------------------------------------------------------------------------------------------------

FrameReader::FrameReader(FrameLimits limits, std::string origin)
    : limits_(limits), origin_(std::move(origin)) {}

void FrameReader::fail(const std::string& what) const {
  throw Error(ErrorCode::malformed_file, origin_ + ": " + what);
}

std::span<std::byte> FrameReader::wanted() {
  switch (state_) {
    case State::size:
      return std::span(size_bytes_).subspan(filled_);
    case State::header: {
      const std::size_t step = std::min(kHeaderStep, header_size_ - filled_);
      if (frame_.header.size() < filled_ + step) frame_.header.resize(filled_ + step);
      return {reinterpret_cast<std::byte*>(frame_.header.data()) + filled_, step};
    }
    case State::tensors: {
      Tensor& tensor = frame_.tensors.back();
      return {tensor.mutable_data() + filled_, tensor.bytes() - filled_};
    }
    case State::complete:
      break;
  }
  return {};
}

void FrameReader::advance(std::size_t n) {
  filled_ += n;
  switch (state_) {
    case State::size:
      if (filled_ == sizeof(size_bytes_)) start_header();
      return;
    case State::header:
      if (filled_ == header_size_) start_tensors();
      return;
    case State::tensors:
      if (filled_ == frame_.tensors.back().bytes()) next_tensor();
      return;
    case State::complete:
      return;
  }
}

void FrameReader::start_header() {
  uint64_t size = 0;
  for (int i = 7; i >= 0; --i) size = size << 8 | std::to_integer<uint64_t>(size_bytes_[i]);
  if (size == 0 || size > limits_.header_bytes) {
    fail(fmt::format("frame claims a header of {} bytes, expected 1 to {}", size, limits_.header_bytes));
  }
  header_size_ = size;
  filled_ = 0;
  state_ = State::header;
}

void FrameReader::start_tensors() {
  frame_.header.resize(header_size_);
  check_msgpack(frame_.header, origin_);
  frame_.parsed = std::make_shared<const Json>(Json::from_msgpack(frame_.header, true, false));
  const Json& json = *frame_.parsed;
  if (!json.is_object()) fail("frame header is not MessagePack");
  const auto list = json.find("tensors");
  if (list == json.end() || !list->is_array()) fail("frame header has no array \"tensors\"");
  metas_.clear();
  uint64_t total = 0;
  for (const Json& entry : *list) {
    const std::string place = fmt::format("tensor {}", metas_.size());
    if (!entry.is_object() || !entry.contains("dtype") || !entry.contains("shape") ||
        !entry["dtype"].is_string() || !entry["shape"].is_array() || entry["shape"].size() > 64) {
      fail(place + ": expected a map of dtype and shape");
    }
    const auto dtype = parse_dtype(entry["dtype"].get_ref<const std::string&>());
    if (!dtype) fail(place + ": unknown dtype");
    Meta meta{*dtype, {}};
    uint64_t count = 1;
    bool empty = false;
    for (const Json& size : entry["shape"]) {
      if (!size.is_number_unsigned() || size.get<uint64_t>() > uint64_t{1} << 48) fail(place + ": bad size");
      const uint64_t s = size.get<uint64_t>();
      empty = empty || s == 0;
      if (s != 0 && count > (uint64_t{1} << 56) / s) fail(place + ": bad size");
      count *= s == 0 ? 1 : s;
      meta.shape.push_back(static_cast<int64_t>(s));
    }
    if (!empty) total += count * size_of(*dtype);
    if (total > limits_.tensor_bytes)
      fail(fmt::format("tensors of more than {} bytes", limits_.tensor_bytes));
    metas_.push_back(std::move(meta));
  }
  frame_.tensors.clear();
  state_ = State::tensors;
  next_tensor();
}

void FrameReader::next_tensor() {
  filled_ = 0;
  while (frame_.tensors.size() < metas_.size()) {
    const Meta& meta = metas_[frame_.tensors.size()];
    frame_.tensors.emplace_back(meta.dtype, meta.shape);
    if (frame_.tensors.back().bytes() > 0) return;
  }
  state_ = State::complete;
}

Frame FrameReader::take() {
  state_ = State::size;
  filled_ = 0;
  return std::exchange(frame_, Frame{});
}

// --- writing
// ---------------------------------------------------------------------------------------------------

FrameWriter::FrameWriter(const Frame& frame) : frame_(frame) {
  const uint64_t size = frame.header.size();
  for (int i = 0; i < 8; ++i) prefix_.push_back(static_cast<char>(size >> (8 * i) & 0xff));
  prefix_ += frame.header;
}

std::span<const std::byte> FrameWriter::pending() const {
  if (part_ == 0) return std::as_bytes(std::span(prefix_)).subspan(sent_);
  if (part_ > frame_.tensors.size()) return {};
  const Tensor& tensor = frame_.tensors[part_ - 1];
  return std::span(tensor.data(), tensor.bytes()).subspan(sent_);
}

void FrameWriter::advance(std::size_t n) {
  sent_ += n;
  skip_empty();
}

void FrameWriter::skip_empty() {
  while (part_ <= frame_.tensors.size() && pending().empty()) {
    ++part_;
    sent_ = 0;
  }
}

bool read_frame(int fd, FrameLimits limits, const std::string& origin, Frame& out) {
  FrameReader reader(limits, origin);
  while (!reader.complete()) {
    const auto space = reader.wanted();
    const ssize_t n = ::read(fd, space.data(), space.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw Error(ErrorCode::io, io_message("cannot read a frame"));
    if (n == 0) {
      if (reader.empty()) return false;
      throw Error(ErrorCode::malformed_file, origin + ": the frame ends too early");
    }
    reader.advance(static_cast<std::size_t>(n));
  }
  out = reader.take();
  return true;
}

void write_frame(int fd, const Frame& frame) {
  FrameWriter writer(frame);
  while (!writer.pending().empty()) {
    const auto bytes = writer.pending();
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw Error(ErrorCode::io, io_message("cannot write a frame"));
    writer.advance(static_cast<std::size_t>(n));
  }
}

}  // namespace assay
