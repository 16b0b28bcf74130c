// What distributed cases add to the messages of a worker (docs/worker_protocol.md, "Ranks").
#pragma once

#include <optional>
#include <string>

#include "core/distributed/join.h"
#include "core/distributed/traffic.h"
#include "harness/worker/message_pack.h"

namespace assay {

class Fields;

PackedMap packed(const RankPrograms& programs);
PackedMap packed(const Traffic& traffic);
// Throw Error{malformed_file} naming place and member; programs are read without being validated, since those
// of bad input must reach the backend.
RankPrograms rank_programs_from(const Fields& fields);
Traffic traffic_from(const Fields& fields);

}  // namespace assay
