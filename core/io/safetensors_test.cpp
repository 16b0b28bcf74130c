#include "core/io/safetensors.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "core/error.h"
#include "core/io/file.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string file_of(const std::string& header, const std::string& data, uint64_t claimed = 0) {
  if (claimed == 0) claimed = header.size();
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>((claimed >> (8 * i)) & 0xff));
  return bytes + header + data;
}

std::string safetensors_refusal(const std::string& bytes) {
  try {
    parse_safetensors(bytes, "some.safetensors");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::malformed_file);
    EXPECT_THAT(error.what(), HasSubstr("some.safetensors"));
    return error.what();
  }
  ADD_FAILURE() << "accepted";
  return "";
}

TEST(Safetensors, ReadsTheFormat) {
  const std::string bytes = file_of(
      R"({"__metadata__":{"k":"v"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"I64","shape":[],"data_offsets":[8,16]},"none":{"dtype":"F16","shape":[0,3],"data_offsets":[8,8]}} )",
      std::string("\0\0\x80\x3f\0\0\0\x40\x07\0\0\0\0\0\0\0", 16));
  const TensorFile file = parse_safetensors(bytes, "x");
  EXPECT_EQ(file.metadata.at("k"), "v");
  EXPECT_EQ(file.tensors.at("a").to_doubles(), (std::vector<double>{1, 2}));
  EXPECT_EQ(file.tensors.at("b").to_ints(), (std::vector<int64_t>{7}));
  EXPECT_EQ(file.tensors.at("none").shape(), (Shape{0, 3}));
}

TEST(Safetensors, ReadsBackEveryDtype) {
  TensorFile file;
  file.metadata = {{"seed", "0"}, {"é", "\"\n"}};
  for (int32_t number = 1; number <= 15; ++number) {
    const auto dtype = static_cast<DType>(number);
    if (dtype == DType::f8e4m3) continue;
    std::string content(6 * size_of(dtype), '\0');
    for (std::size_t i = 0; i < content.size(); ++i)
      content[i] = static_cast<char>(dtype == DType::boolean ? i % 2 : i * 37);
    file.tensors.emplace(std::string(name_of(dtype)),
                         Tensor::from_bytes(dtype, {2, 3}, content.data(), content.size()));
  }
  file.tensors.emplace("empty", Tensor(DType::f32, {0}));
  const std::string bytes = serialize_safetensors(file);
  EXPECT_EQ(bytes, serialize_safetensors(file));
  const TensorFile again = parse_safetensors(bytes, "x");
  EXPECT_EQ(again.metadata, file.metadata);
  ASSERT_EQ(again.tensors.size(), file.tensors.size());
  for (const auto& [name, tensor] : file.tensors) {
    EXPECT_EQ(again.tensors.at(name).dtype(), tensor.dtype()) << name;
    EXPECT_TRUE(again.tensors.at(name).bitwise_equal(tensor)) << name;
  }
}

TEST(Safetensors, PacksStridedTensors) {
  const Tensor base = Tensor::from_ints(DType::i32, {2, 3}, {0, 1, 2, 3, 4, 5});
  const Tensor transposed(DType::i32, {3, 2}, {1, 3}, 0, base.storage());
  TensorFile file;
  file.tensors.emplace("t", transposed);
  EXPECT_EQ(parse_safetensors(serialize_safetensors(file), "x").tensors.at("t").to_ints(),
            (std::vector<int64_t>{0, 3, 1, 4, 2, 5}));
}

TEST(Safetensors, HasNoNameForTrainiumsE4m3) {
  TensorFile file;
  file.tensors.emplace("w", Tensor(DType::f8e4m3, {2}));
  try {
    serialize_safetensors(file);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_THAT(error.what(), HasSubstr("'w'"));
  }
  EXPECT_THAT(
      safetensors_refusal(file_of(R"({"w":{"dtype":"F8_E4M3_IEEE","shape":[1],"data_offsets":[0,1]}})", "x")),
      HasSubstr("unknown dtype"));
}

TEST(Safetensors, NamesWhatIsWrong) {
  EXPECT_THAT(safetensors_refusal(""), HasSubstr("header length"));
  EXPECT_THAT(safetensors_refusal(file_of("{}", "", 1000)), HasSubstr("claims 1000 bytes"));
  EXPECT_THAT(safetensors_refusal(file_of("{}", "", ~uint64_t{0})), HasSubstr("claims"));
  EXPECT_THAT(safetensors_refusal(file_of("[]", "")), HasSubstr("expected an object"));
  EXPECT_THAT(safetensors_refusal(file_of("{}", "abc")), HasSubstr("3 bytes of data follow"));
  const auto one = [](const char* entry, const char* data) {
    return safetensors_refusal(file_of(entry, data));
  };
  EXPECT_THAT(one(R"({"w":{"dtype":"F99","shape":[1],"data_offsets":[0,4]}})", "abcd"),
              AllOf(HasSubstr("['w'].dtype"), HasSubstr("F99")));
  EXPECT_THAT(one(R"({"w":{"dtype":"f32","shape":[1],"data_offsets":[0,4]}})", "abcd"),
              HasSubstr("unknown dtype"));
  EXPECT_THAT(one(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", "abcd"), HasSubstr("needs 8"));
  EXPECT_THAT(one(R"({"w":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", "abcd"),
              HasSubstr("negative size"));
  EXPECT_THAT(one(R"({"w":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}})", "abcd"),
              HasSubstr("more than 2^62"));
  EXPECT_THAT(one(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", "abcd"),
              HasSubstr("pass the end"));
  EXPECT_THAT(one(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", "abcd"),
              HasSubstr("not a range"));
  EXPECT_THAT(one(R"({"w":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})", "abc"), HasSubstr("hole"));
  EXPECT_THAT(
      one(R"({"v":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"w":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
          "abc"),
      AllOf(HasSubstr("'w'"), HasSubstr("overlap")));
  EXPECT_THAT(
      one(R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
          "a"),
      HasSubstr("appears twice"));
  EXPECT_THAT(safetensors_refusal(file_of(std::string(200'000, '['), "")), HasSubstr("nesting"));
  EXPECT_THAT(one(R"({"w":{"dtype":"U8","shape":[1]}})", "a"), HasSubstr("data_offsets"));
  std::string many = "1";
  for (int i = 0; i < 64; ++i) many += ",1";
  EXPECT_THAT(safetensors_refusal(
                  file_of(R"({"w":{"dtype":"U8","shape":[)" + many + R"(],"data_offsets":[0,1]}})", "a")),
              HasSubstr("rank 65"));
}

TEST(Safetensors, RefusesEveryTruncation) {
  TensorFile file;
  file.tensors.emplace("a", Tensor::from_ints(DType::i16, {3}, {1, 2, 3}));
  const std::string bytes = serialize_safetensors(file);
  for (std::size_t length = 0; length < bytes.size(); ++length) safetensors_refusal(bytes.substr(0, length));
}

class FileTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("assay_io_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_;
};

TEST_F(FileTest, WritesAtomically) {
  const std::string path = folder_ / "a.safetensors";
  TensorFile file;
  file.tensors.emplace("a", Tensor::from_ints(DType::i16, {3}, {1, 2, 3}));
  write_safetensors(path, file);
  write_safetensors(path, file);
  EXPECT_EQ(read_safetensors(path).tensors.at("a").to_ints(), (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(FileTest, NamesPathAndReason) {
  const auto io_error = [](const auto& action) -> std::string {
    try {
      action();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::io);
      return error.what();
    }
    ADD_FAILURE() << "no error";
    return "";
  };
  EXPECT_THAT(io_error([] { read_safetensors("/nonexistent/x.safetensors"); }),
              AllOf(HasSubstr("/nonexistent/x.safetensors"), HasSubstr("No such file")));
  EXPECT_THAT(io_error([&] { read_file(folder_); }), HasSubstr("is a directory"));
  EXPECT_THAT(io_error([] { write_file_atomically("/nonexistent/y", "abc"); }), HasSubstr("/nonexistent/y"));
  write_file_atomically(folder_ / "big", std::string(100, 'x'));
  EXPECT_THAT(io_error([&] { read_file(folder_ / "big", 99); }), HasSubstr("limit"));
  EXPECT_THAT(io_error([] { read_file("/dev/zero"); }), HasSubstr("is a device"));
}

// A pipe is read to its end, however slowly it is written; one that nobody writes to is no reason to wait.
TEST_F(FileTest, Pipes) {
  const std::string pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  try {
    read_file(pipe);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::io);
    EXPECT_THAT(error.what(), AllOf(HasSubstr(pipe), HasSubstr("nobody writes")));
  }
  const int keeps_it_open = ::open(pipe.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(keeps_it_open, 0);
  const std::string sent(200'000, 'x');  // more than a pipe holds
  std::thread writer([&] {
    const int end = ::open(pipe.c_str(), O_WRONLY | O_CLOEXEC);
    ::usleep(20'000);
    for (std::size_t done = 0; done < sent.size();) {
      const ssize_t put = ::write(end, sent.data() + done, sent.size() - done);
      if (put <= 0) break;
      done += static_cast<std::size_t>(put);
    }
    ::close(end);
    ::close(keeps_it_open);
  });
  const std::string got = read_file(pipe);
  writer.join();
  EXPECT_EQ(got, sent);
}

}  // namespace
}  // namespace assay
