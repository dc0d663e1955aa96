// The subset of <torch/torch.h> that AWS documents for custom C++ operators: factory
// functions, Tensor, Scalar, accessors, TCM. Element-wise functions (torch::exp, ...)
// are not here; a kernel that calls one does not compile.
#pragma once

#include <gpsimd/tensor.hpp>

namespace torch {

constexpr ScalarType kByte = ScalarType::Byte;
constexpr ScalarType kChar = ScalarType::Char;
constexpr ScalarType kShort = ScalarType::Short;
constexpr ScalarType kInt = ScalarType::Int;
constexpr ScalarType kHalf = ScalarType::Half;
constexpr ScalarType kFloat = ScalarType::Float;
constexpr ScalarType kBFloat16 = ScalarType::BFloat16;

inline TensorOptions dtype(ScalarType type) { return TensorOptions(type); }

namespace neuron {
inline void* tcm_malloc(size_t nbytes, GPSIMD_SITE) {
  return gpsimd::tcm_malloc(nbytes, {file, line});
}
inline void tcm_free(void* ptr, GPSIMD_SITE) { gpsimd::tcm_free(ptr, {file, line}); }
}  // namespace neuron

namespace detail {

inline Tensor make(IntArrayRef size, TensorOptions options, bool initialised) {
  int64_t elements = 1;
  for (int64_t extent : size) elements *= extent;
  size_t item = c10::elementSize(options.dtype());
  return Tensor(size, options.dtype(), gpsimd::allocate(elements, item, initialised));
}

template <typename T> void fill(const Tensor& tensor, Scalar value) {
  T* first = static_cast<T*>(gpsimd::bytes(tensor.storage()));
  if (first) std::fill(first, first + tensor.numel(), value.to<T>());
}

inline void fill_any(const Tensor& tensor, Scalar value) {
  switch (tensor.dtype()) {
    case kByte: return fill<uint8_t>(tensor, value);
    case kChar: return fill<int8_t>(tensor, value);
    case kShort: return fill<int16_t>(tensor, value);
    case kInt: return fill<int32_t>(tensor, value);
    case kHalf: return fill<Half>(tensor, value);
    case kBFloat16: return fill<BFloat16>(tensor, value);
    default: return fill<float>(tensor, value);
  }
}

}  // namespace detail

inline Tensor empty(IntArrayRef size, TensorOptions options) {
  return detail::make(size, options, false);
}

inline Tensor full(IntArrayRef size, const Scalar& fill_value, TensorOptions options) {
  Tensor tensor = detail::make(size, options, true);
  detail::fill_any(tensor, fill_value);
  return tensor;
}

inline Tensor zeros(IntArrayRef size, TensorOptions options) {
  return full(size, 0, options);
}

inline Tensor ones(IntArrayRef size, TensorOptions options) {
  return full(size, 1, options);
}

inline Tensor& Tensor::fill_(const Scalar& value) {
  detail::fill_any(*this, value);
  gpsimd::wrote_all(storage_);
  return *this;
}

}  // namespace torch

// The operator's output. Several cores share it, and nothing orders them.
torch::Tensor get_dst_tensor(GPSIMD_SITE);

namespace gpsimd {
inline void print_all(std::string&) {}
template <typename First, typename... Rest>
void print_all(std::string& text, const First& first, const Rest&... rest);
inline void append(std::string& text, const char* value) { text += value; }
inline void append(std::string& text, const std::string& value) { text += value; }
template <typename T> void append(std::string& text, const T& value) {
  text += std::to_string(value);
}
template <typename First, typename... Rest>
void print_all(std::string& text, const First& first, const Rest&... rest) {
  append(text, first);
  print_all(text, rest...);
}
template <typename... Parts> std::string message(const Parts&... parts) {
  std::string text;
  print_all(text, parts...);
  return text;
}
}  // namespace gpsimd

#define TORCH_CHECK(condition, ...)                                       \
  do {                                                                    \
    if (!(condition))                                                     \
      gpsimd::stop("check", {__FILE__, __LINE__},                         \
                   gpsimd::message("TORCH_CHECK(" #condition ") failed: ", \
                                   ##__VA_ARGS__));                       \
  } while (false)
