#include "backend/simulator/timing/timeline.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/error.h"

namespace assay::backend {
namespace {

TEST(Timeline, StreamsRunInOrderAndWaitForOneAnother) {
  Timeline line;
  const Timeline::Stream compute = line.stream("compute"), data = line.stream("data");
  const Timeline::Done first = line.add(data, 2);              // 0 .. 2
  const Timeline::Done layer = line.add(compute, 3, {first});  // 2 .. 5
  const Timeline::Done second = line.add(data, 4);             // 2 .. 6, behind the layer
  const Timeline::Done last = line.add(compute, 1, {second, layer});
  EXPECT_EQ(layer.at_s, 5);
  EXPECT_EQ(second.at_s, 6);
  EXPECT_EQ(last.at_s, 7);
  EXPECT_EQ(line.seconds(), 7);
  EXPECT_EQ(line.busy_s(compute), 4);
  EXPECT_EQ(line.idle_s(compute), 3);
  EXPECT_EQ(line.idle_s(data), 0);
  EXPECT_EQ(line.name(data), "data");
}

TEST(Timeline, RefusesTimesThatAreNone) {
  Timeline line;
  const Timeline::Stream stream = line.stream("host");
  for (const double bad :
       {-1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(line.add(stream, bad), Error);
  }
  EXPECT_EQ(line.seconds(), 0);
}

}  // namespace
}  // namespace assay::backend
