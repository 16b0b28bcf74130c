#include "core/graph/source_link.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(SourceLocation, TakesTheInnermostFrameThatIsNotPyTorch) {
  const char* trace =
      "File \"/home/me/project/model.py\", line 11, in forward\n    y = self.linear(x)\n"
      "  File \"/usr/lib/python3.11/site-packages/torch/nn/modules/linear.py\", line 134, in forward\n    "
      "return F";
  EXPECT_EQ(source_location(trace), "project/model.py:11");
}

TEST(SourceLocation, ShortensInstalledPackages) {
  EXPECT_EQ(source_location(
                "File \"/x/site-packages/transformers/models/llama/modeling_llama.py\", line 370, in f"),
            "transformers/models/llama/modeling_llama.py:370");
  EXPECT_EQ(source_location("File \"C:\\py\\site-packages\\timm\\vit.py\", line 3, in f"), "timm/vit.py:3");
}

TEST(SourceLocation, FallsBackToPyTorchsOwnFrame) {
  EXPECT_EQ(source_location("File \"/x/site-packages/torch/nn/modules/sparse.py\", line 189, in forward"),
            "torch/nn/modules/sparse.py:189");
  EXPECT_EQ(source_location("File \"torch/fx/passes/runtime_assert.py\", line 24, in f"),
            "torch/fx/passes/runtime_assert.py:24");
}

TEST(SourceLocation, KeepsCatalogueText) {
  EXPECT_EQ(source_location("transformers/models/llama/modeling_llama.py:370"),
            "transformers/models/llama/modeling_llama.py:370");
  EXPECT_EQ(source_location(""), "");
}

TEST(SourceLocation, SurvivesRubbish) {
  EXPECT_EQ(source_location("File \"unterminated"), "File \"unterminated");
  EXPECT_EQ(source_location("File \"a.py\", line "), "File \"a.py\", line ");
  EXPECT_LE(source_location(std::string(100'000, 'x')).size(), 512u);
}

TEST(ModulePath, TakesTheLastPath) {
  EXPECT_EQ(module_path("L__self__,,m.M;L__self___layers_0,layers.0,m.Layer"), "layers.0");
  EXPECT_EQ(module_path("L__self__,,m.M"), "");
  EXPECT_EQ(module_path("model.layers.0"), "model.layers.0");
  EXPECT_EQ(
      module_path("_empty_nn_module_stack_from_metadata_hook,_empty_nn_module_stack_from_metadata_hook,x"),
      "");
  EXPECT_EQ(module_path("?,_empty_nn_module_stack_from_metadata_hook,x"), "");  // else read otherwise again
}

}  // namespace
}  // namespace assay
