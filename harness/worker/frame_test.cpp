#include "harness/worker/frame.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/error.h"
#include "harness/worker/judge_messages.h"
#include "harness/worker/messages.h"

namespace assay {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

std::string bytes_of(const Frame& frame) {
  std::string out;
  FrameWriter writer(frame);
  while (!writer.pending().empty()) {
    out.append(reinterpret_cast<const char*>(writer.pending().data()), writer.pending().size());
    writer.advance(writer.pending().size());
  }
  return out;
}

// Feeds `step` bytes at a time.
Frame parse(const std::string& bytes, std::size_t step = 1 << 20, FrameLimits limits = {}) {
  FrameReader reader(limits, "test");
  std::size_t at = 0;
  while (!reader.complete()) {
    const auto space = reader.wanted();
    const std::size_t n = std::min({step, space.size(), bytes.size() - at});
    if (n == 0) throw Error(ErrorCode::malformed_file, "ends too early");
    std::memcpy(space.data(), bytes.data() + at, n);
    reader.advance(n);
    at += n;
  }
  return reader.take();
}

std::string framed(const std::string& header) {
  std::string out;
  for (int i = 0; i < 8; ++i) out.push_back(static_cast<char>(header.size() >> (8 * i) & 0xff));
  return out + header;
}

std::string packed(const Json& json) {
  std::string out;
  Json::to_msgpack(json, out);
  return out;
}

void expect_refused(const std::string& bytes, const std::string& what) {
  try {
    parse(bytes);
    ADD_FAILURE() << "accepted: " << what;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::malformed_file);
    EXPECT_THAT(error.what(), HasSubstr(what));
  }
}

TEST(Frame, ReadsBackWhatItWrites) {
  std::vector<Tensor> tensors{Tensor::from_doubles(DType::bf16, {2, 3}, {1, 2, 3, 4, 5, 6}),
                              Tensor(DType::i64, {0, 7}), Tensor::scalar(DType::f64, 0.1)};
  const std::string bytes = bytes_of(make_frame({{"type", "x"}, {"n", 5}}, tensors));
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}, bytes.size()}) {
    const Frame frame = parse(bytes, step);
    EXPECT_EQ(header_of(frame, "test").find("n")->integer(), 5);
    ASSERT_EQ(frame.tensors.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(frame.tensors[i].bitwise_equal(tensors[i]));
  }
}

TEST(Frame, NonContiguousTensorsArePacked) {
  const Tensor base = Tensor::from_doubles(DType::f32, {2, 2}, {1, 2, 3, 4});
  const Tensor transposed(DType::f32, {2, 2}, {1, 2}, 0, base.storage());
  const Frame frame = parse(bytes_of(make_frame({{"type", "x"}}, {transposed})));
  EXPECT_EQ(frame.tensors[0].to_doubles(), (std::vector<double>{1, 3, 2, 4}));
}

TEST(Frame, TwoFramesInARow) {
  const std::string bytes =
      bytes_of(make_frame({{"type", "a"}}, {})) + bytes_of(make_frame({{"type", "b"}}, {}));
  FrameReader reader({}, "test");
  std::vector<std::string> types;
  for (const char byte : bytes) {
    *reader.wanted().data() = static_cast<std::byte>(byte);
    reader.advance(1);
    if (reader.complete()) types.push_back(type_of(reader.take(), "test"));
  }
  EXPECT_EQ(types, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(reader.empty());
}

TEST(Frame, ProgressIsAFrameLikeOthers) {
  for (const int node : {-1, 0, 70'000}) {
    const Frame frame = parse(bytes_of(encode_progress("free", node)));
    const MessageValue header = header_of(frame, "test");
    EXPECT_EQ(header.find("type")->text(), "progress");
    EXPECT_EQ(header.find("phase")->text(), "free");
    EXPECT_EQ(header.find("node")->integer(), node);
    EXPECT_EQ(header.find("tensors")->size(), 0U);
    EXPECT_EQ(header.size(), 4U);
  }
}

TEST(Frame, HostileSizesAreRefused) {
  expect_refused(std::string(8, '\xff'), "frame claims");
  expect_refused(std::string(8, '\0'), "frame claims");
  expect_refused(framed(packed(Json{{"type", "x"}})), "tensors");
  for (const Json& shape : {Json{-1}, Json{1e3}, Json{"2"}, Json{{1}}, Json{uint64_t{1} << 63}}) {
    expect_refused(framed(packed({{"type", "x"}, {"tensors", {{{"dtype", "f32"}, {"shape", shape}}}}})),
                   "size");
  }
  const Json large{uint64_t{1} << 40, uint64_t{1} << 40};
  expect_refused(framed(packed({{"type", "x"}, {"tensors", {{{"dtype", "f32"}, {"shape", large}}}}})),
                 "size");
  const Json four_gib{uint64_t{1} << 32};
  expect_refused(
      framed(packed(
          {{"type", "x"},
           {"tensors", {{{"dtype", "f32"}, {"shape", four_gib}}, {{"dtype", "f32"}, {"shape", four_gib}}}}})),
      "tensors of more than");
  expect_refused(framed(packed({{"type", "x"}, {"tensors", {{{"dtype", "f33"}, {"shape", Json::array()}}}}})),
                 "dtype");
  expect_refused(framed(packed({{"type", "x"}, {"tensors", {7}}})), "expected a map");
}

TEST(Frame, OverAPipe) {
  int fds[2];
  ASSERT_EQ(pipe(fds), 0);
  const Tensor big = Tensor::from_doubles(DType::f32, {200000}, std::vector<double>(200000, 2.5));
  std::thread sender([&] {
    write_frame(fds[1], make_frame({{"type", "x"}}, {big}));
    close(fds[1]);
  });
  Frame frame;
  EXPECT_TRUE(read_frame(fds[0], {}, "test", frame));
  EXPECT_TRUE(frame.tensors.at(0).bitwise_equal(big));
  EXPECT_FALSE(read_frame(fds[0], {}, "test", frame));
  sender.join();
  close(fds[0]);
}

// What comes through a pipe that is then closed.
void expect_no_frame(const std::string& bytes) {
  int fds[2];
  ASSERT_EQ(pipe(fds), 0);
  ASSERT_EQ(write(fds[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  close(fds[1]);
  Frame frame;
  EXPECT_THROW(read_frame(fds[0], {}, "test", frame), Error);
  close(fds[0]);
}

TEST(Frame, ATornFrameIsAnError) {
  const std::string bytes = bytes_of(make_frame({{"type", "x"}}, {Tensor(DType::f32, {9})}));
  expect_no_frame(bytes.substr(0, bytes.size() - 1));
}

TEST(Frame, BytesMayNotFollowBeforeTheAnswer) {
  expect_no_frame(bytes_of(make_frame({{"type", "x"}}, {Tensor(DType::f32, {9})})) + "more");
}

TEST(Frame, PiecesOfAllSizesAreWrittenAtOnce) {
  int fds[2];
  ASSERT_EQ(pipe(fds), 0);
  std::vector<Tensor> tensors;  // more than writev takes, some of them empty
  for (int64_t i = 0; i < 50; ++i) tensors.emplace_back(DType::u8, Shape{i % 3});
  const Frame sent = make_frame({{"type", "x"}}, tensors);
  write_frame(fds[1], sent);
  Frame frame;
  ASSERT_TRUE(read_frame(fds[0], {}, "test", frame));
  ASSERT_EQ(frame.tensors.size(), tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) EXPECT_EQ(frame.tensors[i].shape(), tensors[i].shape());
  close(fds[0]);
  close(fds[1]);
}

TEST(Messages, ARunResultReadsBack) {
  RunResult result;
  result.nodes.resize(2);
  result.nodes[0].placement = Placement::device_soft;
  result.nodes[0].local = {Tensor::scalar(DType::f32, 1), Tensor::scalar(DType::f32, 2)};
  result.nodes[1].placement = Placement::fallback;
  result.nodes[1].reason = "dtype";
  result.nodes[1].free = {Tensor::scalar(DType::f32, 3)};
  result.outputs = {Tensor(), Tensor::scalar(DType::f32, 4)};
  result.repeatable = false;
  result.guard_violation = "x";
  result.fallbacks = {{"op", "dtype", 1, 2, 0.5}};
  result.residency = Residency{0.5, 1, 1, 2, 3};
  result.phases.first_run_s = 0.25;
  result.phases.steady_s = {1, 2};
  result.compiles = {1, 2, 3, {"new shape"}};
  result.device = DeviceCounters{1, 2, 3, 4};
  const RunResult back = decode_run_result(parse(bytes_of(encode(result))), "test");
  ASSERT_EQ(back.nodes.size(), 2U);
  EXPECT_EQ(back.nodes[0].local[1].to_doubles()[0], 2);
  EXPECT_EQ(back.nodes[1].free[0].to_doubles()[0], 3);
  EXPECT_EQ(back.nodes[1].reason, "dtype");
  EXPECT_FALSE(back.outputs[0].defined());
  EXPECT_EQ(back.outputs[1].to_doubles()[0], 4);
  EXPECT_EQ(back.repeatable, false);
  EXPECT_EQ(back.phases.steady_s, result.phases.steady_s);
  EXPECT_EQ(back.device->instructions, 2);
  EXPECT_EQ(back.residency->host_scalar, 3);
}

TEST(Messages, AVerdictReadsBack) {
  const double infinity = std::numeric_limits<double>::infinity();
  Verdict verdict;
  verdict.status = Status::wrong;
  verdict.reason = "element_bound";
  verdict.detail = "output mul: got inf";
  verdict.margin = infinity;
  verdict.gates["bound"] = {GateStatus::fail, infinity, 1.0};
  verdict.gates["rms"] = {GateStatus::undetermined, 0.1, std::nullopt};
  verdict.worst = Worst{"mul", {0, 7}, infinity, std::nan(""), 0.25, std::nullopt};
  verdict.first_bad_node = BadNode{"mul", "aten::mul.Tensor", "model.py:3", 2.5};
  verdict.witness = "reference";
  verdict.nodes.resize(1);
  verdict.nodes[0].name = "mul";
  const Verdict read = decode_verdict(parse(bytes_of(encode(verdict))), "test");
  EXPECT_EQ(read.status, Status::wrong);
  EXPECT_EQ(read.reason, verdict.reason);
  EXPECT_EQ(read.detail, verdict.detail);
  EXPECT_EQ(read.margin, infinity);
  EXPECT_EQ(read.gates.size(), 5u) << "gates that the judge did not name are not applicable";
  EXPECT_EQ(read.gates.at("bound").status, GateStatus::fail);
  EXPECT_EQ(read.gates.at("bound").value, infinity);
  EXPECT_EQ(read.gates.at("bound").limit, 1.0);
  EXPECT_EQ(read.gates.at("rms").status, GateStatus::undetermined);
  EXPECT_EQ(read.gates.at("rms").value, 0.1);
  EXPECT_FALSE(read.gates.at("rms").limit);
  EXPECT_EQ(read.gates.at("probe").status, GateStatus::not_applicable);
  ASSERT_TRUE(read.worst);
  EXPECT_EQ(read.worst->index, (std::vector<int64_t>{0, 7}));
  EXPECT_EQ(read.worst->got, infinity);
  EXPECT_TRUE(std::isnan(read.worst->want));
  EXPECT_EQ(read.worst->bound, 0.25);
  EXPECT_FALSE(read.worst->ulp);
  ASSERT_TRUE(read.first_bad_node);
  EXPECT_EQ(read.first_bad_node->source, "model.py:3");
  EXPECT_EQ(read.first_bad_node->margin, 2.5);
  ASSERT_EQ(read.nodes.size(), 1u);
  EXPECT_EQ(read.nodes[0].name, "mul");

  verdict.reason = "because";
  EXPECT_THROW(decode_verdict(parse(bytes_of(encode(verdict))), "test"), Error);
  verdict.reason = "element_bound";
  verdict.gates["mood"] = {};
  EXPECT_THROW(decode_verdict(parse(bytes_of(encode(verdict))), "test"), Error);
}

TEST(Messages, AWorkerCannotClaimAPass) {
  for (const Status status : {Status::pass, Status::pass_with_fallback, Status::waived}) {
    RunResult result;
    result.failure = status;
    EXPECT_THROW(decode_run_result(encode(result), "test"), Error);
  }
  RunResult result;
  result.reason = "invented";
  EXPECT_THROW(decode_run_result(encode(result), "test"), Error);
}

TEST(Messages, CountsOfTensorsMustAgree) {
  RunResult result;
  result.outputs = {Tensor::scalar(DType::f32, 4)};
  Frame few = encode(result);
  few.tensors.clear();
  EXPECT_THROW(decode_run_result(few, "test"), Error);
  Frame many = encode(result);
  many.tensors.push_back(Tensor::scalar(DType::f32, 4));
  EXPECT_THROW(decode_run_result(many, "test"), Error);
}

}  // namespace
}  // namespace assay
