// Runs a clean operator on 8 cores under ThreadSanitizer; prints the output's sum.
#include <gpsimd/runtime.hpp>
#include <neuron/neuron-utils.hpp>
#include <torch/torch.h>

#include "faults.hpp"

namespace gpsimd {
struct Run;
}
extern "C" {
gpsimd::Run* gpsimd_run(gpsimd::Call, void*, const gpsimd::Argument*, int,
                        const gpsimd::Argument*, int, size_t, gpsimd::Result*);
void gpsimd_release(gpsimd::Run*);
}

torch::Tensor call(void*, gpsimd::Value* values) {
  torch::Tensor out = get_dst_tensor();
  std::printf("core %d\n", int(get_cpu_id()));
  copy(values[0].tensor, out);
#ifdef RACE  // all cores write the same elements: the race that must be seen
  float* tcm = buffer();
  out.tcm_accessor().tcm_to_tensor<float>(tcm, 0, block);
  tcm_free(tcm);
#endif
  return out;
}

int main() {
  std::vector<float> input(1000, 1.f), output(1000);
  gpsimd::Argument x = {'T', int32_t(torch::kFloat), 1, {1000}, input.data(), 0, 0, 0};
  gpsimd::Argument y = x;
  y.data = output.data();
  for (int i = 0; i < 20; ++i) {
    gpsimd::Result seen;
    gpsimd::Run* run = gpsimd_run(call, nullptr, &x, 1, &y, 8, 16384, &seen);
    if (seen.n_findings) return 1;
    gpsimd_release(run);
  }
  float sum = 0;
  for (float value : output) sum += value;
  std::fprintf(stdout, "%g\n", double(sum));
}
