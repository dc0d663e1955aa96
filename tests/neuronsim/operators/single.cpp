// Single-core operators that each commit exactly one fault, through the accessors
// that only a single core may use.
#include "faults.hpp"

torch::Tensor wrong_shape(const torch::Tensor& x) {
  return torch::zeros({x.numel() + 1}, torch::kFloat);
}

torch::Tensor wrong_type(const torch::Tensor& x) {
  return torch::zeros(x.sizes(), torch::kInt);
}

torch::Tensor half_written(const torch::Tensor& x) {
  torch::Tensor out = torch::empty(x.sizes(), torch::kFloat);
  auto from = x.accessor<float, 1>();
  auto to = out.accessor<float, 1>();
  for (int i = 0; i < x.numel() / 2; ++i) to[i] = from[i];
  return out;
}

torch::Tensor index_beyond(const torch::Tensor& x) {
  torch::Tensor out = torch::zeros(x.sizes(), torch::kFloat);
  auto to = out.accessor<float, 1>();
  to[0] = x.accessor<float, 1>()[x.numel()];  // FAULT
  return out;
}

torch::Tensor wrong_accessor(const torch::Tensor& x) {
  auto from = x.accessor<int32_t, 1>();  // FAULT
  return from.size(0) ? x : x;
}

torch::Tensor wrong_dimensions(const torch::Tensor& x) {
  auto from = x.accessor<float, 2>();  // FAULT
  return from.size(0) ? x : x;
}

torch::Tensor stream_overread(const torch::Tensor& x) {
  torch::Tensor out = torch::zeros(x.sizes(), torch::kFloat);
  auto from = x.read_stream_accessor<float>();
  for (int i = 0; i <= x.numel(); ++i)
    from.read();  // FAULT
  return out;
}

torch::Tensor incoherent(const torch::Tensor& x) {
  torch::Tensor out = torch::zeros(x.sizes(), torch::kFloat);
  auto first = out.write_stream_accessor<float>();
  auto second = out.read_stream_accessor<float>();  // FAULT
  return out;
}

torch::Tensor closed_stream(const torch::Tensor& x) {
  torch::Tensor out = torch::zeros(x.sizes(), torch::kFloat);
  auto to = out.write_stream_accessor<float>();
  to.close();
  to.write(1);  // FAULT
  return out;
}

torch::Tensor throws(const torch::Tensor& x) {
  std::vector<float> none;
  return none.at(size_t(x.numel())) > 0 ? x : x;
}
