#include "backend/isa/program_file.h"

#include <cstring>
#include <type_traits>
#include <utility>

#include "core/error.h"

namespace assay::backend {
namespace {

class Writer {
 public:
  template <typename T>
  void put(T value) {
    if constexpr (std::is_enum_v<T>) {
      put(static_cast<std::underlying_type_t<T>>(value));
    } else {
      char bytes[sizeof(T)];
      std::memcpy(bytes, &value, sizeof(T));
      out_.append(bytes, sizeof(T));
    }
  }
  void text(std::string_view value) {
    put(static_cast<uint64_t>(value.size()));
    out_ += value;
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

class Reader {
 public:
  Reader(std::string_view bytes, const std::string& origin) : bytes_(bytes), origin_(origin) {}

  template <typename T>
  void get(T& value) {
    need(sizeof(T));
    if constexpr (std::is_same_v<T, bool>) {
      value = bytes_[at_] != 0;
    } else {
      std::memcpy(&value, bytes_.data() + at_, sizeof(T));
    }
    at_ += sizeof(T);
  }
  std::string_view text() {
    const std::size_t size = count(1);
    const std::string_view out = bytes_.substr(at_, size);
    at_ += size;
    return out;
  }
  // A number of things that take at least `bytes_each` of what is left.
  std::size_t count(std::size_t bytes_each) {
    uint64_t n = 0;
    get(n);
    if (n > (bytes_.size() - at_) / bytes_each) fail("has no room for " + std::to_string(n) + " entries");
    return static_cast<std::size_t>(n);
  }
  void end() {
    if (at_ != bytes_.size()) fail("the Program ends, but bytes follow");
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::malformed_file, origin_ + ": byte " + std::to_string(at_) + ": " + what);
  }

 private:
  void need(std::size_t n) const {
    if (n > bytes_.size() - at_) fail("the file ends here");
  }
  std::string_view bytes_;
  std::size_t at_ = 0;
  const std::string& origin_;
};

// Every field of the struct once, in order, for both directions.
template <typename Visitor, typename I>
void visit_instruction(Visitor&& f, I& i) {
  f(i.opcode), f(i.engine), f(i.queue), f(i.core), f(i.operand_count), f(i.op0), f(i.op1), f(i.function),
      f(i.routine), f(i.math);
  f(i.reverse0), f(i.reverse1), f(i.accumulate), f(i.negate), f(i.descending), f(i.skip_out_of_bounds),
      f(i.no_nan);
  f(i.count), f(i.wait_count), f(i.operands), f(i.waits), f(i.signal), f(i.node);
  f(i.immediate[0]), f(i.immediate[1]), f(i.immediate[2]), f(i.integers), f(i.integer_count);
}

// `check` sees the rank before as many dims are visited.
template <typename F, typename Check, typename A>
void visit_pattern(F f, Check check, A& a) {
  f(a.space), f(a.rank), f(a.dtype), f(a.partition_start), f(a.partitions), f(a.tensor),
      f(a.partition_stride), f(a.offset);
  check(a.rank);
  for (std::size_t d = 0; d < a.rank; ++d) f(a.sizes[d]), f(a.strides[d]);
}

}  // namespace

std::string write_program(const Program& p) {
  Writer w;
  w.put(p.target);
  w.put(p.cores);
  w.put(static_cast<uint64_t>(p.instructions.size()));
  for (const Instruction& i : p.instructions) visit_instruction([&](const auto& field) { w.put(field); }, i);
  w.put(static_cast<uint64_t>(p.operands.size()));
  for (const AccessPattern& a : p.operands) {
    visit_pattern([&](const auto& field) { w.put(field); }, [](auto) {}, a);
  }
  w.put(static_cast<uint64_t>(p.waits.size()));
  for (const SemaphoreWait& wait : p.waits) {
    w.put(wait.semaphore);
    w.put(wait.at_least);
  }
  w.put(static_cast<uint64_t>(p.integers.size()));
  for (const int64_t i : p.integers) w.put(i);
  w.put(p.semaphores);
  w.put(static_cast<uint64_t>(p.tensors.size()));
  for (const HbmTensor& tensor : p.tensors) {
    w.text(tensor.name);
    w.put(tensor.kind);
    w.put(tensor.dtype);
    w.put(tensor.elements);
    w.put(tensor.constant_offset);
  }
  w.text({reinterpret_cast<const char*>(p.constant_bytes.data()), p.constant_bytes.size()});
  w.put(static_cast<uint64_t>(p.nodes.size()));
  for (const std::string& node : p.nodes) w.text(node);
  w.put(p.peak_sbuf_bytes);
  w.put(p.peak_psum_banks);
  return w.take();
}

Program read_program(std::string_view bytes, const std::string& origin) {
  Reader r(bytes, origin);
  Program p;
  r.get(p.target);
  r.get(p.cores);
  if (static_cast<int>(p.target) > static_cast<int>(Generation::trn3)) r.fail("a target that does not exist");
  p.instructions.resize(r.count(40));
  for (Instruction& i : p.instructions) visit_instruction([&](auto& field) { r.get(field); }, i);
  p.operands.resize(r.count(20));
  for (AccessPattern& a : p.operands) {
    visit_pattern([&](auto& field) { r.get(field); },
                  [&](auto rank) {
                    if (rank > kMaxRank) r.fail("an operand of rank " + std::to_string(rank));
                  },
                  a);
  }
  p.waits.resize(r.count(8));
  for (SemaphoreWait& wait : p.waits) {
    r.get(wait.semaphore);
    r.get(wait.at_least);
  }
  p.integers.resize(r.count(8));
  for (int64_t& i : p.integers) r.get(i);
  r.get(p.semaphores);
  p.tensors.resize(r.count(16));
  for (HbmTensor& tensor : p.tensors) {
    tensor.name = r.text();
    r.get(tensor.kind);
    r.get(tensor.dtype);
    r.get(tensor.elements);
    r.get(tensor.constant_offset);
    if (static_cast<int>(tensor.kind) > static_cast<int>(HbmKind::constant)) r.fail("a tensor of no kind");
    if (!is_valid(tensor.dtype)) r.fail("a tensor without a dtype");
    if (tensor.elements < 0 || tensor.elements > (int64_t{1} << 48)) r.fail("a tensor of an impossible size");
  }
  const std::string_view constants = r.text();
  const auto* first = reinterpret_cast<const std::byte*>(constants.data());
  p.constant_bytes.assign(first, first + constants.size());
  p.nodes.resize(r.count(8));
  for (std::string& node : p.nodes) node = r.text();
  r.get(p.peak_sbuf_bytes);
  r.get(p.peak_psum_banks);
  r.end();
  return p;
}

}  // namespace assay::backend
