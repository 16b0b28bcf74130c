// Draws: enough numbers for tests of their distribution, and the ends of the parameters' ranges.
#include "suites/ops/generate/facts.h"

namespace assay::suites {
namespace {

constexpr unsigned kPlain = kNoEdges;

constexpr OpFacts kDraws[] = {
    {"aten::rand.default",
     "size=[4096] dtype=T | size=[64,65] dtype=T | size=[] dtype=T | size=[0,3] dtype=T",
     {},
     kPlain},
    {"aten::rand_like.default", "self[64,65] | self[3,1,7]", {}, kPlain},
    {"aten::randn.default", "size=[4096] dtype=T | size=[64,65] dtype=T | size=[] dtype=T", {}, kPlain},
    {"aten::randn_like.default", "self[64,65] | self[3,1,7]", {}, kPlain},
    {"aten::uniform.default",
     "self[64,65] | self[64,65] from=-3.0 to=5.0 | self[7] from=2.0 to=2.0",
     {},
     kPlain},
    {"aten::normal_functional.default",
     "self[64,65] | self[64,65] mean=2.0 std=0.5 | self[7] mean=2.0 std=0.0",
     {},
     kPlain},
    {"aten::normal.Tensor_Tensor",
     "mean[64,65] std[64,65]~1,0.5 | mean[4096] std[4096]~1,0.5 | mean[2,1,700] std[2,1,700]~1,0.5",
     {0, 2},
     kPlain,
     "",
     "f16 bf16 f32 f64"},
    {"aten::normal.Tensor_float",
     "mean[64,65] std=0.5 | mean[7] std=0.0",
     {0, 2},
     kPlain,
     "",
     "f16 bf16 f32 f64"},
    {"aten::normal.float_Tensor",
     "mean=2.0 std[64,65]~1,0.5 | mean=-3.0 std[4096]~1,0.5 | mean=0.0 std[2,1,700]~1,0.5",
     {1, 0.5},
     kPlain,
     "",
     "f16 bf16 f32 f64"},
    {"aten::exponential.default",
     "self[64,65] | self[64,65] lambd=2.5 | self[4096] lambd=0.5 | self[2,1,700]",
     {},
     kPlain},
    {"aten::cauchy.default",
     "self[64,65] | self[64,65] median=1.0 sigma=0.5 | self[4096] median=-2.0 sigma=3.0 | self[2,1,700]",
     {},
     kPlain},
    {"aten::log_normal.default",
     "self[64,65] | self[64,65] mean=0.0 std=0.5 | self[4096] mean=1.0 std=0.25",
     {},
     kPlain},
    {"aten::geometric.default",
     "self[64,65] p=0.25 | self[64,65] p=0.9 | self[4096] p=0.5",
     {},
     kPlain,
     "",
     "f16 bf16 f32 f64 i32 i64"},
    {"aten::randint.default",
     "high=10 size=[64,65] | high=1 size=[7] | high=1000000 size=[4096] | high=2 size=[2,1,700] | high=17 "
     "size=[1000] | high=5 size=[]",
     {},
     kPlain},
    {"aten::randint.low",
     "low=-3 high=14 size=[64,65] | low=5 high=6 size=[7] | low=0 high=2 size=[4096] | low=-1000 high=-10 "
     "size=[2,1,700] | low=-1 high=1 size=[1000] | low=3 high=9 size=[]",
     {},
     kPlain},
    {"aten::randint_like.default", "self[64,65] high=100", {}, kPlain, "", "u8 i16 i32 i64 f32"},
    {"aten::randint_like.low_dtype", "self[64,65] low=-3 high=14", {}, kPlain, "", "i8 i16 i32 i64 f32"},
    // 200 numbers are whole in every dtype; of 1000 there is no permutation in bf16.
    {"aten::randperm.default", "n=200 | n=1000 | n=1 | n=0 | n=64", {}, kPlain},
    {"aten::bernoulli.default", "self[64,65] | self[4]{0,1,0,1} | self[4096]", {0.5, 0.5}, kPlain},
    {"aten::bernoulli.p", "self[64,65] p=0.3 | self[7] p=0.0 | self[7] p=1.0", {}, kPlain},
    {"aten::bernoulli.Tensor", "self[64,65] p[65]:f32~0.5,0.5", {0.5, 0.5}, kPlain},
    {"aten::multinomial.default",
     "self[8] num_samples=4000 replacement=true | self[500,6] num_samples=3 | self[4]{1,2,0,5} "
     "num_samples=2000 replacement=true",
     {2, 1.5},
     kPlain},
    {"aten::native_dropout.default",
     "input[64,65] p=0.3 train=true | input[64,65] p=0.5 train=true | input[7,9] p=0.0 train=true | "
     "input[7,9] p=1.0 train=true | input[7,9] p=0.5 train=false",
     {3, 1},
     kPlain},
};

}  // namespace

void register_random(FactTable& table) { table.add(kDraws); }

}  // namespace assay::suites
