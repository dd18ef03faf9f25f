#include "kernels/random/math.h"

#include "kernels/random/philox.h"
#include "kernels/runtime/launch.h"
#include "kernels/runtime/memory_plan.h"
#include "tests/kernels/math_functors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

namespace wellspring {
namespace {

using math::kInfinity;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Tests every 1021st of all 2^32 binary32 numbers, and fewer in unoptimised builds. 1021 is prime,
// so all exponents and varied mantissas occur. The stated bounds are from every 31st number.
#if defined(WELLSPRING_SANITIZED) || !defined(NDEBUG)
constexpr std::uint64_t kStride = 65'521;
constexpr std::uint32_t kPairs = 100'000;
#else
constexpr std::uint64_t kStride = 1021;
constexpr std::uint32_t kPairs = 4'000'000;
#endif

/// Distance from `exact` in units in the last place (ulp) of the nearest binary32. NaN must give
/// NaN; a value that rounds to infinity may give infinity or the largest finite number.
double ulp_error(float got, double exact) {
  if (std::isnan(exact)) return std::isnan(got) ? 0 : 1e9;
  const double magnitude = std::abs(exact);
  constexpr double kLargest = std::numeric_limits<float>::max();
  if (magnitude > kLargest) {
    return std::abs(got) >= std::numeric_limits<float>::max() && std::signbit(got) == (exact < 0)
               ? 0
               : 1e9;
  }
  // frexp's mantissa is in [1/2, 1), so the last of 24 bits is worth 2^(exponent - 24), or 2^-149
  // for subnormals.
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  const double unit = std::ldexp(1.0, std::max(exponent - 24, -149));
  return std::abs(got - exact) / unit;
}

struct Worst {
  double error = 0;
  float x = 0, y = 0;
  void add(double candidate, float at_x, float at_y = 0) {
    if (candidate <= error) return;
    *this = {candidate, at_x, at_y};
  }
};

/// A function of one variable, its double-precision reference, its range and its stated error
/// bound.
struct Case {
  const char* name;
  float (*function)(float);
  double (*exact)(double);
  float low, high;
  double bound;  ///< in ulps, from the function's comment in kernels/random/math.h
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}

double exact_sin_turns(double t) {
  const double part = t - std::rint(t);
  const double folded = std::abs(part) > 0.25 ? std::copysign(0.5, part) - part : part;
  return std::sin(2 * M_PI * folded);
}
/// cos(2 pi t) = sin(2 pi (1/4 - |t|)): an exact reduction, even near the zeros.
double exact_cos_turns(double t) {
  const double part = std::abs(t - std::rint(t));
  return part < 0.125 ? std::cos(2 * M_PI * part) : std::sin(2 * M_PI * (0.25 - part));
}

#define WS_FUNCTION(f) [](float x) { return math::f(x); }
#define WS_EXACT(f) [](double x) { return std::f(x); }
const Case kCases[] = {
    {"sin_turns", WS_FUNCTION(sin_turns), exact_sin_turns, -kInfinity, kInfinity, 0.97},
    {"cos_turns", WS_FUNCTION(cos_turns), exact_cos_turns, -kInfinity, kInfinity, 0.87},
    {"sin", WS_FUNCTION(sin), WS_EXACT(sin), -65536, 65536, 1.57},
    {"cos", WS_FUNCTION(cos), WS_EXACT(cos), -65536, 65536, 1.57},
    {"acos", WS_FUNCTION(acos), WS_EXACT(acos), -kInfinity, kInfinity, 2.25},
    {"exp", WS_FUNCTION(exp), WS_EXACT(exp), -kInfinity, kInfinity, 1.02},
    {"exp2", WS_FUNCTION(exp2), WS_EXACT(exp2), -kInfinity, kInfinity, 0.92},
    {"log", WS_FUNCTION(log), WS_EXACT(log), -kInfinity, kInfinity, 0.85},
    {"log2", WS_FUNCTION(log2), WS_EXACT(log2), -kInfinity, kInfinity, 0.57},
    {"cbrt", WS_FUNCTION(cbrt), WS_EXACT(cbrt), -kInfinity, kInfinity, 0.51},
    {"sqrt", WS_FUNCTION(sqrt), WS_EXACT(sqrt), -kInfinity, kInfinity, 0.5},
};
constexpr double kAtan2Bound = 1.75, kPowBound = 1.1;

const float kSpecial[] = {0.0f,
                          -0.0f,
                          0x1p-149f,
                          -0x1p-149f,
                          0x1p-126f,
                          0x1.fffffep-127f,
                          0x1.fffffep-1f,
                          1.0f,
                          -1.0f,
                          0x1.000002p+0f,
                          0.5f,
                          2.0f,
                          0.125f,
                          0.625f,
                          88.7228f,
                          -103.97f,
                          0x1p+23f,
                          0x1.fffffep+127f,
                          -0x1.fffffep+127f,
                          kInfinity,
                          -kInfinity,
                          kNan};

class MathAccuracy : public testing::TestWithParam<Case> {};

TEST_P(MathAccuracy, StaysWithinItsStatedBound) {
  const Case& c = GetParam();
  Worst worst;
  const auto check = [&](float x) {
    if (x < c.low || x > c.high) return;
    worst.add(ulp_error(c.function(x), c.exact(x)), x);
  };
  for (std::uint64_t u = 0; u < (1ull << 32); u += kStride) {
    check(std::bit_cast<float>(static_cast<std::uint32_t>(u)));
  }
  for (const float x : kSpecial) check(x);
  RecordProperty("worst_ulp", std::to_string(worst.error));
  EXPECT_LE(worst.error, c.bound) << "at " << worst.x;
}

INSTANTIATE_TEST_SUITE_P(All, MathAccuracy, testing::ValuesIn(kCases),
                         [](const auto& test) { return test.param.name; });

TEST(MathAccuracy, Atan2StaysWithinItsStatedBound) {
  Worst worst;
  RngStream random({1, 1}, Purpose::texture);
  for (std::uint32_t i = 0; i < kPairs; ++i) {
    const std::uint32_t u = random.next(), v = random.next();
    // Pairs of arbitrary floats alternate with pairs of similar size.
    const float y = i % 2 == 0 ? std::bit_cast<float>(u) : unit_float(u) - 0.5f;
    const float x = i % 2 == 0 ? std::bit_cast<float>(v) : unit_float(v) - 0.5f;
    worst.add(ulp_error(math::atan2(y, x), std::atan2(double{y}, double{x})), x, y);
  }
  for (const float y : kSpecial) {
    for (const float x : kSpecial) {
      const float got = math::atan2(y, x);
      const double exact = std::atan2(double{y}, double{x});
      worst.add(ulp_error(got, exact), x, y);
      if (!std::isnan(exact)) {
        EXPECT_EQ(std::signbit(got), std::signbit(exact)) << y << ", " << x;
      }
    }
  }
  EXPECT_LE(worst.error, kAtan2Bound) << "at " << worst.y << ", " << worst.x;
}

TEST(MathAccuracy, PowStaysWithinItsStatedBound) {
  Worst worst;
  RngStream random({2, 1}, Purpose::texture);
  for (std::uint32_t i = 0; i < kPairs; ++i) {
    const std::uint32_t u = random.next(), v = random.next();
    // Two arbitrary floats; a base near 1; an exponent without overflow or underflow.
    float x = std::bit_cast<float>(u), y = std::bit_cast<float>(v);
    if (i % 4 != 0) x = i % 4 == 1 ? 0.5f + unit_float(u) : std::abs(x);
    if (i % 4 != 0) y = (unit_float(v) - 0.5f) * 300.0f;
    if (i % 4 >= 2) y /= std::log2(x);
    if (x < 0) x = -x;
    worst.add(ulp_error(math::pow(x, y), std::pow(double{x}, double{y})), x, y);
  }
  for (const float x : kSpecial) {
    for (const float y : kSpecial) {
      if (std::signbit(x)) continue;
      worst.add(ulp_error(math::pow(x, y), std::pow(double{x}, double{y})), x, y);
    }
  }
  EXPECT_LE(worst.error, kPowBound) << "at " << worst.x << ", " << worst.y;
  EXPECT_TRUE(std::isnan(math::pow(-2.0f, 2.0f)));
}

TEST(Math, IsExactForExactResults) {
  for (int e = -126; e < 128; ++e) {
    const float power = std::ldexp(1.0f, e);
    ASSERT_EQ(math::log2(power), static_cast<float>(e));
    ASSERT_EQ(math::exp2(static_cast<float>(e)), power);
  }
  for (int i = 1; i <= 100; ++i) {
    const auto x = static_cast<float>(i);
    ASSERT_EQ(math::cbrt(x * x * x), x);
    ASSERT_EQ(math::pow(x, 2.0f), x * x);
    ASSERT_EQ(math::sin_turns(x), 0.0f);
    ASSERT_EQ(math::cos_turns(x), 1.0f);
    ASSERT_EQ(math::cos_turns(x + 0.5f), -1.0f);
    ASSERT_EQ(math::cos_turns(x + 0.25f), 0.0f);
  }
  EXPECT_EQ(math::exp(0.0f), 1.0f);
  EXPECT_EQ(math::log(1.0f), 0.0f);
  EXPECT_EQ(math::pow(0.0f, 0.0f), 1.0f);
  EXPECT_EQ(math::acos(1.0f), 0.0f);
}

TEST(Math, HasExactSymmetryAndPeriods) {
  RngStream random({3, 1}, Purpose::texture);
  const auto bits = [](float x) { return std::bit_cast<std::uint32_t>(x); };
  for (int i = 0; i < 100'000; ++i) {
    const float x = random.uniform(-8.0f, 8.0f);
    for (const Case& c : kCases) {
      const std::string name = c.name;
      if (name != "sin" && name != "sin_turns" && name != "cbrt") continue;
      ASSERT_EQ(bits(c.function(-x)), bits(-c.function(x))) << name << " at " << x;
    }
    // Uses multiples of 2^-20, so that adding whole turns is exact.
    const float t = math::floor(x * 0x1p+17f) * 0x1p-20f;
    ASSERT_EQ(math::sin_turns(t + 3.0f), math::sin_turns(t));
    ASSERT_EQ(math::cos_turns(t - 2.0f), math::cos_turns(t));
  }
}

TEST(Math, RoundsAndInterpolates) {
  for (const float x : kSpecial) {
    if (std::isnan(x)) continue;
    EXPECT_EQ(math::floor(x), std::floor(x));
    EXPECT_EQ(math::ceil(x), std::ceil(x));
    EXPECT_EQ(math::abs(x), std::abs(x));
  }
  EXPECT_EQ(math::round(2.5f), 2.0f);
  EXPECT_EQ(math::round(3.5f), 4.0f);
  EXPECT_EQ(math::round(-0.75f), -1.0f);
  EXPECT_EQ(math::fract(-0.25f), 0.75f);
  EXPECT_EQ(math::clamp(5.0f, 0.0f, 1.0f), 1.0f);
  EXPECT_EQ(math::clamp(kNan, 0.25f, 1.0f), 0.25f);
  EXPECT_EQ(math::lerp(2.0f, 4.0f, 0.5f), 3.0f);
}

/// The bits of x; the same for every NaN.
std::uint32_t canonical(float x) {
  return std::isnan(x) ? 0x7fc00000u : std::bit_cast<std::uint32_t>(x);
}

TEST(Math, GivesEqualBitsInVectorAndScalarCode) {
  constexpr std::int64_t n = 200'003;  // odd, so that the loop has a remainder
  std::vector<float> x(n), vector(test::kMathFunctions * n), scalar(test::kMathFunctions * n);
  RngStream random({4, 1}, Purpose::texture);
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint32_t word = random.next();
    x[static_cast<std::size_t>(i)] =
        i % 2 == 0 ? std::bit_cast<float>(word) : (unit_float(word) - 0.5f) * 20.0f;
  }
  const test::MathEvaluator functor{x.data(), n, scalar.data()};
  // A volatile function pointer, with one element per call, prevents vectorisation.
  void (*volatile one)(const test::MathEvaluator&, std::int64_t) = [](const test::MathEvaluator& f,
                                                                      std::int64_t i) { f(i); };
  for (std::int64_t i = 0; i < n; ++i) one(functor, i);
  test::evaluate_in_simd_loops(x.data(), n, vector.data());
  for (std::size_t i = 0; i < vector.size(); ++i) {
    ASSERT_EQ(canonical(vector[i]), canonical(scalar[i]))
        << "function " << i / n << " at " << x[i % n];
  }

  // FNV-1a of the bits, which are the same for every compiler, optimisation level and machine. A
  // change to a function changes every sample that uses it, so it must be deliberate.
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const float value : scalar) hash = (hash ^ canonical(value)) * 0x100000001b3u;
  EXPECT_EQ(hash, 0x9f15126a731e9b8cu) << std::hex << hash;
}

TEST(Math, GivesEqualBitsOnTheDevice) {
  if (cuda_status().device_count == 0) GTEST_SKIP() << "needs a GPU: " << cuda_status().reason;
  const Device device = Device::parse("auto");
  constexpr std::size_t n = 1 << 20;
  constexpr std::size_t outputs = test::kMathFunctions * n;
  MemoryPlan plan(device);
  const auto x = plan.reserve<float>("test", "x", n);
  const auto y = plan.reserve<float>("test", "y", outputs);
  const auto host_x = plan.reserve<float>("test", "host x", n, MemorySpace::host);
  const auto host_y = plan.reserve<float>("test", "host y", outputs, MemorySpace::host);
  plan.commit();
  for (std::size_t i = 0; i < n; ++i) {
    const auto u = static_cast<std::uint32_t>(i * 4093);
    host_x.data()[i] = i % 2 == 0 ? std::bit_cast<float>(u) : (unit_float(u) - 0.5f) * 20.0f;
  }
  Stream stream(device);
  stream.copy(x.data(), host_x.data(), x.bytes(), CopyDirection::host_to_device, "up");
  map(stream, "math", n, test::MathEvaluator{x.data(), n, y.data()});
  stream.copy(host_y.data(), y.data(), y.bytes(), CopyDirection::device_to_host, "down");
  stream.synchronize();
  std::vector<float> expected(outputs);
  test::evaluate_in_simd_loops(host_x.data(), n, expected.data());
  for (std::size_t i = 0; i < outputs; ++i) {
    ASSERT_EQ(canonical(host_y.data()[i]), canonical(expected[i]))
        << "function " << i / n << " at " << host_x.data()[i % n];
  }
}

TEST(BoxMuller, IsStandardNormal) {
  // Moments of 2 million numbers, each within 5 standard deviations of its expected value (one
  // false alarm in 1.7 million runs; the seed is fixed).
  constexpr int kCount = 1'000'000;
  double sums[5] = {};
  RngStream random({5, 1}, Purpose::noise);
  for (int i = 0; i < kCount; ++i) {
    const std::uint32_t u = random.next(), v = random.next();
    const math::NormalPair pair = math::box_muller(u, v);
    for (const double z : {double{pair.first}, double{pair.second}}) {
      for (int power = 1; power <= 4; ++power) sums[power] += std::pow(z, power);
    }
    sums[0] += double{pair.first} * double{pair.second};
  }
  const double n = 2.0 * kCount;
  // The variances of z, z^2, z^3, z^4 are 1, 2, 15, 96; the variance of a product of two is 1.
  EXPECT_NEAR(sums[1] / n, 0, 5 * std::sqrt(1 / n));
  EXPECT_NEAR(sums[2] / n, 1, 5 * std::sqrt(2 / n));
  EXPECT_NEAR(sums[3] / n, 0, 5 * std::sqrt(15 / n));
  EXPECT_NEAR(sums[4] / n, 3, 5 * std::sqrt(96 / n));
  EXPECT_NEAR(sums[0] / kCount, 0, 5 * std::sqrt(1.0 / kCount));
  EXPECT_TRUE(std::isfinite(math::box_muller(0, 0).first));
  EXPECT_EQ(math::box_muller(0xffffffffu, 0).first, 0.0f);
}

// -fsanitize=float-cast-overflow is not part of -fsanitize=undefined.
#if defined(WELLSPRING_SANITIZED) && !defined(__SANITIZE_THREAD__)
TEST(Casts, EndTheProgramIfOutOfRange) {
  const volatile float large = 1e20f;
  EXPECT_DEATH(std::fprintf(stderr, "%d", static_cast<int>(large)), "outside the range");
}
#endif

}  // namespace
}  // namespace wellspring
