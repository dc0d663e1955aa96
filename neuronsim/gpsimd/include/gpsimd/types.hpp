// Scalars, element types and shapes: the part of c10 that a custom operator uses.
// Names as documented by AWS (neuron-customops API reference); own code throughout.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <vector>

namespace c10 {

inline float from_bits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

inline uint32_t to_bits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

// bfloat16: the upper half of a float, rounded to nearest, ties to even.
struct BFloat16 {
  uint16_t x = 0;
  BFloat16() = default;
  BFloat16(float value) : x(round(to_bits(value))) {}
  operator float() const { return from_bits(uint32_t(x) << 16); }

 private:
  static uint16_t round(uint32_t bits) {
    if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fc0;  // NaN stays NaN
    return uint16_t((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
  }
};

// IEEE half precision, rounded to nearest, ties to even.
struct Half {
  uint16_t x = 0;
  Half() = default;
  Half(float value) : x(round(to_bits(value))) {}
  operator float() const {
    uint32_t sign = uint32_t(x & 0x8000u) << 16, magnitude = x & 0x7fffu;
    if (magnitude >= 0x7c00u)  // infinity or NaN
      return from_bits(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));
    if (magnitude < 0x400u) {  // subnormal: a multiple of 2^-24
      float value = float(magnitude) * 5.9604644775390625e-8f;
      return sign ? -value : value;
    }
    return from_bits(sign | ((magnitude << 13) + 0x38000000u));
  }

 private:
  static uint16_t round(uint32_t bits) {
    uint16_t sign = uint16_t((bits >> 16) & 0x8000u);
    bits &= 0x7fffffffu;
    if (bits > 0x7f800000u) return sign | 0x7e00u;
    if (bits >= 0x477ff000u) return sign | 0x7c00u;  // 65520 and above
    if (bits < 0x38800000u)  // one unit of 0.5f is the smallest subnormal half
      return sign | uint16_t(to_bits(from_bits(bits) + 0.5f) - 0x3f000000u);
    bits += 0xfffu + ((bits >> 13) & 1u);
    return sign | uint16_t((bits - 0x38000000u) >> 13);
  }
};

// The numbers are PyTorch's own, so that Python can pass them through.
enum class ScalarType : int32_t {
  Byte = 0, Char = 1, Short = 2, Int = 3, Half = 5, Float = 6, BFloat16 = 15,
  Undefined = -1
};

inline size_t elementSize(ScalarType type) {
  switch (type) {
    case ScalarType::Byte: case ScalarType::Char: return 1;
    case ScalarType::Short: case ScalarType::Half: case ScalarType::BFloat16: return 2;
    default: return 4;
  }
}

inline const char* toString(ScalarType type) {
  switch (type) {
    case ScalarType::Byte: return "Byte";
    case ScalarType::Char: return "Char";
    case ScalarType::Short: return "Short";
    case ScalarType::Int: return "Int";
    case ScalarType::Half: return "Half";
    case ScalarType::Float: return "Float";
    case ScalarType::BFloat16: return "BFloat16";
    default: return "Undefined";
  }
}

template <typename T> struct CppTypeToScalarType {
  static constexpr ScalarType value = ScalarType::Undefined;
};
#define GPSIMD_TYPE(T, NAME)                                \
  template <> struct CppTypeToScalarType<T> {               \
    static constexpr ScalarType value = ScalarType::NAME;   \
  };
GPSIMD_TYPE(uint8_t, Byte)
GPSIMD_TYPE(int8_t, Char)
GPSIMD_TYPE(int16_t, Short)
GPSIMD_TYPE(int32_t, Int)
GPSIMD_TYPE(c10::Half, Half)
GPSIMD_TYPE(float, Float)
GPSIMD_TYPE(c10::BFloat16, BFloat16)
#undef GPSIMD_TYPE

class Scalar {
 public:
  Scalar() = default;
  template <typename T, typename = std::enable_if_t<std::is_arithmetic<T>::value>>
  Scalar(T value)
      : number_(double(value)), integer_(int64_t(value)),
        integral_(std::is_integral<T>::value) {}
  // Not trivial on purpose: a Scalar by value and by reference are then passed the
  // same way, so one caller serves both spellings of a kernel's signature.
  Scalar(const Scalar& other)
      : number_(other.number_), integer_(other.integer_), integral_(other.integral_) {}
  Scalar& operator=(const Scalar&) = default;
  ~Scalar() {}

  template <typename T> T to() const { return integral_ ? T(integer_) : T(number_); }
  double toDouble() const { return to<double>(); }
  float toFloat() const { return to<float>(); }
  int toInt() const { return to<int>(); }
  int64_t toLong() const { return to<int64_t>(); }
  bool isFloatingPoint() const { return !integral_; }
  bool isIntegral(bool = false) const { return integral_; }

 private:
  double number_ = 0;
  int64_t integer_ = 0;
  bool integral_ = true;
};

// A view of a shape; it does not own the numbers.
class IntArrayRef {
 public:
  IntArrayRef() = default;
  IntArrayRef(const int64_t* data, size_t size) : data_(data), size_(size) {}
  // as in PyTorch: {2, 3} lives until the end of the call it is an argument of
  IntArrayRef(const std::initializer_list<int64_t>& list) {
    data_ = list.begin();
    size_ = list.size();
  }
  IntArrayRef(const std::vector<int64_t>& list)
      : data_(list.data()), size_(list.size()) {}
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const int64_t* data() const { return data_; }
  const int64_t* begin() const { return data_; }
  const int64_t* end() const { return data_ + size_; }
  int64_t operator[](size_t index) const { return data_[index]; }
  int64_t back() const { return data_[size_ - 1]; }
  std::vector<int64_t> vec() const { return {begin(), end()}; }
  bool equals(IntArrayRef other) const {
    return size_ == other.size_ && std::equal(begin(), end(), other.begin());
  }

 private:
  const int64_t* data_ = nullptr;
  size_t size_ = 0;
};

inline bool operator==(IntArrayRef a, IntArrayRef b) { return a.equals(b); }
inline bool operator!=(IntArrayRef a, IntArrayRef b) { return !a.equals(b); }

// Only the dtype has an effect, as on the device.
class TensorOptions {
 public:
  TensorOptions(ScalarType type) : type_(type) {}
  TensorOptions dtype(ScalarType type) const { return TensorOptions(type); }
  ScalarType dtype() const { return type_; }

 private:
  ScalarType type_;
};

}  // namespace c10
