// Where model cases come from: a catalogue, a folder of `.pt2` files, one `.pt2` file, a pack. A sweep only
// makes cases.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/case/case.h"

namespace assay::sweeps {

struct Source {
  std::vector<Case> cases;
  std::vector<NotExported> not_exported;
};

// Throws Error if the table itself cannot be used. A row whose model file is missing or malformed becomes a
// case with `graph_error`. Ids are "models/ID".
Source read_catalogue(const std::string& csv_path);

// Models of a catalogue that are in f32, in another floating dtype (core/graph/float_dtype.h), their weights
// rounded once: "models-DTYPE/ID". Golden files do not apply. A model that cannot be had so becomes a case
// with `graph_error`.
std::vector<Case> in_float_dtype(std::vector<Case> cases, DType dtype);

// One `.pt2` or catalogue file; id: file name without suffix. `inputs` and `expected` are safetensors paths,
// or NAME.in.safetensors and NAME.out.safetensors beside the file where these exist. Throws Error if anything
// is malformed.
Case read_model_file(const std::string& path, const std::optional<std::string>& inputs = {},
                     const std::optional<std::string>& expected = {});

// Every NAME.pt2 below the folder, sorted; id: relative path without suffix. Malformed files become cases
// with `graph_error`. Throws Error{io} if the folder cannot be read.
std::vector<Case> read_model_folder(const std::string& folder);

// A pack (core/io/pack.h) by its name: NAME.jsonl.zst.
bool is_pack(const std::string& path);

// Every model of a pack, judged by the outputs stored in it; id: the pack's. Models that cannot be read
// become cases with `graph_error`. Throws Error if the pack itself cannot be.
std::vector<Case> read_pack_file(const std::string& path);

}  // namespace assay::sweeps
