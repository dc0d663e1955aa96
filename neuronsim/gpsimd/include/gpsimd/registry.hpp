// The registration table: filled when a shape library is loaded, read by Python.
#pragma once

#include <gpsimd/tensor.hpp>

namespace gpsimd {

// One argument of a call, in any of the kinds an operator takes.
struct Value {
  torch::Tensor tensor;
  torch::Scalar scalar;
};

using Call = torch::Tensor (*)(void* function, Value* arguments);

struct Operator {
  const char* name;
  const char* kernel;
  const char* kinds;  // one letter an argument: Tensor, Scalar, double, int64_t
  void* shape;
  Call call_kernel;
  Call call_shape;
};

void add_library(const char* name);
void add_operator(const Operator&);

}  // namespace gpsimd
