// The checks behind rules.h, shared by rules.cpp and rules_operands.cpp only.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>

#include "backend/isa/error.h"
#include "backend/isa/rules.h"

namespace assay::backend {

// Checks of one instruction; every failure names it.
class Checker {
  using Class = ProgramErrorClass;

 public:
  Checker(const Program& program, std::size_t index, const CoreDescription& core)
      : p_(program), index_(index), i_(program.instructions[index]), core_(core) {}

  void run();

 private:
  [[noreturn]] void fail(Class error_class, const std::string& what) const {
    const std::string_view code = code_of(error_class);
    throw ProgramError(error_class, p_.describe(index_) + ": " + what +
                                        (code.empty() ? "" : " [" + std::string(code) + "]"));
  }
  void require(bool ok, Class error_class, const char* what) const {
    if (!ok) fail(error_class, what);
  }
  const AccessPattern& op(std::size_t k) const { return operand(p_, i_, k); }
  std::string named(std::size_t k) const { return "operand " + std::to_string(k) + " " + to_string(op(k)); }

  void check_pattern(std::size_t k, bool written) const;
  void check_writable(std::size_t k) const;  // HBM
  void check_overlap(std::size_t dst) const;
  void same_partitions(std::size_t k) const {
    if (op(k).partitions != op(0).partitions) {
      fail(Class::shape, named(k) + " must have as many partitions as the destination " + to_string(op(0)));
    }
  }
  void same_count(std::size_t k) const {
    same_partitions(k);
    if (op(k).free_elements() != op(0).free_elements()) {
      fail(Class::shape, named(k) + " must have as many elements as the destination " + to_string(op(0)));
    }
  }
  void free_count(std::size_t k, int64_t count) const {
    if (op(k).free_elements() != count) {
      fail(Class::shape, named(k) + " must have " + std::to_string(count) + " elements a partition");
    }
  }
  void scalar_operand(std::size_t k) const {
    if (!op(k).defined()) return;
    same_partitions(k);
    free_count(k, 1);
    if (!is_float(op(k).dtype)) fail(Class::dtype, named(k) + " must be floating point");
  }
  void integral(std::size_t k) const {
    if (!is_integral(op(k).dtype)) fail(Class::dtype, named(k) + " must be an integer");
  }
  void floating(std::size_t k) const {
    if (!is_float(op(k).dtype)) fail(Class::dtype, named(k) + " must be floating point");
  }
  // ALU operator over the given sources.
  void check_alu(AluOp alu, std::initializer_list<std::size_t> sources, bool integer_scalars) const;

  void check_matmul() const;
  void check_transpose() const;
  void check_reduce() const;
  void check_affine() const;
  void check_gpsimd() const;
  void check_dma() const;

  const Program& p_;
  std::size_t index_;
  const Instruction& i_;
  const CoreDescription& core_;
};

}  // namespace assay::backend
