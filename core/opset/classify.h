// What kind of work an operator is: for residency, ledgers and throughput.
#pragma once

#include <string_view>

#include "core/opset/call.h"

namespace assay {

// Moves no bytes in PyTorch: returns a view or alias of an argument (the schema's alias annotation says so),
// asserts something, or takes a tuple apart. Such nodes are outside residency shares (INTERFACE,
// "residency").
bool is_metadata_op(std::string_view full_name);

// Gives or computes with numbers on the host: sym_size, _local_scalar_dense, _operator.add, sym_ite.
bool is_host_scalar_op(std::string_view full_name);

// Draws random numbers.
bool is_random_op(std::string_view full_name);

// Only moves or repeats elements; results are bit patterns of inputs or constants.
bool is_copy_op(std::string_view full_name);

// Result `i` has a right value. Not so what bags of rows keep for the gradient of sums, or of means beside
// the bags' sizes: its contents and size depend on PyTorch's choice of kernel
// (aten/src/ATen/native/EmbeddingBag.cpp).
bool is_defined_result(const OpCall& call, std::size_t i);

// Floating-point operations of a call, an addition and a multiplication counted each: 2 M N K for products,
// the corresponding count for convolutions and attention, 0 for copies and metadata, and otherwise a small
// number per element of the larger of inputs and outputs. An estimate for shares and throughput, not an
// instruction count.
double flops_of(const OpCall& call);

// Bytes that the call must read and write at least, each distinct input once: inputs plus used outputs, of
// tables that are gathered from only the rows read, and 0 for metadata.
double bytes_of(const OpCall& call);

}  // namespace assay
