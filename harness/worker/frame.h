// Frames of the worker protocol: u64 header size, MessagePack header, raw tensors (docs/worker_protocol.md).
// Whatever comes from the other side is hostile until checked here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensor.h"

namespace assay {

struct Frame {
  std::string header;  // MessagePack map, checked by check_msgpack, with the member "tensors"
  std::vector<Tensor> tensors;
  mutable std::shared_ptr<const nlohmann::json> parsed = nullptr;  // the header's map, once it was needed
};

struct FrameLimits {
  uint64_t header_bytes = uint64_t{256} << 20;
  uint64_t tensor_bytes = uint64_t{8} << 30;  // all tensors of a frame together
};

// Scans MessagePack without recursion: one map with string keys, nesting <= 64, no key twice, no extension
// types, no claim beyond the bytes that are there, nothing left over. Throws Error{malformed_file} with the
// byte offset. (nlohmann's reader recurses and overflows the stack on deep nesting, so this comes before it.)
void check_msgpack(std::string_view bytes, const std::string& origin);

// Adds "tensors" to `header`. Tensors must be defined; non-contiguous ones are copied.
Frame make_frame(nlohmann::json header, std::vector<Tensor> tensors);
// The header's map, which lives as long as the frame; "type" is a string. Throws Error{malformed_file}.
const nlohmann::json& header_of(const Frame& frame, const std::string& origin);

// Assembles a frame from bytes as they come.
class FrameReader {
 public:
  FrameReader(FrameLimits limits, std::string origin);
  // Where the next bytes belong; not empty unless complete().
  std::span<std::byte> wanted();
  // `n` bytes were put at wanted(). Throws Error{malformed_file} as soon as the bytes cannot be a frame.
  void advance(std::size_t n);
  bool complete() const { return state_ == State::complete; }
  bool empty() const { return state_ == State::size && filled_ == 0; }  // between frames
  Frame take();                                                         // and starts anew

 private:
  enum class State { size, header, tensors, complete };
  void start_header();
  void start_tensors();
  void next_tensor();
  [[noreturn]] void fail(const std::string& what) const;

  FrameLimits limits_;
  std::string origin_;
  State state_ = State::size;
  std::byte size_bytes_[8];
  std::size_t filled_ = 0;  // of the current part
  std::size_t header_size_ = 0;
  struct Meta {
    DType dtype;
    Shape shape;
  };
  std::vector<Meta> metas_;
  Frame frame_;
};

// Serves the bytes of a frame piece by piece, for writev-like sending without copying tensors.
class FrameWriter {
 public:
  explicit FrameWriter(const Frame& frame);    // `frame` must outlive the writer
  std::span<const std::byte> pending() const;  // empty when done
  void advance(std::size_t n);

 private:
  const Frame& frame_;
  std::string prefix_;
  std::size_t part_ = 0;  // 0: prefix, i: tensor i - 1
  std::size_t sent_ = 0;
  void skip_empty();
};

// Blocking, for the worker's side. read_frame returns false at a clean end of file. Throw Error{io} if the
// other side went away, Error{malformed_file} for rubbish.
bool read_frame(int fd, FrameLimits limits, const std::string& origin, Frame& out);
void write_frame(int fd, const Frame& frame);

}  // namespace assay
