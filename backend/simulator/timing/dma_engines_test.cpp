#include "backend/simulator/timing/dma_engines.h"

#include <map>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include "backend/isa/builder.h"

namespace assay::backend {
namespace {

constexpr double kPlenty = 1e9;  // HBM bandwidth that never binds
constexpr double kRate = 23, kPacket = 4096;

Transfer whole_engine(int engine, double bytes) {
  Transfer t;
  t.first_engine = static_cast<uint8_t>(engine);
  t.engines = 1;
  t.touches = 1;
  t.descriptors = 1;
  t.bytes = bytes;
  t.share = t.last_share = 1;
  return t;
}
Transfer all_engines(double bytes) {
  Transfer t = whole_engine(0, bytes);
  t.engines = kDmaEngines;
  t.share = t.last_share = 1.0 / kDmaEngines;
  return t;
}

// Runs until nothing moves; times of completion by id.
std::map<uint32_t, double> drain(DmaEngines& dma, std::vector<uint32_t>* order = nullptr) {
  std::map<uint32_t, double> ends;
  std::vector<DmaEngines::Finished> finished;
  while (dma.next() < kNever) dma.advance(finished);
  for (const auto& f : finished) {
    ends[f.id] = f.end_ns;
    if (order != nullptr) order->push_back(f.id);
  }
  return ends;
}

// Lets time go on to `until`.
void advance_to(DmaEngines& dma, double until, std::vector<DmaEngines::Finished>& finished) {
  while (dma.next() < until) dma.advance(finished);
}

TEST(DmaEnginesTest, ATransferTakesItsBytesAndItsDescriptors) {
  DmaEngines dma(core(Generation::trn2), kPlenty);
  Transfer t = whole_engine(3, 23000);
  t.extra_ns = 50;
  dma.arrive(100, 7, 0, t);
  EXPECT_NEAR(drain(dma)[7], 100 + 1000 + 50, 1e-6);
  EXPECT_NEAR(dma.active_ns(3), 1050, 1e-6);
  EXPECT_NEAR(dma.bytes(3), 23000, 1e-6);
  EXPECT_EQ(dma.active_ns(2), 0);
  EXPECT_NEAR(dma.any_active_ns(), 1050, 1e-6);
}

TEST(DmaEnginesTest, SixteenEnginesShareATransfer) {
  DmaEngines dma(core(Generation::trn2), kPlenty);
  dma.arrive(0, 1, 0, all_engines(16 * 23000));
  EXPECT_NEAR(drain(dma)[1], 1000, 1e-6);
}

TEST(DmaEnginesTest, OneRingIsInOrder) {
  DmaEngines dma(core(Generation::trn2), kPlenty);
  // The second would be done long before the first: it works on another engine. It is reported after it.
  dma.arrive(0, 1, 4, whole_engine(0, 230000));
  dma.arrive(0, 2, 4, whole_engine(1, 230));
  std::vector<uint32_t> order;
  const auto ends = drain(dma, &order);
  EXPECT_THAT(order, testing::ElementsAre(1, 2));
  EXPECT_NEAR(ends.at(1), 10000, 1e-6);
  EXPECT_NEAR(ends.at(2), 10000, 1e-6);
  EXPECT_NEAR(dma.active_ns(1), 10, 1e-6);
}

TEST(DmaEnginesTest, RingsTakeTurnsAtPackets) {
  const double packet_ns = kPacket / kRate;
  DmaEngines dma(core(Generation::trn2), kPlenty);
  dma.arrive(0, 1, 0, whole_engine(0, 10 * kPacket));
  dma.arrive(0, 2, 5, whole_engine(0, 3 * kPacket));
  auto ends = drain(dma);
  EXPECT_NEAR(ends[2], 6 * packet_ns, 1e-6);  // 1 2 1 2 1 2
  EXPECT_NEAR(ends[1], 13 * packet_ns, 1e-6);

  // A small one that comes while a large one moves waits for the packet that is moving, no longer.
  dma.reset();
  std::vector<DmaEngines::Finished> finished;
  dma.arrive(0, 1, 0, whole_engine(0, 1000 * kPacket));
  advance_to(dma, 40.5 * packet_ns, finished);
  dma.arrive(40.5 * packet_ns, 2, 9, whole_engine(0, 64));
  ends = drain(dma);
  EXPECT_NEAR(ends[2], 41 * packet_ns + 64 / kRate, 1e-6);
  EXPECT_NEAR(ends[1], 1000 * packet_ns + 64 / kRate, 1e-6);

  // In the same ring it waits for all of it.
  dma.reset();
  dma.arrive(0, 1, 0, whole_engine(0, 1000 * kPacket));
  dma.arrive(1, 2, 0, whole_engine(0, 64));
  EXPECT_NEAR(drain(dma)[2], 1000 * packet_ns + 64 / kRate, 1e-6);
}

TEST(DmaEnginesTest, TurnsAreFairAmongMany) {
  DmaEngines dma(core(Generation::trn2), kPlenty);
  for (uint32_t ring = 0; ring < 16; ++ring)
    dma.arrive(0, ring, static_cast<int>(ring), whole_engine(2, 8 * kPacket));
  const auto ends = drain(dma);
  const double packet_ns = kPacket / kRate;
  for (uint32_t ring = 0; ring < 16; ++ring)
    EXPECT_NEAR(ends.at(ring), (7 * 16 + ring + 1) * packet_ns, 1e-5) << ring;
}

// Transfers over all engines keep them alike; one that is not parts them, at any moment.
TEST(DmaEnginesTest, EnginesPartWhereATransferConcernsAFew) {
  const double packet_ns = kPacket / kRate;
  DmaEngines dma(core(Generation::trn2), kPlenty);
  std::vector<DmaEngines::Finished> finished;
  dma.arrive(0, 1, 0, all_engines(16 * 100 * kPacket));
  dma.arrive(0, 2, 1, all_engines(16 * 10 * kPacket));
  dma.arrive(1, 3, 0, all_engines(16 * 5 * kPacket));
  advance_to(dma, 40.5 * packet_ns, finished);
  ASSERT_EQ(finished.size(), 1u);  // 2, after 20 packets
  EXPECT_NEAR(finished[0].end_ns, 20 * packet_ns, 1e-6);
  dma.arrive(40.5 * packet_ns, 4, 9, whole_engine(3, 64));
  dma.arrive(40.5 * packet_ns, 5, 10, all_engines(16 * kPacket));
  auto ends = drain(dma);
  EXPECT_NEAR(ends[4], 41 * packet_ns + 64 / kRate, 1e-6);
  EXPECT_NEAR(ends[5], 42 * packet_ns + 64 / kRate, 1e-6);  // on engine 3
  EXPECT_NEAR(ends[1], 111 * packet_ns + 64 / kRate, 1e-6);
  EXPECT_NEAR(ends[3], 116 * packet_ns + 64 / kRate, 1e-6);
  for (int e = 0; e < kDmaEngines; ++e) {
    const double more = e == 3 ? 64 / kRate : 0;
    EXPECT_NEAR(dma.active_ns(e), 116 * packet_ns + more, 1e-6) << e;
    EXPECT_NEAR(dma.bytes(e), 116 * kPacket + more * kRate, 1e-6) << e;
  }
  EXPECT_NEAR(dma.any_active_ns(), 116 * packet_ns + 64 / kRate, 1e-6);
  // Alike again once all are idle.
  dma.arrive(1e6, 6, 0, all_engines(16 * 23000));
  EXPECT_NEAR(drain(dma)[6], 1e6 + 1000, 1e-6);
}

TEST(DmaEnginesTest, HbmIsShared) {
  // 160 B/ns for 16 engines of 23: 10 each.
  DmaEngines dma(core(Generation::trn2), 160);
  dma.arrive(0, 1, 0, all_engines(16 * 4096));
  EXPECT_NEAR(drain(dma)[1], 409.6, 1e-6);
  // One engine alone is not slowed down.
  dma.reset();
  dma.arrive(0, 1, 0, whole_engine(0, 23000));
  EXPECT_NEAR(drain(dma)[1], 1000, 1e-6);
  // Within HBM every byte is read and written.
  dma.reset();
  Transfer both = all_engines(16 * 4096);
  both.touches = 2;
  dma.arrive(0, 1, 0, both);
  EXPECT_NEAR(drain(dma)[1], 819.2, 1e-6);
  // On chip nothing of it is used.
  dma.reset();
  Transfer neither = all_engines(16 * 4096);
  neither.touches = 0;
  dma.arrive(0, 1, 0, neither);
  EXPECT_NEAR(drain(dma)[1], kPacket / kRate, 1e-6);
}

TEST(DmaEnginesTest, NothingToMoveIsDoneInItsTurn) {
  DmaEngines dma(core(Generation::trn2), kPlenty);
  dma.arrive(0, 1, 0, whole_engine(0, 2300));
  dma.arrive(1, 2, 0, Transfer{});
  dma.arrive(1, 3, 1, Transfer{});
  std::vector<uint32_t> order;
  const auto ends = drain(dma, &order);
  EXPECT_THAT(order, testing::ElementsAre(3, 1, 2));
  EXPECT_NEAR(ends.at(3), 1, 1e-6);
  EXPECT_NEAR(ends.at(2), 100, 1e-6);
}

// Bytes, descriptors and engines of a copy.
TEST(TransferTest, DescriptorsAreContiguousPieces) {
  struct Row {
    const char* what;
    Generation generation;
    int64_t descriptors;
    int first, engines;
    double rate;
    std::function<void(ProgramBuilder&)> write;
  };
  const auto g2 = Generation::trn2;
  const auto in = [](ProgramBuilder& b) { return b.input("x", DType::f32, 1 << 20); };
  const std::vector<Row> rows = {
      {"rows", g2, 128, 0, 16, 1,
       [&](ProgramBuilder& b) {
         b.dma_copy(b.sbuf(DType::f32, 128, {64}), hbm_tile(DType::f32, in(b), 0, 128, 64, {64}, {1}));
       }},
      {"a few rows go through one engine", g2, 4, 0, 1, 1,
       [&](ProgramBuilder& b) {
         b.dma_copy(b.sbuf(DType::f32, 4, {64}), hbm_tile(DType::f32, in(b), 0, 4, 64, {64}, {1}));
       }},
      {"partitions 64 to 95", g2, 32, 8, 4, 1,
       [&](ProgramBuilder& b) {
         b.dma_copy(b.sbuf(DType::f32, 32, {64}, 64), hbm_tile(DType::f32, in(b), 0, 32, 64, {64}, {1}));
       }},
      {"every second element", g2, 128 * 64, 0, 16, 1,
       [&](ProgramBuilder& b) {
         b.dma_copy(b.sbuf(DType::f32, 128, {64}), hbm_tile(DType::f32, in(b), 0, 128, 128, {64}, {2}));
       }},
      {"a transpose, in hardware", g2, 128, 0, 16, 0.9,
       [&](ProgramBuilder& b) {
         b.dma_copy(b.sbuf(DType::f32, 128, {64}), hbm_tile(DType::f32, in(b), 0, 128, 1, {64}, {128}));
       }},
      {"a transpose, element by element", Generation::trn1, 128 * 64, 0, 16, 1,
       [&](ProgramBuilder& b) {
         b.dma_copy(b.sbuf(DType::f32, 128, {64}), hbm_tile(DType::f32, in(b), 0, 128, 1, {64}, {128}));
       }},
      {"within HBM", g2, 1, 0, 16, 1,
       [&](ProgramBuilder& b) {
         b.dma_copy(hbm_tile(DType::f32, b.output("y", DType::f32, 1 << 20), 0, 128, 8192, {8192}, {1}),
                    hbm_tile(DType::f32, in(b), 0, 128, 8192, {8192}, {1}));
       }},
  };
  for (const Row& row : rows) {
    ProgramBuilder b(core(row.generation));
    row.write(b);
    const Transfer t = transfer_of(b.program(), b.program().instructions.back(), core(row.generation));
    EXPECT_EQ(t.descriptors, row.descriptors) << row.what;
    EXPECT_EQ(t.first_engine, row.first) << row.what;
    EXPECT_EQ(t.engines, row.engines) << row.what;
    EXPECT_DOUBLE_EQ(t.rate, row.rate) << row.what;
    EXPECT_NEAR(t.share * (t.engines - 1) + t.last_share, 1, 1e-12) << row.what;
  }
}

}  // namespace
}  // namespace assay::backend
