// Operators that each commit exactly one fault (and `clean`, which commits none).
#include "faults.hpp"

torch::Tensor clean(const torch::Tensor& x) {
  torch::Tensor out = get_dst_tensor();
  copy(x, out);
  return out;
}

torch::Tensor remainder_dropped(const torch::Tensor& x) {
  torch::Tensor out = get_dst_tensor();
  float* tcm = buffer();
  size_t share = x.numel() / get_cpu_count();
  for (size_t i = 0; i < share; ++i) {
    x.tcm_accessor().tensor_to_tcm<float>(tcm, share * get_cpu_id() + i, 1);
    out.tcm_accessor().tcm_to_tensor<float>(tcm, share * get_cpu_id() + i, 1);  // FAULT
  }
  tcm_free(tcm);
  return out;
}

torch::Tensor written_by_two(const torch::Tensor& x) {
  torch::Tensor out = get_dst_tensor();
  copy(x, out);
  if (get_cpu_id() == 3) {
    float* tcm = buffer();
    x.tcm_accessor().tensor_to_tcm<float>(tcm, 0, 4);
    out.tcm_accessor().tcm_to_tensor<float>(tcm, 0, 4);
    tcm_free(tcm);
  }
  return out;
}

torch::Tensor beyond_the_end(const torch::Tensor& x) {
  torch::Tensor out = get_dst_tensor();
  copy(x, out);
  if (get_cpu_id() == 7) {
    float* tcm = buffer();
    x.tcm_accessor().tensor_to_tcm<float>(tcm, x.numel() - 2, 5);  // FAULT
    tcm_free(tcm);
  }
  return out;
}

torch::Tensor leak(const torch::Tensor& x) {
  torch::Tensor out = get_dst_tensor();
  copy(x, out);
  tcm_malloc(100);  // FAULT
  return out;
}

torch::Tensor overrun(const torch::Tensor& x) {
  torch::Tensor out = get_dst_tensor();
  copy(x, out);
  volatile float* tcm = buffer();
  for (size_t i = 0; i <= block; ++i)
    tcm[i] = 0;  // FAULT
  tcm_free((void*)tcm);
  return out;
}

torch::Tensor transfer_too_large(const torch::Tensor& x) {
  torch::Tensor out = get_dst_tensor();
  copy(x, out);
  float* tcm = buffer();
  x.tcm_accessor().tensor_to_tcm<float>(tcm, 0, block + 1);  // FAULT
  tcm_free(tcm);
  return out;
}

torch::Tensor null_transfer(const torch::Tensor& x) {
  torch::Tensor out = get_dst_tensor();
  copy(x, out);
  float* tcm = (float*)tcm_malloc(16385);
  x.tcm_accessor().tensor_to_tcm<float>(tcm, 0, 8);  // FAULT
  tcm_free(tcm);
  return out;
}

torch::Tensor null_write(const torch::Tensor& x) {
  torch::Tensor out = get_dst_tensor();
  copy(x, out);
  volatile float* tcm = (float*)tcm_malloc(16385);
  tcm[3] = 1;  // FAULT
  return out;
}

torch::Tensor returned_only(const torch::Tensor& x) {
  torch::Tensor out = torch::zeros(x.sizes(), torch::kFloat);
  return out;
}
