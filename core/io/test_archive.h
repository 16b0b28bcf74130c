// Builds zip archives for tests.
#pragma once

#include <gtest/gtest.h>
#include <zip.h>

#include <map>
#include <string>

namespace assay {

struct ArchiveEntry {
  std::string content;
  bool deflate = false;
  std::string password = {};
};

inline std::string make_archive(const std::map<std::string, ArchiveEntry>& entries) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* target = zip_source_buffer_create(nullptr, 0, 0, &error);
  zip_t* archive = zip_open_from_source(target, ZIP_CREATE | ZIP_TRUNCATE, &error);
  EXPECT_NE(archive, nullptr);
  zip_source_keep(target);
  for (const auto& [name, entry] : entries) {
    zip_source_t* source = zip_source_buffer(archive, entry.content.data(), entry.content.size(), 0);
    const zip_int64_t index = zip_file_add(archive, name.c_str(), source, ZIP_FL_ENC_UTF_8);
    EXPECT_GE(index, 0) << name;
    const auto number = static_cast<zip_uint64_t>(index);
    zip_set_file_compression(archive, number, entry.deflate ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 1);
    if (!entry.password.empty())
      zip_file_set_encryption(archive, number, ZIP_EM_AES_256, entry.password.c_str());
  }
  EXPECT_EQ(zip_close(archive), 0) << zip_strerror(archive);
  zip_source_open(target);
  zip_source_seek(target, 0, SEEK_END);
  std::string bytes(static_cast<std::size_t>(zip_source_tell(target)), '\0');
  zip_source_seek(target, 0, SEEK_SET);
  zip_source_read(target, bytes.data(), bytes.size());
  zip_source_close(target);
  zip_source_free(target);
  return bytes;
}

inline std::string replace_all(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

}  // namespace assay
