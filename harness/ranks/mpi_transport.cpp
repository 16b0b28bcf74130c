#include "harness/ranks/mpi_transport.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <complex>
#include <cstring>
#include <functional>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/distributed/traffic.h"
#include "core/error.h"

namespace assay {
namespace {

constexpr int kAnnouncement = 1, kFailure = 2, kMessage = 3;

void check(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw RankError(fmt::format("{}: {}", what, std::string(text, static_cast<std::size_t>(length))));
}

int to_int(int64_t count) {
  if (count > INT_MAX) throw RankError(fmt::format("{} elements are more than MPI 3 can count", count));
  return static_cast<int>(count);
}

// a op b in fp32, rounded to the 16-bit dtype.
template <class Combine>
void combine_half(DType dtype, const void* in, void* inout, int count, Combine&& combine) {
  const auto bytes = static_cast<std::size_t>(count) * 2;
  std::vector<double> a = Tensor::from_bytes(dtype, {count}, in, bytes).to_doubles();
  const std::vector<double> b = Tensor::from_bytes(dtype, {count}, inout, bytes).to_doubles();
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<double>(combine(static_cast<float>(a[i]), static_cast<float>(b[i])));
  }
  const Tensor out = Tensor::from_doubles(dtype, {count}, a);
  if (bytes != 0) std::memcpy(inout, out.data(), bytes);
}
template <DType Type, int Operation>
void half_operation(void* in, void* inout, int* count, MPI_Datatype*) {
  combine_half(Type, in, inout, *count, [](float a, float b) {
    return Operation == 0 ? a + b : Operation == 1 ? a * b : Operation == 2 ? std::min(a, b) : std::max(a, b);
  });
}
template <DType Type, int Operation>
MPI_Op half_op() {
  static MPI_Op op = [] {
    MPI_Op made = MPI_OP_NULL;
    check(MPI_Op_create(half_operation<Type, Operation>, 1, &made), "MPI_Op_create");
    return made;
  }();
  return op;
}
template <DType Type>
MPI_Op half_op(const std::string& name) {
  if (name == "product") return half_op<Type, 1>();
  if (name == "min") return half_op<Type, 2>();
  if (name == "max") return half_op<Type, 3>();
  return half_op<Type, 0>();
}

MPI_Op op_of(DType dtype, const std::string& name) {
  if (dtype == DType::bf16) return half_op<DType::bf16>(name);
  if (dtype == DType::f16) return half_op<DType::f16>(name);
  if (name == "sum" || name == "avg") return MPI_SUM;
  if (name == "product") return MPI_PROD;
  if (name == "min") return MPI_MIN;
  if (name == "max") return MPI_MAX;
  if (name == "band") return MPI_BAND;
  return name == "bor" ? MPI_BOR : MPI_BXOR;
}

MPI_Datatype type_of(DType dtype) {
  switch (dtype) {
    case DType::boolean:
    case DType::u8:
      return MPI_UINT8_T;
    case DType::i8:
      return MPI_INT8_T;
    case DType::i16:
      return MPI_INT16_T;
    case DType::i32:
      return MPI_INT32_T;
    case DType::i64:
      return MPI_INT64_T;
    case DType::f16:
    case DType::bf16:
      return MPI_UINT16_T;  // only our own operations see it
    case DType::f32:
      return MPI_FLOAT;
    case DType::f64:
      return MPI_DOUBLE;
    case DType::c64:
      return MPI_C_FLOAT_COMPLEX;
    case DType::c128:
      return MPI_C_DOUBLE_COMPLEX;
    default:
      throw RankError(fmt::format("MPI reduces no {}", name_of(dtype)));
  }
}

Tensor rows_like(const CollectiveCall& call, int64_t rows) {
  Shape shape = call.input.shape;
  shape.at(0) = rows;
  return Tensor(call.input.dtype, shape);
}

// Counts and displacements of blocks, in bytes or in elements.
struct Blocks {
  std::vector<int> counts, offsets;
  int64_t total = 0;
  void add(int64_t count) {
    counts.push_back(to_int(count));
    offsets.push_back(to_int(total));
    total += count;
  }
};
int64_t row_bytes(const CollectiveCall& call) {
  const Shape row(call.input.shape.begin() + 1, call.input.shape.end());
  return element_count(row) * static_cast<int64_t>(size_of(call.input.dtype));
}

// Average of a sum over n ranks: divided in fp32 (f64 for f64) and rounded once.
Tensor divided(const Tensor& sum, int n) {
  std::vector<double> values = sum.to_doubles();
  const bool wide = sum.dtype() == DType::f64 || sum.dtype() == DType::c128;
  for (double& value : values) {
    value = wide ? value / n : static_cast<double>(static_cast<float>(value) / static_cast<float>(n));
  }
  return Tensor::from_doubles(sum.dtype(), sum.shape(), values);
}

}  // namespace

MpiTransport::MpiTransport(int rank, int world_size, MpiReductions reductions)
    : rank_(rank), world_size_(world_size), reductions_(reductions) {
  check(MPI_Comm_dup(MPI_COMM_WORLD, &control_), "MPI_Comm_dup");
  check(MPI_Comm_set_errhandler(control_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
}
MpiTransport::~MpiTransport() = default;  // the process ends with MPI_Finalize or without

void MpiTransport::start(double timeout_s) {
  timeout_s_ = timeout_s;
  sent_ = received_ = 0;
  counts_ = true;
}

std::optional<int64_t> MpiTransport::sent() const { return counts_ ? std::optional(sent_) : std::nullopt; }
std::optional<int64_t> MpiTransport::received() const {
  return counts_ ? std::optional(received_) : std::nullopt;
}

void MpiTransport::post(int rank, int tag, std::string bytes) {
  std::erase_if(posted_, [](Message& message) {
    int done = 0;
    MPI_Test(&message.request, &done, MPI_STATUS_IGNORE);
    return done != 0;
  });
  Message& message = posted_.emplace_back();
  message.bytes = std::move(bytes);
  check(MPI_Isend(message.bytes.data(), to_int(static_cast<int64_t>(message.bytes.size())), MPI_BYTE, rank,
                  tag, control_, &message.request),
        "MPI_Isend");
}

bool MpiTransport::take(int rank, int tag, std::string& bytes) {
  int found = 0;
  MPI_Message handle = MPI_MESSAGE_NULL;
  MPI_Status status;
  check(MPI_Improbe(rank, tag, control_, &found, &handle, &status), "MPI_Improbe");
  if (found == 0) return false;
  int size = 0;
  MPI_Get_count(&status, MPI_BYTE, &size);
  bytes.resize(static_cast<std::size_t>(size));
  check(MPI_Mrecv(bytes.data(), size, MPI_BYTE, &handle, MPI_STATUS_IGNORE), "MPI_Mrecv");
  return true;
}

void MpiTransport::check_failures() {
  std::string error;
  if (take(MPI_ANY_SOURCE, kFailure, error)) throw OtherRankFailed(error);
}

template <class Done>
bool MpiTransport::wait_until(Done&& done) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(timeout_s_);
  for (int turn = 0; !done(); ++turn) {
    if (Clock::now() > end) return false;
    if (turn % 8 == 0) check_failures();
    // Ranks are more than cores here: the one that is waited for needs this one's.
    const timespec pause{0, turn < 200 ? 1000 : 200'000};
    ::nanosleep(&pause, nullptr);
  }
  return true;
}

std::vector<Announcement> MpiTransport::meet(const Announcement& mine) {
  const std::vector<int>& members = mine.call.members;
  const std::string packed = pack_call(mine.call, mine.number);
  for (const int member : members) {
    if (member != rank_) post(member, kAnnouncement, packed);
  }
  std::vector<std::optional<Announcement>> heard(members.size());
  heard[static_cast<std::size_t>(mine.call.position)] = mine;
  const auto all_heard = [&] {
    bool all = true;
    for (std::size_t p = 0; p < members.size(); ++p) {
      std::string bytes;
      if (!heard[p] && take(members[p], kAnnouncement, bytes)) {
        heard[p].emplace();
        heard[p]->call = unpack_call(bytes, heard[p]->number);
      }
      all = all && heard[p].has_value();
    }
    return all;
  };
  if (!wait_until(all_heard)) {
    std::vector<int> missing;
    for (std::size_t p = 0; p < members.size(); ++p) {
      if (!heard[p]) missing.push_back(members[p]);
    }
    const std::string what = mine.number < 0
                                 ? "for the end of the programs"
                                 : fmt::format("in {} (call {} of group '{}', node '{}')", mine.call.text(),
                                               mine.number, mine.call.group, mine.call.node);
    throw RankError(
        fmt::format("waits {} for rank {}, which does not call it: no word from rank {} within {} s", what,
                    fmt::join(missing, ", "), missing.front(), timeout_s_));
  }
  std::vector<Announcement> all;
  for (auto& one : heard) all.push_back(std::move(*one));
  return all;
}

void MpiTransport::complete(MPI_Request request, const CollectiveCall& call) {
  int code = MPI_SUCCESS;
  const bool done = wait_until([&] {
    int flag = 0;
    code = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    return flag != 0 || code != MPI_SUCCESS;
  });
  check(code, call.node.c_str());
  if (!done) {
    throw RankError(fmt::format("{} (node '{}') did not end within {} s though all ranks called it",
                                call.text(), call.node, timeout_s_));
  }
}

MPI_Comm MpiTransport::communicator(const CollectiveCall& call) {
  const auto found = communicators_.find(call.members);
  if (found != communicators_.end()) return found->second;
  MPI_Group world = MPI_GROUP_NULL, group = MPI_GROUP_NULL;
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  check(MPI_Group_incl(world, to_int(static_cast<int64_t>(call.members.size())), call.members.data(), &group),
        "MPI_Group_incl");
  // All members are here: they have met.
  check(MPI_Comm_create_group(MPI_COMM_WORLD, group, 11, &made), "MPI_Comm_create_group");
  MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  return communicators_[call.members] = made;
}

Tensor MpiTransport::reduce(const std::vector<CollectiveCall>& calls, int position, const Tensor& input) {
  const CollectiveCall& call = calls[static_cast<std::size_t>(position)];
  if (reductions_ == MpiReductions::direct) return reduce_directly(call, position, input);
  const MPI_Comm comm = communicator(call);
  const MPI_Datatype type = type_of(call.input.dtype);
  const MPI_Op op = op_of(call.input.dtype, call.reduce_op);
  const int count = to_int(input.count());
  MPI_Request request = MPI_REQUEST_NULL;
  counts_ = counts_ && call.ranks() == 1;
  Tensor out(call.input.dtype, call.input.shape);
  if (call.kind == Collective::all_reduce) {
    check(MPI_Iallreduce(input.data(), out.mutable_data(), count, type, op, comm, &request),
          "MPI_Iallreduce");
    complete(request, call);
    return call.reduce_op == "avg" ? divided(out, call.ranks()) : out;
  }
  if (call.kind == Collective::reduce) {
    check(MPI_Ireduce(input.data(), out.mutable_data(), count, type, op, call.root, comm, &request),
          "MPI_Ireduce");
    complete(request, call);
    if (position != call.root) return input;
    return call.reduce_op == "avg" ? divided(out, call.ranks()) : out;
  }
  std::vector<int> counts;
  for (int p = 0; p < call.ranks(); ++p) {
    const int64_t rows =
        call.sizes.empty() ? call.input.shape.at(0) / call.ranks() : call.sizes[static_cast<std::size_t>(p)];
    counts.push_back(to_int(rows * row_bytes(call) / static_cast<int64_t>(size_of(call.input.dtype))));
    if (p == position) out = rows_like(call, rows);
  }
  check(MPI_Ireduce_scatter(input.data(), out.mutable_data(), counts.data(), type, op, comm, &request),
        "MPI_Ireduce_scatter");
  complete(request, call);
  return call.reduce_op == "avg" ? divided(out, call.ranks()) : out;
}

// direct_transfers of core/distributed/traffic.h.
Tensor MpiTransport::reduce_directly(const CollectiveCall& call, int position, const Tensor& input) {
  const MPI_Comm comm = communicator(call);
  const MPI_Datatype type = type_of(call.input.dtype);
  const MPI_Op op = op_of(call.input.dtype, call.reduce_op);
  const auto size = static_cast<int64_t>(size_of(call.input.dtype));
  const int n = call.ranks();
  // Elements that each position owns.
  Blocks owned, received;
  for (int p = 0; p < n; ++p) {
    int64_t count = 0;
    if (call.kind == Collective::all_reduce) {
      count = block_of(input.count(), n, p).size();
    } else if (call.kind == Collective::reduce) {
      count = p == call.root ? input.count() : 0;
    } else {
      const int64_t rows =
          call.sizes.empty() ? call.input.shape.at(0) / n : call.sizes[static_cast<std::size_t>(p)];
      count = rows * row_bytes(call) / size;
    }
    owned.add(count);
  }
  const int mine = owned.counts[static_cast<std::size_t>(position)];
  for (int p = 0; p < n; ++p) received.add(mine);
  Tensor blocks(call.input.dtype, {received.total});
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Ialltoallv(input.data(), owned.counts.data(), owned.offsets.data(), type, blocks.mutable_data(),
                       received.counts.data(), received.offsets.data(), type, comm, &request),
        "MPI_Ialltoallv");
  complete(request, call);
  sent_ += (owned.total - mine) * size;
  received_ += (received.total - mine) * size;

  Tensor sum(call.input.dtype, {mine});
  if (mine != 0) std::memcpy(sum.mutable_data(), blocks.data(), sum.bytes());
  for (std::size_t p = 1; p < static_cast<std::size_t>(n) && mine != 0; ++p) {
    check(MPI_Reduce_local(blocks.data() + received.offsets[p] * size, sum.mutable_data(), mine, type, op),
          "MPI_Reduce_local");
  }
  if (call.reduce_op == "avg") sum = divided(sum, n);
  if (call.kind == Collective::reduce) {
    return position == call.root ? sum.reshaped(call.input.shape) : input;
  }
  if (call.kind == Collective::reduce_scatter) {
    Shape shape = call.input.shape;
    shape.at(0) = call.sizes.empty() ? shape[0] / n : call.sizes[static_cast<std::size_t>(position)];
    return sum.reshaped(shape);
  }
  Tensor out(call.input.dtype, call.input.shape);
  check(MPI_Iallgatherv(sum.data(), mine, type, out.mutable_data(), owned.counts.data(), owned.offsets.data(),
                        type, comm, &request),
        "MPI_Iallgatherv");
  complete(request, call);
  sent_ += mine * size * (n - 1);
  received_ += (owned.total - mine) * size;
  return out;
}

Tensor MpiTransport::collective(const std::vector<CollectiveCall>& calls, int position, const Tensor& input) {
  const CollectiveCall& call = calls[static_cast<std::size_t>(position)];
  const MPI_Comm comm = communicator(call);
  MPI_Request request = MPI_REQUEST_NULL;
  const auto at = [](const auto& list, int p) { return list[static_cast<std::size_t>(p)]; };
  const auto own = static_cast<int64_t>(input.defined() ? input.bytes() : 0);
  const int others = call.ranks() - 1;
  switch (call.kind) {
    case Collective::all_reduce:
    case Collective::reduce:
    case Collective::reduce_scatter:
      return reduce(calls, position, input);
    case Collective::barrier:
      check(MPI_Ibarrier(comm, &request), "MPI_Ibarrier");
      complete(request, call);
      return {};
    case Collective::broadcast: {
      Tensor out = position == call.root ? input.clone() : Tensor(call.input.dtype, call.input.shape);
      check(MPI_Ibcast(out.mutable_data(), to_int(own), MPI_BYTE, call.root, comm, &request), "MPI_Ibcast");
      complete(request, call);
      (position == call.root ? sent_ : received_) += position == call.root ? own * others : own;
      return out;
    }
    case Collective::all_gather: {
      Blocks blocks;
      int64_t rows = 0;
      for (const CollectiveCall& other : calls) {
        rows += other.input.shape.at(0);
        blocks.add(other.input.shape[0] * row_bytes(call));
      }
      Tensor out = rows_like(call, rows);
      check(MPI_Iallgatherv(input.data(), to_int(own), MPI_BYTE, out.mutable_data(), blocks.counts.data(),
                            blocks.offsets.data(), MPI_BYTE, comm, &request),
            "MPI_Iallgatherv");
      complete(request, call);
      sent_ += own * others;
      received_ += blocks.total - own;
      return out;
    }
    case Collective::gather: {
      Blocks blocks;
      for (const int64_t rows : call.sizes) blocks.add(rows * row_bytes(call));
      const int64_t rows = std::accumulate(call.sizes.begin(), call.sizes.end(), int64_t{0});
      Tensor out = rows_like(call, position == call.root ? rows : 0);
      check(MPI_Igatherv(input.data(), to_int(own), MPI_BYTE, out.mutable_data(), blocks.counts.data(),
                         blocks.offsets.data(), MPI_BYTE, call.root, comm, &request),
            "MPI_Igatherv");
      complete(request, call);
      (position == call.root ? received_ : sent_) += position == call.root ? blocks.total - own : own;
      return out;
    }
    case Collective::scatter: {
      Blocks blocks;
      for (const int64_t rows : call.sizes) blocks.add(rows * row_bytes(call));
      Tensor out = rows_like(call, at(call.sizes, position));
      check(
          MPI_Iscatterv(input.data(), blocks.counts.data(), blocks.offsets.data(), MPI_BYTE,
                        out.mutable_data(), at(blocks.counts, position), MPI_BYTE, call.root, comm, &request),
          "MPI_Iscatterv");
      complete(request, call);
      const int64_t mine = at(blocks.counts, position);
      (position == call.root ? sent_ : received_) += position == call.root ? own - mine : mine;
      return out;
    }
    case Collective::all_to_all: {
      Blocks out_blocks, in_blocks;
      for (const int64_t rows : call.sizes) out_blocks.add(rows * row_bytes(call));
      for (const int64_t rows : call.received) in_blocks.add(rows * row_bytes(call));
      Tensor out = rows_like(call, std::accumulate(call.received.begin(), call.received.end(), int64_t{0}));
      check(MPI_Ialltoallv(input.data(), out_blocks.counts.data(), out_blocks.offsets.data(), MPI_BYTE,
                           out.mutable_data(), in_blocks.counts.data(), in_blocks.offsets.data(), MPI_BYTE,
                           comm, &request),
            "MPI_Ialltoallv");
      complete(request, call);
      sent_ += out_blocks.total - at(out_blocks.counts, position);
      received_ += in_blocks.total - at(in_blocks.counts, position);
      return out;
    }
    case Collective::send:
    case Collective::receive:
      break;
  }
  throw Error(ErrorCode::internal, "no such collective");
}

// A message is the packed call and, behind it, the tensor's bytes; the tag in the call tells messages apart.
void MpiTransport::send(const CollectiveCall& call, const Tensor& tensor) {
  const Tensor packed = tensor.contiguous();
  const std::string head = pack_call(call, 0);
  std::string bytes = fmt::format("{:08}", head.size()) + head;
  if (packed.bytes() != 0) bytes.append(reinterpret_cast<const char*>(packed.data()), packed.bytes());
  const int peer = call.members[static_cast<std::size_t>(call.peer)];
  if (peer != rank_) sent_ += static_cast<int64_t>(packed.bytes());
  post(peer, kMessage + static_cast<int>(call.tag & 0x3fff), std::move(bytes));
}

Tensor MpiTransport::receive(const CollectiveCall& call) {
  const int peer = call.members[static_cast<std::size_t>(call.peer)];
  std::string bytes;
  const bool came =
      wait_until([&] { return take(peer, kMessage + static_cast<int>(call.tag & 0x3fff), bytes); });
  if (!came) {
    throw RankError(
        fmt::format("waits in {} from rank {} with tag {} (node '{}'), which does not send it: nothing "
                    "came within {} s",
                    call.text(), peer, call.tag, call.node, timeout_s_));
  }
  const std::size_t head = std::stoul(bytes.substr(0, 8));
  int64_t number = 0;
  const CollectiveCall sender = unpack_call(bytes.substr(8, head), number);
  if (const std::string what = difference(sender, call); !what.empty()) throw RankError(what);
  const std::string_view data = std::string_view(bytes).substr(8 + head);
  if (peer != rank_) received_ += static_cast<int64_t>(data.size());
  return Tensor::from_bytes(call.input.dtype, call.input.shape, data.data(), data.size());
}

void MpiTransport::tell_failure(const std::string& error) noexcept {
  try {
    for (int rank = 0; rank < world_size_; ++rank) {
      if (rank != rank_) post(rank, kFailure, error);
    }
  } catch (const std::exception&) {
    // The launcher learns it from this rank's answer.
  }
}

}  // namespace assay
