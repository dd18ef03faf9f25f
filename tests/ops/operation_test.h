// Tools for testing operations on every back end of this machine: device buffers followed by guard
// words, random inputs, and comparisons with double precision within stated bounds. For the tests
// of kernels/ops; host only.
#pragma once

#include "kernels/ops/ops.h"
#include "kernels/runtime/device.h"
#include "kernels/runtime/dtype.h"
#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace wellspring::ops::test {

using Doubles = std::vector<double>;

/// The largest relative error of one rounding: bf16 has 8 significant bits, f32 has 24.
constexpr double rounding(DType dtype) {
  return dtype == DType::bf16 ? 0x1p-8 : 0x1p-24;
}
/// Relative error of one rounding to f32.
inline constexpr double kU = rounding(DType::f32);

/// Device memory of n elements and guard words, which the destructor checks.
template <class T>
class Buffer {
 public:
  Buffer(Stream& stream, std::size_t n)
      : stream_(&stream), n_(n), plan_(std::make_unique<MemoryPlan>(stream.device())) {
    memory_ = plan_->reserve<std::byte>("test", "buffer", n * sizeof(T) + kGuardBytes);
    plan_->commit();
    // Makes unwritten memory recognisable: read as a float, it is NaN.
    fill(std::vector<std::byte>(n * sizeof(T) + kGuardBytes, kPattern));
  }
  Buffer(Stream& stream, const std::vector<T>& values) : Buffer(stream, values.size()) {
    assign(values);
  }
  ~Buffer() {
    if (!plan_) return;
    const std::vector<std::byte> all = bytes();
    const bool intact =
        std::all_of(all.end() - kGuardBytes, all.end(), [](std::byte b) { return b == kPattern; });
    EXPECT_TRUE(intact) << "wrote past the end of a buffer of " << n_ << " elements";
  }
  Buffer(Buffer&&) noexcept = default;

  T* data() const { return reinterpret_cast<T*>(memory_.data()); }
  operator T*() const { return data(); }  // NOLINT: acts as the pointer that operations take
  std::size_t size() const { return n_; }

  /// const, because the memory is not part of the object, as with a pointer's target.
  void assign(const std::vector<T>& values) const {
    ASSERT_EQ(values.size(), n_);
    stream_->copy(memory_.data(), values.data(), n_ * sizeof(T), CopyDirection::host_to_device,
                  "assign");
    stream_->synchronize();
  }
  std::vector<T> values() const {
    std::vector<T> result(n_);
    const std::vector<std::byte> all = bytes();
    if (n_ > 0) std::memcpy(static_cast<void*>(result.data()), all.data(), n_ * sizeof(T));
    return result;
  }

 private:
  static constexpr std::ptrdiff_t kGuardBytes = 64;
  static constexpr std::byte kPattern{0xFF};

  void fill(const std::vector<std::byte>& all) {
    stream_->copy(memory_.data(), all.data(), all.size(), CopyDirection::host_to_device, "fill");
    stream_->synchronize();
  }
  std::vector<std::byte> bytes() const {
    std::vector<std::byte> all(n_ * sizeof(T) + kGuardBytes);
    stream_->copy(all.data(), memory_.data(), all.size(), CopyDirection::device_to_host, "read");
    stream_->synchronize();
    return all;
  }

  Stream* stream_;
  std::size_t n_;
  std::unique_ptr<MemoryPlan> plan_;
  Planned<std::byte> memory_;
};

/// Uniform in [low, high), rounded to T.
template <class T>
std::vector<T> random_values(std::size_t n, unsigned seed, float low = -1, float high = 1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(low, high);
  std::vector<T> values(n);
  for (T& value : values) value = T(uniform(random));
  return values;
}

template <class T>
Doubles in_double(const std::vector<T>& values) {
  Doubles result;
  result.reserve(values.size());
  for (const T& value : values) {
    if constexpr (std::is_same_v<T, bf16>) {
      result.push_back(static_cast<double>(static_cast<float>(value)));
    } else {
      result.push_back(static_cast<double>(value));
    }
  }
  return result;
}

/// Expects every value to be within its own bound of the expected one; NaNs fail.
template <class T>
void expect_within(const std::vector<T>& got, const Doubles& expected, const Doubles& bound,
                   const std::string& what) {
  const Doubles actual = in_double(got);
  ASSERT_EQ(actual.size(), expected.size()) << what;
  ASSERT_EQ(bound.size(), expected.size()) << what;
  int reported = 0;
  for (std::size_t i = 0; i < actual.size() && reported < 5; ++i) {
    if (std::abs(actual[i] - expected[i]) <= bound[i]) continue;
    ++reported;
    ADD_FAILURE() << what << "[" << i << "] is " << actual[i] << ", expected " << expected[i]
                  << " within " << bound[i];
  }
}

template <class T>
void expect_within(const std::vector<T>& got, const Doubles& expected, double bound,
                   const std::string& what) {
  expect_within(got, expected, Doubles(expected.size(), bound), what);
}

/// A convolution of `batch` images; `rest` sets the other members.
inline Conv2dSpec images(int batch, int height, int width, int in_channels, int out_channels,
                         Conv2dSpec rest = {}) {
  rest.batch = batch;
  rest.in_height = height;
  rest.in_width = width;
  rest.in_channels = in_channels;
  rest.out_channels = out_channels;
  return rest;
}

/// df/dx_i by central differences in double precision. With a step of 1e-5 and values of order one,
/// both errors, f''' step^2 / 6 and rounding / step, are below 1e-9.
inline double derivative(const std::function<double(const Doubles&)>& f, Doubles x, std::size_t i) {
  constexpr double kStep = 1e-5;
  const double centre = x[i];
  x[i] = centre + kStep;
  const double above = f(x);
  x[i] = centre - kStep;
  const double below = f(x);
  return (above - below) / (2 * kStep);
}

/// The derivatives with respect to all elements.
inline Doubles gradient(const std::function<double(const Doubles&)>& f, const Doubles& x) {
  Doubles result(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) result[i] = derivative(f, x, i);
  return result;
}

inline double dot(const Doubles& a, const Doubles& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

inline double largest_magnitude(const Doubles& values) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

/// A test that runs once per back end and is skipped, with a reason, if the back end is missing.
class OperationTest : public ::testing::TestWithParam<Backend> {
 protected:
  void SetUp() override {
    if (GetParam() == Backend::cuda && cuda_status().device_count == 0) {
      GTEST_SKIP() << "needs a GPU: " << cuda_status().reason;
    }
    stream_ =
        std::make_unique<Stream>(GetParam() == Backend::cuda ? Device::cuda(0) : Device::cpu(), 2);
  }
  bool on_gpu() const { return GetParam() == Backend::cuda; }
  Stream& stream() { return *stream_; }
  template <class T>
  Buffer<T> buffer(std::size_t n) {
    return Buffer<T>(*stream_, n);
  }
  template <class T>
  Buffer<T> buffer(const std::vector<T>& values) {
    return Buffer<T>(*stream_, values);
  }

 private:
  std::unique_ptr<Stream> stream_;
};

inline std::string backend_name(const ::testing::TestParamInfo<Backend>& info) {
  return info.param == Backend::cuda ? "cuda" : "cpu";
}

/// Runs the tests of a fixture on every back end.
#define WS_ON_EVERY_BACKEND(fixture)                                                               \
  INSTANTIATE_TEST_SUITE_P(Backends, fixture,                                                      \
                           ::testing::Values(wellspring::Backend::cpu, wellspring::Backend::cuda), \
                           ::wellspring::ops::test::backend_name)

}  // namespace wellspring::ops::test
