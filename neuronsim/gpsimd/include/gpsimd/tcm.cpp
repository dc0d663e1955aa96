// The TCM pool of one core. Every allocation ends at a page nobody may touch, so an
// overrun stops at the very line that commits it; freed blocks become such pages.
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <gpsimd/runtime.hpp>

namespace gpsimd {
namespace {

constexpr unsigned char fence = 0xA5, fresh = 0xFF;  // fresh floats are NaN
constexpr size_t align = 16;
constexpr size_t quarantine = 64;  // freed blocks kept, to catch a late use

size_t page() {
  static const size_t size = size_t(sysconf(_SC_PAGESIZE));
  return size;
}

Block map(size_t bytes, Site site) {
  size_t inner = (std::max<size_t>(bytes, 1) + page() - 1) / page() * page();
  Block block{nullptr, inner + 2 * page(), nullptr, bytes, site, {}, true};
  block.pages = static_cast<char*>(mmap(nullptr, block.mapped, PROT_NONE,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  char* begin = block.pages + page();
  mprotect(begin, inner, PROT_READ | PROT_WRITE);
  std::memset(begin, fence, inner);
  block.user = begin + (inner - (bytes + align - 1) / align * align);
  std::memset(block.user, fresh, bytes);
  return block;
}

bool fenced(const char* from, const char* to) {
  return std::all_of(from, to, [](char c) { return (unsigned char)c == fence; });
}

// The few bytes between a buffer and its guard pages hold a pattern.
void check_fences(const Block& block) {
  const char* begin = block.pages + page();
  const char* end = block.pages + block.mapped - page();
  std::string size = std::to_string(block.bytes) + " bytes allocated here";
  if (!fenced(begin, block.user))
    report("tcm-overflow", block.site, "written before the start of the " + size);
  if (!fenced(block.user + block.bytes, end))
    report("tcm-overflow", block.site, "written past the end of the " + size);
}

std::string at(Site site) {
  if (!site.file) return "";
  std::string file = site.file;
  return " (" + file.substr(file.rfind('/') + 1) + ":" + std::to_string(site.line) + ")";
}

std::string refusal() {
  const Tcm& tcm = core->tcm;
  return "tcm_malloc(" + std::to_string(tcm.refused) + ") returned null" +
         at(tcm.refused_at) + ": " + std::to_string(tcm.refused_free) + " of " +
         std::to_string(tcm.pool) + " bytes were free";
}

void retire(Block& block, Site site) {
  check_fences(block);
  mprotect(block.pages, block.mapped, PROT_NONE);
  block.live = false;
  block.freed = site;
  core->tcm.used -= block.bytes;
}

void forget_oldest() {
  auto& blocks = core->tcm.blocks;
  auto freed = [](const Block& block) { return !block.live; };
  if (std::count_if(blocks.begin(), blocks.end(), freed) <= int64_t(quarantine)) return;
  auto oldest = std::find_if(blocks.begin(), blocks.end(), freed);
  munmap(oldest->pages, oldest->mapped);
  blocks.erase(oldest);
}

Block* containing(uintptr_t address) {
  for (Block& block : core->tcm.blocks) {
    uintptr_t begin = uintptr_t(block.pages);
    if (address >= begin && address < begin + block.mapped) return &block;
  }
  return nullptr;
}

}  // namespace

void* tcm_malloc(size_t bytes, Site site) {
  if (!core) stop("shape-data", site, "a shape function has no TCM");
  Tcm& tcm = core->tcm;
  if (bytes > tcm.pool - tcm.used) {  // as documented: null, and no more said
    tcm.refused = bytes, tcm.refused_free = tcm.pool - tcm.used, tcm.refused_at = site;
    return nullptr;
  }
  tcm.blocks.push_back(map(bytes, site));
  tcm.used += bytes;
  tcm.peak = std::max(tcm.peak, tcm.used);
  return tcm.blocks.back().user;
}

void tcm_free(void* pointer, Site site) {
  if (!pointer || !core) return;  // AWS's own example frees null after exhaustion
  for (Block& block : core->tcm.blocks) {
    if (block.user != pointer) continue;
    if (!block.live) {
      report("bad-free", site, "this buffer was freed before" + at(block.freed));
      return;
    }
    retire(block, site);
    forget_oldest();
    return;
  }
  report("bad-free", site, "this pointer did not come from tcm_malloc");
}

// Is [pointer, pointer + bytes) inside one live allocation?
void check_tcm(const void* pointer, size_t bytes, Site site, const char* what,
               bool& usable) {
  usable = false;
  std::string size = std::to_string(bytes) + " bytes";
  if (!pointer) {
    std::string why = core->tcm.refused_at.file ? "; " + refusal() : "";
    report("null", site, std::string(what) + " with a null TCM pointer" + why);
    return;
  }
  const Block* block = containing(uintptr_t(pointer));
  if (!block) {
    report("not-tcm", site, std::string(what) + " needs a buffer from tcm_malloc");
  } else if (!block->live) {
    report("use-after-free", site, std::string(what) + " uses a buffer that was freed" +
                                       at(block->freed));
  } else if (static_cast<const char*>(pointer) < block->user ||
             static_cast<const char*>(pointer) + bytes > block->user + block->bytes) {
    report("tcm-overflow", site, std::string(what) + " of " + size + " does not fit the " +
               std::to_string(block->bytes) + " bytes allocated for it" + at(block->site));
  } else {
    usable = true;
  }
}

// What is still allocated when the kernel returns is leaked.
void finish_tcm() {
  Tcm& tcm = core->tcm;
  for (Block& block : tcm.blocks) {
    if (block.live && !core->signal) {
      check_fences(block);
      report("leak", block.site, std::to_string(block.bytes) +
                 " bytes of TCM are never freed", {0, int64_t(block.bytes)});
    }
    munmap(block.pages, block.mapped);
  }
  tcm.blocks.clear();
}

// A memory fault, after the core escaped from it: what did the address mean?
void explain_fault() {
  uintptr_t address = core->address;
  std::string kind = "crash", detail = strsignal(core->signal);
  const Block* block = containing(address);
  bool memory = core->signal == SIGSEGV || core->signal == SIGBUS;
  if (memory && block) {
    kind = block->live ? "tcm-overflow" : "use-after-free";
    int64_t offset = int64_t(address) - int64_t(uintptr_t(block->user));
    detail = "access at byte " + std::to_string(offset) + " of a TCM buffer of " +
             std::to_string(block->bytes) + " bytes" + at(block->site) +
             (block->live ? "" : ", freed" + at(block->freed));
  } else if (memory && address < (1u << 20)) {
    kind = "null";
    detail = "a null pointer was used";
    if (core->tcm.refused_at.file) detail += "; " + refusal();
  }
  static const char* const kinds[] = {"null", "tcm-overflow", "use-after-free", "crash"};
  const char* const* found = std::find(kinds, kinds + 3, kind);
  Finding& finding = report(*found, {}, detail);
  finding.frames = core->frames;
  std::copy(core->frame, core->frame + core->frames, finding.frame);
}

}  // namespace gpsimd
