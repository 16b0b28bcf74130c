// Cases from a catalogue table (sweeps/catalogue/architectures.csv).
#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "core/decompose/decompose.h"
#include "core/error.h"
#include "core/io/model.h"
#include "core/io/safetensors.h"
#include "core/philox.h"
#include "sweeps/csv.h"
#include "sweeps/sources.h"

namespace assay::sweeps {
namespace {

namespace fs = std::filesystem;

// A path of the table, relative to the table's folder. It may not leave that folder.
std::string inside(const fs::path& folder, const std::string& relative, const std::string& place) {
  const fs::path path(relative);
  bool leaves = path.is_absolute();
  for (const auto& part : path) leaves = leaves || part == "..";
  if (leaves || relative.empty()) {
    throw Error(ErrorCode::malformed_file,
                place + ": '" + relative + "' is no path below the table's folder");
  }
  return (folder / path).string();
}

// Drawn weights follow from names and recipes, constants are stored: what counts is what they came to.
std::string key_of(const std::map<std::string, Tensor>& weights) {
  std::string key = "weights";
  for (const auto& [name, tensor] : weights) {
    const Tensor packed = tensor.contiguous();
    const std::string_view bytes(reinterpret_cast<const char*>(packed.data()), packed.bytes());
    key += fmt::format(" {}:{}{}:{:016x}", name, name_of(packed.dtype()), to_string(packed.shape()),
                       fnv1a64(bytes));
  }
  return fmt::format("{:016x}{:016x}", fnv1a64(key), fnv1a64(key + " again"));
}

Case catalogue_case(const CsvRow& row, const fs::path& folder, const std::string& place) {
  Case c;
  c.id = "models/" + row.at("id");
  c.suite = "models";
  c.subject = row.at("model").empty() ? row.at("id") : row.at("model");
  try {
    c.file = inside(folder, row.at("file"), place);
    Model model = read_model(c.file);
    decompose(model.graph);  // into operators that backends run
    c.graph = std::make_shared<const Graph>(std::move(model.graph));
    c.inputs = std::move(model.inputs);
    c.load_weights = [file = c.file] { return read_model(file).weights; };
    c.weights_key = key_of(model.weights);
    if (!row.at("golden").empty()) c.golden = inside(folder, row.at("golden"), place);
  } catch (const Error& error) {
    set_graph_error(c, error);
  }
  return c;
}

}  // namespace

Source read_catalogue(const std::string& csv_path) {
  const fs::path folder = fs::path(csv_path).parent_path();
  Source source;
  std::set<std::string> seen;
  for (const CsvRow& row : read_csv(csv_path, {"id", "file"})) {
    const std::string place = csv_path + ": row " + std::to_string(row.line);
    const std::string& id = row.at("id");
    if (id.empty()) throw Error(ErrorCode::malformed_file, place + ": the id is empty");
    if (!seen.insert(id).second)
      throw Error(ErrorCode::malformed_file, place + ": id '" + id + "' stands there twice");
    source.cases.push_back(catalogue_case(row, folder, place));
  }
  const fs::path missing = folder / "not_exported.csv";
  if (fs::exists(missing)) {
    for (const CsvRow& row : read_csv(missing.string(), {"id", "reason"})) {
      source.not_exported.push_back(
          {row.at("id"), row.at("kind"), row.at("model"), row.at("attention"), row.at("reason")});
    }
  }
  return source;
}

}  // namespace assay::sweeps
