#include "harness/worker/frame.h"

#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.h"

namespace assay {
namespace {

constexpr std::size_t kHeaderStep = std::size_t{1}
                                    << 20;  // memory follows what has arrived, not what is claimed

std::string io_message(const char* what) { return fmt::format("{}: {}", what, std::strerror(errno)); }

}  // namespace

Frame make_frame(PackedMap header, std::vector<Tensor> tensors) {
  PackedArray metas;
  for (Tensor& tensor : tensors) {
    if (!tensor.defined()) throw Error(ErrorCode::internal, "a frame cannot hold an undefined tensor");
    tensor = tensor.contiguous();
    metas.push_back(PackedMap{{"dtype", name_of(tensor.dtype())}, {"shape", tensor.shape()}});
  }
  header.set("tensors", metas);
  Frame frame;
  frame.header = PackedValue(header).bytes();
  frame.tensors = std::move(tensors);
  return frame;
}

MessageValue header_of(const Frame& frame, const std::string& origin) {
  if (!frame.read) frame.read = std::make_shared<const Message>(frame.header, origin);
  const MessageValue header = frame.read->root();
  if (const auto type = header.find("type"); !type || !type->is_string()) {
    throw Error(ErrorCode::malformed_file, origin + ": frame header has no member \"type\"");
  }
  return header;
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
  frame_.read = std::make_shared<const Message>(std::move(frame_.header), origin_);
  const auto list = frame_.read->root().find("tensors");
  if (!list || !list->is_array()) fail("frame header has no array \"tensors\"");
  metas_.clear();
  uint64_t total = 0;
  for (const MessageValue entry : *list) {
    const auto bad = [&](const char* what) { fail(fmt::format("tensor {}: {}", metas_.size(), what)); };
    const auto name = entry.find("dtype"), sizes = entry.find("shape");
    if (!name || !sizes || !name->is_string() || !sizes->is_array() || sizes->size() > 64) {
      bad("expected a map of dtype and shape");
    }
    const auto dtype = parse_dtype(name->text());
    if (!dtype) bad("unknown dtype");
    Meta meta{*dtype, {}};
    uint64_t count = 1;
    bool empty = false;
    for (const MessageValue size : *sizes) {
      if (!size.is_number_unsigned() || size.natural() > uint64_t{1} << 48) bad("bad size");
      const uint64_t s = size.natural();
      empty = empty || s == 0;
      if (s != 0 && count > (uint64_t{1} << 56) / s) bad("bad size");
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
  for (int i = 0; i < 8; ++i) size_[i] = static_cast<char>(size >> (8 * i) & 0xff);
}

std::span<const std::byte> FrameWriter::piece(std::size_t part) const {
  if (part == 0) return std::as_bytes(std::span(size_));
  if (part == 1) return std::as_bytes(std::span(frame_.header));
  const Tensor& tensor = frame_.tensors[part - 2];
  return {tensor.data(), tensor.bytes()};
}

std::span<const std::byte> FrameWriter::pending() const {
  return part_ < frame_.tensors.size() + 2 ? piece(part_).subspan(sent_) : std::span<const std::byte>{};
}

void FrameWriter::advance(std::size_t n) {
  sent_ += n;
  while (part_ < frame_.tensors.size() + 2 && sent_ >= piece(part_).size()) sent_ -= piece(part_++).size();
}

ssize_t FrameWriter::write_to(int fd) {
  std::array<iovec, 16> pieces{};
  std::size_t count = 0;
  for (std::size_t part = part_; part < frame_.tensors.size() + 2 && count < pieces.size(); ++part) {
    const auto bytes = part == part_ ? pending() : piece(part);
    // writev does not change what it sends.
    pieces[count++] = {const_cast<std::byte*>(bytes.data()), bytes.size()};
  }
  const ssize_t n = ::writev(fd, pieces.data(), static_cast<int>(count));
  if (n > 0) advance(static_cast<std::size_t>(n));
  return n;
}

// --- both, blocking
// ---------------------------------------------------------------------------------------------------

ReadBytes read_some(int fd, FrameReader& reader, std::span<std::byte> buffer) {
  const auto space = reader.wanted();
  const bool direct = space.size() >= buffer.size();
  const std::span<std::byte> into = direct ? space : buffer;
  const ssize_t n = ::read(fd, into.data(), into.size());
  if (n <= 0) return {n, {}};
  const auto count = static_cast<std::size_t>(n);
  if (!direct) return {n, buffer.first(count)};
  reader.advance(count);
  return {n, {}};
}

std::span<const std::byte> feed(FrameReader& reader, std::span<const std::byte> bytes) {
  while (!bytes.empty() && !reader.complete()) {
    const auto space = reader.wanted();
    const std::size_t n = std::min(space.size(), bytes.size());
    std::memcpy(space.data(), bytes.data(), n);
    reader.advance(n);
    bytes = bytes.subspan(n);
  }
  return bytes;
}

bool read_frame(int fd, FrameLimits limits, const std::string& origin, Frame& out) {
  FrameReader reader(limits, origin);
  std::array<std::byte, kReadBytes> buffer;
  while (!reader.complete()) {
    const ReadBytes got = read_some(fd, reader, buffer);
    if (got.count < 0 && errno == EINTR) continue;
    if (got.count < 0) throw Error(ErrorCode::io, io_message("cannot read a frame"));
    if (got.count == 0) {
      if (reader.empty()) return false;
      throw Error(ErrorCode::malformed_file, origin + ": the frame ends too early");
    }
    if (!feed(reader, got.buffered).empty()) {
      throw Error(ErrorCode::malformed_file, origin + ": bytes follow the frame before it is answered");
    }
  }
  out = reader.take();
  return true;
}

void write_frame(int fd, const Frame& frame) {
  FrameWriter writer(frame);
  while (!writer.pending().empty()) {
    if (writer.write_to(fd) < 0 && errno != EINTR)
      throw Error(ErrorCode::io, io_message("cannot write a frame"));
  }
}

}  // namespace assay
