#include "backend/kernels/kernel.h"

#include "backend/kernels/custom.h"
#include "core/error.h"

namespace assay::backend {

View KernelContext::input(int i) const {
  const TensorMeta& meta = call.input(i);
  View view = contiguous_view(inputs.at(static_cast<std::size_t>(i)), meta.dtype, meta.shape);
  if (turned >> i & 1) {
    const std::size_t last = view.strides.size() - 1;
    view.strides[last] = view.shape[last - 1];
    view.strides[last - 1] = 1;
  }
  return view;
}

View KernelContext::output(int i) const {
  const TensorMeta& meta = call.output(i);
  return contiguous_view(outputs.at(static_cast<std::size_t>(i)), meta.dtype, meta.shape);
}

void KernelContext::unsupported(assay_reason reason, const std::string& sentence) const {
  throw Unsupported(reason, call.op() + ": " + sentence);
}

void KernelTable::add(const std::string& full_name, Kernel kernel) {
  if (!kernels_.emplace(full_name, std::move(kernel)).second) {
    throw Error(ErrorCode::internal, "two kernels for " + full_name);
  }
}

const Kernel* KernelTable::find(std::string_view full_name) const {
  const auto it = kernels_.find(full_name);
  return it == kernels_.end() ? nullptr : &it->second;
}

std::vector<std::string> KernelTable::names() const {
  std::vector<std::string> out;
  for (const auto& [name, kernel] : kernels_) out.push_back(name);
  return out;
}

void register_kernels(KernelTable& table);  // generated

const KernelTable& kernels() {
  static const KernelTable table = [] {
    KernelTable own, out;
    register_kernels(own);
    const auto& custom = custom_kernels().kernels();
    for (const auto& [name, kernel] : custom) out.add(name, kernel);
    for (const std::string& name : own.names()) {
      if (!custom.contains(name)) out.add(name, *own.find(name));
    }
    return out;
  }();
  return table;
}

}  // namespace assay::backend
