// The operand forms of operations: results, then numbers, then conditions. Called by all families
// of operations; host only.
#pragma once

#include "tests/cuda_stand_in/sass/machine.h"

#include <cstddef>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace wellspring::sass {

/// `LOP3.LUT P0, R2, R3, 0x1, RZ, 0xc0, !PT` has results P0 and R2, numbers R3, 1, 0 and 0xc0, and
/// condition !PT.
struct Form {
  Operand to = {OperandKind::vector_register, kZeroRegister};
  std::vector<Operand> flags;       ///< predicates written
  std::vector<Operand> from;        ///< numbers read
  std::vector<Operand> conditions;  ///< predicates read

  Operand condition(std::size_t i) const {
    return i < conditions.size() ? conditions[i] : Operand{OperandKind::predicate, kTrue};
  }
};

/// The form of an operation that writes a register.
inline Form form_with_target(const Line& line) {
  Form form;
  std::size_t i = 0;
  const auto& all = line.operands;
  while (i < all.size() && all[i].is_predicate()) form.flags.push_back(all[i++]);
  form.to = all.at(i++);
  if (form.flags.empty()) {
    while (i < all.size() && all[i].is_predicate()) form.flags.push_back(all[i++]);
  }
  while (i < all.size() && !all[i].is_predicate()) form.from.push_back(all[i++]);
  while (i < all.size()) form.conditions.push_back(all[i++]);
  return form;
}

/// The form of an operation that writes only `flags` predicates.
inline Form form_of_flags(const Line& line, std::size_t flags) {
  Form form;
  std::size_t i = 0;
  const auto& all = line.operands;
  while (i < flags) form.flags.push_back(all.at(i++));
  while (i < all.size() && !all[i].is_predicate()) form.from.push_back(all[i++]);
  while (i < all.size()) form.conditions.push_back(all[i++]);
  return form;
}

inline bool bit(Lanes lanes, std::size_t lane) {
  return (lanes >> lane & 1) != 0;
}

/// to = f(a), f(a, b), f(a, b, c) in 32 bits, for each thread.
template <class F>
Operation each1(const Form& form, Sense sense, F f) {
  return [to = form.to, a = form.from.at(0), sense, f](Warp& warp, Lanes lanes) {
    Row spare, out;
    const std::uint32_t* x = warp.read(a, spare, sense);
    for (std::size_t i = 0; i < kLanes; ++i) out[i] = f(x[i]);
    warp.write(to, out, lanes);
  };
}
template <class F>
Operation each2(const Form& form, Sense sense, F f) {
  return
      [to = form.to, a = form.from.at(0), b = form.from.at(1), sense, f](Warp& warp, Lanes lanes) {
        Row spare[2], out;
        const std::uint32_t* x = warp.read(a, spare[0], sense);
        const std::uint32_t* y = warp.read(b, spare[1], sense);
        for (std::size_t i = 0; i < kLanes; ++i) out[i] = f(x[i], y[i]);
        warp.write(to, out, lanes);
      };
}
template <class F>
Operation each3(const Form& form, Sense sense, F f) {
  return [to = form.to, a = form.from.at(0), b = form.from.at(1), c = form.from.at(2), sense, f](
             Warp& warp, Lanes lanes) {
    Row spare[3], out;
    const std::uint32_t* x = warp.read(a, spare[0], sense);
    const std::uint32_t* y = warp.read(b, spare[1], sense);
    const std::uint32_t* z = warp.read(c, spare[2], sense);
    for (std::size_t i = 0; i < kLanes; ++i) out[i] = f(x[i], y[i], z[i]);
    warp.write(to, out, lanes);
  };
}
/// to = f(a, b, condition).
template <class F>
Operation choose2(const Form& form, Sense sense, F f) {
  return [to = form.to, a = form.from.at(0), b = form.from.at(1), p = form.condition(0), sense, f](
             Warp& warp, Lanes lanes) {
    Row spare[2], out;
    const std::uint32_t* x = warp.read(a, spare[0], sense);
    const std::uint32_t* y = warp.read(b, spare[1], sense);
    const Lanes holds = warp.holds(p);
    for (std::size_t i = 0; i < kLanes; ++i) out[i] = f(x[i], y[i], bit(holds, i));
    warp.write(to, out, lanes);
  };
}

enum class Comparison : std::uint8_t {
  equal,
  unequal,
  less,
  at_most,
  greater,
  at_least,
  ordered,
  unordered
};
struct ComparisonName {
  Comparison how;
  bool or_unordered;  ///< as in "GEU": also holds if an operand is NaN
};
inline ComparisonName comparison_of(const std::string& name) {
  static const std::map<std::string, ComparisonName> names = {
      {"EQ", {Comparison::equal, false}},    {"EQU", {Comparison::equal, true}},
      {"NE", {Comparison::unequal, false}},  {"NEU", {Comparison::unequal, true}},
      {"LT", {Comparison::less, false}},     {"LTU", {Comparison::less, true}},
      {"LE", {Comparison::at_most, false}},  {"LEU", {Comparison::at_most, true}},
      {"GT", {Comparison::greater, false}},  {"GTU", {Comparison::greater, true}},
      {"GE", {Comparison::at_least, false}}, {"GEU", {Comparison::at_least, true}},
      {"NUM", {Comparison::ordered, false}}, {"NAN", {Comparison::unordered, true}}};
  const auto found = names.find(name);
  if (found == names.end()) throw std::runtime_error("unknown comparison: " + name);
  return found->second;
}
template <class T>
bool compared(Comparison how, T a, T b) {
  switch (how) {
    case Comparison::equal:
      return a == b;
    case Comparison::unequal:
      return a != b;
    case Comparison::less:
      return a < b;
    case Comparison::at_most:
      return a <= b;
    case Comparison::greater:
      return a > b;
    case Comparison::at_least:
      return a >= b;
    case Comparison::ordered:
      return true;
    case Comparison::unordered:
      return false;
  }
  return false;
}

/// Combines a comparison with a condition by AND, OR or XOR.
enum class Joint : std::uint8_t { both, either, one };
inline Joint joint_of(const Line& line) {
  if (line.has("XOR")) return Joint::one;
  return line.has("OR") ? Joint::either : Joint::both;
}
inline Lanes joined(Joint joint, Lanes a, Lanes b) {
  if (joint == Joint::both) return a & b;
  return joint == Joint::either ? a | b : a ^ b;
}
/// Writes the result, and to a second predicate the result of the opposite comparison.
inline void set_flags(Warp& warp, const Form& form, Joint joint, Lanes result, Lanes lanes) {
  const Lanes condition = warp.holds(form.condition(0));
  warp.set(form.flags.at(0), joined(joint, result, condition), lanes);
  if (form.flags.size() > 1) warp.set(form.flags[1], joined(joint, ~result, condition), lanes);
}

}  // namespace wellspring::sass
