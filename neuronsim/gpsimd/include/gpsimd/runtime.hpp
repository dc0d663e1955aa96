// The host runtime's own structures; the C ABI ones mirror library.py.
#pragma once

#include <setjmp.h>

#include <array>
#include <atomic>
#include <gpsimd/registry.hpp>

namespace gpsimd {

// ---- C ABI: read by Python through ctypes ---------------------------------------

struct Argument {
  int32_t kind;   // 'T', 'S', 'd' or 'i'
  int32_t dtype;  // c10::ScalarType
  int64_t dim;
  int64_t sizes[max_dims];
  void* data;
  double number;
  int64_t integer;
  int32_t integral;  // of a Scalar: use `integer`
};

constexpr int max_frames = 24;

struct Finding {
  const char* kind;
  const char* file;  // null: not known, look at the frames
  int32_t line;
  int32_t core;
  int64_t first, last;  // elements (or bytes of TCM); first == last: no range
  int64_t count;        // how often this line did this on this core
  char tensor[24];
  char detail[232];
  int32_t frames;
  uintptr_t frame[max_frames];
};

struct Write {
  int32_t core;
  int32_t line;
  const char* file;
  int64_t first, last;
};

struct Counters {
  uint64_t transfers_in, transfers_out, bytes_in, bytes_out;
  uint64_t element_accesses, stream_accesses, tcm_peak;
};

struct Result {
  const Finding* findings;
  int64_t n_findings;
  const Write* writes;
  int64_t n_writes;
  const Counters* counters;
  const char* printed;
  int64_t printed_size;
  int32_t coverage_known;  // 0: the output was written in a way nobody tracked
  int32_t finished;        // 0: a core was stopped before its end
};

// ---- the runtime ------------------------------------------------------------------

struct Storage {
  std::atomic<int> references{1};
  void* data = nullptr;
  int64_t elements = 0;
  size_t item = 0;
  char label[24] = "local tensor";
  bool input = false, output = false, initialised = false, owned = false;
  std::atomic<bool> untracked{false};
  std::vector<uint8_t> marks;  // by element, single core only
  std::array<std::vector<Write>, max_cores> writes;
  int readers = 0, writers = 0;  // open streams
  Policy policy = Policy::COHERENT;
};

// A TCM allocation: whole pages of its own between two pages nobody may touch.
struct Block {
  char* pages;
  size_t mapped;  // with both guards
  char* user;
  size_t bytes;
  Site site, freed;
  bool live;
};

struct Tcm {
  size_t pool = 0, used = 0, peak = 0;
  std::vector<Block> blocks;
  size_t refused = 0;  // bytes of the last request that did not fit
  size_t refused_free = 0;
  Site refused_at;
};

struct Core {
  int id = 0;
  int count = 1;
  bool multicore = false;
  bool destination_taken = false;
  bool finished = false;
  torch::Tensor* destination = nullptr;
  Tcm tcm;
  Counters counters = {};
  std::vector<Finding> findings;
  std::string printed;
  sigjmp_buf escape;
  int signal = 0;
  uintptr_t address = 0;
  int frames = 0;
  uintptr_t frame[max_frames];
};

extern thread_local Core* core;  // null outside a kernel: a shape function runs

struct Stop {};  // thrown to end a core after a finding

struct Range {
  int64_t first = 0, last = 0;
};

Finding& report(const char* kind, Site, const std::string& detail, Range = {},
                const char* tensor = "");
int capture(uintptr_t* frames);
void check_tcm(const void* pointer, size_t bytes, Site, const char* what,
               bool& usable);
void finish_tcm();
void explain_fault();

}  // namespace gpsimd
