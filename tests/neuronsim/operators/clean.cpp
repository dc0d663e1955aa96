// Correct operators: ReLU through every accessor, every dtype, every argument kind.
#include "faults.hpp"

torch::Tensor relu_element(const torch::Tensor& x) {
  torch::Tensor out = torch::zeros(x.sizes(), torch::kFloat);
  auto from = x.accessor<float, 2>();
  auto to = out.accessor<float, 2>();
  for (int i = 0; i < x.sizes()[0]; ++i)
    for (int j = 0; j < x.sizes()[1]; ++j) to[i][j] = std::max(from[i][j], 0.f);
  return out;
}

torch::Tensor relu_stream(const torch::Tensor& x) {
  torch::Tensor out = torch::empty(x.sizes(), torch::kFloat);
  auto from = x.read_stream_accessor<float>();
  auto to = out.write_stream_accessor<float>();
  for (int i = 0; i < x.numel(); ++i) to.write(std::max(from.read(), 0.f));
  return out;
}

torch::Tensor relu_tcm(const torch::Tensor& x) {
  torch::Tensor out = torch::empty(x.sizes(), torch::kFloat);
  float* tcm = buffer();
  if (tcm == nullptr) return out;
  auto from = x.tcm_accessor();
  auto to = out.tcm_accessor();
  size_t elements = x.numel();
  for (size_t i = 0; i < elements; i += block) {
    size_t count = std::min(block, elements - i);
    from.tensor_to_tcm<float>(tcm, i, count);
    for (size_t j = 0; j < count; ++j) tcm[j] = std::max(tcm[j], 0.f);
    to.tcm_to_tensor<float>(tcm, i, count);
  }
  tcm_free(tcm);
  return out;
}

template <typename T> torch::Tensor twice(const torch::Tensor& x) {
  torch::Tensor out = torch::empty(x.sizes(), x.dtype());
  auto from = x.accessor<T, 1>();
  auto to = out.accessor<T, 1>();
  for (int i = 0; i < x.numel(); ++i) to[i] = T(from[i] + from[i]);
  return out;
}

torch::Tensor twice_any(torch::Tensor x) {
  switch (x.dtype()) {
    case torch::kByte: return twice<uint8_t>(x);
    case torch::kChar: return twice<int8_t>(x);
    case torch::kShort: return twice<int16_t>(x);
    case torch::kInt: return twice<int32_t>(x);
    case torch::kHalf: return twice<torch::Half>(x);
    case torch::kBFloat16: return twice<torch::BFloat16>(x);
    default: return twice<float>(x);
  }
}

torch::Tensor talk(const torch::Tensor& x) {
  printf("core %d sees %d elements\n", int(get_cpu_id()), int(x.numel()));
  printf("done\n");
  return torch::ones(x.sizes(), torch::kFloat);
}

torch::Tensor combine(const torch::Tensor& x, const torch::Scalar& a, double b,
                      int64_t c) {
  float sum = a.toFloat() + float(b) + float(c);
  return torch::full(x.sizes(), sum, torch::kFloat);
}
