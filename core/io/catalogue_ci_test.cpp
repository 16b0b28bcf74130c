#include <gtest/gtest.h>

#include <filesystem>

#include "core/graph/json.h"
#include "core/io/input_ranges.h"
#include "core/io/model.h"

namespace assay {
namespace {

// Every committed model reads, keeps its shape rules, and survives the writer.
TEST(Catalogue, ReadsEveryCommittedModel) {
  const std::filesystem::path folder = std::string(ASSAY_SOURCE_DIR) + "/sweeps/catalogue/models";
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const Model model = read_model(entry.path());
    const std::string text = graph_to_json(model.graph);
    EXPECT_EQ(graph_to_json(graph_from_json(text, entry.path())), text) << entry.path();
    for (const auto& [name, recipe] : default_input_recipes(model)) {
      const TensorRecipe& given = model.inputs.at(name);
      ASSERT_EQ(recipe.source.index(), given.source.index()) << entry.path() << ' ' << name;
      if (const auto* draw = std::get_if<IntegerDraw>(&given.source)) {
        // Never wider than what the exporter knew to be right.
        EXPECT_GE(std::get<IntegerDraw>(recipe.source).low, draw->low) << entry.path() << ' ' << name;
        EXPECT_LE(std::get<IntegerDraw>(recipe.source).high, draw->high) << entry.path() << ' ' << name;
      }
    }
    ++count;
  }
  EXPECT_GE(count, 24);
}

}  // namespace
}  // namespace assay
