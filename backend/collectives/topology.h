// The chips of one instance (or UltraServer) and the links between them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "backend/device/neuronlink.h"

namespace assay::backend {

// Chips are numbered as Neuron devices are: x + 4 y (+ 16 z). Messages between chips that are no neighbours
// are forwarded by the chips between them, dimension by dimension, the shorter way round; of two equal ways,
// upwards.
class Topology {
 public:
  // lnc: physical cores a logical one; a rank is a logical core. Throws Error{invalid_argument} unless it is
  // 1 or 2 and the generation has it (Trn1: 1 only).
  Topology(const InstanceDescription& instance, int lnc);
  // By name, with the instance's default LNC if lnc is 0. Throws Error{invalid_argument}.
  static Topology of(std::string_view instance_name, int lnc = 0);

  const InstanceDescription& instance() const { return *instance_; }
  Generation generation() const { return instance_->generation; }
  int lnc() const { return lnc_; }
  int chips() const { return instance_->chips; }
  int cores_per_chip() const { return cores_per_chip_; }  // logical
  int cores() const { return chips() * cores_per_chip_; }
  int chip_of(int core) const { return core / cores_per_chip_; }
  const std::vector<int>& torus() const { return torus_; }  // sizes, innermost first; empty: a switch

  // Directed links. Through a switch, a chip has one link into it and one out of it.
  int links() const { return static_cast<int>(link_names_.size()); }
  const std::string& link_name(int link) const { return link_names_[static_cast<size_t>(link)]; }  // "0>1"
  double link_bytes_per_ns(int link) const { return link_rates_[static_cast<size_t>(link)]; }
  // Links from one chip to another, in order; none if they are the same.
  std::span<const int> route(int from_chip, int to_chip) const;
  // Chips that one link reaches; with a switch all others.
  std::vector<int> neighbours(int chip) const;

 private:
  size_t pair(int from, int to) const {
    return static_cast<size_t>(from) * static_cast<size_t>(chips()) + static_cast<size_t>(to);
  }
  int add_link(std::string name, double rate);
  void join_torus();
  void join_switch();

  const InstanceDescription* instance_;
  int lnc_, cores_per_chip_;
  std::vector<int> torus_;
  std::vector<std::string> link_names_;
  std::vector<double> link_rates_;
  std::vector<std::vector<int>> routes_;  // [from * chips + to]
};

}  // namespace assay::backend
