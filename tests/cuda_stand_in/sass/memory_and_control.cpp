// Operations on memory, and control flow.
#include "tests/cuda_stand_in/sass/forms.h"
#include "tests/cuda_stand_in/sass/operations.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace wellspring::sass {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

enum class Space : std::uint8_t { global, shared, local };

std::byte* place_in(Warp& warp, Space space, u64 address, int lane, std::size_t bytes,
                    Access access, const std::byte* written = nullptr) {
  if (space == Space::shared) return warp.shared(address, bytes, access, written);
  return space == Space::local ? warp.local(address, lane, bytes)
                               : warp.global(address, lane, bytes, access, written);
}

Space space_of(const Line& line) {
  const std::string& name = line.opcode;
  if (name == "LDS" || name == "STS" || name == "ATOMS") return Space::shared;
  return name == "LDL" || name == "STL" ? Space::local : Space::global;
}

/// The addresses of an access by the threads `lanes`; counts its traffic. `merges`: threads that
/// change the same word of shared memory do not take turns.
Addresses addresses_of(Warp& warp, Space space, const Operand& operand, Lanes lanes,
                       std::size_t bytes, Access access, bool merges = false) {
  Addresses addresses{};
  Lanes in_shared = space == Space::shared ? lanes : 0,
        in_local = space == Space::local ? lanes : 0;
  each_lane(lanes, [&](int lane) {
    const u64 address = addresses[static_cast<std::size_t>(lane)] = warp.address(operand, lane);
    if (space != Space::global) return;
    const auto window = static_cast<u32>(address >> 32);
    in_shared |= Lanes{window == Warp::kSharedWindow} << lane;
    in_local |= Lanes{window == Warp::kLocalWindow} << lane;
  });
  Traffic& traffic = warp.traffic();
  if (const Lanes in_global = lanes & ~in_shared & ~in_local; in_global != 0) {
    const auto threads = static_cast<u64>(std::popcount(in_global));
    traffic.sectors += sectors_of(addresses, in_global);
    (access == Access::read ? traffic.bytes_read : traffic.bytes_written) += threads * bytes;
    if (bytes < 4) traffic.narrow += threads;
  }
  if (in_shared != 0) {
    const bool in_turns = access == Access::atomic && !merges;
    const Passes passes = passes_of(addresses, in_shared, bytes, in_turns);
    traffic.wavefronts += passes.wavefronts;
    traffic.conflicts += passes.conflicts;
  }
  traffic.local_bytes += static_cast<u64>(std::popcount(in_local)) * bytes;
  return addresses;
}

struct Width {
  std::size_t bytes = 4;
  bool is_signed = false;
};
Width width_of(const Line& line) {
  for (const std::string& name : line.modifiers) {
    if (name == "U8") return {1};
    if (name == "S8") return {1, true};
    if (name == "U16") return {2};
    if (name == "S16") return {2, true};
    if (name == "64") return {8};
    if (name == "128") return {16};
  }
  return {};
}

void write_loaded(Warp& warp, const Operand& to, int lane, const std::byte* from, Width width) {
  for (std::size_t part = 0; part < std::max<std::size_t>(width.bytes / 4, 1); ++part) {
    u32 value = 0;
    std::memcpy(&value, from + 4 * part, std::min<std::size_t>(width.bytes, 4));
    if (width.is_signed) {
      const int unused = 32 - 8 * static_cast<int>(width.bytes);
      value = static_cast<u32>(static_cast<std::int32_t>(value << unused) >> unused);
    }
    warp.write_part(to, static_cast<int>(part), lane, value);
  }
}

Operation load(const Line& line) {
  const Operand to = line.operands.at(0), from = line.operands.at(1);
  const Width width = width_of(line);
  const Space space = space_of(line);
  return [=](Warp& warp, Lanes lanes) {
    // Reads all addresses first, because a load may overwrite its own address register.
    const Addresses addresses = addresses_of(warp, space, from, lanes, width.bytes, Access::read);
    each_lane(lanes, [&](int lane) {
      const u64 address = addresses[static_cast<std::size_t>(lane)];
      write_loaded(warp, to, lane, place_in(warp, space, address, lane, width.bytes, Access::read),
                   width);
    });
  };
}

Operation store(const Line& line) {
  const Operand to = line.operands.at(0), from = line.operands.at(1);
  const Width width = width_of(line);
  const Space space = space_of(line);
  return [=](Warp& warp, Lanes lanes) {
    const Addresses addresses = addresses_of(warp, space, to, lanes, width.bytes, Access::write);
    each_lane(lanes, [&](int lane) {
      std::array<u32, 4> values{};
      for (std::size_t part = 0; part < std::max<std::size_t>(width.bytes / 4, 1); ++part)
        values[part] = warp.read_part(from, static_cast<int>(part), lane);
      const auto* const written = reinterpret_cast<const std::byte*>(values.data());
      const u64 address = addresses[static_cast<std::size_t>(lane)];
      std::memcpy(place_in(warp, space, address, lane, width.bytes, Access::write, written),
                  written, width.bytes);
    });
  };
}

Operation load_constant(const Line& line) {
  const Operand to = line.operands.at(0), from = line.operands.at(1);
  const Width width = width_of(line);
  return [=](Warp& warp, Lanes lanes) {
    std::array<std::int64_t, kLanes> offsets;
    each_lane(lanes, [&](int lane) {
      Operand place = from;
      place.wide = false;
      offsets[static_cast<std::size_t>(lane)] =
          static_cast<std::int64_t>(warp.address(place, lane));
    });
    each_lane(lanes, [&](int lane) {
      const std::int64_t offset = offsets[static_cast<std::size_t>(lane)];
      write_loaded(warp, to, lane, warp.constant(offset, width.bytes), width);
    });
  };
}

// Atomic operations run one thread after another.

enum class Change : std::uint8_t { add, most, any, exchange, count };
Change change_of(const Line& line) {
  if (line.has("POPC")) return Change::count;
  if (line.has("ADD")) return Change::add;
  if (line.has("MAX")) return Change::most;
  if (line.has("OR")) return Change::any;
  if (line.has("EXCH")) return Change::exchange;
  throw std::runtime_error("unknown atomic operation");
}

u64 changed(Change change, bool is_signed, std::size_t bytes, u64 old, u64 value) {
  switch (change) {
    case Change::add:
      return old + value;
    case Change::most:
      if (is_signed && bytes == 4)
        return static_cast<std::int32_t>(old) > static_cast<std::int32_t>(value) ? old : value;
      if (is_signed)
        return static_cast<std::int64_t>(old) > static_cast<std::int64_t>(value) ? old : value;
      return std::max(old, value);
    case Change::any:
      return old | value;
    case Change::exchange:
      return value;
    case Change::count:
      return old + 1;
  }
  return old;
}

u64 read_value(const Warp& warp, const Operand& from, int lane, std::size_t bytes) {
  u64 value = warp.read_part(from, 0, lane);
  if (bytes == 8) value |= u64{warp.read_part(from, 1, lane)} << 32;
  return value;
}
void write_value(Warp& warp, const Operand& to, int lane, std::size_t bytes, u64 value) {
  warp.write_part(to, 0, lane, static_cast<u32>(value));
  if (bytes == 8) warp.write_part(to, 1, lane, static_cast<u32>(value >> 32));
}

/// Compare and swap: writes if it finds the expected value, and sets a register to the outcome.
Operation compare_and_set(const Line& line, std::size_t bytes) {
  const auto& all = line.operands;
  return [=, to = all.at(0), place = all.at(1), expected = all.at(2), value = all.at(3)](
             Warp& warp, Lanes lanes) {
    const Addresses addresses =
        addresses_of(warp, Space::shared, place, lanes, bytes, Access::atomic);
    each_lane(lanes, [&](int lane) {
      std::byte* const at =
          warp.shared(addresses[static_cast<std::size_t>(lane)], bytes, Access::atomic);
      u64 old = 0;
      std::memcpy(&old, at, bytes);
      const bool found = old == read_value(warp, expected, lane, bytes);
      const u64 next = read_value(warp, value, lane, bytes);
      if (found) std::memcpy(at, &next, bytes);
      write_value(warp, to, lane, bytes, found ? 1 : 0);
    });
  };
}

/// With a generic address and a predicate, the operation does nothing in shared memory. The
/// predicate reports this, and other instructions do the work.
Operation atomic(const Line& line) {
  const std::size_t bytes = line.has("64") ? 8 : 4;
  if (line.has("CAST")) return compare_and_set(line, bytes);
  const Change change = change_of(line);
  const bool is_signed = line.has("S32") || line.has("S64");
  std::size_t i = 0;
  const auto& all = line.operands;
  Operand done = {OperandKind::predicate, kTrue};
  while (all.at(i).is_predicate()) done = all[i++];
  Operand to = {OperandKind::vector_register, kZeroRegister};
  if (all.at(i).kind != OperandKind::address) to = all[i++];
  const Operand place = all.at(i);
  const Operand value = i + 1 < all.size() ? all[i + 1] : to;
  const Space space = space_of(line);
  const bool tells = done.index != kTrue, merges = change == Change::count;
  return [=](Warp& warp, Lanes lanes) {
    Lanes left = 0;
    each_lane(tells ? lanes : 0, [&](int lane) {
      const auto window = static_cast<u32>(warp.address(place, lane) >> 32);
      left |= Lanes{window == Warp::kSharedWindow} << lane;
    });
    const Addresses addresses =
        addresses_of(warp, space, place, lanes & ~left, bytes, Access::atomic, merges);
    each_lane(lanes & ~left, [&](int lane) {
      const u64 address = addresses[static_cast<std::size_t>(lane)];
      std::byte* const at = place_in(warp, space, address, lane, bytes, Access::atomic);
      u64 old = 0;
      std::memcpy(&old, at, bytes);
      const u64 next = changed(change, is_signed, bytes, old, read_value(warp, value, lane, bytes));
      std::memcpy(at, &next, bytes);
      write_value(warp, to, lane, bytes, old);
    });
    warp.set(done, ~left, lanes);
  };
}

/// Tests whether a generic address is in shared memory.
Operation query_space(const Line& line) {
  if (!line.has("S")) throw std::runtime_error("unknown kind of memory");
  Operand place = line.operands.at(2);
  place.wide = line.has("E");
  return [flag = line.operands.at(0), place](Warp& warp, Lanes lanes) {
    Lanes shared = 0;
    each_lane(lanes, [&](int lane) {
      const auto upper = static_cast<u32>(warp.address(place, lane) >> 32);
      shared |= Lanes{upper == Warp::kSharedWindow} << lane;
    });
    warp.set(flag, shared, lanes);
  };
}

Operation nothing(const Line&) {
  return [](Warp&, Lanes) {};
}

Operation branch(const Line& line) {
  // "BRA P1, `(.L_x_2)" has a condition in addition to its guard.
  const auto& all = line.operands;
  const std::int64_t target = all.back().value;
  if (all.back().kind != OperandKind::label) throw std::runtime_error("unknown branch");
  if (line.has("DIV")) {  // taken if threads of the mask are missing in this group
    return [=](Warp& warp, Lanes lanes) {
      Row spare;
      const Lanes mask = *warp.read(all[0], spare, Sense::whole);
      if ((mask & warp.alive() & ~warp.group()) != 0) warp.jump(target, lanes);
    };
  }
  const Operand condition = all.size() > 1 ? all[0] : Operand{OperandKind::predicate, kTrue};
  // BRA.U jumps over a convergence barrier, so it is taken only if all threads of the group agree.
  return [=, unanimous = line.has("U")](Warp& warp, Lanes lanes) {
    lanes &= warp.holds(condition);
    if (!unanimous || lanes == warp.group()) warp.jump(target, lanes);
  };
}

/// Jumps to the address in a register, which must be the same for all threads.
Operation return_to(const Line& line) {
  return [from = line.operands.at(0)](Warp& warp, Lanes lanes) {
    if (lanes == 0) return;
    const u32 address = warp.read_part(from, 0, std::countr_zero(lanes));
    each_lane(lanes, [&](int lane) {
      if (warp.read_part(from, 0, lane) != address)
        throw std::runtime_error("threads of a group return to different places");
    });
    warp.jump(address / 16, lanes);
  };
}

Operation leave(const Line&) {
  return [](Warp& warp, Lanes lanes) { warp.end(lanes); };
}
Operation hold_together(const Line& line) {
  return [barrier = line.operands.at(0).index](Warp& warp, Lanes) { warp.hold_together(barrier); };
}
Operation meet(const Line& line) {
  return
      [barrier = line.operands.at(0).index](Warp& warp, Lanes lanes) { warp.meet(barrier, lanes); };
}
Operation part_from(const Line& line) {
  const auto& all = line.operands;
  const Operand condition = all.size() > 1 ? all[0] : Operand{OperandKind::predicate, kTrue};
  return [condition, barrier = all.back().index](Warp& warp, Lanes lanes) {
    warp.part_from(barrier, lanes & warp.holds(condition));
  };
}
/// WARPSYNC, either .ALL or with a mask; a COLLECTIVE one ends at ENDCOLLECTIVE.
Operation meet_some(const Line& line) {
  Operand mask = {OperandKind::immediate};
  mask.value = kAll;
  if (!line.has("ALL")) mask = line.operands.at(0);
  return [mask](Warp& warp, Lanes lanes) { warp.meet_some(mask, lanes); };
}
Operation wait_for_block(const Line&) {
  return [](Warp& warp, Lanes lanes) { warp.wait_for_block(lanes); };
}

}  // namespace

const Family& memory_family() {
  static const Family family = {{"LDG", load},     {"LD", load},     {"LDS", load},
                                {"LDL", load},     {"STG", store},   {"ST", store},
                                {"STS", store},    {"STL", store},   {"LDC", load_constant},
                                {"ATOMS", atomic}, {"ATOM", atomic}, {"ATOMG", atomic},
                                {"REDG", atomic},  {"RED", atomic},  {"QSPC", query_space}};
  return family;
}

const Family& control_family() {
  static const Family family = {
      {"BRA", branch},           {"CALL", branch},        {"RET", return_to},
      {"EXIT", leave},           {"BSSY", hold_together}, {"BSYNC", meet},
      {"BREAK", part_from},      {"WARPSYNC", meet_some}, {"BAR", wait_for_block},
      {"NOP", nothing},          {"YIELD", nothing},      {"NANOSLEEP", nothing},
      {"MEMBAR", nothing},       {"ERRBAR", nothing},     {"CCTL", nothing},
      {"ENDCOLLECTIVE", nothing}};
  return family;
}

Operation operation_of(const Line& line) {
  for (const Family* family :
       {&integer_family(), &real_family(), &memory_family(), &control_family()}) {
    const auto found = family->find(line.opcode);
    if (found != family->end()) return found->second(line);
  }
  throw std::runtime_error("unknown instruction");
}

}  // namespace wellspring::sass
