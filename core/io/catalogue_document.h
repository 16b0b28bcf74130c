// The object "assay" that stands beside a graph in a catalogue file (sweeps/export/weights.md).
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/graph/json_cursor.h"
#include "core/io/model.h"

namespace assay {

// All methods throw Error{malformed_file, unknown_operator, unsupported} naming `origin` and the place.
// Document and origin must outlive the object.
class CatalogueDocument {
 public:
  CatalogueDocument(const nlohmann::json& document, const std::string& origin);

  Model model();  // weights materialised, recipes for all user inputs
  std::string id() const;
  // Stored outputs by the names that expected files use (INTERFACE §4), complex ones as pairs in a last dim
  // of 2; `graph` is the model's.
  std::map<std::string, Tensor> expected(const Graph& graph);

 private:
  TensorRecipe read_recipe(const JsonCursor& entry);
  Tensor read_data(const JsonCursor& data, const TensorRecipe& recipe, uint64_t bytes);
  void read_weights(Model& model);
  void read_inputs(Model& model);

  const nlohmann::json& document_;
  const std::string& origin_;
  JsonCursor assay_;
  uint64_t total_ = 0;  // bytes of all tensors so far
};

}  // namespace assay
