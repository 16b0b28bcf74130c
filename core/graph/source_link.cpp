#include "core/graph/source_link.h"

#include <algorithm>

namespace assay {
namespace {

constexpr std::size_t kMaxLinkLength = 512;  // more is no source link

std::string_view first_line(std::string_view text) {
  return text.substr(0, std::min(text.find('\n'), kMaxLinkLength));
}

std::string shorten(std::string path) {
  std::replace(path.begin(), path.end(), '\\', '/');
  for (const std::string_view marker : {"/site-packages/", "/dist-packages/"}) {
    if (const auto at = path.rfind(marker); at != std::string::npos) return path.substr(at + marker.size());
  }
  if (path.rfind("torch/", 0) == 0) return path;  // PyTorch writes its own passes this way
  auto at = path.rfind('/');
  if (at != std::string::npos && at > 0) at = path.rfind('/', at - 1);
  return at == std::string::npos ? path : path.substr(at + 1);
}

}  // namespace

std::string source_location(std::string_view trace) {
  constexpr std::string_view kFile = "File \"";
  constexpr std::string_view kLine = "\", line ";
  std::string own;
  std::string torch;
  bool any = false;
  for (std::size_t at = trace.find(kFile); at != std::string_view::npos; at = trace.find(kFile, at)) {
    at += kFile.size();
    const std::size_t end = trace.find(kLine, at);
    if (end == std::string_view::npos) break;
    const std::string_view path = trace.substr(at, end - at);
    at = end + kLine.size();
    std::size_t digits = at;
    while (digits < trace.size() && trace[digits] >= '0' && trace[digits] <= '9') ++digits;
    if (path.size() > kMaxLinkLength || path.find('\n') != std::string_view::npos || digits == at) continue;
    any = true;
    const std::string link = shorten(std::string(path)) + ":" + std::string(trace.substr(at, digits - at));
    const bool is_torch = link.rfind("torch/", 0) == 0;
    (is_torch ? torch : own) = link;
  }
  if (!any) return std::string(first_line(trace));
  return own.empty() ? torch : own;
}

std::string module_path(std::string_view stack) {
  if (const auto at = stack.rfind(';'); at != std::string_view::npos) stack = stack.substr(at + 1);
  if (const auto first = stack.find(','); first != std::string_view::npos) {
    stack = stack.substr(first + 1);
    stack = stack.substr(0, stack.find(','));
  }
  // What PyTorch writes for nodes of its own, such as guards on symbolic sizes.
  if (stack.starts_with("_empty_nn_module_stack")) return "";
  return std::string(first_line(stack));
}

}  // namespace assay
