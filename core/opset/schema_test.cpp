#include "core/opset/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "core/error.h"

namespace assay {
namespace {

using ::testing::HasSubstr;

TEST(Schema, EveryCompiledInSchemaPrintsBackToItsText) {
  ASSERT_GT(all_schemas().size(), 250u);
  for (const Schema& schema : all_schemas()) EXPECT_EQ(to_string(schema), schema.text);
}

TEST(Schema, FindsByFullNameOnly) {
  ASSERT_NE(find_schema("aten::relu.default"), nullptr);
  EXPECT_EQ(find_schema("aten::relu"), nullptr);
  EXPECT_EQ(find_schema(""), nullptr);
  for (const Schema& schema : all_schemas()) EXPECT_EQ(find_schema(schema.full_name()), &schema);
}

TEST(Schema, ReadsDefaults) {
  const Schema& pool = *find_schema("aten::max_pool2d_with_indices.default");
  EXPECT_EQ(std::get<IntListArg>(*pool.find("stride")->default_value), IntListArg{});
  EXPECT_EQ(std::get<int64_t>(*pool.find("padding")->default_value), 0);
  EXPECT_EQ(pool.find("kernel_size")->type.fixed_size, 2);
  EXPECT_FALSE(pool.find("self")->default_value.has_value());

  const Schema& permutation = *find_schema("aten::randperm.default");
  EXPECT_EQ(std::get<DTypeArg>(*permutation.find("dtype")->default_value).dtype, DType::i64);
  EXPECT_TRUE(permutation.find("dtype")->keyword_only);
  EXPECT_FALSE(permutation.find("n")->keyword_only);

  EXPECT_EQ(std::get<std::string>(*find_schema("aten::gelu.default")->find("approximate")->default_value),
            "none");
  EXPECT_EQ(std::get<double>(*find_schema("aten::_pdist_forward.default")->find("p")->default_value), 2.0);
  EXPECT_EQ(std::get<double>(*find_schema("aten::leaky_relu.default")->find("negative_slope")->default_value),
            0.01);
  EXPECT_EQ(std::get<bool>(*find_schema("aten::topk.default")->find("sorted")->default_value), true);

  const Schema made = parse_schema(
      "x::y(str a='mean', MemoryFormat m=contiguous_format, ScalarType t=long, float[2] f=[1, 2.5], "
      "bool[2] b=[True, False], float g=-inf, str[] s=['a', \"b\\\"\"], Generator? q=None) -> ()");
  EXPECT_EQ(std::get<std::string>(*made.find("a")->default_value), "mean");
  EXPECT_EQ(std::get<KeywordArg>(*made.find("m")->default_value),
            (KeywordArg{"memory_format", "contiguous_format"}));
  EXPECT_EQ(std::get<DTypeArg>(*made.find("t")->default_value).dtype, DType::i64);
  EXPECT_EQ(std::get<std::vector<double>>(*made.find("f")->default_value), (std::vector<double>{1, 2.5}));
  EXPECT_EQ(std::get<std::vector<bool>>(*made.find("b")->default_value), (std::vector<bool>{true, false}));
  EXPECT_EQ(std::get<double>(*made.find("g")->default_value), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(std::get<std::vector<std::string>>(*made.find("s")->default_value),
            (std::vector<std::string>{"a", "b\""}));
  EXPECT_TRUE(std::holds_alternative<NoneArg>(*made.find("q")->default_value));
  EXPECT_EQ(to_string(made), made.text);
  EXPECT_TRUE(made.returns.empty());
}

TEST(Schema, ReadsTypesAndAliases) {
  const Schema& split = *find_schema("aten::split_with_sizes.default");
  EXPECT_EQ(split.find("self")->type.alias, "a -> *");
  EXPECT_TRUE(split.returns.at(0).list);
  EXPECT_EQ(split.returns.at(0).alias, "a");
  EXPECT_TRUE(split.find("split_sizes")->type.symbolic);

  const Schema& index = *find_schema("aten::index.Tensor");
  EXPECT_TRUE(index.find("indices")->type.optional_elements);
  EXPECT_FALSE(index.find("indices")->type.optional);

  const Schema& top = *find_schema("aten::topk.default");
  EXPECT_EQ(top.return_names, (std::vector<std::string>{"values", "indices"}));

  const Schema& in_place = *find_schema("_c10d_functional::all_reduce_coalesced_.default");
  EXPECT_EQ(in_place.find("inputs")->type.alias, "a!");
  EXPECT_TRUE(in_place.find("inputs")->type.alias_of_list);
}

struct Bad {
  const char* text;
  const char* column;
  const char* says;
};
TEST(Schema, SaysWhereAndWhy) {
  const Bad cases[] = {
      {"", "column 1", "a namespace"},
      {"aten", "column 5", "'::'"},
      {"aten::", "column 7", "an operator name"},
      {"aten::x", "column 8", "'('"},
      {"aten::x(", "column 9", "a type"},
      {"aten::x(Tensor", "column 15", "argument's name"},
      {"aten::x(Tenso self) -> ()", "column 9", "unknown type 'Tenso'"},
      {"aten::x(Tensor self, ) -> ()", "column 22", "a type"},
      {"aten::x(Tensor self, Tensor self) -> ()", "column 29", "twice"},
      {"aten::x(Tensor self, int a=1, int b) -> ()", "column 35", "without default"},
      {"aten::x(Tensor self, int a=99999999999999999999) -> ()", "column 28", "an integer"},
      {"aten::x(Tensor self, float a=1e999) -> ()", "column 30", "a double"},
      {"aten::x(Tensor self, int a=None) -> ()", "column 32", "not optional"},
      {"aten::x(Tensor self, Tensor a=0) -> ()", "column 31", "no default but None"},
      {"aten::x(Tensor self, ScalarType a=77) -> ()", "column 35", "no ScalarType"},
      {"aten::x(Tensor self, int[2] a=[1, 2, 3]) -> ()", "column 40", "3 elements"},
      {"aten::x(Tensor self, str a='b) -> ()", "column 28", "not closed"},
      {"aten::x(Tensor( self) -> ()", "column 16", "alias set"},
      {"aten::x(Tensor(a) self", "column 23", "','"},
      {"aten::x(int[0] a) -> ()", "column 13", "list size"},
      {"aten::x(int[2][2] a) -> ()", "column 15", "lists of lists"},
      {"aten::x(Tensor self, *) -> ()", "column 23", "after '*'"},
      {"aten::x(Tensor self) Tensor", "column 22", "'->'"},
      {"aten::x(Tensor self) -> Tensor trailing", "column 32", "end of the schema"},
      {"aten::x(\x01Tensor self) -> ()", "column 9", "\\x01"},
      {"aten::x(Tensor self, ...) -> ()", "column 22", "a type"},
  };
  for (const Bad& bad : cases) {
    try {
      parse_schema(bad.text);
      ADD_FAILURE() << "accepted: " << bad.text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      EXPECT_THAT(error.what(), HasSubstr(bad.column)) << bad.text;
      EXPECT_THAT(error.what(), HasSubstr(bad.says)) << bad.text;
    }
  }
}

TEST(Schema, EveryPrefixAndManyMutationsEitherParseOrThrowError) {
  std::mt19937 random(1);
  for (const Schema& schema : all_schemas()) {
    for (std::size_t n = 0; n < schema.text.size(); ++n) {
      EXPECT_THROW(parse_schema(schema.text.substr(0, n)), Error) << schema.text.substr(0, n);
      if (schema.text.substr(0, n + 1).ends_with(" Tensor") && n + 1 > schema.text.find("->")) break;
      if (schema.text.find("->") < n) break;  // a shorter return type may be legal
    }
    for (int i = 0; i < 20; ++i) {
      std::string text = schema.text;
      text[random() % text.size()] = static_cast<char>(random() % 256);
      try {
        EXPECT_EQ(parse_schema(text).text, text);
      } catch (const Error&) {
      }
    }
  }
}

TEST(Schema, RefusesEndlessText) {
  EXPECT_THROW(parse_schema("aten::x(" + std::string(1 << 20, '(')), Error);
  EXPECT_THROW(parse_schema("aten::x(Tensor " + std::string(1 << 20, 'a') + ") -> ()"), Error);
}

TEST(Schema, CheckArgumentKnowsEveryKind) {
  const auto accepts = [](const char* op, const char* argument, const Argument& value) {
    const Schema& schema = *find_schema(op);
    try {
      check_argument(schema, *schema.find(argument), value);
      return true;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(argument));
      EXPECT_THAT(error.what(), HasSubstr(op));
      return false;
    }
  };
  EXPECT_TRUE(accepts("aten::mul.Tensor", "other", ValueArg{0}));
  EXPECT_TRUE(accepts("aten::mul.Tensor", "other", 0.25));
  EXPECT_TRUE(accepts("aten::add_.Tensor", "other", int64_t{1}));
  EXPECT_FALSE(accepts("aten::add_.Tensor", "self", int64_t{1}));
  EXPECT_FALSE(accepts("aten::eq.Tensor", "other", int64_t{1}));
  EXPECT_FALSE(accepts("aten::mul.Tensor", "other", NoneArg{}));
  EXPECT_FALSE(accepts("aten::mul.Tensor", "other", ValueArg{-1}));
  EXPECT_FALSE(accepts("aten::mul.Tensor", "other", std::string("1")));
  EXPECT_TRUE(accepts("aten::linear.default", "bias", NoneArg{}));
  EXPECT_TRUE(accepts("aten::cat.default", "tensors", ValueListArg{{0, 1}}));
  EXPECT_FALSE(accepts("aten::cat.default", "tensors", ValueListArg{{0, -1}}));
  EXPECT_TRUE(accepts("aten::index.Tensor", "indices", ValueListArg{{0, -1}}));
  EXPECT_TRUE(accepts("aten::add.Tensor", "alpha", int64_t{2}));
  EXPECT_TRUE(accepts("aten::add.Tensor", "alpha", true));
  EXPECT_TRUE(accepts("aten::add.Tensor", "alpha", ValueArg{3}));
  EXPECT_FALSE(accepts("aten::add.Tensor", "alpha", NoneArg{}));
  EXPECT_TRUE(accepts("aten::view.default", "size", IntListArg{{0, 3}, {5, -1}}));
  EXPECT_FALSE(accepts("aten::view.default", "size", IntListArg{{0, 3}, {5}}));
  EXPECT_FALSE(accepts("aten::view.default", "size", int64_t{3}));
  EXPECT_FALSE(accepts("aten::permute.default", "dims", IntListArg{{0, 3}, {5, -1}}));
  EXPECT_TRUE(accepts("aten::avg_pool2d.default", "padding", int64_t{3}));
  EXPECT_FALSE(accepts("aten::avg_pool2d.default", "padding", 3.0));
  EXPECT_TRUE(accepts("aten::select.int", "index", ValueArg{3}));
  EXPECT_FALSE(accepts("aten::select.int", "dim", ValueArg{3}));
  EXPECT_TRUE(accepts("aten::_to_copy.default", "dtype", DTypeArg{DType::f32}));
  EXPECT_FALSE(accepts("aten::_to_copy.default", "dtype", int64_t{6}));
  EXPECT_TRUE(accepts("aten::_to_copy.default", "device", KeywordArg{"device", "{}"}));
  EXPECT_FALSE(accepts("aten::_to_copy.default", "device", KeywordArg{"layout", "7"}));
  EXPECT_TRUE(accepts("aten::gelu.default", "approximate", std::string("tanh")));
  EXPECT_TRUE(
      accepts("aten::convolution_backward.default", "output_mask", std::vector<bool>{true, false, true}));
  EXPECT_TRUE(accepts("aten::upsample_nearest2d.vec", "scale_factors", std::vector<double>{2, 2}));
  EXPECT_FALSE(accepts("aten::upsample_nearest2d.vec", "scale_factors", std::string("2")));
}

}  // namespace
}  // namespace assay
