// More operators that each commit exactly one fault on every core.
#include "faults.hpp"

torch::Tensor element_accessor(const torch::Tensor& x) {
  torch::Tensor out = get_dst_tensor();
  auto from = x.accessor<float, 1>();  // FAULT
  copy(x, out);
  return from.size(0) ? out : x;
}

torch::Tensor stream_accessor(const torch::Tensor& x) {
  torch::Tensor out = get_dst_tensor();
  copy(x, out);
  auto stream = x.read_stream_accessor<float>();  // FAULT
  return out;
}

torch::Tensor used_after_free(const torch::Tensor& x) {
  torch::Tensor out = get_dst_tensor();
  copy(x, out);
  volatile float* tcm = buffer();
  tcm_free((void*)tcm);
  tcm[0] = 1;  // FAULT
  return out;
}

torch::Tensor freed_twice(const torch::Tensor& x) {
  torch::Tensor out = get_dst_tensor();
  copy(x, out);
  float* tcm = buffer();
  tcm_free(tcm);
  tcm_free(tcm);  // FAULT
  return out;
}

torch::Tensor before_the_start(const torch::Tensor& x) {
  torch::Tensor out = get_dst_tensor();
  copy(x, out);
  volatile float* tcm = (float*)tcm_malloc(64);  // FAULT
  tcm[-1] = 0;
  tcm_free((void*)tcm);
  return out;
}

torch::Tensor stack_buffer(const torch::Tensor& x) {
  torch::Tensor out = get_dst_tensor();
  copy(x, out);
  float local[4];
  x.tcm_accessor().tensor_to_tcm<float>(local, 0, 4);  // FAULT
  return out;
}

torch::Tensor wrong_element(const torch::Tensor& x) {
  torch::Tensor out = get_dst_tensor();
  copy(x, out);
  int16_t* tcm = (int16_t*)tcm_malloc(64);
  x.tcm_accessor().tensor_to_tcm<int16_t>(tcm, 0, 4);  // FAULT
  tcm_free(tcm);
  return out;
}

torch::Tensor writes_input(torch::Tensor x) {
  torch::Tensor out = get_dst_tensor();
  copy(x, out);
  float* tcm = buffer();
  x.tcm_accessor().tcm_to_tensor<float>(tcm, get_cpu_id(), 1);  // FAULT
  tcm_free(tcm);
  return out;
}

torch::Tensor aborts(const torch::Tensor& x) {
  torch::Tensor out = get_dst_tensor();
  copy(x, out);
  if (x.dim() == 1)
    abort();  // FAULT
  return out;
}

#include <assert.h>
torch::Tensor asserts(const torch::Tensor& x) {
  torch::Tensor out = get_dst_tensor();
  copy(x, out);
  assert(x.dim() == 7);  // FAULT
  return out;
}
