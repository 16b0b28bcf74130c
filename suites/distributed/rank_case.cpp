#include "suites/distributed/rank_case.h"

#include <utility>

#include <fmt/format.h>

#include "core/error.h"

namespace assay::suites {

RankCase::RankCase(int ranks, const std::string& name) {
  case_.id = fmt::format("distributed/n{}/{}", ranks, name);
  case_.suite = "distributed";
  case_.subject = name.substr(0, name.find('/'));
  case_.world_size = ranks;
  groups_.world_size = ranks;
  for (int r = 0; r < ranks; ++r) {
    programs_.emplace_back(fmt::format("{}#{}", case_.id, r));
    world_.push_back(r);
  }
}

void RankCase::group(const std::string& name, std::vector<int> members) {
  groups_.groups[name] = std::move(members);
}

const std::vector<int>& RankCase::members(const std::string& name) const {
  return name == "world" ? world_ : groups_.groups.at(name);
}

ValueId RankCase::input(int rank, const std::string& name, TensorRecipe recipe) {
  const ValueId id = at(rank).input(name, recipe.dtype, recipe.shape);
  case_.inputs[name_at_rank(rank, name)] = std::move(recipe);
  return id;
}

ValueId RankCase::fixed(int rank, const std::string& name, const Tensor& tensor) {
  return input(rank, name, {tensor.dtype(), tensor.shape(), tensor});
}

ValueId RankCase::draw(int rank, const std::string& name, DType dtype, const Shape& shape, double center,
                       double scale) {
  return input(rank, name, {dtype, shape, UniformDraw{center, scale}});
}

ValueId RankCase::integers(int rank, const std::string& name, DType dtype, const Shape& shape, int64_t low,
                           int64_t high) {
  return input(rank, name, {dtype, shape, IntegerDraw{low, high}});
}

ValueId RankCase::call(int rank, const std::string& op, std::vector<NamedArgument> arguments,
                       const std::string& line) {
  return wait(rank, at(rank).call(op, std::move(arguments), {line, ""}));
}

ValueId RankCase::wait(int rank, ValueId id) {
  return at(rank).call("_c10d_functional::wait_tensor.default", {{"tensor", ValueArg{id}}});
}

ValueId RankCase::declared(int rank, const std::string& op, std::vector<NamedArgument> arguments,
                           const TensorMeta& result) {
  return at(rank).declared_node(op, std::move(arguments), {result}).at(0);
}

void RankCase::barrier(int rank, const std::string& group) {
  at(rank).node("assay::barrier.default", {{"group_name", group}});
}

void RankCase::program(int rank, Graph graph) {
  for (const GraphInput& input : graph.inputs) {
    const Value& value = graph.values.at(static_cast<std::size_t>(input.value));
    case_.inputs[name_at_rank(rank, input.target)] = {value.dtype, value.shape, UniformDraw{0, 1}};
  }
  programs_.at(static_cast<std::size_t>(rank)) = GraphBuilder(std::move(graph));
}

void RankCase::dies(int rank) {
  faults_.push_back({rank, false, static_cast<int>(at(rank).graph().nodes.size())});
}
void RankCase::stops(int rank) {
  faults_.push_back({rank, true, static_cast<int>(at(rank).graph().nodes.size())});
}

Case RankCase::finish(bool checked) {
  auto programs = std::make_shared<RankPrograms>();
  programs->groups = groups_;
  programs->faults = faults_;
  for (GraphBuilder& builder : programs_) {
    programs->graphs.push_back(
        std::make_shared<const Graph>(checked ? builder.build() : builder.build_unchecked()));
  }
  JoinedGraph joined = join(*programs, case_.id);
  if (checked) {
    if (!joined.fits()) throw Error(ErrorCode::internal, case_.id + ": " + joined.errors.front());
    validate(joined.graph);
  }
  // A case of one collective is one of its operator.
  if (joined.fits() && joined.graph.nodes.size() == 1) case_.subject = joined.graph.nodes[0].op;
  case_.graph = std::make_shared<const Graph>(joined.fits() ? std::move(joined.graph)
                                                            : inputs_of_ranks(*programs, case_.id));
  case_.ranks = std::move(programs);
  return std::move(case_);
}

Case RankCase::build() { return finish(true); }

Case RankCase::refused(std::vector<std::string> mentions) {
  case_.checks.negative = true;
  case_.checks.ranks = ranks();
  case_.checks.rank_mentions = std::move(mentions);
  return finish(false);
}

}  // namespace assay::suites
