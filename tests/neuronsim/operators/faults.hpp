// What the faulty operators share: each core's part of a flat tensor, copied in blocks.
#include <stdint.h>
#include <stdlib.h>
#include <torch/torch.h>
#include <neuron/neuron-utils.hpp>

using torch::neuron::tcm_free;
using torch::neuron::tcm_malloc;

constexpr size_t block = 16;

struct Part {
  size_t first, last;
};

inline Part part(size_t elements) {
  size_t share = (elements + get_cpu_count() - 1) / get_cpu_count();
  size_t first = std::min(elements, share * get_cpu_id());
  return {first, std::min(elements, first + share)};
}

inline float* buffer() { return (float*)tcm_malloc(block * sizeof(float)); }

// The correct copy, so that an operator commits its one fault and no other.
inline void copy(const torch::Tensor& x, torch::Tensor& out) {
  float* tcm = buffer();
  auto from = x.tcm_accessor();
  auto to = out.tcm_accessor();
  Part mine = part(x.numel());
  for (size_t i = mine.first; i < mine.last; i += block) {
    size_t count = std::min(block, mine.last - i);
    from.tensor_to_tcm<float>(tcm, i, count);
    to.tcm_to_tensor<float>(tcm, i, count);
  }
  tcm_free(tcm);
}
