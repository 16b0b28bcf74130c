#include "core/dtype.h"

#include <array>
#include <bit>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include "assay/backend.h"
#include "core/error.h"

namespace assay {
namespace {

constexpr std::array<DType, 15> all{DType::boolean, DType::u8,  DType::i8,       DType::i16,
                                    DType::i32,     DType::i64, DType::f8e4m3fn, DType::f8e5m2,
                                    DType::f8e4m3,  DType::f16, DType::bf16,     DType::f32,
                                    DType::f64,     DType::c64, DType::c128};

TEST(DType, NumbersEqualTheAbi) {
  const std::array<assay_dtype, 15> abi{ASSAY_BOOL, ASSAY_U8,       ASSAY_I8,     ASSAY_I16,    ASSAY_I32,
                                        ASSAY_I64,  ASSAY_F8E4M3FN, ASSAY_F8E5M2, ASSAY_F8E4M3, ASSAY_F16,
                                        ASSAY_BF16, ASSAY_F32,      ASSAY_F64,    ASSAY_C64,    ASSAY_C128};
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(static_cast<int>(all[i]), static_cast<int>(abi[i]));
}

TEST(DType, KindsAreDisjointAndCoverEverything) {
  for (const DType dtype : all) {
    EXPECT_TRUE(is_valid(dtype));
    EXPECT_EQ(is_float(dtype) + is_complex(dtype) + is_integral(dtype), 1) << name_of(dtype);
  }
  for (const int number : {-1, 0, 16, 1009}) {
    const auto dtype = static_cast<DType>(number);
    EXPECT_FALSE(is_valid(dtype) || is_float(dtype) || is_complex(dtype) || is_integral(dtype));
    EXPECT_THROW(size_of(dtype), Error);
    EXPECT_THROW(name_of(dtype), Error);
  }
}

TEST(DType, SpellingsAreUniqueAndParseBack) {
  std::set<std::string_view> seen;
  for (const DType dtype : all) {
    std::set<std::string_view> own{name_of(dtype), torch_name(dtype), safetensors_name(dtype)};
    for (const std::string_view text : own) {
      EXPECT_TRUE(seen.insert(text).second) << text;
      EXPECT_EQ(parse_dtype(text), dtype) << text;
      EXPECT_EQ(parse_dtype("torch." + std::string(text)), dtype) << text;
    }
  }
  EXPECT_EQ(parse_dtype("half"), DType::f16);
  EXPECT_EQ(parse_dtype("torch.long"), DType::i64);
  EXPECT_EQ(parse_dtype("F8_E4M3"), DType::f8e4m3fn);
  EXPECT_EQ(parse_dtype("f8_e4m3"), DType::f8e4m3);
  for (const char* text : {"", "torch.", "float128", "torch.torch.float32", "f32 ", "complex32", "uint16"}) {
    EXPECT_EQ(parse_dtype(text), std::nullopt) << text;
  }
}

// torch 2.13, torch/_export/serde/schema.py, ScalarType.
TEST(DType, ExportCodesAreThoseOfPyTorchsSchema) {
  EXPECT_EQ(dtype_from_export_code(1), DType::u8);
  EXPECT_EQ(dtype_from_export_code(2), DType::i8);
  EXPECT_EQ(dtype_from_export_code(3), DType::i16);
  EXPECT_EQ(dtype_from_export_code(4), DType::i32);
  EXPECT_EQ(dtype_from_export_code(5), DType::i64);
  EXPECT_EQ(dtype_from_export_code(6), DType::f16);
  EXPECT_EQ(dtype_from_export_code(7), DType::f32);
  EXPECT_EQ(dtype_from_export_code(8), DType::f64);
  EXPECT_EQ(dtype_from_export_code(10), DType::c64);
  EXPECT_EQ(dtype_from_export_code(11), DType::c128);
  EXPECT_EQ(dtype_from_export_code(12), DType::boolean);
  EXPECT_EQ(dtype_from_export_code(13), DType::bf16);
  EXPECT_EQ(dtype_from_export_code(29), DType::f8e4m3fn);
  EXPECT_EQ(dtype_from_export_code(30), DType::f8e5m2);
  // UNKNOWN, COMPLEXHALF, UINT16, the FNUZ and FNU formats, UINT32, UINT64, and what no schema has.
  for (const int64_t code : {0, 9, 28, 31, 32, 33, 34, 35, -1, 1 << 20}) {
    EXPECT_EQ(dtype_from_export_code(code), std::nullopt) << code;
  }
  for (const DType dtype : all) EXPECT_EQ(dtype_from_export_code(export_code(dtype)), dtype);
}

// torch.promote_types of 2.13 for the twelve types that promote.
TEST(DType, PromotesAsPyTorchDoes) {
  const std::array<DType, 12> order{DType::boolean, DType::u8,  DType::i8,  DType::i16,
                                    DType::i32,     DType::i64, DType::f16, DType::bf16,
                                    DType::f32,     DType::f64, DType::c64, DType::c128};
  const std::array<const char*, 12> expected{"bool u8 i8 i16 i32 i64 f16 bf16 f32 f64 c64 c128",
                                             "u8 u8 i16 i16 i32 i64 f16 bf16 f32 f64 c64 c128",
                                             "i8 i16 i8 i16 i32 i64 f16 bf16 f32 f64 c64 c128",
                                             "i16 i16 i16 i16 i32 i64 f16 bf16 f32 f64 c64 c128",
                                             "i32 i32 i32 i32 i32 i64 f16 bf16 f32 f64 c64 c128",
                                             "i64 i64 i64 i64 i64 i64 f16 bf16 f32 f64 c64 c128",
                                             "f16 f16 f16 f16 f16 f16 f16 f32 f32 f64 c64 c128",
                                             "bf16 bf16 bf16 bf16 bf16 bf16 f32 bf16 f32 f64 c64 c128",
                                             "f32 f32 f32 f32 f32 f32 f32 f32 f32 f64 c64 c128",
                                             "f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 c128 c128",
                                             "c64 c64 c64 c64 c64 c64 c64 c64 c64 c128 c64 c128",
                                             "c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128"};
  for (std::size_t a = 0; a < order.size(); ++a) {
    std::string row;
    for (const DType b : order) {
      row += row.empty() ? "" : " ";
      row += name_of(promote_types(order[a], b));
    }
    EXPECT_EQ(row, expected[a]) << name_of(order[a]);
  }
  for (const DType eight : {DType::f8e4m3fn, DType::f8e5m2, DType::f8e4m3}) {
    EXPECT_EQ(promote_types(eight, eight), eight);
    EXPECT_THROW(promote_types(eight, DType::f32), Error);
    EXPECT_THROW(promote_types(DType::boolean, eight), Error);
  }
  EXPECT_THROW(promote_types(DType::f8e4m3fn, DType::f8e4m3), Error);
}

TEST(DType, FormatsHaveTheirPublishedLimits) {
  EXPECT_EQ(float_format(DType::f8e4m3fn).max, 448);  // OCP OFP8, table 1
  EXPECT_EQ(float_format(DType::f8e4m3fn).smallest_subnormal(), 0x1p-9);
  EXPECT_EQ(float_format(DType::f8e5m2).max, 57344);
  EXPECT_EQ(float_format(DType::f8e5m2).smallest_subnormal(), 0x1p-16);
  EXPECT_EQ(float_format(DType::f8e4m3).max, 240);
  EXPECT_EQ(float_format(DType::f16).max, 65504);
  EXPECT_EQ(float_format(DType::bf16).max, 0x1.fep127);
  EXPECT_EQ(float_format(DType::f32).max, static_cast<double>(std::numeric_limits<float>::max()));
  EXPECT_EQ(float_format(DType::f32).smallest_subnormal(),
            static_cast<double>(std::numeric_limits<float>::denorm_min()));
  EXPECT_EQ(float_format(DType::f64).max, std::numeric_limits<double>::max());
  EXPECT_EQ(float_format(DType::f64).smallest_subnormal(), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(float_format(DType::bf16).unit_roundoff(), 0x1p-8);
  EXPECT_EQ(float_format(DType::c64).precision, 24);
  EXPECT_EQ(float_format(part_dtype(DType::c128)).precision, 53);
  EXPECT_THROW(float_format(DType::i32), Error);
  EXPECT_THROW(part_dtype(DType::f32), Error);
  EXPECT_THROW(int_min(DType::f32), Error);
  EXPECT_THROW(int_max(DType::c64), Error);
}

TEST(DType, IntegersWrapAndBooleansNormalise) {
  const std::vector<int64_t> values{0,         1,        -1, 127, 128, 255, 256, -129, int64_t{1} << 40,
                                    INT64_MIN, INT64_MAX};
  for (const DType dtype : {DType::boolean, DType::u8, DType::i8, DType::i16, DType::i32, DType::i64}) {
    // One byte off alignment, as an element of a file may be.
    std::vector<std::byte> raw(values.size() * size_of(dtype) + 1);
    std::vector<int64_t> back(values.size());
    encode_ints(dtype, values.data(), raw.data() + 1, values.size());
    decode_ints(dtype, raw.data() + 1, back.data(), values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (dtype == DType::boolean) {
        EXPECT_EQ(back[i], values[i] != 0);
        continue;
      }
      EXPECT_GE(back[i], int_min(dtype));
      EXPECT_LE(back[i], int_max(dtype));
      const int bits = static_cast<int>(8 * size_of(dtype));
      const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
      EXPECT_EQ(static_cast<uint64_t>(back[i]) & mask, static_cast<uint64_t>(values[i]) & mask)
          << name_of(dtype);
    }
  }
  const std::array<unsigned char, 3> bytes{0, 1, 200};
  std::array<int64_t, 3> truth{};
  decode_ints(DType::boolean, bytes.data(), truth.data(), 3);
  EXPECT_EQ(truth, (std::array<int64_t, 3>{0, 1, 1}));
  EXPECT_THROW(decode_ints(DType::f32, bytes.data(), truth.data(), 0), Error);
  EXPECT_THROW(encode_ints(DType::c64, truth.data(), nullptr, 0), Error);
}

TEST(DType, DoublesBecomeIntegersByTruncationOrAnError) {
  std::array<std::byte, 8> raw{};
  int64_t back = 0;
  const auto store = [&](DType dtype, double value) {
    encode_floats(dtype, &value, raw.data(), 1);
    decode_ints(dtype, raw.data(), &back, 1);
    return back;
  };
  EXPECT_EQ(store(DType::i8, -128.9), -128);
  EXPECT_EQ(store(DType::u8, 255.5), 255);
  EXPECT_EQ(store(DType::i64, -0x1p63), INT64_MIN);
  EXPECT_EQ(store(DType::boolean, -0.25), 1);
  EXPECT_EQ(store(DType::boolean, -0.0), 0);
  EXPECT_THROW(store(DType::i8, 128), Error);
  EXPECT_THROW(store(DType::u8, -1), Error);
  EXPECT_THROW(store(DType::i64, 0x1p63), Error);
  EXPECT_THROW(store(DType::i32, std::numeric_limits<double>::quiet_NaN()), Error);
  EXPECT_THROW(store(DType::i64, -std::numeric_limits<double>::infinity()), Error);
}

}  // namespace
}  // namespace assay
