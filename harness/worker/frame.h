// Frames of the worker protocol: u64 header size, MessagePack header, raw tensors (docs/worker_protocol.md).
// Whatever comes from the other side is hostile until checked here.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensor.h"
#include "harness/worker/message_pack.h"

namespace assay {

struct Frame {
  std::string header;  // of a frame to be sent: a MessagePack map with the member "tensors"
  std::vector<Tensor> tensors;
  mutable std::shared_ptr<const Message> read =
      nullptr;  // the header of a frame that came, or once it was needed
};

struct FrameLimits {
  uint64_t header_bytes = uint64_t{256} << 20;
  uint64_t tensor_bytes = uint64_t{8} << 30;  // all tensors of a frame together
};

// Adds "tensors" to `header`. Tensors must be defined; non-contiguous ones are copied.
Frame make_frame(PackedMap header, std::vector<Tensor> tensors);
// The header's map, which lives as long as the frame's `read`; "type" is a string. Throws
// Error{malformed_file}.
MessageValue header_of(const Frame& frame, const std::string& origin);

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

// One read of `fd`, straight into the reader where a large tensor is wanted, else into `buffer`: a small
// frame takes one call, a large tensor no copy. `count` is as ::read's; `buffered` is to be fed. Throws as
// advance().
struct ReadBytes {
  ssize_t count;
  std::span<const std::byte> buffered;
};
ReadBytes read_some(int fd, FrameReader& reader, std::span<std::byte> buffer);
// Gives as many of `bytes` to the reader as belong to its frame; what is left. Throws as advance().
std::span<const std::byte> feed(FrameReader& reader, std::span<const std::byte> bytes);

// Serves the bytes of a frame piece by piece, for writev-like sending without copying tensors.
class FrameWriter {
 public:
  explicit FrameWriter(const Frame& frame);    // `frame` must outlive the writer
  std::span<const std::byte> pending() const;  // the next piece; empty when done
  void advance(std::size_t n);                 // may be more than one piece
  ssize_t write_to(int fd);                    // one ::writev of what is pending, and advances

 private:
  const Frame& frame_;
  char size_[8];          // of the header
  std::size_t part_ = 0;  // 0: size, 1: header, i: tensor i - 2
  std::size_t sent_ = 0;
  std::span<const std::byte> piece(std::size_t part) const;
};

constexpr std::size_t kReadBytes = std::size_t{1} << 16;  // asked for at once where less than that is wanted

// Blocking, for the worker's side; the next frame must not come before this one is answered. read_frame
// returns false at a clean end of file. Throw Error{io} if the other side went away, Error{malformed_file}
// for rubbish.
bool read_frame(int fd, FrameLimits limits, const std::string& origin, Frame& out);
void write_frame(int fd, const Frame& frame);

}  // namespace assay
