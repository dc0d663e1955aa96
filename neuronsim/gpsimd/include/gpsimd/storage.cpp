// The elements of tensors, the three ways to reach them, and who wrote what.
#include <gpsimd/runtime.hpp>

namespace gpsimd {
namespace {

void record(Storage* storage, int64_t first, int64_t last, Site site) {
  if (storage->input)
    report("input-written", site, "the operator writes to its own input",
           {first, last}, storage->label);
  std::vector<Write>& writes = storage->writes[size_t(core->id)];
  if (!writes.empty() && writes.back().last == first && writes.back().line == site.line)
    writes.back().last = last;
  else
    writes.push_back({core->id, site.line, site.file, first, last});
}

// Cuts a transfer to the tensor; what stuck out is a finding.
int64_t clip(Storage* storage, size_t offset, size_t count, Site site,
             const char* what) {
  size_t size = size_t(storage->elements);
  if (offset <= size && count <= size - offset) return int64_t(count);
  report("out-of-bounds", site, std::string(what) + " beyond the " +
             std::to_string(size) + " elements of the tensor",
         {int64_t(offset), int64_t(offset + count)}, storage->label);
  return offset >= size ? 0 : int64_t(size - offset);
}

bool ready(Storage* storage, size_t item, Site site, const char* what) {
  if (!core) stop("shape-data", site, "a shape function must not read or write data");
  if (storage && storage->item == item) return true;
  report("dtype", site, std::string(what) + " moves elements of " +
             std::to_string(item) + " bytes, the tensor's have " +
             std::to_string(storage ? storage->item : 0), {},
         storage ? storage->label : "");
  return false;
}

void forbid(const char* accessor, Storage* storage, Site site) {
  report("forbidden-accessor", site, std::string(accessor) +
             " is undefined with multicore=True; use a TCM accessor", {},
         storage->label);
}

}  // namespace

struct Stream {
  Storage* storage;
  void* buffer;  // null: the pool was full, the stream works but is slow
  int64_t next;
  bool write;
};

Storage* allocate(int64_t elements, size_t item, bool initialised) {
  if (!core) return nullptr;  // a shape function: sizes only
  Storage* storage = new Storage;
  storage->data = std::malloc(std::max<size_t>(size_t(elements) * item, 1));
  std::memset(storage->data, 0xFF, size_t(elements) * item);
  storage->elements = elements, storage->item = item;
  storage->owned = true, storage->initialised = initialised;
  return storage;
}

void retain(Storage* storage) {
  if (storage) storage->references.fetch_add(1, std::memory_order_relaxed);
}

void release(Storage* storage) {
  if (!storage || storage->references.fetch_sub(1, std::memory_order_acq_rel) > 1)
    return;
  if (storage->owned) std::free(storage->data);
  delete storage;
}

void* bytes(Storage* storage) { return storage ? storage->data : nullptr; }

void wrote_all(Storage* storage) {
  if (storage && core) record(storage, 0, storage->elements, {});
}

void policy(Storage* storage, Policy policy) {
  if (storage) storage->policy = policy;
}

Policy policy(Storage* storage) { return storage ? storage->policy : Policy::COHERENT; }

Elements open_elements(Storage* storage, bool write, Site site) {
  if (!core || !storage)
    stop("shape-data", site, "a shape function must not read or write data");
  if (core->multicore) forbid("an element accessor", storage, site);
  if (write && core->multicore) storage->untracked = true;
  bool track = write && !core->multicore && !storage->initialised;
  if (track && storage->marks.empty()) storage->marks.resize(size_t(storage->elements));
  uint8_t* marks = track ? storage->marks.data() : nullptr;
  return {storage->data, marks, &core->counters.element_accesses};
}

void index_error(int64_t index, int64_t size, int dimension) {
  std::string detail = "index " + std::to_string(index) + " in dimension " +
                       std::to_string(dimension) + ", which has " +
                       std::to_string(size) + " elements";
  Finding& finding = report("out-of-bounds", {}, detail);
  finding.frames = capture(finding.frame);
  throw Stop{};
}

void load(Storage* storage, void* tcm, size_t offset, size_t count, size_t item,
          Site site) {
  if (!ready(storage, item, site, "tensor_to_tcm")) return;
  bool usable;
  check_tcm(tcm, count * item, site, "tensor_to_tcm", usable);
  int64_t moved = clip(storage, offset, count, site, "tensor_to_tcm reads");
  if (!usable) return;
  const char* from = static_cast<const char*>(storage->data) + offset * item;
  if (moved) std::memcpy(tcm, from, size_t(moved) * item);
  ++core->counters.transfers_in;
  core->counters.bytes_in += count * item;
}

void store(Storage* storage, const void* tcm, size_t offset, size_t count, size_t item,
           Site site) {
  if (!ready(storage, item, site, "tcm_to_tensor")) return;
  bool usable;
  check_tcm(tcm, count * item, site, "tcm_to_tensor", usable);
  int64_t moved = clip(storage, offset, count, site, "tcm_to_tensor writes");
  if (!usable || !moved) return;
  record(storage, int64_t(offset), int64_t(offset) + moved, site);
  if (!storage->input) {
    char* to = static_cast<char*>(storage->data) + offset * item;
    // where cores overlap they race, here as on the device: that is the finding
    std::memcpy(to, tcm, size_t(moved) * item);
  }
  ++core->counters.transfers_out;
  core->counters.bytes_out += count * item;
}

Stream* open_stream(Storage* storage, bool write, Site site) {
  if (!core || !storage)
    stop("shape-data", site, "a shape function must not read or write data");
  if (core->multicore) {
    forbid("a stream accessor", storage, site);
    if (write) storage->untracked = true;
  }
  bool alone = storage->writers == 0 && !(write && storage->readers);
  if (!alone && storage->policy == Policy::COHERENT)
    report("coherence", site, "opened while another stream on this tensor is open and "
           "one of them writes", {}, storage->label);
  (write ? storage->writers : storage->readers)++;
  retain(storage);
  constexpr size_t buffer = 4096;
  Tcm& tcm = core->tcm;
  void* room = buffer <= tcm.pool - tcm.used ? tcm_malloc(buffer, site) : nullptr;
  return new Stream{storage, room, 0, write};
}

void stream_read(Stream* stream, void* value, Site site) {
  if (!stream) stop("closed-stream", site, "read from a stream that is closed");
  Storage* storage = stream->storage;
  ++core->counters.stream_accesses;
  if (stream->next >= storage->elements) {
    report("out-of-bounds", site, "the stream is read past its end",
           {stream->next, stream->next + 1}, storage->label);
    return;
  }
  const char* from = static_cast<const char*>(storage->data);
  std::memcpy(value, from + size_t(stream->next++) * storage->item, storage->item);
}

void stream_write(Stream* stream, const void* value, Site site) {
  if (!stream) stop("closed-stream", site, "write to a stream that is closed");
  Storage* storage = stream->storage;
  ++core->counters.stream_accesses;
  int64_t place = stream->next++;
  if (place >= storage->elements) {
    report("out-of-bounds", site, "the stream is written past its end",
           {place, place + 1}, storage->label);
    return;
  }
  record(storage, place, place + 1, site);
  if (storage->input) return;
  char* to = static_cast<char*>(storage->data) + size_t(place) * storage->item;
  std::memcpy(to, value, storage->item);
}

void close_stream(Stream* stream) {
  if (stream->buffer && core) tcm_free(stream->buffer, {});
  (stream->write ? stream->storage->writers : stream->storage->readers)--;
  release(stream->storage);
  delete stream;
}

}  // namespace gpsimd
