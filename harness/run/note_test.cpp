#include "harness/run/note.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

TEST(Conclude, KeepsWhatAPersonCanReadOfADetail) {
  Record record;
  const auto detail = [&](const std::string& text) {
    conclude(record, Status::crash, "device_trap", text);
    return record.detail;
  };
  EXPECT_EQ(detail("the tile was never written"), "the tile was never written");
  EXPECT_EQ(detail(std::string(16384, 'a')), std::string(16384, 'a'));
  EXPECT_EQ(detail(std::string(2'000'000, 'a')), std::string(16384, 'a') + "... (1983616 bytes more)");
  // Three bytes a character: the last one is whole.
  std::string euros;
  for (int i = 0; i < 10'000; ++i) euros += "\xE2\x82\xAC";
  EXPECT_EQ(detail(euros), euros.substr(0, 16383) + "... (13617 bytes more)");
}

}  // namespace
}  // namespace assay
