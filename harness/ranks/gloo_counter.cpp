// Counts the payload of gloo's messages: loaded before PyTorch (LD_PRELOAD) into the ranks of torch:gloo.
// gloo writes every message with writev and reads it with recv (gloo/transport/tcp/pair.cc): a header, whose
// first word is the length of the whole, then the payload. Nothing else in a rank uses these two calls on
// its connections.
#include <dlfcn.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <unordered_map>

namespace {

constexpr uint64_t kHeader = 48;  // Op::preamble of gloo/transport/tcp/pair.h: six words

// One direction of one connection.
struct Stream {
  unsigned char length[8] = {};
  uint64_t at = 0;    // in the message
  uint64_t size = 0;  // of the message, once its first word is known
};

struct Direction {
  std::mutex mutex;
  std::unordered_map<int, Stream> streams;
  int64_t payload = 0, messages = 0;
  bool broken = false;  // bytes that are no messages of gloo

  void add(int fd, const unsigned char* bytes, uint64_t count) {
    const std::lock_guard lock(mutex);
    Stream& stream = streams[fd];
    while (count > 0 && !broken) {
      uint64_t step = 0;
      if (stream.at < sizeof stream.length) {
        step = std::min<uint64_t>(count, sizeof stream.length - stream.at);
        std::memcpy(stream.length + stream.at, bytes, step);
        if (stream.at + step == sizeof stream.length) {
          std::memcpy(&stream.size, stream.length, sizeof stream.size);
          broken = stream.size < kHeader;
          if (broken) return;
          ++messages;
          payload += static_cast<int64_t>(stream.size - kHeader);
        }
      } else {
        step = std::min(count, stream.size - stream.at);
      }
      stream.at += step;
      bytes += step;
      count -= step;
      if (stream.at >= kHeader && stream.at == stream.size) stream = Stream();
    }
  }
};

// Never destroyed: threads of PyTorch may outlive main.
Direction& sent() {
  static auto* direction = new Direction;
  return *direction;
}
Direction& received() {
  static auto* direction = new Direction;
  return *direction;
}

template <class Function>
Function* next(std::atomic<Function*>& known, const char* name) {
  Function* function = known.load();
  if (function == nullptr) {
    function = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
    known.store(function);
  }
  return function;
}

using Writev = ssize_t(int, const iovec*, int);
using Recv = ssize_t(int, void*, size_t, int);
std::atomic<Writev*> next_writev{nullptr};
std::atomic<Recv*> next_recv{nullptr};

}  // namespace

extern "C" {

ssize_t writev(int fd, const iovec* parts, int count) {
  const ssize_t written = next(next_writev, "writev")(fd, parts, count);
  uint64_t left = written > 0 ? static_cast<uint64_t>(written) : 0;
  for (int i = 0; i < count && left > 0; ++i) {
    const uint64_t here = std::min<uint64_t>(left, parts[i].iov_len);
    sent().add(fd, static_cast<const unsigned char*>(parts[i].iov_base), here);
    left -= here;
  }
  return written;
}

ssize_t recv(int fd, void* buffer, size_t size, int flags) {
  const ssize_t read = next(next_recv, "recv")(fd, buffer, size, flags);
  if (read > 0 && (flags & MSG_PEEK) == 0) {
    received().add(fd, static_cast<const unsigned char*>(buffer), static_cast<uint64_t>(read));
  }
  return read;
}

// Since the process began: payload bytes and messages sent, then received; all -1 if they are not known.
void assay_gloo_counts(int64_t counts[4]) {
  int next = 0;
  for (Direction* direction : {&sent(), &received()}) {
    const std::lock_guard lock(direction->mutex);
    counts[next++] = direction->broken ? -1 : direction->payload;
    counts[next++] = direction->broken ? -1 : direction->messages;
  }
}

}  // extern "C"
