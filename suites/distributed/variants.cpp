// The other forms in which exported programs have collectives: in place, coalesced, into a given tensor, and
// those that autograd records. Each must be what the plain calls give, also to those who read a tensor that
// was written to.
#include <fmt/format.h>

#include "suites/distributed/families.h"

namespace assay::suites {
namespace {

using Arguments = std::vector<NamedArgument>;

constexpr const char* kSpaceOfPlain = "_c10d_functional::";

struct VariantCase {
  RankCase c;
  int n;

  VariantCase(int ranks, const std::string& name) : c(ranks, fmt::format("variants/{}", name)), n(ranks) {
    c.checks().exact_probe = true;
  }
  ValueId small(int rank, const std::string& name, DType dtype, const Shape& shape) {
    return c.integers(rank, name, dtype, shape, -3, 4);
  }
  // A tensor that the program made: no input is written to.
  ValueId made(int rank, const std::string& name, DType dtype, const Shape& shape) {
    return c.at(rank).call("aten::neg.default", {{"self", ValueArg{small(rank, name, dtype, shape)}}});
  }
  std::vector<ValueId> call(int rank, const std::string& op, Arguments arguments) {
    arguments.push_back({"group_name", std::string("world")});
    return c.at(rank).node(op, std::move(arguments));
  }
  // Waits for all, and gives them back.
  void waited(int rank, const std::vector<ValueId>& results) {
    for (const ValueId id : results) {
      c.output(rank, c.wait(rank, id));
    }
  }
  void read_again(int rank, ValueId id) {
    c.output(rank, c.at(rank).call("aten::neg.default", {{"self", ValueArg{id}}}));
  }
};

Arguments size_of_group(int n) { return {{"group_size", int64_t{n}}}; }
Arguments reduction(Arguments more = {}) {
  Arguments all{{"reduce_op", std::string("sum")}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}
Arguments joined(NamedArgument first, const Arguments& rest) {
  Arguments all{std::move(first)};
  all.insert(all.end(), rest.begin(), rest.end());
  return all;
}

// all_reduce_ and broadcast_: the result, and what the written tensor holds for later readers.
void in_place(int n, DType dtype, const CaseSink& sink) {
  for (const bool reduces : {true, false}) {
    VariantCase v(n, fmt::format("{}/{}", reduces ? "all_reduce_" : "broadcast_", name_of(dtype)));
    for (int r = 0; r < n; ++r) {
      const ValueId x = v.made(r, "x", dtype, {7, 5});
      const std::string op = kSpaceOfPlain + std::string(reduces ? "all_reduce_" : "broadcast_") + ".default";
      v.waited(r, v.call(r, op,
                         joined({"input", ValueArg{x}},
                                reduces ? reduction() : Arguments{{"src", int64_t{n - 1}}})));
      v.read_again(r, x);
    }
    sink(v.c.build());
  }
}

// Lists of tensors of several sizes, one of them without elements.
void coalesced(int n, DType dtype, const CaseSink& sink) {
  struct Form {
    const char* name;
    bool by_rows, in_place;  // by_rows: the first size is a multiple of n
    Arguments arguments;
  };
  const Form forms[] = {{"all_reduce_coalesced", false, false, reduction()},
                        {"all_reduce_coalesced_", false, true, reduction()},
                        {"all_gather_into_tensor_coalesced", false, false, size_of_group(n)},
                        {"reduce_scatter_tensor_coalesced", true, false, reduction(size_of_group(n))}};
  for (const Form& form : forms) {
    for (const int count : {1, 3}) {
      VariantCase v(n, fmt::format("{}/{}/{}-tensors", form.name, name_of(dtype), count));
      for (int r = 0; r < n; ++r) {
        std::vector<ValueId> inputs;
        for (int k = 0; k < count; ++k) {
          const int64_t rows = (k + 1) * (form.by_rows ? n : 1) * (k == 1 ? 0 : 1);
          inputs.push_back(v.made(r, fmt::format("x{}", k), dtype, {rows, 3}));
        }
        v.waited(r, v.call(r, fmt::format("{}{}.default", kSpaceOfPlain, form.name),
                           joined({"inputs", ValueListArg{inputs}}, form.arguments)));
        if (!form.in_place) continue;
        for (const ValueId id : inputs) v.read_again(r, id);
      }
      sink(v.c.build());
    }
  }
}

// The result stands in a tensor that was there, in which other numbers stood.
void into_a_tensor(int n, DType dtype, const CaseSink& sink) {
  for (const bool gathers : {true, false}) {
    const std::string op = gathers ? "all_gather_into_tensor_out" : "reduce_scatter_tensor_out";
    VariantCase v(n, fmt::format("{}/{}", op, name_of(dtype)));
    for (int r = 0; r < n; ++r) {
      const Shape small{2, 3}, large{2 * n, 3};
      const ValueId x = v.small(r, "x", dtype, gathers ? small : large);
      const ValueId out = v.made(r, "out", dtype, gathers ? large : small);
      Arguments arguments =
          joined({"input", ValueArg{x}}, gathers ? size_of_group(n) : reduction(size_of_group(n)));
      arguments.push_back({"out", ValueArg{out}});
      v.waited(r, v.call(r, kSpaceOfPlain + op + ".default", std::move(arguments)));
      v.read_again(r, out);
    }
    sink(v.c.build());
  }
}

void of_autograd(int n, DType dtype, const CaseSink& sink) {
  for (const char* op : {"all_gather_into_tensor", "reduce_scatter_tensor", "all_to_all_single"}) {
    VariantCase v(n, fmt::format("autograd/{}/{}", op, name_of(dtype)));
    const IntListArg twos{std::vector<int64_t>(static_cast<std::size_t>(n), 2), {}};
    for (int r = 0; r < n; ++r) {
      const ValueId x = v.small(r, "x", dtype, {2 * n, 3});
      Arguments arguments = size_of_group(n);
      if (op == std::string("reduce_scatter_tensor")) arguments = reduction(size_of_group(n));
      if (op == std::string("all_to_all_single"))
        arguments = {{"output_split_sizes", twos}, {"input_split_sizes", twos}};
      v.waited(r, v.call(r, fmt::format("_c10d_functional_autograd::{}.default", op),
                         joined({"input", ValueArg{x}}, arguments)));
    }
    sink(v.c.build());
  }
}

// Calls that must be refused by everybody.
void refused_variants(int n, const CaseSink& sink) {
  {
    RankCase c(n, "bad/coalesced-unknown-group");
    for (int r = 0; r < n; ++r) {
      const ValueId x = c.draw(r, "x", DType::f32, {4, 3}), y = c.draw(r, "y", DType::f32, {2});
      for (const ValueId id : c.at(r).declared_node("_c10d_functional::all_reduce_coalesced.default",
                                                    {{"inputs", ValueListArg{{x, y}}},
                                                     {"reduce_op", std::string("sum")},
                                                     {"group_name", std::string("nobody")}},
                                                    {{DType::f32, {4, 3}}, {DType::f32, {2}}})) {
        c.output(r, id);
      }
    }
    sink(c.refused({"all_reduce", "unknown group 'nobody'"}));
  }
  if (n < 2) return;
  // The last rank gives one tensor less than the others.
  RankCase c(n, "faults/coalesced-fewer-tensors");
  for (int r = 0; r < n; ++r) {
    std::vector<ValueId> inputs{c.draw(r, "x", DType::f32, {4, 3})};
    if (r != n - 1) inputs.push_back(c.draw(r, "y", DType::f32, {2}));
    for (const ValueId id : c.at(r).node("_c10d_functional::all_reduce_coalesced.default",
                                         {{"inputs", ValueListArg{inputs}},
                                          {"reduce_op", std::string("sum")},
                                          {"group_name", std::string("world")}})) {
      c.output(r, c.wait(r, id));
    }
  }
  sink(c.refused({fmt::format("rank {}", n - 1), "all_reduce", "does not call"}));
}

}  // namespace

void make_variants(int n, const CaseSink& sink) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::i32}) {
    in_place(n, dtype, sink);
    coalesced(n, dtype, sink);
    into_a_tensor(n, dtype, sink);
    of_autograd(n, dtype, sink);
  }
  refused_variants(n, sink);
}

}  // namespace assay::suites
