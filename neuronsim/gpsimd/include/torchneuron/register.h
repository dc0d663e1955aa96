// NEURON_LIBRARY(name, m) { m.def("operator", &shape_function, "kernel_function"); }
#pragma once

#include <gpsimd/registry.hpp>
#include <torch/torch.h>
#include <utility>

namespace gpsimd {

template <typename T> struct Kind {
  static_assert(!sizeof(T), "an operator takes torch::Tensor, torch::Scalar, double or "
                            "int64_t; change this argument's type");
};
template <> struct Kind<torch::Tensor> {
  static constexpr char letter = 'T';
  using Pass = const torch::Tensor&;
  static torch::Tensor& get(Value& value) { return value.tensor; }
};
template <> struct Kind<torch::Scalar> {
  static constexpr char letter = 'S';
  using Pass = const torch::Scalar&;
  static torch::Scalar& get(Value& value) { return value.scalar; }
};
template <> struct Kind<double> {
  static constexpr char letter = 'd';
  using Pass = double;
  static double get(Value& value) { return value.scalar.toDouble(); }
};
template <> struct Kind<int64_t> {
  static constexpr char letter = 'i';
  using Pass = int64_t;
  static int64_t get(Value& value) { return value.scalar.toLong(); }
};
template <typename A> using KindOf = Kind<std::decay_t<A>>;

// Calls a kernel through the signature of its shape function. A Tensor by value and
// by reference are passed alike (its copy constructor is not trivial), so this is the
// right call whichever the kernel's author wrote; `double` and `int64_t` are by value.
template <typename... A, size_t... I>
torch::Tensor call_kernel(void* kernel, Value* values, std::index_sequence<I...>) {
  using Function = torch::Tensor (*)(typename KindOf<A>::Pass...);
  return reinterpret_cast<Function>(kernel)(KindOf<A>::get(values[I])...);
}

template <typename... A, size_t... I>
torch::Tensor call_shape(void* shape, Value* values, std::index_sequence<I...>) {
  using Function = torch::Tensor (*)(A...);
  return reinterpret_cast<Function>(shape)(KindOf<A>::get(values[I])...);
}

}  // namespace gpsimd

namespace torchneuron {

class Library {
 public:
  template <typename... A>
  Library& def(const char* name, torch::Tensor (*shape)(A...), const char* kernel) {
    using Indices = std::index_sequence_for<A...>;
    static const char kinds[] = {gpsimd::KindOf<A>::letter..., 0};
    gpsimd::add_operator(
        {name, kernel, kinds, reinterpret_cast<void*>(shape),
         [](void* function, gpsimd::Value* values) {
           return gpsimd::call_kernel<A...>(function, values, Indices{});
         },
         [](void* function, gpsimd::Value* values) {
           return gpsimd::call_shape<A...>(function, values, Indices{});
         }});
    return *this;
  }
};

}  // namespace torchneuron

#define NEURON_LIBRARY(name, m)                                                    \
  static void neuron_library_##name(torchneuron::Library&);                        \
  static const bool neuron_registered_##name = [] {                                \
    torchneuron::Library library;                                                  \
    gpsimd::add_library(#name);                                                    \
    neuron_library_##name(library);                                                \
    return true;                                                                   \
  }();                                                                             \
  static void neuron_library_##name(torchneuron::Library& m)
