#include "backend/collectives/topology.h"

#include "core/error.h"

namespace assay::backend {

Topology::Topology(const InstanceDescription& instance, int lnc) : instance_(&instance), lnc_(lnc) {
  const ChipDescription& description = chip(instance.generation);
  const bool possible = lnc == 1 || (lnc == 2 && instance.generation != Generation::trn1);
  if (!possible) {
    throw Error(ErrorCode::invalid_argument,
                std::string(instance.name) + ": logical cores of " + std::to_string(lnc) +
                    " physical ones; " +
                    (instance.generation == Generation::trn1 ? "Trn1 has LNC 1 only" : "use LNC 1 or 2"));
  }
  cores_per_chip_ = description.cores / lnc;
  torus_ = torus_sizes(instance);
  const auto n = static_cast<std::size_t>(chips());
  routes_.resize(n * n);
  if (torus_.empty()) {
    join_switch();
  } else {
    join_torus();
  }
}

Topology Topology::of(std::string_view instance_name, int lnc) {
  const InstanceDescription& description = backend::instance(instance_name);
  return {description, lnc == 0 ? description.default_lnc.value : lnc};
}

int Topology::add_link(std::string name, double rate) {
  link_names_.push_back(std::move(name));
  link_rates_.push_back(rate);
  return links() - 1;
}

void Topology::join_switch() {
  const double rate = neuron_link(generation()).link_bytes_per_ns;
  std::vector<int> in, out;
  for (int c = 0; c < chips(); ++c) {
    in.push_back(add_link("switch>" + std::to_string(c), rate));
    out.push_back(add_link(std::to_string(c) + ">switch", rate));
  }
  for (int from = 0; from < chips(); ++from) {
    for (int to = 0; to < chips(); ++to) {
      if (from == to) continue;
      routes_[pair(from, to)] = {out[static_cast<std::size_t>(from)], in[static_cast<std::size_t>(to)]};
    }
  }
}

void Topology::join_torus() {
  const NeuronLinkDescription& description = neuron_link(generation());
  // links[(chip * dims + dim) * 2 + (up ? 1 : 0)]
  const std::size_t dims = torus_.size();
  std::vector<int> step_of(static_cast<std::size_t>(chips()) * dims * 2, -1);
  const auto moved = [&](int from, std::size_t dim, int by) {
    int stride = 1;
    for (std::size_t d = 0; d < dim; ++d) stride *= torus_[d];
    const int size = torus_[dim], at = from / stride % size;
    return from + ((at + by + size) % size - at) * stride;
  };
  for (int c = 0; c < chips(); ++c) {
    for (std::size_t dim = 0; dim < dims; ++dim) {
      const double rate = dim < 2 ? description.link_bytes_per_ns : description.outer_bytes_per_ns;
      for (const int up : {1, 0}) {
        // A ring of two has one cable; of one, none.
        if (torus_[dim] == 1 || (torus_[dim] == 2 && up == 0)) continue;
        const int to = moved(c, dim, up == 1 ? 1 : -1);
        step_of[(static_cast<std::size_t>(c) * dims + dim) * 2 + static_cast<std::size_t>(up)] =
            add_link(std::to_string(c) + ">" + std::to_string(to), rate);
      }
    }
  }
  for (int from = 0; from < chips(); ++from) {
    for (int to = 0; to < chips(); ++to) {
      std::vector<int>& route = routes_[pair(from, to)];
      int at = from, stride = 1;
      for (std::size_t dim = 0; dim < dims; ++dim) {
        const int size = torus_[dim];
        const int ahead = (to / stride % size - at / stride % size + size) % size;
        const bool up = ahead * 2 <= size;
        for (int k = 0; k < (up ? ahead : size - ahead); ++k) {
          route.push_back(step_of[(static_cast<std::size_t>(at) * dims + dim) * 2 + (up ? 1 : 0)]);
          at = moved(at, dim, up ? 1 : -1);
        }
        stride *= size;
      }
    }
  }
}

std::span<const int> Topology::route(int from_chip, int to_chip) const {
  return routes_[pair(from_chip, to_chip)];
}

std::vector<int> Topology::neighbours(int chip) const {
  std::vector<int> out;
  const std::size_t hops = torus_.empty() ? 2 : 1;
  for (int to = 0; to < chips(); ++to) {
    if (to != chip && route(chip, to).size() == hops) out.push_back(to);
  }
  return out;
}

}  // namespace assay::backend
