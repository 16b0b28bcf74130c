#include "harness/ranks/mpi_transport.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstring>
#include <deque>
#include <functional>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "core/distributed/traffic.h"
#include "core/error.h"

// Requests are kept, and completed by MPI_Test wherever their rank waits: the checker asks for MPI_Wait in
// the function that begins an operation. NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker)
namespace assay {
namespace {

constexpr int kAnnouncement = 1, kFailure = 2;

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

// a op b in fp32, rounded to the narrow dtype.
template <class Combine>
void combine_narrow(DType dtype, const void* in, void* inout, int count, Combine&& combine) {
  const auto bytes = static_cast<std::size_t>(count) * size_of(dtype);
  std::vector<double> a = Tensor::from_bytes(dtype, {count}, in, bytes).to_doubles();
  const std::vector<double> b = Tensor::from_bytes(dtype, {count}, inout, bytes).to_doubles();
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<double>(combine(static_cast<float>(a[i]), static_cast<float>(b[i])));
  }
  const Tensor out = Tensor::from_doubles(dtype, {count}, a);
  if (bytes != 0) std::memcpy(inout, out.data(), bytes);
}
template <DType Type, int Operation>
void narrow_operation(void* in, void* inout, int* count, MPI_Datatype*) {
  combine_narrow(Type, in, inout, *count, [](float a, float b) {
    return Operation == 0 ? a + b : Operation == 1 ? a * b : Operation == 2 ? std::min(a, b) : std::max(a, b);
  });
}
template <DType Type, int Operation>
MPI_Op narrow_op() {
  static MPI_Op op = [] {
    MPI_Op made = MPI_OP_NULL;
    check(MPI_Op_create(narrow_operation<Type, Operation>, 1, &made), "MPI_Op_create");
    return made;
  }();
  return op;
}
template <DType Type>
MPI_Op narrow_op(const std::string& name) {
  if (name == "product") return narrow_op<Type, 1>();
  if (name == "min") return narrow_op<Type, 2>();
  if (name == "max") return narrow_op<Type, 3>();
  return narrow_op<Type, 0>();
}

MPI_Op op_of(DType dtype, const std::string& name) {
  switch (dtype) {
    case DType::bf16:
      return narrow_op<DType::bf16>(name);
    case DType::f16:
      return narrow_op<DType::f16>(name);
    case DType::f8e4m3fn:
      return narrow_op<DType::f8e4m3fn>(name);
    case DType::f8e5m2:
      return narrow_op<DType::f8e5m2>(name);
    case DType::f8e4m3:
      return narrow_op<DType::f8e4m3>(name);
    default:
      break;
  }
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
    // Only our own operations see these.
    case DType::f8e4m3fn:
    case DType::f8e5m2:
    case DType::f8e4m3:
      return MPI_UINT8_T;
    case DType::f16:
    case DType::bf16:
      return MPI_UINT16_T;
    case DType::f32:
      return MPI_FLOAT;
    case DType::f64:
      return MPI_DOUBLE;
    case DType::c64:
      return MPI_C_FLOAT_COMPLEX;
    case DType::c128:
      return MPI_C_DOUBLE_COMPLEX;
  }
  throw RankError(fmt::format("MPI reduces no {}", name_of(dtype)));
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

// Of the block that position p gives or gets.
int64_t rows_at(const CollectiveCall& call, int p) {
  return call.sizes.empty() ? call.input.shape.at(0) / call.ranks() : call.sizes[static_cast<std::size_t>(p)];
}
int tag_of(const CollectiveCall& call) {
  int *most = nullptr, known = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&most), &known);
  if (call.tag < 0 || (known != 0 && call.tag > *most)) {
    throw RankError(fmt::format("node '{}': tag is {}; MPI has those from 0 to {}", call.node, call.tag,
                                known != 0 ? *most : INT_MAX));
  }
  return static_cast<int>(call.tag);
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

// A sequence of MPI's operations, each of which begins when the one before is complete.
class MpiTransport::Operation : public RankOperation {
 public:
  using Stage = std::function<MPI_Request()>;  // MPI_REQUEST_NULL if there is nothing to wait for

  void then(Stage stage) { stages_.push_back(std::move(stage)); }
  // What MPI reads and writes must stay where it is.
  template <class T>
  std::shared_ptr<T> keep(T value) {
    auto kept = std::make_shared<T>(std::move(value));
    kept_.push_back(kept);
    return kept;
  }
  void give(Tensor result) { result_ = std::move(result); }
  bool complete() const { return request_ == MPI_REQUEST_NULL && stages_.empty(); }

  bool advance() override {
    for (;;) {
      int done = 0;
      check(MPI_Test(&request_, &done, MPI_STATUS_IGNORE), "MPI_Test");
      if (done == 0) return false;
      if (stages_.empty()) return true;
      const Stage next = std::move(stages_.front());
      stages_.pop_front();
      request_ = next();
    }
  }
  Tensor result() const override { return result_; }

 private:
  std::deque<Stage> stages_;
  std::vector<std::shared_ptr<void>> kept_;
  MPI_Request request_ = MPI_REQUEST_NULL;
  Tensor result_;
};

MpiTransport::MpiTransport(int rank, int world_size, MpiReductions reductions)
    : rank_(rank), world_size_(world_size), reductions_(reductions) {
  for (MPI_Comm* comm : {&control_, &world_}) {
    check(MPI_Comm_dup(MPI_COMM_WORLD, comm), "MPI_Comm_dup");
    check(MPI_Comm_set_errhandler(*comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  }
}
MpiTransport::~MpiTransport() = default;  // the process ends with MPI_Finalize or without

void MpiTransport::start(double timeout_s) {
  timeout_s_ = timeout_s;
  ++task_;
  sent_ = received_ = 0;
  counts_ = true;
}

std::optional<int64_t> MpiTransport::sent() const { return counts_ ? std::optional(sent_) : std::nullopt; }
std::optional<int64_t> MpiTransport::received() const {
  return counts_ ? std::optional(received_) : std::nullopt;
}

void MpiTransport::post(MPI_Comm comm, int rank, int tag, std::string bytes) {
  std::erase_if(posted_, [](Message& message) {
    int done = 0;
    MPI_Test(&message.request, &done, MPI_STATUS_IGNORE);
    return done != 0;
  });
  Message& message = posted_.emplace_back();
  message.bytes = std::move(bytes);
  check(MPI_Isend(message.bytes.data(), to_int(static_cast<int64_t>(message.bytes.size())), MPI_BYTE, rank,
                  tag, comm, &message.request),
        "MPI_Isend");
}

bool MpiTransport::take(MPI_Comm comm, int rank, int tag, std::string& bytes) {
  int found = 0;
  MPI_Message handle = MPI_MESSAGE_NULL;
  MPI_Status status;
  check(MPI_Improbe(rank, tag, comm, &found, &handle, &status), "MPI_Improbe");
  if (found == 0) return false;
  int size = 0;
  MPI_Get_count(&status, MPI_BYTE, &size);
  bytes.resize(static_cast<std::size_t>(size));
  check(MPI_Mrecv(bytes.data(), size, MPI_BYTE, &handle, MPI_STATUS_IGNORE), "MPI_Mrecv");
  return true;
}

void MpiTransport::check_failures() {
  std::string message;
  while (take(control_, MPI_ANY_SOURCE, kFailure, message)) {
    const std::size_t space = message.find(' ');
    if (std::stoll(message.substr(0, space)) == task_) throw OtherRankFailed(message.substr(space + 1));
  }
}

// Making a communicator waits for its ranks. All ranks make those of a task in the order of their names, so
// none waits in a circle.
void MpiTransport::enter(const ProcessGroups& groups) {
  of_group_ = {{"world", world_}};
  std::map<std::vector<int>, int> alike;
  bool made_one = false;
  for (const auto& [name, members] : groups.groups) {
    const GroupKey key{members, alike[members]++};
    auto found = communicators_.find(key);
    if (found == communicators_.end()) {
      MPI_Comm made = MPI_COMM_NULL;
      if (std::find(members.begin(), members.end(), rank_) != members.end()) {
        MPI_Group world = MPI_GROUP_NULL, group = MPI_GROUP_NULL;
        MPI_Comm_group(MPI_COMM_WORLD, &world);
        check(MPI_Group_incl(world, to_int(static_cast<int64_t>(members.size())), members.data(), &group),
              "MPI_Group_incl");
        check(MPI_Comm_create_group(MPI_COMM_WORLD, group, 11, &made), "MPI_Comm_create_group");
        MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
        MPI_Group_free(&group);
        MPI_Group_free(&world);
      }
      found = communicators_.emplace(key, made).first;
      made_one = true;
    }
    of_group_[name] = found->second;
  }
  if (made_one) wait_for_all_ranks();
}

// A rank that ends or stands still must not do so while others make a communicator with it.
void MpiTransport::wait_for_all_ranks() {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(timeout_s_);
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Ibarrier(control_, &request), "MPI_Ibarrier");
  for (int done = 0; done == 0;) {
    check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (done != 0) break;
    if (Clock::now() > end) {
      throw RankError(fmt::format("not all ranks made the groups within {} s", timeout_s_));
    }
    const timespec pause{0, 10'000};  // ranks are more than cores
    ::nanosleep(&pause, nullptr);
  }
}

MPI_Comm MpiTransport::communicator(const std::string& group) const {
  const auto found = of_group_.find(group);
  if (found == of_group_.end() || found->second == MPI_COMM_NULL) {
    throw Error(ErrorCode::internal, "no communicator of group '" + group + "'");
  }
  return found->second;
}

void MpiTransport::announce(const Announcement& mine) {
  const std::string packed = pack_call(mine.call, mine.number);
  for (const int member : mine.call.members) {
    if (member != rank_) post(control_, member, kAnnouncement, packed);
  }
}

std::optional<Announcement> MpiTransport::hear(int rank) {
  std::string bytes;
  if (!take(control_, rank, kAnnouncement, bytes)) return std::nullopt;
  Announcement heard;
  heard.call = unpack_call(bytes, heard.number);
  return heard;
}

std::shared_ptr<RankOperation> MpiTransport::begin(const std::vector<CollectiveCall>& calls, int position,
                                                   const Tensor& input) {
  std::erase_if(begun_, [](const auto& operation) { return operation->complete(); });
  const CollectiveCall& call = calls[static_cast<std::size_t>(position)];
  auto operation = std::make_shared<Operation>();
  begun_.push_back(operation);
  switch (call.kind) {
    case Collective::all_reduce:
    case Collective::reduce:
    case Collective::reduce_scatter:
      if (reductions_ == MpiReductions::direct) {
        reduce(*operation, call, position, input);
      } else {
        reduce_by_library(*operation, call, position, input);
      }
      break;
    default:
      move(*operation, calls, position, input);
  }
  return operation;
}

void MpiTransport::reduce_by_library(Operation& operation, const CollectiveCall& call, int position,
                                     const Tensor& input) {
  const MPI_Comm comm = communicator(call.group);
  const MPI_Datatype type = type_of(call.input.dtype);
  const MPI_Op op = op_of(call.input.dtype, call.reduce_op);
  const int count = to_int(input.count()), n = call.ranks();
  counts_ = counts_ && n == 1;
  const bool all = call.kind == Collective::all_reduce, has = position == call.root;
  const auto given = operation.keep(input);
  const auto out = operation.keep(Tensor(call.input.dtype, call.input.shape));
  const auto counts = operation.keep(std::vector<int>());
  if (call.kind == Collective::reduce_scatter) {
    for (int p = 0; p < n; ++p) {
      const int64_t rows = rows_at(call, p);
      counts->push_back(to_int(rows * row_bytes(call) / static_cast<int64_t>(size_of(call.input.dtype))));
      if (p == position) *out = rows_like(call, rows);
    }
  }
  const int root = call.root;
  operation.then([=] {
    MPI_Request request = MPI_REQUEST_NULL;
    if (all) {
      check(MPI_Iallreduce(given->data(), out->mutable_data(), count, type, op, comm, &request),
            "MPI_Iallreduce");
    } else if (counts->empty()) {
      check(MPI_Ireduce(given->data(), out->mutable_data(), count, type, op, root, comm, &request),
            "MPI_Ireduce");
    } else {
      check(MPI_Ireduce_scatter(given->data(), out->mutable_data(), counts->data(), type, op, comm, &request),
            "MPI_Ireduce_scatter");
    }
    return request;
  });
  const bool averages = call.reduce_op == "avg", keeps = call.kind == Collective::reduce && !has;
  operation.then([=, &operation] {
    operation.give(keeps ? *given : averages ? divided(*out, n) : *out);
    return MPI_REQUEST_NULL;
  });
}

// direct_transfers of core/distributed/traffic.h.
void MpiTransport::reduce(Operation& operation, const CollectiveCall& call, int position,
                          const Tensor& input) {
  const MPI_Comm comm = communicator(call.group);
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
      count = rows_at(call, p) * row_bytes(call) / size;
    }
    owned.add(count);
  }
  const int mine = owned.counts[static_cast<std::size_t>(position)];
  for (int p = 0; p < n; ++p) received.add(mine);
  sent_ += (owned.total - mine) * size;
  received_ += (received.total - mine) * size;
  const auto given = operation.keep(input);
  const auto blocks = operation.keep(Tensor(call.input.dtype, {received.total}));
  const auto sum = operation.keep(Tensor(call.input.dtype, {mine}));
  const auto to = operation.keep(std::move(owned)), from = operation.keep(std::move(received));
  operation.then([=] {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Ialltoallv(given->data(), to->counts.data(), to->offsets.data(), type, blocks->mutable_data(),
                         from->counts.data(), from->offsets.data(), type, comm, &request),
          "MPI_Ialltoallv");
    return request;
  });
  operation.then([=, averages = call.reduce_op == "avg"] {
    if (mine != 0) std::memcpy(sum->mutable_data(), blocks->data(), sum->bytes());
    for (std::size_t p = 1; p < static_cast<std::size_t>(n) && mine != 0; ++p) {
      check(MPI_Reduce_local(blocks->data() + from->offsets[p] * size, sum->mutable_data(), mine, type, op),
            "MPI_Reduce_local");
    }
    if (averages) *sum = divided(*sum, n);
    return MPI_REQUEST_NULL;
  });
  if (call.kind != Collective::all_reduce) {
    const bool keeps = call.kind == Collective::reduce && position != call.root;
    Shape shape = call.input.shape;
    if (call.kind == Collective::reduce_scatter) shape.at(0) = rows_at(call, position);
    operation.then([=, &operation] {
      operation.give(keeps ? *given : sum->reshaped(shape));
      return MPI_REQUEST_NULL;
    });
    return;
  }
  sent_ += mine * size * (n - 1);
  received_ += (to->total - mine) * size;
  Tensor out(call.input.dtype, call.input.shape);
  operation.give(out);
  operation.then([=, bytes = out.mutable_data()] {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Iallgatherv(sum->data(), mine, type, bytes, to->counts.data(), to->offsets.data(), type, comm,
                          &request),
          "MPI_Iallgatherv");
    return request;
  });
}

void MpiTransport::move(Operation& operation, const std::vector<CollectiveCall>& calls, int position,
                        const Tensor& input) {
  const CollectiveCall& call = calls[static_cast<std::size_t>(position)];
  const MPI_Comm comm = communicator(call.group);
  const auto at = [](const auto& list, int p) { return list[static_cast<std::size_t>(p)]; };
  const auto own = static_cast<int64_t>(input.defined() ? input.bytes() : 0);
  const int others = call.ranks() - 1, count = to_int(own), root = call.root;
  const bool is_root = position == root;
  const auto given = operation.keep(input);
  const auto blocks = operation.keep(Blocks());
  const auto begins = [&](auto&& make) {
    operation.then([=] {
      MPI_Request request = MPI_REQUEST_NULL;
      make(request);
      return request;
    });
  };
  Tensor out;
  switch (call.kind) {
    case Collective::barrier:
      return begins([=](MPI_Request& request) { check(MPI_Ibarrier(comm, &request), "MPI_Ibarrier"); });
    case Collective::broadcast:
      out = is_root ? input.clone() : Tensor(call.input.dtype, call.input.shape);
      begins([=, bytes = out.mutable_data()](MPI_Request& request) {
        check(MPI_Ibcast(bytes, count, MPI_BYTE, root, comm, &request), "MPI_Ibcast");
      });
      (is_root ? sent_ : received_) += is_root ? own * others : own;
      break;
    case Collective::all_gather: {
      int64_t rows = 0;
      for (const CollectiveCall& other : calls) {
        rows += other.input.shape.at(0);
        blocks->add(other.input.shape[0] * row_bytes(call));
      }
      out = rows_like(call, rows);
      begins([=, bytes = out.mutable_data()](MPI_Request& request) {
        check(MPI_Iallgatherv(given->data(), count, MPI_BYTE, bytes, blocks->counts.data(),
                              blocks->offsets.data(), MPI_BYTE, comm, &request),
              "MPI_Iallgatherv");
      });
      sent_ += own * others;
      received_ += blocks->total - own;
      break;
    }
    case Collective::gather: {
      for (const int64_t rows : call.sizes) blocks->add(rows * row_bytes(call));
      const int64_t rows = std::accumulate(call.sizes.begin(), call.sizes.end(), int64_t{0});
      out = rows_like(call, is_root ? rows : 0);
      begins([=, bytes = out.mutable_data()](MPI_Request& request) {
        check(MPI_Igatherv(given->data(), count, MPI_BYTE, bytes, blocks->counts.data(),
                           blocks->offsets.data(), MPI_BYTE, root, comm, &request),
              "MPI_Igatherv");
      });
      (is_root ? received_ : sent_) += is_root ? blocks->total - own : own;
      break;
    }
    case Collective::scatter: {
      for (const int64_t rows : call.sizes) blocks->add(rows * row_bytes(call));
      out = rows_like(call, at(call.sizes, position));
      const int mine = at(blocks->counts, position);
      begins([=, bytes = out.mutable_data()](MPI_Request& request) {
        check(MPI_Iscatterv(given->data(), blocks->counts.data(), blocks->offsets.data(), MPI_BYTE, bytes,
                            mine, MPI_BYTE, root, comm, &request),
              "MPI_Iscatterv");
      });
      (is_root ? sent_ : received_) += is_root ? own - mine : mine;
      break;
    }
    case Collective::all_to_all: {
      const auto from = operation.keep(Blocks());
      for (const int64_t rows : call.sizes) blocks->add(rows * row_bytes(call));
      for (const int64_t rows : call.received) from->add(rows * row_bytes(call));
      out = rows_like(call, std::accumulate(call.received.begin(), call.received.end(), int64_t{0}));
      begins([=, bytes = out.mutable_data()](MPI_Request& request) {
        check(MPI_Ialltoallv(given->data(), blocks->counts.data(), blocks->offsets.data(), MPI_BYTE, bytes,
                             from->counts.data(), from->offsets.data(), MPI_BYTE, comm, &request),
              "MPI_Ialltoallv");
      });
      sent_ += blocks->total - at(blocks->counts, position);
      received_ += from->total - at(from->counts, position);
      break;
    }
    default:
      throw Error(ErrorCode::internal, "no such collective");
  }
  operation.give(std::move(out));
}

// A message is the packed call and, behind it, the tensor's bytes. It travels in the group's communicator.
void MpiTransport::send(const CollectiveCall& call, const Tensor& tensor) {
  const Tensor packed = tensor.contiguous();
  const std::string head = pack_call(call, 0);
  std::string bytes = fmt::format("{:08}", head.size()) + head;
  if (packed.bytes() != 0) bytes.append(reinterpret_cast<const char*>(packed.data()), packed.bytes());
  if (call.peer != call.position) sent_ += static_cast<int64_t>(packed.bytes());
  post(communicator(call.group), call.peer, tag_of(call), std::move(bytes));
}

std::optional<Tensor> MpiTransport::receive(const CollectiveCall& call) {
  std::string bytes;
  if (!take(communicator(call.group), call.peer, tag_of(call), bytes)) return std::nullopt;
  const std::size_t head = std::stoul(bytes.substr(0, 8));
  int64_t number = 0;
  const CollectiveCall sender = unpack_call(bytes.substr(8, head), number);
  if (const std::string what = difference(sender, call); !what.empty()) throw RankError(what);
  const std::string_view data = std::string_view(bytes).substr(8 + head);
  if (call.peer != call.position) received_ += static_cast<int64_t>(data.size());
  return Tensor::from_bytes(call.input.dtype, call.input.shape, data.data(), data.size());
}

void MpiTransport::tell_failure(const std::string& error) noexcept {
  try {
    for (int rank = 0; rank < world_size_; ++rank) {
      if (rank != rank_) post(control_, rank, kFailure, fmt::format("{} {}", task_, error));
    }
  } catch (const std::exception&) {
    // The launcher learns it from this rank's answer.
  }
}

}  // namespace assay
// NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker)
