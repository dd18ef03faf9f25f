// Floating-point operations, in 32 and 64 bits, and conversions between types.
#include "tests/cuda_stand_in/sass/forms.h"
#include "tests/cuda_stand_in/sass/operations.h"

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace wellspring::sass {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr u32 kNotANumber = 0x7fffffff;  ///< the NaN that 32-bit operations return

float real(u32 bits) {
  return std::bit_cast<float>(bits);
}
u32 bits_of(float x) {
  return std::isnan(x) ? kNotANumber : std::bit_cast<u32>(x);
}
double real64(u64 bits) {
  return std::bit_cast<double>(bits);
}
float without_subnormal(float x) {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.f, x) : x;
}

/// Rounds and clamps a result.
struct Finish {
  int rounding = FE_TONEAREST;
  bool flushes = false, saturates = false;

  explicit Finish(const Line& line) : flushes(line.has("FTZ")), saturates(line.has("SAT")) {
    if (line.has("RM")) rounding = FE_DOWNWARD;
    if (line.has("RP")) rounding = FE_UPWARD;
    if (line.has("RZ")) rounding = FE_TOWARDZERO;
  }
  bool plain() const { return rounding == FE_TONEAREST && !flushes && !saturates; }
  float trimmed(float x) const {
    if (flushes) x = without_subnormal(x);
    if (saturates) x = x > 0 ? std::min(x, 1.f) : 0;
    return x;
  }
  float operand(float x) const { return flushes ? without_subnormal(x) : x; }
};

/// `f` reads volatile values and its result is volatile, so no operation moves across a change of
/// the rounding mode.
template <class F>
auto rounded(int rounding, F f) {
  std::fesetround(rounding);
  const volatile auto result = f();
  std::fesetround(FE_TONEAREST);
  return result;
}

template <class F>
Operation arithmetic(const Line& line, F f) {
  const Form form = form_with_target(line);
  const Finish finish(line);
  const auto finished = [finish, f](u32 a, u32 b, u32 c) {
    volatile float x = finish.operand(real(a)), y = finish.operand(real(b)),
                   z = finish.operand(real(c));
    return bits_of(finish.trimmed(rounded(finish.rounding, [&] { return f(x, y, z); })));
  };
  const auto plain = [f](u32 a, u32 b, u32 c) { return bits_of(f(real(a), real(b), real(c))); };
  if (form.from.size() == 2) {
    if (finish.plain())
      return each2(form, Sense::real, [plain](u32 a, u32 b) { return plain(a, b, 0); });
    return each2(form, Sense::real, [finished](u32 a, u32 b) { return finished(a, b, 0); });
  }
  if (finish.plain()) return each3(form, Sense::real, plain);
  return each3(form, Sense::real, finished);
}
Operation add(const Line& line) {
  return arithmetic(line, [](float a, float b, float) { return a + b; });
}
Operation multiply(const Line& line) {
  return arithmetic(line, [](float a, float b, float) { return a * b; });
}
Operation multiply_add(const Line& line) {
  return arithmetic(line, [](float a, float b, float c) { return std::fma(a, b, c); });
}

template <class F>
Operation arithmetic64(const Line& line, F f) {
  const Form form = form_with_target(line);
  const int rounding = Finish(line).rounding;
  return [form, rounding, f](Warp& warp, Lanes lanes) {
    WideRow x[3], out;
    for (std::size_t k = 0; k < form.from.size(); ++k)
      warp.read_wide(form.from[k], x[k], Sense::real);
    for (std::size_t i = 0; i < kLanes; ++i) {
      volatile double a = real64(x[0][i]), b = real64(x[1][i]),
                      c = form.from.size() > 2 ? real64(x[2][i]) : 0;
      out[i] = std::bit_cast<u64>(
          rounding == FE_TONEAREST ? f(a, b, c) : rounded(rounding, [&] { return f(a, b, c); }));
    }
    warp.write_wide(form.to, out, lanes);
  };
}
Operation add64(const Line& line) {
  return arithmetic64(line, [](double a, double b, double) { return a + b; });
}
Operation multiply64(const Line& line) {
  return arithmetic64(line, [](double a, double b, double) { return a * b; });
}
Operation multiply_add64(const Line& line) {
  return arithmetic64(line, [](double a, double b, double c) { return std::fma(a, b, c); });
}

Operation compare(const Line& line) {
  const Form form = form_of_flags(line, 2);
  const ComparisonName name = comparison_of(line.modifiers.at(0));
  const Joint joint = joint_of(line);
  const Finish finish(line);
  return [=](Warp& warp, Lanes lanes) {
    Row spare[2];
    const u32* a = warp.read(form.from[0], spare[0], Sense::real);
    const u32* b = warp.read(form.from[1], spare[1], Sense::real);
    Lanes result = 0;
    for (std::size_t i = 0; i < kLanes; ++i) {
      const float x = finish.operand(real(a[i])), y = finish.operand(real(b[i]));
      const bool holds = x != x || y != y ? name.or_unordered : compared(name.how, x, y);
      result |= Lanes{holds} << i;
    }
    set_flags(warp, form, joint, result, lanes);
  };
}

/// Tests which of two numbers is greater, and whether both are NaN.
Operation compare_greater64(const Line& line) {
  const Form form = form_of_flags(line, 2);
  return [form](Warp& warp, Lanes lanes) {
    WideRow a, b;
    warp.read_wide(form.from[0], a, Sense::real);
    warp.read_wide(form.from[1], b, Sense::real);
    Lanes first = 0, neither = 0;
    for (std::size_t i = 0; i < kLanes; ++i) {
      const double x = real64(a[i]), y = real64(b[i]);
      first |= Lanes{x == x && (y != y || x > y)} << i;
      neither |= Lanes{x != x && y != y} << i;
    }
    warp.set(form.flags[0], first, lanes);
    warp.set(form.flags[1], neither, lanes);
  };
}

Operation compare64(const Line& line) {
  if (line.has("MAX")) return compare_greater64(line);
  const Form form = form_of_flags(line, 2);
  const ComparisonName name = comparison_of(line.modifiers.at(0));
  const Joint joint = joint_of(line);
  return [=](Warp& warp, Lanes lanes) {
    WideRow a, b;
    warp.read_wide(form.from[0], a, Sense::real);
    warp.read_wide(form.from[1], b, Sense::real);
    Lanes result = 0;
    for (std::size_t i = 0; i < kLanes; ++i) {
      const double x = real64(a[i]), y = real64(b[i]);
      const bool holds = x != x || y != y ? name.or_unordered : compared(name.how, x, y);
      result |= Lanes{holds} << i;
    }
    set_flags(warp, form, joint, result, lanes);
  };
}

/// A comparison whose result is 1 or 0 as a floating-point number.
Operation compare_to_number(const Line& line) {
  const Form form = form_with_target(line);
  const ComparisonName name = comparison_of(line.modifiers.at(1));
  return choose2(form, Sense::real, [name](u32 a, u32 b, bool condition) {
    const float x = real(a), y = real(b);
    const bool holds = x != x || y != y ? name.or_unordered : compared(name.how, x, y);
    return holds && condition ? 0x3f800000u : 0u;
  });
}

/// Minimum or maximum. If one operand is NaN, the result is the other one unless NAN is set; -0 is
/// less than 0.
Operation lesser(const Line& line) {
  const bool spreads = line.has("NAN"), flushes = line.has("FTZ");
  return choose2(form_with_target(line), Sense::real, [=](u32 a, u32 b, bool less) {
    float x = real(a), y = real(b);
    if (flushes) x = without_subnormal(x), y = without_subnormal(y);
    if (x != x) return spreads ? kNotANumber : bits_of(y);
    if (y != y) return spreads ? kNotANumber : bits_of(x);
    const bool below = x < y || (x == y && std::signbit(x));
    return bits_of(below == less ? x : y);
  });
}

Operation select(const Line& line) {
  return choose2(form_with_target(line), Sense::real,
                 [](u32 a, u32 b, bool p) { return p ? a : b; });
}

/// Approximations. They return the exact value; on a device they are off by about the last bit.
/// Code that uses them corrects them.
Operation approximate(const Line& line) {
  const Form form = form_with_target(line);
  const auto of = [&](float (*f)(float)) {
    return each1(form, Sense::real, [f](u32 x) { return bits_of(f(real(x))); });
  };
  if (line.has("RCP")) return of([](float x) { return 1.f / x; });
  if (line.has("RSQ"))
    return of([](float x) { return static_cast<float>(1. / std::sqrt(double{x})); });
  if (line.has("SQRT")) return of([](float x) { return std::sqrt(x); });
  // Upper halves of f64, with a lower half of 0.
  const bool root = line.has("RSQ64H");
  if (!root && !line.has("RCP64H")) throw std::runtime_error("unknown approximation");
  return each1(form, Sense::real, [root](u32 x) {
    const double number = real64(u64{x} << 32);
    return static_cast<u32>(std::bit_cast<u64>(root ? 1 / std::sqrt(number) : 1 / number) >> 32);
  });
}

/// Tests whether a quotient a / b needs the slow path, because products in the fast path could
/// overflow or underflow. The limits are ours, near the device's.
Operation check_division(const Line& line) {
  const Form form = form_of_flags(line, 1);
  return [form](Warp& warp, Lanes lanes) {
    Row spare[2];
    const u32* a = warp.read(form.from[0], spare[0], Sense::real);
    const u32* b = warp.read(form.from[1], spare[1], Sense::real);
    Lanes result = 0;
    for (std::size_t i = 0; i < kLanes; ++i) {
      const int x = static_cast<int>(a[i] >> 23 & 255), y = static_cast<int>(b[i] >> 23 & 255);
      const bool zero = (a[i] & 0x7fffffffu) == 0;
      const bool hard =
          y == 0 || y >= 253 || x == 255 || (!zero && (x <= 24 || x - y >= 126 || x - y <= -125));
      result |= Lanes{hard} << i;
    }
    warp.set(form.flags.at(0), result, lanes);
  };
}

double rounded_to_whole(const Line& line, double x) {
  if (line.has("FLOOR")) return std::floor(x);
  if (line.has("CEIL")) return std::ceil(x);
  if (line.has("TRUNC")) return std::trunc(x);
  return std::nearbyint(x);
}

Operation round_to_whole(const Line& line) {
  const Form form = form_with_target(line);
  return each1(form, Sense::real, [line](u32 x) {
    return bits_of(static_cast<float>(rounded_to_whole(line, double{real(x)})));
  });
}

/// Clamps to the type's limits; NaN gives 0, or the minimum in 64 bits.
template <class I>
I to_whole(double x) {
  using Limits = std::numeric_limits<I>;
  if (x != x) return sizeof(I) == 8 ? static_cast<I>(u64{1} << 63) : 0;
  if (x <= static_cast<double>(Limits::min())) return Limits::min();
  if (x >= static_cast<double>(Limits::max())) return Limits::max();
  return static_cast<I>(x);
}

/// The last type is the source's if it is of the other kind, as in F2I.S64.F64.
Operation real_to_whole(const Line& line) {
  const Form form = form_with_target(line);
  const bool from64 = line.has("F64"), flushes = line.has("FTZ");
  return [=](Warp& warp, Lanes lanes) {
    WideRow wide, out;
    Row spare, narrow;
    const u32* x = nullptr;
    if (from64) {
      warp.read_wide(form.from[0], wide, Sense::real);
    } else {
      x = warp.read(form.from[0], spare, Sense::real);
    }
    for (std::size_t i = 0; i < kLanes; ++i) {
      double value = from64 ? real64(wide[i]) : double{real(x[i])};
      if (flushes) value = double{without_subnormal(static_cast<float>(value))};
      value = rounded_to_whole(line, value);
      if (line.has("S64")) {
        out[i] = static_cast<u64>(to_whole<std::int64_t>(value));
      } else if (line.has("U64")) {
        out[i] = to_whole<u64>(value);
      } else {
        narrow[i] = line.has("U32") ? to_whole<u32>(value)
                                    : static_cast<u32>(to_whole<std::int32_t>(value));
      }
    }
    if (line.has("S64") || line.has("U64")) {
      warp.write_wide(form.to, out, lanes);
    } else {
      warp.write(form.to, narrow, lanes);
    }
  };
}

template <class To>
To whole_to(const Line& line, u64 bits) {
  if (line.has("U64")) return static_cast<To>(bits);
  if (line.has("S64")) return static_cast<To>(static_cast<std::int64_t>(bits));
  const auto low = static_cast<u32>(bits);
  if (line.has("U32")) return static_cast<To>(low);
  if (line.has("U16")) return static_cast<To>(low & 0xffffu);
  if (line.has("U8")) return static_cast<To>(low & 0xffu);
  if (line.has("S16")) return static_cast<To>(static_cast<std::int16_t>(low));
  if (line.has("S8")) return static_cast<To>(static_cast<std::int8_t>(low));
  return static_cast<To>(static_cast<std::int32_t>(low));
}

Operation whole_to_real(const Line& line) {
  const Form form = form_with_target(line);
  const bool to64 = line.has("F64"), from_pair = line.has("U64") || line.has("S64");
  const int rounding = Finish(line).rounding;
  return [=](Warp& warp, Lanes lanes) {
    WideRow x, out;
    Row spare, narrow;
    if (from_pair) {
      warp.read_wide(form.from[0], x, Sense::whole);
    } else {
      const u32* low = warp.read(form.from[0], spare, Sense::whole);
      std::copy(low, low + kLanes, x.begin());
    }
    for (std::size_t i = 0; i < kLanes; ++i) {
      volatile u64 value = x[i];
      if (to64) {
        out[i] =
            std::bit_cast<u64>(rounded(rounding, [&] { return whole_to<double>(line, value); }));
      } else {
        narrow[i] = bits_of(rounded(rounding, [&] { return whole_to<float>(line, value); }));
      }
    }
    if (to64) {
      warp.write_wide(form.to, out, lanes);
    } else {
      warp.write(form.to, narrow, lanes);
    }
  };
}

Operation real_to_real(const Line& line) {
  const Form form = form_with_target(line);
  const std::size_t wider = line.modifiers.at(0) == "F64" ? 0 : 1;
  if (!line.has("F64") || !line.has("F32")) throw std::runtime_error("unknown conversion");
  return [=](Warp& warp, Lanes lanes) {
    WideRow wide;
    Row spare, narrow;
    if (wider == 0) {
      const u32* x = warp.read(form.from[0], spare, Sense::real);
      for (std::size_t i = 0; i < kLanes; ++i) wide[i] = std::bit_cast<u64>(double{real(x[i])});
      warp.write_wide(form.to, wide, lanes);
    } else {
      warp.read_wide(form.from[0], wide, Sense::real);
      for (std::size_t i = 0; i < kLanes; ++i)
        narrow[i] = bits_of(static_cast<float>(real64(wide[i])));
      warp.write(form.to, narrow, lanes);
    }
  };
}

u32 rounded_to_bf16(u32 bits) {
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
  return (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
}
Operation pack_halves(const Line& line) {
  if (!line.has("BF16")) throw std::runtime_error("unknown conversion");
  return each2(form_with_target(line), Sense::real,
               [](u32 a, u32 b) { return rounded_to_bf16(a) << 16 | rounded_to_bf16(b); });
}

/// Bits of an f16, from a number that f16 represents exactly.
u32 half_bits(const Operand& operand) {
  const double x = operand.number;
  if (x != x) return 0x7fffu | (operand.negative ? 0x8000u : 0u);
  const u32 sign = std::signbit(x) ? 0x8000u : 0;
  const double size = std::fabs(x);
  if (std::isinf(size)) return sign | 0x7c00u;
  if (size < 0x1p-14) return sign | static_cast<u32>(size * 0x1p24);
  int exponent = 0;
  const double fraction = std::frexp(size, &exponent);  // in [0.5, 1)
  return sign | static_cast<u32>(exponent + 14) << 10 | (static_cast<u32>(fraction * 2048) & 1023u);
}
/// The compiler writes constants as two f16 numbers added to zero; other f16 arithmetic is not
/// supported.
Operation halves(const Line& line) {
  const auto& all = line.operands;
  const bool constant = all.size() == 5 && all[1].index == kZeroRegister &&
                        all[2].index == kZeroRegister && all[3].decimal && all[4].decimal;
  if (!constant) throw std::runtime_error("unsupported arithmetic in f16");
  const u32 value = half_bits(all[3]) << 16 | half_bits(all[4]);
  return [to = all[0], value](Warp& warp, Lanes lanes) {
    Row out;
    out.fill(value);
    warp.write(to, out, lanes);
  };
}

}  // namespace

const Family& real_family() {
  static const Family family = {{"FADD", add},
                                {"FMUL", multiply},
                                {"FFMA", multiply_add},
                                {"DADD", add64},
                                {"DMUL", multiply64},
                                {"DFMA", multiply_add64},
                                {"FSETP", compare},
                                {"DSETP", compare64},
                                {"FSET", compare_to_number},
                                {"FMNMX", lesser},
                                {"FSEL", select},
                                {"MUFU", approximate},
                                {"FCHK", check_division},
                                {"FRND", round_to_whole},
                                {"F2I", real_to_whole},
                                {"I2F", whole_to_real},
                                {"I2FP", whole_to_real},
                                {"F2F", real_to_real},
                                {"F2FP", pack_halves},
                                {"HFMA2", halves}};
  return family;
}

}  // namespace wellspring::sass
