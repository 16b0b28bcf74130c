// Which single operators a backend need not compute.
#pragma once

#include <optional>
#include <string>

#include "harness/case/case.h"
#include "harness/record/record.h"
#include "harness/worker/locate.h"

namespace assay {

// A backend that says of a suite's single operator that its numbers are of a kind which it does not have
// (64-bit floats, complex numbers, shapes that depend on data) is not concerned by the case: returns that
// reason. So is a backend without a kernel for an operator that a device need not have
// (core/opset/required.h), provided that the harness ran it on the host: "optional_operator"; and a
// generation of the simulated device without the case's kind of 8-bit floats: "dtype". The reference has no
// such excuse. Backends other than Assay's own may also lack a dtype or refuse the value of an
// argument (x / 0 on integers); for Assay's own that stays `unsupported`, a failure. nullopt for every other
// record, and for models and users' files.
std::optional<std::string> ineligible(const Case& c, const Record& record, const BackendSpec& backend);

}  // namespace assay
