// torch.einsum: operands are brought to one list of dims and multiplied from left to right, each pair as a
// batch of matrix products.
#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <string>

#include "core/decompose/shorthands.h"

namespace assay {
namespace {

// A letter stands for itself; the dims of an ellipsis are numbered from the last one, below zero.
using Labels = std::vector<int>;

constexpr int kEllipsis = -1;

// "ab...c" of an operand or result with `rank` dims; nullopt if that cannot be. `rank` -1: the ellipsis has
// `hidden` dims.
std::optional<Labels> labels_of(const std::string& term, int64_t rank, int64_t hidden) {
  Labels labels;
  const auto dots = term.find("...");
  const int64_t letters = static_cast<int64_t>(term.size()) - (dots == std::string::npos ? 0 : 3);
  if (rank >= 0) hidden = rank - letters;
  if (hidden < 0 || (dots == std::string::npos && rank >= 0 && hidden != 0)) return std::nullopt;
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (i == dots) {
      for (int64_t d = hidden; d > 0; --d) labels.push_back(kEllipsis - static_cast<int>(d - 1));
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(term[i]))) {
      labels.push_back(term[i]);
    } else {
      return std::nullopt;
    }
  }
  return labels;
}

bool contains(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

struct Equation {
  std::vector<Labels> operands;
  Labels result;
};

std::optional<Equation> parse(std::string text, const std::vector<int64_t>& ranks) {
  std::erase(text, ' ');
  const auto arrow = text.find("->");
  std::string left = text.substr(0, arrow);
  Equation equation;
  int64_t hidden = 0;
  std::map<int, int> seen;
  for (std::size_t begin = 0; begin <= left.size();) {
    const std::size_t end = std::min(left.find(',', begin), left.size());
    if (equation.operands.size() == ranks.size()) return std::nullopt;
    const auto labels = labels_of(left.substr(begin, end - begin), ranks[equation.operands.size()], 0);
    if (!labels) return std::nullopt;
    for (const int label : *labels) {
      ++seen[label];
      hidden = std::max<int64_t>(hidden, label <= kEllipsis ? kEllipsis - label + 1 : 0);
    }
    equation.operands.push_back(*labels);
    begin = end + 1;
  }
  if (equation.operands.size() != ranks.size()) return std::nullopt;
  if (arrow != std::string::npos) {
    const auto labels = labels_of(text.substr(arrow + 2), -1, hidden);
    if (!labels) return std::nullopt;
    equation.result = *labels;
  } else {
    // The ellipsis, then the letters that stand there once, in order; capitals first.
    for (int64_t d = hidden; d > 0; --d) equation.result.push_back(kEllipsis - static_cast<int>(d - 1));
    for (const auto& [label, times] : seen) {
      if (label > kEllipsis && times == 1) equation.result.push_back(label);
    }
  }
  for (const int label : equation.result) {
    if (seen.find(label) == seen.end()) return std::nullopt;
    if (std::count(equation.result.begin(), equation.result.end(), label) != 1) return std::nullopt;
  }
  return equation;
}

// A letter that stands twice takes the diagonal.
void take_diagonals(Rewriter& w, ValueId& x, Labels& labels) {
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto again = std::find(labels.begin() + static_cast<int64_t>(i) + 1, labels.end(), labels[i]);
    if (again == labels.end()) continue;
    const int label = labels[i];
    x = w.emit("aten::diagonal.default", {{"self", ValueArg{x}},
                                          {"offset", int64_t{0}},
                                          {"dim1", static_cast<int64_t>(i)},
                                          {"dim2", static_cast<int64_t>(again - labels.begin())}});
    labels.erase(again);
    labels.erase(labels.begin() + static_cast<int64_t>(i));
    labels.push_back(label);
    take_diagonals(w, x, labels);
    return;
  }
}

// Dims in the order of `all`, of size 1 where x has none.
ValueId aligned(Rewriter& w, ValueId x, const Labels& labels, const Labels& all) {
  std::vector<int64_t> order;
  Shape shape;
  for (const int label : all) {
    const auto found = std::find(labels.begin(), labels.end(), label);
    if (found != labels.end()) order.push_back(found - labels.begin());
    shape.push_back(found == labels.end() ? 1 : w.shape(x)[static_cast<std::size_t>(found - labels.begin())]);
  }
  return w.view(w.permute(x, order), shape);
}

// The product, with the dims in `summed` added up and kept with size 1.
ValueId pair_product(Rewriter& w, ValueId a, ValueId b, const std::vector<bool>& summed) {
  std::vector<int64_t> dims[4];  // batch, only in a, summed, only in b
  enum { batch, left, inner, right };
  std::vector<int64_t> alone_a, alone_b;
  const Shape of_a = w.shape(a), of_b = w.shape(b);
  for (std::size_t d = 0; d < of_a.size(); ++d) {
    const auto dim = static_cast<int64_t>(d);
    if (summed[d] && of_a[d] != 1 && of_b[d] == 1) alone_a.push_back(dim);
    if (summed[d] && of_a[d] == 1 && of_b[d] != 1) alone_b.push_back(dim);
    const bool both = of_a[d] != 1 && of_b[d] != 1;
    dims[summed[d] ? inner : both || of_a[d] == of_b[d] ? batch : of_a[d] != 1 ? left : right].push_back(dim);
  }
  if (!alone_a.empty()) a = sum(w, a, alone_a, true);
  if (!alone_b.empty()) b = sum(w, b, alone_b, true);
  const auto size = [](const Shape& shape, const std::vector<int64_t>& of) {
    int64_t product = 1;
    for (const int64_t d : of) product *= shape[static_cast<std::size_t>(d)];
    return product;
  };
  const auto matrices = [&](ValueId x, int first, int second, int missing) {
    std::vector<int64_t> order = dims[batch];
    for (const int part : {first, second, missing})
      order.insert(order.end(), dims[part].begin(), dims[part].end());
    const Shape shape = w.shape(x);
    return w.view(w.permute(x, order),
                  {size(shape, dims[batch]), size(shape, dims[first]), size(shape, dims[second])});
  };
  const ValueId left_matrices = matrices(a, left, inner, right),
                right_matrices = matrices(b, inner, right, left);
  const ValueId product =
      w.emit("aten::bmm.default", {{"self", ValueArg{left_matrices}}, {"mat2", ValueArg{right_matrices}}});
  Shape apart;
  std::vector<int64_t> order(of_a.size());
  for (const int part : {batch, left, right, inner}) {
    for (const int64_t d : dims[part]) {
      const auto at = static_cast<std::size_t>(d);
      order[at] = static_cast<int64_t>(apart.size());
      apart.push_back(part == inner ? 1 : std::max(of_a[at], of_b[at]));
      if (of_a[at] == 0 || of_b[at] == 0) apart.back() = part == inner ? 1 : 0;
    }
  }
  return w.permute(w.view(product, apart), order);
}

Ids einsum(Rewriter& w, const OpCall& call) {
  Ids operands = values_of(call, "tensors");
  std::vector<int64_t> ranks;
  for (const ValueId operand : operands) ranks.push_back(rank_of(w, operand));
  auto equation = parse(call.string("equation"), ranks);
  if (!equation || operands.empty()) return {};
  for (std::size_t i = 0; i < operands.size(); ++i) take_diagonals(w, operands[i], equation->operands[i]);
  Labels all = equation->result;
  for (const Labels& labels : equation->operands) {
    for (const int label : labels) {
      if (!contains(all, label)) all.push_back(label);
    }
  }
  const auto is_last_use = [&](std::size_t d, std::size_t operand) {
    if (d < equation->result.size()) return false;
    return std::none_of(equation->operands.begin() + static_cast<int64_t>(operand) + 1,
                        equation->operands.end(),
                        [&](const Labels& labels) { return contains(labels, all[d]); });
  };
  ValueId product = aligned(w, operands[0], equation->operands[0], all);
  if (operands.size() == 1) {
    std::vector<int64_t> dims;
    for (std::size_t d = equation->result.size(); d < all.size(); ++d)
      dims.push_back(static_cast<int64_t>(d));
    return {dims.empty() ? product : sum(w, product, dims)};
  }
  for (std::size_t i = 1; i < operands.size(); ++i) {
    std::vector<bool> summed;
    for (std::size_t d = 0; d < all.size(); ++d) summed.push_back(is_last_use(d, i));
    product = pair_product(w, product, aligned(w, operands[i], equation->operands[i], all), summed);
  }
  return {w.view(product, call.output(0).shape)};
}

}  // namespace

void register_einsum(DecomposeTable& table) { table.add("aten::einsum.default", einsum); }

}  // namespace assay
