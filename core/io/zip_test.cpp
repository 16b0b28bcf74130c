#include "core/io/zip.h"

#include <gmock/gmock.h>

#include "core/error.h"
#include "core/io/test_archive.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string zip_refusal(const std::string& bytes, const std::string& entry = "") {
  try {
    const ZipArchive archive(bytes, "some.pt2");
    if (!entry.empty()) archive.read(entry);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::malformed_file);
    EXPECT_THAT(error.what(), HasSubstr("some.pt2"));
    return error.what();
  }
  ADD_FAILURE() << "accepted";
  return "";
}

TEST(ZipArchive, ReadsStoredAndDeflatedEntries) {
  const std::string bytes =
      make_archive({{"a/one", {"hello"}}, {"a/two", {std::string(1000, 'x'), true}}, {"empty", {""}}});
  const ZipArchive archive(bytes, "some.pt2");
  EXPECT_EQ(archive.entries().size(), 3u);
  EXPECT_EQ(archive.read("a/one"), "hello");
  EXPECT_EQ(archive.read("a/two"), std::string(1000, 'x'));
  EXPECT_EQ(archive.read("empty"), "");
  EXPECT_FALSE(archive.contains("a"));
}

TEST(ZipArchive, RefusesUnsafeNames) {
  for (const char* name : {"../evil", "a/../../evil", "/etc/passwd", "a\\b", "C:evil", "a/.."}) {
    EXPECT_THAT(zip_refusal(make_archive({{name, {"x"}}})), HasSubstr("unsafe name")) << name;
  }
  EXPECT_NO_THROW(ZipArchive(make_archive({{"a..b/c...d", {"x"}}}), "some.pt2"));
}

TEST(ZipArchive, RefusesDuplicateNames) {
  const std::string bytes = make_archive({{"folder/name_a", {"x"}}, {"folder/name_b", {"y"}}});
  EXPECT_THAT(zip_refusal(replace_all(bytes, "name_b", "name_a")),
              AllOf(HasSubstr("name_a"), HasSubstr("twice")));
}

TEST(ZipArchive, RefusesBombs) {
  const std::string bytes = make_archive({{"bomb", {std::string((std::size_t{65} << 20), '\0'), true}}});
  EXPECT_LT(bytes.size(), std::size_t{1} << 20);
  EXPECT_THAT(zip_refusal(bytes), AllOf(HasSubstr("'bomb'"), HasSubstr("zip bomb")));
  // Many small ones.
  std::map<std::string, ArchiveEntry> parts;
  for (int i = 0; i < 5; ++i)
    parts["part" + std::to_string(i)] = {std::string((std::size_t{16} << 20), '\0'), true};
  EXPECT_THAT(zip_refusal(make_archive(parts)), HasSubstr("zip bomb"));
}

TEST(ZipArchive, RefusesEncryption) {
  EXPECT_THAT(zip_refusal(make_archive({{"secret", {"x", false, "pw"}}})), HasSubstr("encrypted"));
}

// Offsets in a central directory header: 20 compressed size, 24 uncompressed size.
std::string with_size(std::string bytes, std::size_t field, uint32_t size) {
  const std::size_t header = bytes.rfind("PK\x01\x02");
  for (std::size_t i = 0; i < 4; ++i) bytes[header + field + i] = static_cast<char>((size >> (8 * i)) & 0xff);
  return bytes;
}

TEST(ZipArchive, HoldsDeclaredSizesAgainstReality) {
  const std::string stored = make_archive({{"w", {std::string(100, 'x')}}});
  EXPECT_THAT(zip_refusal(with_size(stored, 24, 1000)), HasSubstr("'w'"));
  EXPECT_THAT(zip_refusal(with_size(stored, 20, 1000)), HasSubstr("'w'"));
  EXPECT_THAT(zip_refusal(with_size(with_size(stored, 20, 60), 24, 60), "w"), HasSubstr("'w'"));
  const std::string deflated = make_archive({{"w", {std::string(1000, 'x') + "yz", true}}});
  EXPECT_THAT(zip_refusal(with_size(deflated, 24, 900), "w"), HasSubstr("'w'"));
  EXPECT_THAT(zip_refusal(with_size(deflated, 24, 2000), "w"), HasSubstr("'w'"));
}

TEST(ZipArchive, ChecksContent) {
  std::string bytes = make_archive({{"w", {"some content that is stored"}}});
  bytes[bytes.find("content")] = 'k';
  EXPECT_THAT(zip_refusal(bytes, "w"), AllOf(HasSubstr("'w'"), HasSubstr("damaged")));
}

TEST(ZipArchive, RefusesWhatIsCutOff) {
  const std::string bytes = make_archive({{"w", {std::string(100, 'x')}}});
  for (std::size_t length = 0; length + 1 < bytes.size(); ++length) {
    EXPECT_THAT(zip_refusal(bytes.substr(0, length), "w"), HasSubstr("some.pt2")) << length;
  }
}

TEST(ZipArchive, NamesMissingEntriesAndLimits) {
  const std::string bytes = make_archive({{"w", {"abc"}}});
  EXPECT_THAT(zip_refusal(bytes, "v"), AllOf(HasSubstr("'v'"), HasSubstr("missing")));
  const ZipArchive archive(bytes, "some.pt2");
  EXPECT_THROW(archive.read("w", 2), Error);
}

}  // namespace
}  // namespace assay
