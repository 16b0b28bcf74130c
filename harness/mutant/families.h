// The families of planted defects, one file each, and what they share.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "harness/mutant/mutant.h"

namespace assay {

void add_element_mutants(std::vector<Mutant>& table);    // single elements, rows and tiles of an output
void add_rounding_mutants(std::vector<Mutant>& table);   // how results are rounded and stored
void add_operand_mutants(std::vector<Mutant>& table);    // operands narrowed, dropped or confused
void add_algorithm_mutants(std::vector<Mutant>& table);  // formulas that lose accuracy
void add_value_mutants(std::vector<Mutant>& table);      // NaN, integers, comparisons, selections

void add_argument_mutants(std::vector<Mutant>& table);   // keywords ignored, flipped or off by one
void add_execution_mutants(std::vector<Mutant>& table);  // buffers, repetitions, memory
void add_family_mutants(std::vector<Mutant>& table);     // attention, linear attention, convolution, scans
void add_integer_mutants(std::vector<Mutant>& table);    // wrapping, casts, division, bits
void add_interface_mutants(std::vector<Mutant>& table);  // what a plug-in misreads in the interface

// The call's operator without overload is one of the names ("aten::mm").
bool is_one_of(const OpCall& call, std::initializer_list<std::string_view> names);
bool is_matmul(const OpCall& call);              // mm, bmm, addmm, baddbmm, matmul, linear
bool is_convolution(const OpCall& call);         // convolution, conv1d, conv2d
bool first_output_is_float(const OpCall& call);  // real, not complex

// Operators that only move bits: a defect of arithmetic cannot exist there.
bool moves_bits(const OpCall& call);

// The reference's values of the call for these inputs, each rounded once to its dtype.
std::vector<Tensor> recompute(const OpCall& call, const std::vector<Tensor>& inputs);
// The same for a call with other arguments. Empty where the wrong call has results of other shapes.
std::vector<Tensor> recompute_with(const OpCall& call, const std::vector<Tensor>& inputs,
                                   const std::string& argument, const Argument& value);
// The tensor input of this argument, nullptr where the call has none.
Tensor* input_of(const OpCall& call, std::vector<Tensor>& inputs, std::string_view argument);
// Takes over the elements in which `wrong` differs from the reference: where a defect does not show, the
// outputs stay what the device computed, to the last bit.
void adopt(const OpCall& call, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs,
           const std::vector<Tensor>& wrong);
// The reference's values of output 0, unrounded.
std::vector<double> exact_values(const OpCall& call, const std::vector<Tensor>& inputs);

// A tensor's bytes in row-major order, and a tensor of the same dtype and shape with other ones.
std::vector<std::byte> packed(const Tensor& tensor);
Tensor like(const Tensor& tensor, const std::vector<std::byte>& bytes);

// `edit` changes the numbers of output 0 in place (real floats).
template <class Edit>
void edit_floats(std::vector<Tensor>& outputs, Edit&& edit) {
  std::vector<double> values = outputs[0].to_doubles();
  edit(values);
  outputs[0] = Tensor::from_doubles(outputs[0].dtype(), outputs[0].shape(), values);
}

}  // namespace assay
