#include "backend/simulator/turn.h"

#include <gtest/gtest.h>

#include <cstring>
#include <utility>
#include <vector>

namespace assay::backend {
namespace {

TEST(Turn, EveryElementGoesToItsPlaceAndNothingElseIsWritten) {
  for (const int64_t element : {1, 2, 4, 8}) {
    for (const auto& [rows, columns] :
         {std::pair<int64_t, int64_t>{1, 1}, {7, 5}, {8, 8}, {130, 35}, {17, 200}}) {
      for (const bool lines : {false, true}) {  // rows of the destination an odd number of cache lines apart
        const int64_t from_stride = (columns + 3) * element,
                      to_stride = lines ? (rows * element / 128 * 2 + 3) * 64 : (rows + 5) * element;
        std::vector<std::byte> from(static_cast<std::size_t>(rows * from_stride)),
            to(static_cast<std::size_t>(columns * to_stride), std::byte{0xa5});
        for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 131 + i / 251);
        std::vector<std::byte> want = to;
        for (int64_t r = 0; r < rows; ++r) {
          for (int64_t c = 0; c < columns; ++c) {
            std::memcpy(want.data() + c * to_stride + r * element,
                        from.data() + r * from_stride + c * element, static_cast<std::size_t>(element));
          }
        }
        turn(from.data(), from_stride, to.data(), to_stride, rows, columns, element);
        EXPECT_EQ(to, want) << rows << " x " << columns << " elements of " << element << " bytes";
      }
    }
  }
}

}  // namespace
}  // namespace assay::backend
