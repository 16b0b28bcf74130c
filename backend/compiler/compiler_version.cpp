// The build id of the module that holds the compiler.
#include <elf.h>
#include <link.h>

#include <cstdint>
#include <cstring>

#include "backend/compiler/graph_key.h"

namespace assay::backend {
namespace {

struct Search {
  uintptr_t address;  // of something in the module
  std::string id;
};

bool holds(const dl_phdr_info& module, uintptr_t address) {
  for (int k = 0; k < module.dlpi_phnum; ++k) {
    const ElfW(Phdr)& segment = module.dlpi_phdr[k];
    const uintptr_t begin = module.dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && address >= begin && address < begin + segment.p_memsz) return true;
  }
  return false;
}

// ELF notes: a header, the name and the description, each padded to 4 bytes.
std::string build_id_in(const char* notes, std::size_t size) {
  const auto padded = [](std::size_t n) { return (n + 3) / 4 * 4; };
  for (std::size_t at = 0; at + sizeof(ElfW(Nhdr)) <= size;) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes + at, sizeof note);
    const std::size_t name = at + sizeof note, description = name + padded(note.n_namesz);
    at = description + padded(note.n_descsz);
    if (at > size) break;
    if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 || std::memcmp(notes + name, "GNU", 4) != 0)
      continue;
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string id;
    for (std::size_t k = 0; k < note.n_descsz; ++k) {
      const auto byte = static_cast<unsigned char>(notes[description + k]);
      id += kDigits[byte >> 4];
      id += kDigits[byte & 15];
    }
    return id;
  }
  return "";
}

int visit(dl_phdr_info* module, std::size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  if (!holds(*module, search.address)) return 0;
  for (int k = 0; k < module->dlpi_phnum && search.id.empty(); ++k) {
    const ElfW(Phdr)& segment = module->dlpi_phdr[k];
    if (segment.p_type != PT_NOTE) continue;
    search.id =
        build_id_in(reinterpret_cast<const char*>(module->dlpi_addr + segment.p_vaddr), segment.p_memsz);
  }
  return 1;
}

}  // namespace

const std::string& compiler_version() {
  static const std::string version = [] {
    Search search{reinterpret_cast<uintptr_t>(&visit), ""};
    dl_iterate_phdr(visit, &search);
    return search.id.empty() ? std::string("built " __DATE__ " " __TIME__) : "build " + search.id;
  }();
  return version;
}

}  // namespace assay::backend
