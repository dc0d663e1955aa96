#include <stdint.h>
#include <stdlib.h>
#include <torch/torch.h>
#include "torchneuron/register.h"

torch::Tensor same(torch::Tensor x) { return torch::zeros(x.sizes(), x.dtype()); }

torch::Tensor combine_shape(torch::Tensor x, torch::Scalar, double, int64_t) {
  TORCH_CHECK(x.dim() < 3, "combine takes at most 2 dimensions, not ", x.dim());
  return torch::zeros(x.sizes(), torch::kFloat);
}

torch::Tensor reads_data(torch::Tensor x) {
  return torch::zeros({int64_t(x.accessor<float, 1>()[0])}, torch::kFloat);
}

NEURON_LIBRARY(gpsimd_clean, m) {
  m.def("relu_element", &same, "relu_element");
  m.def("relu_stream", &same, "relu_stream");
  m.def("relu_tcm", &same, "relu_tcm");
  m.def("twice", &same, "twice_any");
  m.def("talk", &same, "talk");
  m.def("combine", &combine_shape, "combine");
  m.def("reads_data", &reads_data, "talk");
}
