#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "core/error.h"
#include "core/graph/symbolic_expression.h"
#include "core/graph/symbolic_function.h"

namespace assay {
namespace {

using testing::ElementsAre;

std::string infix(std::string_view text) { return to_string(parse_expression(text)); }

std::optional<int64_t> value(std::string_view text, const std::map<std::string, int64_t>& symbols = {}) {
  return evaluate(parse_expression(text), symbols);
}

TEST(SymbolicExpression, ReadsWhatPyTorchWrites) {
  EXPECT_EQ(infix("Symbol('s58', positive=True, integer=True)"), "s58");
  EXPECT_EQ(infix("Add(Mul(Integer(2), Symbol('s58', positive=True, integer=True)), Integer(1))"),
            "2*s58 + 1");
  EXPECT_EQ(infix("FloorDiv(Symbol('s58', positive=True, integer=True), Integer(2))"), "s58//2");
  EXPECT_EQ(infix("Mul(Integer(-1), FloorDiv(Add(Symbol('u0', integer=True), Integer(-3)), Integer(2)))"),
            "-1*((u0 + -3)//2)");
  EXPECT_EQ(infix("Max(Integer(1), Symbol('s0', integer=True))"), "Max(1, s0)");
}

TEST(SymbolicExpression, BothFormsReadBackEqual) {
  for (const char* text :
       {"s0", "2*s0 + 1", "s77//2", "(s0 + 1)*(s1 + -2)", "s0//(s1//2)", "(s0//s1)//2", "2*(s0//3)",
        "s0**2 + s1**(s0 + 1)", "Max(1, s0, Min(s1, 3))", "Mod(s0, 4)", "-3", "(-3)**2"}) {
    const std::string once = infix(text);
    EXPECT_EQ(infix(once), once) << text;
    EXPECT_EQ(infix(to_srepr(parse_expression(text))), once) << text;
    const std::map<std::string, int64_t> symbols{{"s0", 13}, {"s1", 5}, {"s77", 9}};
    EXPECT_EQ(value(text, symbols), value(once, symbols)) << text;
    EXPECT_EQ(value(text, symbols), value(to_srepr(parse_expression(text)), symbols)) << text;
  }
}

TEST(SymbolicExpression, EvaluatesAsPythonDoes) {
  EXPECT_EQ(value("s77 // 2", {{"s77", 7}}), 3);
  EXPECT_EQ(value("-7 // 2"), -4);
  EXPECT_EQ(value("-7 % 3"), 2);
  EXPECT_EQ(value("7 % -3"), -2);
  EXPECT_EQ(value("2*s0 + 1 - s1", {{"s0", 4}, {"s1", 10}}), -1);
  EXPECT_EQ(value("2**10"), 1024);
  EXPECT_EQ(value("CeilDiv(7, 2)"), 4);
  EXPECT_EQ(value("TruncToInt(IntTrueDiv(8, 2))"), 4);
  EXPECT_EQ(value("ModularIndexing(17, 3, 4)"), 1);
  EXPECT_EQ(value("Eq(s0, 3)", {{"s0", 3}}), 1);
}

TEST(SymbolicExpression, SaysWhenThereIsNoValue) {
  EXPECT_EQ(value("s0"), std::nullopt);
  EXPECT_EQ(value("s0 // 0", {{"s0", 3}}), std::nullopt);
  EXPECT_EQ(value("IntTrueDiv(7, 2)"), std::nullopt);
  EXPECT_EQ(value("Unheard(7, 2)"), std::nullopt);
  EXPECT_EQ(value("9223372036854775807 + 1"), std::nullopt);
  EXPECT_EQ(value("s0*s0", {{"s0", int64_t{1} << 40}}), std::nullopt);
  EXPECT_EQ(value("10**100"), std::nullopt);
}

TEST(SymbolicExpression, RefusesWhatIsNoExpression) {
  std::string deep = std::string(5000, '(') + "1" + std::string(5000, ')');
  std::string chain = "s0";
  for (int i = 0; i < 5000; ++i) chain += "//2";
  for (const std::string& text :
       {std::string(), std::string("s0 +"), std::string("(s0"), std::string("1 2"), std::string("Symbol(s0)"),
        std::string("99999999999999999999"), std::string("a;b"), std::string("\xff"), deep, chain,
        std::string(70000, '1')}) {
    EXPECT_THROW(parse_expression(text), Error) << text.substr(0, 40);
  }
}

TEST(SymbolicExpression, CollectsSymbolsOnce) {
  std::vector<std::string> names;
  collect_symbols(parse_expression("s1*s0 + s1"), names);
  EXPECT_THAT(names, ElementsAre("s1", "s0"));
}

Scalar i(int64_t v) { return {Scalar::Kind::integer, v, static_cast<double>(v)}; }
Scalar f(double v) { return {Scalar::Kind::floating, 0, v}; }

TEST(SymbolicFunction, FollowsPython) {
  EXPECT_EQ(evaluate_symbolic("_operator::add", {i(2), i(3)})->i, 5);
  EXPECT_EQ(evaluate_symbolic("_operator::floordiv", {i(-7), i(2)})->i, -4);
  EXPECT_EQ(evaluate_symbolic("_operator::mod", {i(-7), i(3)})->i, 2);
  EXPECT_EQ(evaluate_symbolic("_operator::mod", {f(-7), f(3)})->f, 2.0);
  EXPECT_EQ(evaluate_symbolic("_operator::truediv", {i(1), i(4)})->f, 0.25);
  EXPECT_EQ(evaluate_symbolic("_operator::mul", {i(2), f(0.5)})->kind, Scalar::Kind::floating);
  EXPECT_EQ(evaluate_symbolic("_operator::ge", {i(2), i(2)})->i, 1);
  EXPECT_EQ(evaluate_symbolic("_operator::ge", {i(2), i(2)})->kind, Scalar::Kind::boolean);
  EXPECT_EQ(evaluate_symbolic("math::trunc", {f(-2.7)})->i, -2);
  EXPECT_EQ(evaluate_symbolic("torch::sym_ite", {i(0), i(1), i(2)})->i, 2);
  EXPECT_EQ(evaluate_symbolic("torch::sym_max", {i(4), i(9)})->i, 9);
  EXPECT_EQ(evaluate_symbolic("_operator::pow", {i(3), i(4)})->i, 81);
}

TEST(SymbolicFunction, SaysWhenThereIsNoValue) {
  EXPECT_FALSE(evaluate_symbolic("_operator::floordiv", {i(1), i(0)}));
  EXPECT_FALSE(evaluate_symbolic("_operator::add", {i(1)}));
  EXPECT_FALSE(evaluate_symbolic("_operator::add", {i(std::numeric_limits<int64_t>::max()), i(1)}));
  EXPECT_FALSE(evaluate_symbolic("_operator::neg", {i(std::numeric_limits<int64_t>::min())}));
  EXPECT_FALSE(evaluate_symbolic("_operator::matmul", {i(1), i(1)}));
  EXPECT_FALSE(evaluate_symbolic("math::trunc", {f(1e300)}));
  EXPECT_FALSE(is_symbolic_function("aten::add.Tensor"));
}

}  // namespace
}  // namespace assay
