#include "harness/worker/rank_messages.h"

#include <map>
#include <utility>

#include "core/graph/json.h"
#include "harness/worker/message_fields.h"

namespace assay {
namespace {

std::vector<int64_t> integers_from(const Fields& fields, const char* member) {
  std::vector<int64_t> out;
  for (const MessageValue entry : fields.array(member)) {
    if (!entry.is_number_integer()) fields.fail(member, "integers");
    out.push_back(entry.integer());
  }
  return out;
}

}  // namespace

PackedMap packed(const RankPrograms& programs) {
  // Ranks that share a program share its text.
  std::map<const Graph*, std::size_t> known;
  PackedArray texts, program_of, faults;
  for (const auto& graph : programs.graphs) {
    const auto [entry, first] = known.try_emplace(graph.get(), known.size());
    if (first) texts.push_back(graph_to_json(*graph));
    program_of.push_back(entry->second);
  }
  PackedMap groups;
  for (const auto& [name, ranks] : programs.groups.groups) groups.set(name, ranks);
  for (const RankFault& fault : programs.faults) {
    faults.push_back(
        PackedMap{{"rank", fault.rank}, {"stands_still", fault.stands_still}, {"node", fault.node}});
  }
  return {{"programs", texts}, {"program_of", program_of}, {"groups", groups}, {"faults", faults}};
}

RankPrograms rank_programs_from(const Fields& fields) {
  RankPrograms programs;
  std::vector<std::shared_ptr<const Graph>> graphs;
  for (const std::string& text : fields.texts("programs")) {
    graphs.push_back(std::make_shared<const Graph>(graph_from_json_unchecked(text, "program of a rank")));
  }
  for (const int64_t number : integers_from(fields, "program_of")) {
    if (number < 0 || static_cast<std::size_t>(number) >= graphs.size() ||
        programs.graphs.size() >= static_cast<std::size_t>(kMaxRanks)) {
      fields.fail("program_of", "numbers of programs, one for each rank");
    }
    programs.graphs.push_back(graphs[static_cast<std::size_t>(number)]);
  }
  programs.groups.world_size = static_cast<int>(programs.graphs.size());
  for (const auto& [name, ranks] : fields.at("groups").members()) {
    if (!ranks.is_array()) fields.fail("groups", "lists of ranks");
    std::vector<int>& members =
        programs.groups.groups[std::string(name)];  // a group without ranks is one to refuse
    for (const MessageValue rank : ranks) {
      if (!rank.is_number_integer()) fields.fail("groups", "lists of ranks");
      members.push_back(static_cast<int>(rank.integer()));
    }
  }
  for (const MessageValue entry : fields.array("faults")) {
    const Fields fault(entry, fields.place() + ": faults");
    programs.faults.push_back({static_cast<int>(fault.integer("rank", 0, kMaxRanks)),
                               fault.boolean("stands_still"),
                               static_cast<int>(fault.integer("node", 0, 1 << 30))});
  }
  return programs;
}

PackedMap packed(const Traffic& traffic) {
  return {{"algorithm", traffic.algorithm},
          {"sent", traffic.sent},
          {"received", traffic.received},
          {"formula", traffic.formula}};
}

Traffic traffic_from(const Fields& fields) {
  return {fields.text("algorithm"), integers_from(fields, "sent"), integers_from(fields, "received"),
          fields.integer("formula")};
}

}  // namespace assay
