// What the host runtime (runtime.cpp) offers to the headers a kernel includes.
#pragma once

#include <gpsimd/types.hpp>

namespace gpsimd {

constexpr int max_cores = 8;
constexpr int max_dims = 8;

struct Storage;  // the elements of one tensor, and who wrote them
struct Stream;   // one open stream accessor

// Where in the operator's source something happened.
struct Site {
  const char* file = nullptr;
  int line = 0;
};

// What an element accessor needs for every access: no call into the runtime.
struct Elements {
  void* data = nullptr;
  uint8_t* marks = nullptr;      // one byte an element, set when written; may be null
  uint64_t* accesses = nullptr;  // counted for the cost estimate
};

enum class Policy { COHERENT, INCOHERENT_VERBOSE, INCOHERENT_QUIET };

Storage* allocate(int64_t elements, size_t item, bool initialised);
void retain(Storage*);
void release(Storage*);
void* bytes(Storage*);
void wrote_all(Storage*);
void policy(Storage*, Policy);
Policy policy(Storage*);

Elements open_elements(Storage*, bool write, Site);
void index_error(int64_t index, int64_t size, int dimension);

void load(Storage*, void* tcm, size_t offset, size_t count, size_t item, Site);
void store(Storage*, const void* tcm, size_t offset, size_t count, size_t item, Site);

Stream* open_stream(Storage*, bool write, Site);
void stream_read(Stream*, void* value, Site);
void stream_write(Stream*, const void* value, Site);
void close_stream(Stream*);

void* tcm_malloc(size_t bytes, Site);
void tcm_free(void*, Site);

// Ends the core with a finding (in a shape function: an error that Python raises).
[[noreturn]] void stop(const char* kind, Site, const std::string& message);

}  // namespace gpsimd

#define GPSIMD_SITE const char *file = __builtin_FILE(), int line = __builtin_LINE()
