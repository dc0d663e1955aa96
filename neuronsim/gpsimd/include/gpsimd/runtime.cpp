// Eight threads stand for eight cores. A fault ends its core, not the process.
#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <stdarg.h>
#include <ucontext.h>

#include <exception>
#include <gpsimd/runtime.hpp>
#include <memory>
#include <neuron/neuron-utils.hpp>
#include <stdexcept>
#include <thread>
#include <torch/torch.h>

namespace gpsimd {

thread_local Core* core = nullptr;
thread_local sigjmp_buf* shape_escape = nullptr;  // a failed assert in a shape function
thread_local std::string shape_complaint;

namespace {

std::vector<Operator>& operators() {
  static std::vector<Operator> table;
  return table;
}

std::vector<std::string>& libraries() {
  static std::vector<std::string> names;
  return names;
}

void copy(char* to, size_t room, const std::string& text) {
  size_t length = std::min(text.size(), room - 1);
  std::memcpy(to, text.data(), length);
  to[length] = 0;
}

}  // namespace

void add_library(const char* name) { libraries().push_back(name); }
void add_operator(const Operator& entry) { operators().push_back(entry); }

int capture(uintptr_t* frames) {
  void* addresses[max_frames];
  int count = backtrace(addresses, max_frames);
  std::transform(addresses, addresses + count, frames,
                 [](void* address) { return uintptr_t(address); });
  return count;
}

// One finding a line and core; repetitions widen its range and raise its count.
Finding& report(const char* kind, Site site, const std::string& detail, Range range,
                const char* tensor) {
  for (Finding& old : core->findings) {
    if (!site.file || old.line != site.line || std::strcmp(old.kind, kind) ||
        std::strcmp(old.file, site.file))
      continue;
    old.first = std::min(old.first, range.first);
    old.last = std::max(old.last, range.last);
    ++old.count;
    return old;
  }
  Finding finding = {kind, site.file, site.line, core->id, range.first, range.last, 1,
                     {}, {}, 0, {}};
  copy(finding.tensor, sizeof finding.tensor, tensor);
  copy(finding.detail, sizeof finding.detail, detail);
  core->findings.push_back(finding);
  return core->findings.back();
}

void stop(const char* kind, Site site, const std::string& message) {
  if (!core) {
    std::string where = site.file ? std::string(site.file) + ":" +
                                        std::to_string(site.line) + ": " : "";
    throw std::runtime_error(where + message);
  }
  report(kind, site, message);
  throw Stop{};
}

namespace {

constexpr int caught[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
struct sigaction previous[sizeof caught / sizeof *caught];

// Frames are return addresses, one past their call; the faulting one is made alike.
uintptr_t fault_frame(void* context) {
  const mcontext_t& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return uintptr_t(machine.gregs[REG_RIP]) + 1;
#elif defined(__aarch64__)
  return uintptr_t(machine.pc) + 1;
#else
#error "the host build knows x86-64 and aarch64"
#endif
}

void on_fault(int number, siginfo_t* info, void* context) {
  if (!core) {  // not ours: whoever was there before decides
    for (size_t i = 0; i < sizeof caught / sizeof *caught; ++i)
      if (caught[i] == number) sigaction(number, &previous[i], nullptr);
    return;
  }
  core->signal = number;
  core->address = uintptr_t(info->si_addr);
  uintptr_t frames[max_frames];
  int count = std::min(capture(frames), max_frames - 1);
  core->frame[0] = fault_frame(context);
  std::copy(frames, frames + count, core->frame + 1);
  core->frames = count + 1;
  siglongjmp(core->escape, 1);
}

// While it lives, faults of core threads become findings.
struct FaultGuard {
  FaultGuard() {
    uintptr_t frames[max_frames];
    capture(frames);  // loads the unwinder now, not inside a signal handler
    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    for (size_t i = 0; i < sizeof caught / sizeof *caught; ++i)
      sigaction(caught[i], &action, &previous[i]);
  }
  ~FaultGuard() {
    for (size_t i = 0; i < sizeof caught / sizeof *caught; ++i)
      sigaction(caught[i], &previous[i], nullptr);
  }
};

// A stack for the handler, so that an overflown stack is a finding too.
struct HandlerStack {
  static constexpr size_t size = 256 * 1024;
  std::unique_ptr<char[]> memory{new char[size]};
  HandlerStack() {
    stack_t stack = {};
    stack.ss_sp = memory.get(), stack.ss_size = size;
    sigaltstack(&stack, nullptr);
  }
  ~HandlerStack() {
    stack_t none = {};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
  }
};

Storage* borrow(const Argument& argument, const std::string& label, bool output) {
  Storage* storage = new Storage;
  storage->data = argument.data;
  storage->item = c10::elementSize(c10::ScalarType(argument.dtype));
  storage->elements = 1;
  for (int64_t d = 0; d < argument.dim; ++d) storage->elements *= argument.sizes[d];
  storage->input = !output, storage->output = output;
  copy(storage->label, sizeof storage->label, label);
  return storage;
}

torch::Tensor tensor(const Argument& argument, Storage* storage) {
  return {{argument.sizes, size_t(argument.dim)}, c10::ScalarType(argument.dtype),
          storage};
}

std::vector<Value> values(const Argument* arguments, int count, bool with_data) {
  std::vector<Value> result((size_t(count)));
  for (int i = 0; i < count; ++i) {
    const Argument& from = arguments[i];
    Value& to = result[size_t(i)];
    if (from.kind == 'T')
      to.tensor = tensor(from, with_data ? borrow(from, "input " + std::to_string(i),
                                                  false) : nullptr);
    else
      to.scalar = from.integral ? torch::Scalar(from.integer)
                                : torch::Scalar(from.number);
  }
  return result;
}

std::string describe(const torch::Tensor& tensor) {
  if (!tensor.defined()) return "no tensor";
  std::string text = "[";
  for (int64_t extent : tensor.sizes())
    text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  return text + "] of " + c10::toString(tensor.dtype());
}

// Single core without get_dst_tensor: what the kernel returned is the output.
void take_returned(torch::Tensor& returned, torch::Tensor& output) {
  if (!returned.defined() || returned.sizes() != output.sizes() ||
      returned.dtype() != output.dtype()) {
    report("shape", {}, "the kernel returns " + describe(returned) +
                            ", the shape function says " + describe(output));
    output.storage()->untracked = true;
    return;
  }
  Storage *from = returned.storage(), *to = output.storage();
  std::memcpy(to->data, from->data, size_t(from->elements) * from->item);
  to->marks = from->marks;
  to->writes = from->writes;
  if (from->initialised || from->input)
    to->writes[0].push_back({0, 0, nullptr, 0, to->elements});
}

void run_core(Core& self, Call call, void* kernel, std::vector<Value>& arguments) {
  HandlerStack stack;
  core = &self;
  if (sigsetjmp(self.escape, 1) == 0) {
    try {
      torch::Tensor returned = call(kernel, arguments.data());
      if (!self.destination_taken && self.multicore)
        report("no-destination", {}, "with multicore=True the output must be written "
               "through get_dst_tensor(); what a core returns is ignored");
      else if (!self.destination_taken)
        take_returned(returned, *self.destination);
      self.finished = true;
    } catch (const Stop&) {
    } catch (const std::exception& error) {
      report("exception", {}, error.what());
    }
  } else if (self.signal) {
    explain_fault();
  }
  finish_tcm();
  self.counters.tcm_peak = self.tcm.peak;
  core = nullptr;
}

struct Run {
  std::vector<Finding> findings;
  std::vector<Write> writes;
  std::vector<Counters> counters;
  std::string printed;
  bool coverage_known = true, finished = true;
};

void collect(Run& run, const std::vector<Core>& cores, const Storage& output) {
  for (const Core& each : cores) {
    run.findings.insert(run.findings.end(), each.findings.begin(), each.findings.end());
    run.counters.push_back(each.counters);
    run.finished = run.finished && each.finished;
  }
  for (const auto& writes : output.writes)
    run.writes.insert(run.writes.end(), writes.begin(), writes.end());
  for (int64_t i = 0; i < int64_t(output.marks.size()); ++i) {
    int64_t first = i;
    while (i < int64_t(output.marks.size()) && output.marks[size_t(i)]) ++i;
    if (i > first) run.writes.push_back({0, 0, nullptr, first, i});
  }
  run.printed = cores[0].printed;
  run.coverage_known = !output.untracked;
}

}  // namespace
}  // namespace gpsimd

// ---- what kernels call ------------------------------------------------------------

using gpsimd::core;

torch::Tensor get_dst_tensor(const char* file, int line) {
  if (!core) gpsimd::stop("shape-data", {file, line}, "a shape function has no output");
  core->destination_taken = true;
  return *core->destination;
}

uint32_t get_cpu_id() { return core ? uint32_t(core->id) : 0; }
uint32_t get_cpu_count() { return core ? uint32_t(core->count) : 1; }

// Under the names of libc's own, but hidden: they replace those for the operator's code
// and for nothing else in the process.
#define GPSIMD_REPLACES(name) __asm__(name) __attribute__((visibility("hidden")))
extern "C" {
int gpsimd_printf(const char* format, ...) GPSIMD_REPLACES("printf");
void gpsimd_assert(const char*, const char*, unsigned, const char*)
    GPSIMD_REPLACES("__assert_fail");
}

// Core 0 prints, after the run; the oldest text is lost when 128 KB are not enough.
int gpsimd_printf(const char* format, ...) {
  constexpr size_t queue = 131072;
  if (!core || core->id != 0) return 0;
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  core->printed += text;
  if (core->printed.size() > queue)
    core->printed.erase(0, core->printed.size() - queue);
  return length;
}

// A jump, not an exception: callers believe that a failed assert never throws.
void gpsimd_assert(const char* expression, const char* file, unsigned line, const char*) {
  std::string detail = std::string("assert(") + expression + ") failed";
  if (core) {
    gpsimd::report("check", {file, int(line)}, detail);
    siglongjmp(core->escape, 1);
  }
  gpsimd::shape_complaint = file + (":" + std::to_string(line)) + ": " + detail;
  siglongjmp(*gpsimd::shape_escape, 1);
}

// ---- the C ABI --------------------------------------------------------------------

extern "C" {

int gpsimd_libraries() { return int(gpsimd::libraries().size()); }
const char* gpsimd_library() { return gpsimd::libraries()[0].c_str(); }
int gpsimd_operators() { return int(gpsimd::operators().size()); }
const gpsimd::Operator* gpsimd_operator(int index) {
  return &gpsimd::operators()[size_t(index)];
}

// 0, or 1 with the shape function's complaint in `message`.
int gpsimd_shape(int index, const gpsimd::Argument* arguments, int count,
                 gpsimd::Argument* result, char* message, size_t room) {
  sigjmp_buf escape;
  gpsimd::shape_escape = &escape;
  if (sigsetjmp(escape, 0)) {
    gpsimd::copy(message, room, gpsimd::shape_complaint);
    return 1;
  }
  try {
    const gpsimd::Operator& entry = gpsimd::operators()[size_t(index)];
    auto values = gpsimd::values(arguments, count, false);
    torch::Tensor shape = entry.call_shape(entry.shape, values.data());
    result->dim = shape.dim();
    result->dtype = int32_t(shape.dtype());
    std::copy(shape.sizes().begin(), shape.sizes().end(), result->sizes);
    return 0;
  } catch (const std::exception& error) {
    gpsimd::copy(message, room, error.what());
    return 1;
  }
}

gpsimd::Run* gpsimd_run(gpsimd::Call call, void* kernel,
                        const gpsimd::Argument* arguments, int count,
                        const gpsimd::Argument* result, int cores, size_t pool,
                        gpsimd::Result* seen) {
  gpsimd::FaultGuard guard;
  gpsimd::Storage* storage = gpsimd::borrow(*result, "output", true);
  torch::Tensor output = gpsimd::tensor(*result, storage);
  auto values = gpsimd::values(arguments, count, true);
  std::vector<gpsimd::Core> states((size_t(cores)));
  std::vector<std::vector<gpsimd::Value>> own(states.size(), values);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < states.size(); ++i) {
    states[i].id = int(i), states[i].count = cores;
    states[i].multicore = cores > 1;
    states[i].destination = &output;
    states[i].tcm.pool = pool;
    threads.emplace_back(gpsimd::run_core, std::ref(states[i]), call, kernel,
                         std::ref(own[i]));
  }
  for (std::thread& thread : threads) thread.join();
  auto* run = new gpsimd::Run;
  gpsimd::collect(*run, states, *storage);
  *seen = {run->findings.data(), int64_t(run->findings.size()), run->writes.data(),
           int64_t(run->writes.size()), run->counters.data(), run->printed.data(),
           int64_t(run->printed.size()), run->coverage_known, run->finished};
  return run;
}

void gpsimd_release(gpsimd::Run* run) { delete run; }

}  // extern "C"
