// Judges the results of random operators: support, distribution, independence of elements and of nodes. No
// particular number is right or wrong.
#pragma once

#include <string>
#include <vector>

#include "core/contract/contract.h"
#include "core/opset/call.h"
#include "core/tensor.h"
#include "reference/evaluate.h"

namespace assay {

// What earlier nodes of the same run drew, to see that no two nodes drew the same.
class DrawHistory {
 public:
  // "" or the sentence that names the earlier node on which these numbers depend. Keeps them.
  std::string compare(const std::string& node, std::vector<double> centred,
                      const std::vector<double>& variances);

 private:
  struct Draw {
    std::string node;
    std::vector<double> centred;
  };
  std::vector<Draw> draws_;
};

// One result of a random operator, judged from the exact bits of its inputs. `got` is parallel to
// call.outputs(); undefined where a result was not asked for. Returns "" or what is wrong. `history` may be
// null.
std::string judge_draw(const OpCall& call, const std::vector<const reference::Wide*>& inputs,
                       const std::vector<Tensor>& got, const Precision& precision, DrawHistory* history);

}  // namespace assay
