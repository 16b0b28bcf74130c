// Newton-Schulz iterations on shapes around and beyond one tile, against the reference.
#include <random>

#include "backend/kernels/against_reference_test.h"

namespace assay::backend {
namespace {

using reference::Wide;

void check_muon(const Shape& shape, DType dtype, int64_t steps, Generation generation) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> draw(-1, 1);
  std::vector<double> values(static_cast<std::size_t>(element_count(shape)));
  for (double& v : values) v = draw(random);
  const Wide x = Wide::from(Tensor::from_doubles(dtype, shape, values));
  const std::vector<TensorMeta> metas{{dtype, shape}};
  const std::vector<NamedArgument> arguments{{"self", ValueArg{0}}, {"steps", steps}};
  const std::string op = "assay::muon_orthogonalize.default";
  SCOPED_TRACE(assay::to_string(shape));
  check_call(OpCall(op, metas, arguments, *infer(OpCall(op, metas, arguments))), {&x}, generation);
}

TEST(MuonKernel, TilesAndTails) {
  for (const Shape& shape : {Shape{1, 1}, Shape{1, 70}, Shape{129, 129}, Shape{140, 260}, Shape{260, 140}}) {
    for (const DType dtype : {DType::f32, DType::bf16}) check_muon(shape, dtype, 2, Generation::trn2);
  }
  check_muon({40, 30}, DType::f16, 5, Generation::trn2);
  check_muon({40, 30}, DType::f32, 0, Generation::trn2);  // nothing to multiply: decomposed
}

TEST(MuonKernel, OtherGenerations) {
  for (const Generation generation : {Generation::trn1, Generation::trn3}) {
    check_muon({130, 150}, DType::bf16, 1, generation);
    check_muon({150, 130}, DType::f32, 1, generation);
  }
}

}  // namespace
}  // namespace assay::backend
