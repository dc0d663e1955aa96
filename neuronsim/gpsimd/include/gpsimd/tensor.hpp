// torch::Tensor and its three kinds of accessor, for the host build of an operator.
#pragma once

#include <gpsimd/hooks.hpp>

namespace torch {

using c10::BFloat16;
using c10::Half;
using c10::IntArrayRef;
using c10::Scalar;
using c10::ScalarType;
using c10::TensorOptions;

struct CoherencyEnforcer {
  using Policy = gpsimd::Policy;
};

// Element by element, with bounds; a[i][j] peels one dimension at a time.
template <typename T, size_t N, bool read_only> class TensorAccessor {
 public:
  TensorAccessor(gpsimd::Elements elements, const int64_t* sizes,
                 const int64_t* strides, int64_t offset = 0, int dimension = 0)
      : elements_(elements), sizes_(sizes), strides_(strides), offset_(offset),
        dimension_(dimension) {}

  TensorAccessor<T, N - 1, read_only> operator[](int64_t index) const {
    if (index < 0 || index >= sizes_[0])
      gpsimd::index_error(index, sizes_[0], dimension_);
    return {elements_, sizes_ + 1, strides_ + 1, offset_ + index * strides_[0],
            dimension_ + 1};
  }
  int64_t size(int64_t dimension) const { return sizes_[dimension]; }
  IntArrayRef sizes() const { return {sizes_, N}; }

 private:
  gpsimd::Elements elements_;
  const int64_t *sizes_, *strides_;
  int64_t offset_;
  int dimension_;
};

template <typename T, bool read_only> class TensorAccessor<T, 1, read_only> {
 public:
  using Element = std::conditional_t<read_only, const T, T>;

  TensorAccessor(gpsimd::Elements elements, const int64_t* sizes,
                 const int64_t* strides, int64_t offset = 0, int dimension = 0)
      : elements_(elements), sizes_(sizes), strides_(strides), offset_(offset),
        dimension_(dimension) {}

  // A reference from a writable accessor counts as a write: C++ cannot tell.
  Element& operator[](int64_t index) const {
    if (index < 0 || index >= sizes_[0])
      gpsimd::index_error(index, sizes_[0], dimension_);
    int64_t place = offset_ + index * strides_[0];
    ++*elements_.accesses;
    if (!read_only && elements_.marks) elements_.marks[place] = 1;
    return static_cast<T*>(elements_.data)[place];
  }
  int64_t size(int64_t) const { return sizes_[0]; }
  IntArrayRef sizes() const { return {sizes_, 1}; }

 private:
  gpsimd::Elements elements_;
  const int64_t *sizes_, *strides_;
  int64_t offset_;
  int dimension_;
};

// One element after the other; holds 4 KB of the core's TCM pool while open.
class StreamAccessor {
 public:
  StreamAccessor(gpsimd::Stream* stream) : stream_(stream) {}
  StreamAccessor(StreamAccessor&& other) : stream_(other.stream_) {
    other.stream_ = nullptr;
  }
  StreamAccessor(const StreamAccessor&) = delete;
  StreamAccessor& operator=(const StreamAccessor&) = delete;
  ~StreamAccessor() { close(); }
  int close() {
    if (stream_) gpsimd::close_stream(stream_);
    stream_ = nullptr;
    return 0;
  }

 protected:
  gpsimd::Stream* stream_;
};

template <typename T> class TensorReadStreamAccessor : public StreamAccessor {
 public:
  using StreamAccessor::StreamAccessor;
  T read(GPSIMD_SITE) {
    T value{};
    gpsimd::stream_read(stream_, &value, {file, line});
    return value;
  }
};

template <typename T> class TensorWriteStreamAccessor : public StreamAccessor {
 public:
  using StreamAccessor::StreamAccessor;
  void write(T value, GPSIMD_SITE) {
    gpsimd::stream_write(stream_, &value, {file, line});
  }
};

// Block transfers between a tensor and TCM; offsets count elements of the
// flattened tensor.
template <bool read_only> class TensorTcmAccessor {
 public:
  TensorTcmAccessor(gpsimd::Storage* storage) : storage_(storage) {}

  template <typename T>
  void tensor_to_tcm(T* tcm_ptr, size_t tensor_offset, size_t num_elem,
                     GPSIMD_SITE) const {
    gpsimd::load(storage_, tcm_ptr, tensor_offset, num_elem, sizeof(T), {file, line});
  }
  template <typename T>
  void tcm_to_tensor(T* tcm_ptr, size_t tensor_offset, size_t num_elem,
                     GPSIMD_SITE) const {
    static_assert(!read_only || !sizeof(T),
                  "tcm_to_tensor: this accessor comes from a const tensor and can only "
                  "read; take it from a tensor that is not const");
    gpsimd::store(storage_, tcm_ptr, tensor_offset, num_elem, sizeof(T),
                  {file, line});
  }

 private:
  gpsimd::Storage* storage_;
};

// A contiguous tensor; copies share their elements, as in PyTorch.
class Tensor {
 public:
  Tensor() = default;
  // `storage` is null in shape functions: a shape without elements
  Tensor(IntArrayRef sizes, ScalarType type, gpsimd::Storage* storage)
      : storage_(storage), dim_(int(sizes.size())), type_(type) {
    if (dim_ > gpsimd::max_dims)
      gpsimd::stop("dimensions", {}, "a tensor has at most 8 dimensions");
    int64_t stride = 1;
    for (int d = dim_ - 1; d >= 0; --d) {
      sizes_[d] = sizes[size_t(d)];
      strides_[d] = stride;
      stride *= sizes_[d];
    }
    numel_ = stride;
  }
  Tensor(const Tensor& other) { *this = other; }
  Tensor& operator=(const Tensor& other) {
    gpsimd::retain(other.storage_);
    gpsimd::release(storage_);
    storage_ = other.storage_, dim_ = other.dim_, type_ = other.type_;
    numel_ = other.numel_;
    std::copy(other.sizes_, other.sizes_ + gpsimd::max_dims, sizes_);
    std::copy(other.strides_, other.strides_ + gpsimd::max_dims, strides_);
    return *this;
  }
  ~Tensor() { gpsimd::release(storage_); }

  IntArrayRef sizes() const { return {sizes_, size_t(dim_)}; }
  IntArrayRef strides() const { return {strides_, size_t(dim_)}; }
  int64_t size(int64_t d) const { return sizes_[d < 0 ? d + dim_ : d]; }
  int64_t dim() const { return dim_; }
  int64_t numel() const { return numel_; }
  ScalarType dtype() const { return type_; }
  ScalarType scalar_type() const { return type_; }
  size_t element_size() const { return c10::elementSize(type_); }
  bool defined() const { return dim_ >= 0; }

  template <typename T, size_t N>
  TensorAccessor<T, N, true> accessor(GPSIMD_SITE) const& {
    return {elements<T, N>(false, {file, line}), sizes_, strides_};
  }
  template <typename T, size_t N>
  TensorAccessor<T, N, false> accessor(GPSIMD_SITE) & {
    return {elements<T, N>(true, {file, line}), sizes_, strides_};
  }
  template <typename T>
  TensorReadStreamAccessor<T> read_stream_accessor(GPSIMD_SITE) const& {
    check_type<T>({file, line});
    return {gpsimd::open_stream(storage_, false, {file, line})};
  }
  template <typename T>
  TensorWriteStreamAccessor<T> write_stream_accessor(GPSIMD_SITE) & {
    check_type<T>({file, line});
    return {gpsimd::open_stream(storage_, true, {file, line})};
  }
  TensorTcmAccessor<true> tcm_accessor() const& { return {storage_}; }
  TensorTcmAccessor<false> tcm_accessor() & { return {storage_}; }
  Tensor& fill_(const Scalar& value);

  void set_accessor_coherence_policy(CoherencyEnforcer::Policy policy) const {
    gpsimd::policy(storage_, policy);
  }
  CoherencyEnforcer::Policy get_accessor_coherence_policy() const {
    return gpsimd::policy(storage_);
  }
  gpsimd::Storage* storage() const { return storage_; }

 private:
  template <typename T> void check_type(gpsimd::Site site) const {
    if (c10::CppTypeToScalarType<T>::value != type_)
      gpsimd::stop("dtype", site, std::string("an accessor of ") +
                   c10::toString(c10::CppTypeToScalarType<T>::value) +
                   " opened on a tensor of dtype " + c10::toString(type_));
  }
  template <typename T, size_t N>
  gpsimd::Elements elements(bool write, gpsimd::Site site) const {
    check_type<T>(site);
    if (int64_t(N) != dim_)
      gpsimd::stop("dimensions", site, "an accessor of " + std::to_string(N) +
                   " dimensions opened on a tensor of " + std::to_string(dim_));
    return gpsimd::open_elements(storage_, write, site);
  }

  gpsimd::Storage* storage_ = nullptr;
  int dim_ = -1;
  ScalarType type_ = ScalarType::Undefined;
  int64_t numel_ = 0, sizes_[gpsimd::max_dims] = {}, strides_[gpsimd::max_dims] = {};
};

}  // namespace torch

namespace at {
using torch::IntArrayRef;
using torch::Scalar;
using torch::ScalarType;
using torch::Tensor;
}  // namespace at
