// Operations on integers, bits and predicates.
#include "tests/cuda_stand_in/sass/forms.h"
#include "tests/cuda_stand_in/sass/operations.h"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace wellspring::sass {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

i32 as_signed(u32 x) {
  return static_cast<i32>(x);
}
u64 high_to_low(i64 x) {
  return static_cast<u64>(x);
}

/// The 33-bit value that an operand contributes to a sum. A negated operand contributes its
/// complement and 1, so a carry means that nothing was borrowed.
u64 summand(const Operand& operand, u32 complemented) {
  return u64{complemented} + (operand.negative ? 1 : 0);
}

Operation add3(const Line& line) {
  const Form form = form_with_target(line);
  const bool carries_in = line.has("X");
  return [form, carries_in](Warp& warp, Lanes lanes) {
    Row spare[3], out;
    const u32* x[3];
    for (std::size_t k = 0; k < 3; ++k)
      x[k] = warp.read(form.from[k], spare[k], Sense::wholes_complement);
    const Lanes in[2] = {
        carries_in ? warp.holds(form.condition(0)) : 0,
        carries_in && form.conditions.size() > 1 ? warp.holds(form.condition(1)) : 0};
    Lanes carry[2] = {0, 0};
    for (std::size_t i = 0; i < kLanes; ++i) {
      u64 sum = u64{bit(in[0], i)} + u64{bit(in[1], i)};
      for (std::size_t k = 0; k < 3; ++k)
        sum += carries_in ? u64{x[k][i]} : summand(form.from[k], x[k][i]);
      out[i] = static_cast<u32>(sum);
      const u64 over = sum >> 32;
      carry[0] |= Lanes{over >= 1} << i;
      carry[1] |= Lanes{over >= 2} << i;
    }
    for (std::size_t k = 0; k < form.flags.size() && k < 2; ++k)
      warp.set(form.flags[k], carry[k], lanes);
    warp.write(form.to, out, lanes);
  };
}

Operation multiply_add(const Line& line) {
  const Form form = form_with_target(line);
  const bool is_unsigned = line.has("U32");
  const auto product = [is_unsigned](u32 a, u32 b) {
    return is_unsigned ? u64{a} * b : high_to_low(i64{as_signed(a)} * as_signed(b));
  };
  if (!line.has("WIDE") && !line.has("HI")) {
    if (line.has("X")) {
      return [form](Warp& warp, Lanes lanes) {
        Row spare[3], out;
        const u32* a = warp.read(form.from[0], spare[0], Sense::whole);
        const u32* b = warp.read(form.from[1], spare[1], Sense::whole);
        const u32* c = warp.read(form.from[2], spare[2], Sense::wholes_complement);
        const Lanes in = warp.holds(form.condition(0));
        for (std::size_t i = 0; i < kLanes; ++i) out[i] = a[i] * b[i] + c[i] + (bit(in, i) ? 1 : 0);
        warp.write(form.to, out, lanes);
      };
    }
    return each3(form, Sense::whole, [](u32 a, u32 b, u32 c) { return a * b + c; });
  }
  const bool upper = line.has("HI"), carries_in = line.has("X");
  return [form, product, upper, carries_in](Warp& warp, Lanes lanes) {
    Row spare[2], high;
    WideRow sum, out;
    const u32* a = warp.read(form.from[0], spare[0], Sense::whole);
    const u32* b = warp.read(form.from[1], spare[1], Sense::whole);
    warp.read_wide(form.from[2], sum, Sense::whole);
    const Lanes in = carries_in ? warp.holds(form.condition(0)) : 0;
    Lanes carry = 0;
    for (std::size_t i = 0; i < kLanes; ++i) {
      using u128 = unsigned __int128;
      const u128 exact = u128{product(a[i], b[i])} + sum[i] + (bit(in, i) ? 1 : 0);
      out[i] = static_cast<u64>(exact);
      high[i] = static_cast<u32>(out[i] >> 32);
      carry |= Lanes{(exact >> 64) != 0} << i;
    }
    if (!form.flags.empty()) warp.set(form.flags[0], carry, lanes);
    if (upper) {
      warp.write(form.to, high, lanes);
    } else {
      warp.write_wide(form.to, out, lanes);
    }
  };
}

/// to = (a << shift) + b, or the same with the upper half of the 64-bit (c, a) << shift. With X, b is
/// an upper word: negated it contributes its complement, and the carry is added.
Operation shift_add(const Line& line) {
  const Form form = form_with_target(line);
  const bool upper = line.has("HI"), carries_in = line.has("X"), extends = line.has("SX32");
  const bool has_upper_half = upper && !extends;
  return [=](Warp& warp, Lanes lanes) {
    Row spare[3], out;
    // The carry of a difference needs the complement and 1, as in add3.
    const Sense sense = upper ? Sense::whole : Sense::wholes_complement;
    const u32* a = warp.read(form.from[0], spare[0], Sense::whole);
    const u32* b = warp.read(form.from[1], spare[1], carries_in ? Sense::wholes_complement : sense);
    const u32* c = has_upper_half ? warp.read(form.from[2], spare[2], Sense::whole) : a;
    const int shift = static_cast<int>(form.from[has_upper_half ? 3 : 2].value & 31);
    const Lanes in = carries_in ? warp.holds(form.condition(0)) : 0;
    Lanes carry = 0;
    for (std::size_t i = 0; i < kLanes; ++i) {
      const u64 wide =
          extends ? high_to_low(as_signed(a[i])) : a[i] | u64{has_upper_half ? c[i] : 0} << 32;
      const u64 shifted = wide << shift;
      const u64 whole = upper ? shifted >> 32 : shifted & 0xffffffffu;
      const u64 sum = upper || carries_in ? whole + b[i] + (bit(in, i) ? 1 : 0)
                                          : whole + summand(form.from[1], b[i]);
      out[i] = static_cast<u32>(sum);
      carry |= Lanes{(sum >> 32) != 0} << i;
    }
    if (!form.flags.empty()) warp.set(form.flags[0], carry, lanes);
    warp.write(form.to, out, lanes);
  };
}

u32 looked_up(u32 a, u32 b, u32 c, u32 table) {
  u32 out = 0;
  for (u32 k = 0; k < 8; ++k) {
    if ((table >> k & 1) != 0)
      out |= ((k & 4) != 0 ? a : ~a) & ((k & 2) != 0 ? b : ~b) & ((k & 1) != 0 ? c : ~c);
  }
  return out;
}

Operation logic3(const Line& line) {
  const Form form = form_with_target(line);
  const auto table = static_cast<u32>(form.from.at(3).value);
  return [form, table](Warp& warp, Lanes lanes) {
    Row spare[3], out;
    const u32* a = warp.read(form.from[0], spare[0], Sense::whole);
    const u32* b = warp.read(form.from[1], spare[1], Sense::whole);
    const u32* c = warp.read(form.from[2], spare[2], Sense::whole);
    if (table == 0x96) {
      for (std::size_t i = 0; i < kLanes; ++i) out[i] = a[i] ^ b[i] ^ c[i];
    } else if (table == 0xc0) {
      for (std::size_t i = 0; i < kLanes; ++i) out[i] = a[i] & b[i];
    } else {
      for (std::size_t i = 0; i < kLanes; ++i) out[i] = looked_up(a[i], b[i], c[i], table);
    }
    if (!form.flags.empty()) {
      Lanes some = 0;
      for (std::size_t i = 0; i < kLanes; ++i) some |= Lanes{out[i] != 0} << i;
      warp.set(form.flags[0], some | warp.holds(form.condition(0)), lanes);
    }
    warp.write(form.to, out, lanes);
  };
}

Operation predicate_logic(const Line& line) {
  const auto& all = line.operands;
  const std::vector<Operand> operands(all.begin(), all.begin() + 5);
  const auto first = static_cast<u32>(all.at(5).value), second = static_cast<u32>(all.at(6).value);
  return [operands, first, second](Warp& warp, Lanes lanes) {
    const Lanes a = warp.holds(operands[2]), b = warp.holds(operands[3]),
                c = warp.holds(operands[4]);
    warp.set(operands[0], looked_up(a, b, c, first), lanes);
    warp.set(operands[1], looked_up(a, b, c, second), lanes);
  };
}

/// Funnel shift: shifts 64 bits, with upper half c and lower half a, and returns one half.
Operation shift(const Line& line) {
  const Form form = form_with_target(line);
  const bool left = line.has("L"), upper = line.has("HI"), wraps = line.has("W");
  const bool wide = line.has("U64") || line.has("S64"),
             is_signed = line.has("S32") || line.has("S64");
  const u32 most = wide ? 63 : 32;
  return each3(form, Sense::whole, [=](u32 a, u32 by, u32 c) {
    const u32 n = wraps ? by & (wide ? 63u : 31u) : std::min(by, most);
    if (left) {
      // With 32 bits and without HI, the upper half is unused.
      const u64 shifted = (a | u64{c} << 32) << n;
      return static_cast<u32>(upper ? shifted >> 32 : shifted);
    }
    if (upper) {
      if (is_signed) return static_cast<u32>(i64{as_signed(c)} >> n);
      return static_cast<u32>(u64{c} >> n);
    }
    const u64 both = a | u64{c} << 32;
    return static_cast<u32>(is_signed ? high_to_low(static_cast<i64>(both) >> n) : both >> n);
  });
}

Operation compare(const Line& line) {
  const Form form = form_of_flags(line, 2);
  const Comparison how = comparison_of(line.modifiers.at(0)).how;
  const bool is_unsigned = line.has("U32"), extended = line.has("EX");
  const Joint joint = joint_of(line);
  return [=](Warp& warp, Lanes lanes) {
    Row spare[2];
    const u32* a = warp.read(form.from[0], spare[0], Sense::whole);
    const u32* b = warp.read(form.from[1], spare[1], Sense::whole);
    Lanes result = 0, equal = 0;
    for (std::size_t i = 0; i < kLanes; ++i) {
      // With opposite signs, the unsigned order is reversed.
      const u32 turn = is_unsigned ? 0 : 0x80000000u;
      result |= Lanes{compared(how, a[i] ^ turn, b[i] ^ turn)} << i;
      equal |= Lanes{a[i] == b[i]} << i;
    }
    // These are upper halves of pairs; if they are equal, the lower halves decide.
    if (extended) result = (result & ~equal) | (warp.holds(form.condition(1)) & equal);
    set_flags(warp, form, joint, result, lanes);
  };
}

u32 lesser_or_greater(bool is_unsigned, bool lesser, u32 a, u32 b) {
  const bool below = is_unsigned ? a < b : as_signed(a) < as_signed(b);
  return below == lesser ? a : b;
}

Operation lesser(const Line& line) {
  const bool is_unsigned = line.has("U32");
  return choose2(form_with_target(line), Sense::whole, [is_unsigned](u32 a, u32 b, bool less) {
    return lesser_or_greater(is_unsigned, less, a, b);
  });
}

/// Minimum or maximum of three numbers, or of a sum and a number.
Operation lesser_of_three(const Line& line) {
  const Form form = form_with_target(line);
  const bool is_unsigned = line.has("U32"), adds = line.opcode == "VIADDMNMX";
  return [=](Warp& warp, Lanes lanes) {
    Row spare[3], out;
    const u32* a = warp.read(form.from[0], spare[0], Sense::whole);
    const u32* b = warp.read(form.from[1], spare[1], Sense::whole);
    const u32* c = warp.read(form.from[2], spare[2], Sense::whole);
    const Lanes less = warp.holds(form.condition(0));
    for (std::size_t i = 0; i < kLanes; ++i) {
      const u32 first =
          adds ? a[i] + b[i] : lesser_or_greater(is_unsigned, bit(less, i), a[i], b[i]);
      out[i] = lesser_or_greater(is_unsigned, bit(less, i), first, c[i]);
    }
    warp.write(form.to, out, lanes);
  };
}

/// Selects four of the eight bytes of a and c; the upper bit of a selector replicates the sign.
u32 permuted(u32 a, u32 selectors, u32 c) {
  const u64 both = a | u64{c} << 32;
  u32 out = 0;
  for (int k = 0; k < 4; ++k) {
    const u32 selector = selectors >> (4 * k) & 15;
    u32 byte = static_cast<u32>(both >> (8 * (selector & 7))) & 255;
    if ((selector & 8) != 0) byte = (byte & 128) != 0 ? 255 : 0;
    out |= byte << (8 * k);
  }
  return out;
}

Operation pack_predicates(const Line& line) {
  const Operand to = line.operands.at(0);
  const auto mask = static_cast<u32>(line.operands.at(3).value);
  return [to, mask](Warp& warp, Lanes lanes) {
    Row out;
    for (int i = 0; i < kLanes; ++i)
      out[static_cast<std::size_t>(i)] = warp.predicates_of(i) & mask;
    warp.write(to, out, lanes);
  };
}

Operation unpack_predicates(const Line& line) {
  const Operand from = line.operands.at(1);
  const auto mask = static_cast<u32>(line.operands.at(2).value);
  return [from, mask](Warp& warp, Lanes lanes) {
    Row spare;
    const u32* bits = warp.read(from, spare, Sense::whole);
    for (int p = 0; p < kTrue; ++p) {
      if ((mask >> p & 1) == 0) continue;
      Lanes values = 0;
      for (std::size_t i = 0; i < kLanes; ++i) values |= (bits[i] >> p & 1) << i;
      warp.set({OperandKind::predicate, p}, values, lanes);
    }
  };
}

/// The sum, union or maximum over all active threads.
Operation reduce(const Line& line) {
  const Form form = form_with_target(line);
  const bool adds = line.has("SUM"), unites = line.has("OR"), greatest = line.has("MAX");
  const bool is_signed = line.has("S32");
  if (!adds && !unites && !greatest) throw std::runtime_error("unknown reduction");
  return [=](Warp& warp, Lanes lanes) {
    Row spare, out;
    const u32* x = warp.read(form.from[0], spare, Sense::whole);
    u32 result = 0;
    bool first = true;
    for (std::size_t i = 0; i < kLanes; ++i) {
      if (!bit(lanes, i)) continue;
      result = first    ? x[i]
               : adds   ? result + x[i]
               : unites ? result | x[i]
                        : lesser_or_greater(!is_signed, false, result, x[i]);
      first = false;
    }
    out.fill(result);
    warp.write(form.to, out, lanes);
  };
}

/// The active threads for which a condition holds.
Operation vote(const Line& line) {
  const auto& all = line.operands;
  Operand to = {OperandKind::vector_register, kZeroRegister};
  std::size_t i = 0;
  if (!all.at(0).is_predicate()) to = all[i++];
  const Operand flag = all.at(i), condition = all.at(i + 1);
  const bool any = line.has("ANY");
  return [=](Warp& warp, Lanes lanes) {
    const Lanes those = warp.holds(condition) & lanes;
    Row out;
    out.fill(those);
    warp.write(to, out, lanes);
    warp.set(flag, (any ? those != 0 : those == lanes) ? kAll : 0, lanes);
  };
}

/// For each thread, the threads with the same number.
Operation match(const Line& line) {
  const Operand to = line.operands.at(0), number = line.operands.at(1);
  if (!line.has("ANY")) throw std::runtime_error("unknown kind of match");
  return [=](Warp& warp, Lanes lanes) {
    Row spare, out;
    const u32* const numbers = warp.read(number, spare, Sense::whole);
    for (std::size_t i = 0; i < kLanes; ++i) {
      out[i] = 0;
      for (std::size_t other = 0; other < kLanes; ++other)
        out[i] |= Lanes{bit(lanes, other) && numbers[other] == numbers[i]} << other;
    }
    warp.write(to, out, lanes);
  };
}

Operation special(const Line& line) {
  const Operand to = line.operands.at(0);
  const std::string name = line.operands.at(1).name;
  const bool wide = line.opcode == "CS2R" && !line.has("32");
  return [=](Warp& warp, Lanes lanes) {
    Row out;
    WideRow pair;
    for (int i = 0; i < kLanes; ++i) {
      out[static_cast<std::size_t>(i)] = warp.special(name, i);
      pair[static_cast<std::size_t>(i)] = out[static_cast<std::size_t>(i)];
    }
    if (wide) {
      warp.write_wide(to, pair, lanes);
    } else {
      warp.write(to, out, lanes);
    }
  };
}

template <u32 (*f)(u32)>
Operation unary(const Line& line) {
  return each1(form_with_target(line), Sense::whole, f);
}
u32 same(u32 x) {
  return x;
}
u32 magnitude(u32 x) {
  return as_signed(x) < 0 ? 0u - x : x;
}
u32 bits_set(u32 x) {
  return static_cast<u32>(std::popcount(x));
}
u32 turned_round(u32 x) {
  u32 out = 0;
  for (int i = 0; i < 32; ++i) out |= (x >> i & 1) << (31 - i);
  return out;
}
u32 highest_bit(u32 x) {
  return x == 0 ? ~0u : 31u - static_cast<u32>(std::countl_zero(x));
}

Operation sum(const Line& line) {
  return each2(form_with_target(line), Sense::whole, [](u32 a, u32 b) { return a + b; });
}
Operation select(const Line& line) {
  return choose2(form_with_target(line), Sense::whole,
                 [](u32 a, u32 b, bool p) { return p ? a : b; });
}
Operation permute(const Line& line) {
  return each3(form_with_target(line), Sense::whole, permuted);
}

}  // namespace

const Family& integer_family() {
  static const Family family = {{"IADD3", add3},
                                {"VIADD", sum},
                                {"IMAD", multiply_add},
                                {"LEA", shift_add},
                                {"LOP3", logic3},
                                {"PLOP3", predicate_logic},
                                {"SHF", shift},
                                {"ISETP", compare},
                                {"VIMNMX", lesser},
                                {"VIMNMX3", lesser_of_three},
                                {"VIADDMNMX", lesser_of_three},
                                {"PRMT", permute},
                                {"SEL", select},
                                {"MOV", unary<same>},
                                {"R2UR", unary<same>},
                                {"IABS", unary<magnitude>},
                                {"POPC", unary<bits_set>},
                                {"FLO", unary<highest_bit>},
                                {"BREV", unary<turned_round>},
                                {"P2R", pack_predicates},
                                {"R2P", unpack_predicates},
                                {"REDUX", reduce},
                                {"MATCH", match},
                                {"VOTE", vote},
                                {"VOTEU", vote},
                                {"S2R", special},
                                {"S2UR", special},
                                {"CS2R", special}};
  return family;
}

}  // namespace wellspring::sass
