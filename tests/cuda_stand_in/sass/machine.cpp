#include "tests/cuda_stand_in/sass/machine.h"

#include "tests/cuda_stand_in/sass/operations.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <utility>

namespace wellspring::sass {
namespace {

// Layout of the constant bank for compute capability 9.0, as seen in any listing.
constexpr std::size_t kBlockShape = 0x0, kGridShape = 0xc, kLocalBase = 0x20, kStackEnd = 0x28,
                      kParameters = 0x210;
/// Size of the shared memory that the system reserves before a block's own.
constexpr std::size_t kReservedShared = 0x400;

std::uint32_t changed(std::uint32_t value, const Operand& operand, Sense sense) {
  if (sense == Sense::real) {
    if (operand.absolute) value &= 0x7fffffffu;
    return operand.negative ? value ^ 0x80000000u : value;
  }
  if (operand.inverted) return ~value;
  if (!operand.negative) return value;
  return sense == Sense::wholes_complement ? ~value : 0u - value;
}

/// The 32 bits of an immediate; a decimal number is an f32.
std::uint32_t immediate_bits(const Operand& operand) {
  return operand.decimal ? std::bit_cast<std::uint32_t>(static_cast<float>(operand.number))
                         : static_cast<std::uint32_t>(operand.value);
}

}  // namespace

Code::Code(std::string kernel, Listing lines)
    : name(std::move(kernel)), listing(std::move(lines)), issued(listing.size()) {
  for (const Line& line : listing) {
    try {
      instructions.push_back({operation_of(line), line.guard});
    } catch (const std::exception& failure) {
      throw std::runtime_error(name + ": '" + line.text + "': " + failure.what());
    }
  }
}

std::uint64_t Code::warp_instructions() const {
  return std::accumulate(issued.begin(), issued.end(), std::uint64_t{0});
}

std::uint64_t Code::warp_instructions(Pipe pipe) const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < listing.size(); ++i)
    sum += pipe_of(listing[i]) == pipe ? issued[i] : 0;
  return sum;
}

Warp::Warp(Code& code, Block& block, int first_thread)
    : code_(code), block_(block), first_thread_(first_thread), groups_{{kAll, 0}} {
  predicates_[kTrue] = uniform_predicates_[kTrue] = kAll;
}

bool Warp::run(std::uint64_t most) {
  while (is_ready() || choose()) {
    while (is_ready()) {
      if (most-- == 0) return false;
      Group& group = groups_[current_];
      const auto at = static_cast<std::size_t>(group.next++);
      if (at >= code_.instructions.size())
        throw std::runtime_error(code_.name + ": ran off its end");
      const Instruction& instruction = code_.instructions[at];
      ++code_.issued[at];
      instruction.run(*this, group.lanes & holds(instruction.guard));
    }
  }
  const bool all_wait = std::all_of(groups_.begin(), groups_.end(), [](const Group& group) {
    return group.state == State::waits_for_block;
  });
  require(all_wait, "threads of a warp wait forever");
  return true;
}

bool Warp::choose() {
  for (current_ = 0; current_ < groups_.size(); ++current_) {
    if (is_ready()) return true;
  }
  return false;
}

void Warp::require(bool condition, const char* problem) const {
  if (!condition) throw std::runtime_error(code_.name + ": " + problem);
}

const std::uint32_t* Warp::read(const Operand& operand, Row& spare, Sense sense) const {
  const bool plain = !operand.negative && !operand.absolute && !operand.inverted;
  switch (operand.kind) {
    case OperandKind::vector_register: {
      const Row& row = registers_[static_cast<std::size_t>(operand.index)];
      if (plain) return row.data();
      for (std::size_t i = 0; i < kLanes; ++i) spare[i] = changed(row[i], operand, sense);
      return spare.data();
    }
    case OperandKind::uniform_register:
      spare.fill(changed(uniforms_[static_cast<std::size_t>(operand.index)], operand, sense));
      return spare.data();
    case OperandKind::immediate:
      spare.fill(changed(immediate_bits(operand), operand, sense));
      return spare.data();
    case OperandKind::constant: {
      std::uint32_t value = 0;
      std::memcpy(&value, constant(operand.value, sizeof value), sizeof value);
      spare.fill(changed(value, operand, sense));
      return spare.data();
    }
    default:
      throw std::logic_error("the operand is not a number");
  }
}

void Warp::read_wide(const Operand& operand, WideRow& out, Sense sense) const {
  switch (operand.kind) {
    case OperandKind::vector_register: {
      const bool zero = operand.index == kZeroRegister;
      const Row& low = registers_[static_cast<std::size_t>(operand.index)];
      const Row& high = registers_[static_cast<std::size_t>(operand.index + (zero ? 0 : 1))];
      for (std::size_t i = 0; i < kLanes; ++i) out[i] = low[i] | std::uint64_t{high[i]} << 32;
      break;
    }
    case OperandKind::uniform_register: {
      const bool zero = operand.index == kZeroUniform;
      const auto at = static_cast<std::size_t>(operand.index);
      out.fill(zero ? 0 : uniforms_[at] | std::uint64_t{uniforms_[at + 1]} << 32);
      break;
    }
    case OperandKind::immediate:
      out.fill(operand.decimal        ? std::bit_cast<std::uint64_t>(operand.number)
               : sense == Sense::real ? static_cast<std::uint64_t>(operand.value) << 32
                                      : static_cast<std::uint64_t>(operand.value));
      break;
    case OperandKind::constant: {
      std::uint64_t value = 0;
      std::memcpy(&value, constant(operand.value, sizeof value), sizeof value);
      out.fill(value);
      break;
    }
    default:
      throw std::logic_error("the operand is not a number");
  }
  constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
  for (std::uint64_t& value : out) {
    if (operand.absolute) value &= ~kSign;
    if (operand.inverted) value = ~value;
    if (operand.negative) value = sense == Sense::real ? value ^ kSign : 0 - value;
  }
}

void Warp::write(const Operand& target, const Row& values, Lanes lanes) {
  if (lanes == 0) return;
  const auto at = static_cast<std::size_t>(target.index);
  if (target.kind == OperandKind::uniform_register) {
    if (target.index != kZeroUniform)
      uniforms_[at] = values[static_cast<std::size_t>(std::countr_zero(lanes))];
    return;
  }
  if (target.index == kZeroRegister) return;
  Row& row = registers_[at];
  if (lanes == kAll) {
    row = values;
    return;
  }
  each_lane(lanes, [&](int lane) {
    row[static_cast<std::size_t>(lane)] = values[static_cast<std::size_t>(lane)];
  });
}

void Warp::write_wide(const Operand& target, const WideRow& values, Lanes lanes) {
  Row low, high;
  for (std::size_t i = 0; i < kLanes; ++i) {
    low[i] = static_cast<std::uint32_t>(values[i]);
    high[i] = static_cast<std::uint32_t>(values[i] >> 32);
  }
  const int zero = target.kind == OperandKind::uniform_register ? kZeroUniform : kZeroRegister;
  if (target.index == zero) return;
  Operand upper = target;
  ++upper.index;
  write(target, low, lanes);
  write(upper, high, lanes);
}

void Warp::write_part(const Operand& target, int part, int lane, std::uint32_t value) {
  if (target.kind == OperandKind::uniform_register) {
    if (target.index != kZeroUniform)
      uniforms_[static_cast<std::size_t>(target.index + part)] = value;
  } else if (target.index != kZeroRegister) {
    registers_[static_cast<std::size_t>(target.index + part)][static_cast<std::size_t>(lane)] =
        value;
  }
}

std::uint32_t Warp::read_part(const Operand& source, int part, int lane) const {
  if (source.kind == OperandKind::uniform_register)
    return source.index == kZeroUniform ? 0
                                        : uniforms_[static_cast<std::size_t>(source.index + part)];
  if (source.kind != OperandKind::vector_register)
    throw std::logic_error("the stored operand must be a register");
  return source.index == kZeroRegister ? 0
                                       : registers_[static_cast<std::size_t>(source.index + part)]
                                                   [static_cast<std::size_t>(lane)];
}

Lanes Warp::holds(const Operand& predicate) const {
  const auto at = static_cast<std::size_t>(predicate.index);
  const Lanes lanes =
      predicate.kind == OperandKind::uniform_predicate ? uniform_predicates_[at] : predicates_[at];
  return predicate.inverted ? ~lanes : lanes;
}

void Warp::set(const Operand& predicate, Lanes values, Lanes lanes) {
  if (predicate.index == kTrue || lanes == 0) return;
  const auto at = static_cast<std::size_t>(predicate.index);
  if (predicate.kind == OperandKind::uniform_predicate) {
    uniform_predicates_[at] = (values >> std::countr_zero(lanes) & 1) != 0 ? kAll : 0;
  } else {
    predicates_[at] = (predicates_[at] & ~lanes) | (values & lanes);
  }
}

std::uint32_t Warp::predicates_of(int lane) const {
  std::uint32_t bits = 0;
  for (std::size_t p = 0; p < kTrue; ++p) bits |= (predicates_[p] >> lane & 1) << p;
  return bits;
}

std::uint64_t Warp::address(const Operand& operand, int lane) const {
  std::uint64_t place = static_cast<std::uint64_t>(operand.value);
  const auto at = [](int index) { return static_cast<std::size_t>(index); };
  if (operand.index != kNoRegister && operand.index != kZeroRegister) {
    place += registers_[at(operand.index)][at(lane)];
    if (operand.wide) place += std::uint64_t{registers_[at(operand.index + 1)][at(lane)]} << 32;
  }
  if (operand.uniform != kNoRegister && operand.uniform != kZeroUniform) {
    place += uniforms_[at(operand.uniform)];
    if (operand.wide) place += std::uint64_t{uniforms_[at(operand.uniform + 1)]} << 32;
  }
  return operand.wide ? place : place & 0xffffffffu;
}

std::uint32_t Warp::special(const std::string& name, int lane) const {
  const auto thread = static_cast<std::uint32_t>(first_thread_ + lane);
  const auto row = static_cast<std::uint32_t>(block_.row_threads);
  if (name == "SR_TID.X") return thread % row;
  if (name == "SR_TID.Y") return thread / row;
  if (name == "SR_CTAID.X") return block_.index;
  if (name == "SR_LANEID") return static_cast<std::uint32_t>(lane);
  if (name == "SR_CgaCtaId" || name == "SRZ") return 0;
  if (name == "SR_SWINHI") return kSharedWindow;
  throw std::runtime_error("unknown special register: " + name);
}

/// Members of a team may store equal bytes at once (generators/images/contour_lines.h), so such
/// writes are allowed: their order changes nothing. If unequal bytes are next to them or came before
/// them, it depends on the order of the warps whether this finds the race.
bool Warp::is_ordered(Accesses& accesses, std::uint64_t address, const std::byte* place,
                      std::size_t bytes, Access access, const std::byte* written) const {
  const Kinds conflicts = accesses.add(address, bytes, first_thread_ / kLanes, access);
  if (conflicts == 0) return true;
  return conflicts == bit_of(Access::write) && written != nullptr &&
         std::memcmp(place, written, bytes) == 0;
}

std::byte* Warp::global(std::uint64_t address, int lane, std::size_t bytes, Access access,
                        const std::byte* written) {
  const auto window = static_cast<std::uint32_t>(address >> 32);
  if (window == kSharedWindow) return shared(address & 0xffffffffu, bytes, access, written);
  if (window == kLocalWindow) return local(address & 0xffffffffu, lane, bytes);
  require(address % bytes == 0, "a misaligned address");
  auto* const place = reinterpret_cast<std::byte*>(address);
  require(is_ordered(*block_.global_accesses, address, place, bytes, access, written),
          "a race in global memory: nothing orders the accesses of two warps or blocks");
  return place;
}

std::byte* Warp::shared(std::uint64_t address, std::size_t bytes, Access access,
                        const std::byte* written) {
  require(address >= kReservedShared && address + bytes <= block_.shared.size(),
          "beyond shared memory");
  require(address % bytes == 0, "a misaligned address in shared memory");
  std::byte* const place = block_.shared.data() + address;
  require(is_ordered(*block_.shared_accesses, address, place, bytes, access, written),
          "a race in shared memory: no barrier orders the accesses of two warps");
  return place;
}

std::byte* Warp::local(std::uint64_t address, int lane, std::size_t bytes) {
  if (local_.empty()) local_.resize(kLanes * kLocalBytes);
  require(address + bytes <= kLocalBytes, "beyond local memory");
  require(address % bytes == 0, "a misaligned address in local memory");
  return local_.data() + static_cast<std::size_t>(lane) * kLocalBytes + address;
}

const std::byte* Warp::constant(std::int64_t offset, std::size_t bytes) const {
  const std::vector<std::byte>& bank = *block_.constants;
  if (offset < 0 || static_cast<std::size_t>(offset) + bytes > bank.size())
    throw std::runtime_error(code_.name + ": beyond the constants");
  return bank.data() + offset;
}

// Control

/// Makes `lanes` the current group; the group's other threads wait at the next instruction.
Lanes Warp::split_off(Lanes lanes) {
  Group& group = groups_[current_];
  const Lanes rest = group.lanes & ~lanes;
  if (rest != 0) {
    const Group behind{rest, group.next};
    group.lanes = lanes;
    groups_.push_back(behind);
  }
  return rest;
}

void Warp::jump(std::int64_t target, Lanes lanes) {
  if (lanes == 0) return;
  split_off(lanes);
  groups_[current_].next = target;
}

void Warp::end(Lanes lanes) {
  alive_ &= ~lanes;
  groups_[current_].lanes &= ~lanes;
  if (groups_[current_].lanes != 0) return;
  groups_.erase(groups_.begin() + static_cast<std::ptrdiff_t>(current_));
  release_all();
  current_ = groups_.size();
}

void Warp::hold_together(int barrier) {
  each_lane(group(), [&](int lane) {
    together_[static_cast<std::size_t>(barrier)][static_cast<std::size_t>(lane)] = group();
  });
}

void Warp::part_from(int barrier, Lanes lanes) {
  for (Lanes& others : together_[static_cast<std::size_t>(barrier)]) others &= ~lanes;
  release(barrier);
}

void Warp::meet(int barrier, Lanes lanes) {
  if (lanes == 0) return;
  split_off(lanes);
  groups_[current_].state = State::meets;
  groups_[current_].barrier = barrier;
  release(barrier);
}

void Warp::meet_some(const Operand& mask, Lanes lanes) {
  Row spare;
  const std::uint32_t* const masks = read(mask, spare, Sense::whole);
  each_lane(lanes, [&](int lane) {
    const auto i = static_cast<std::size_t>(lane);
    together_[kByMask][i] = masks[i];
  });
  meet(kByMask, lanes);
}

void Warp::wait_for_block(Lanes lanes) {
  if (lanes == 0) return;
  split_off(lanes);
  groups_[current_].state = State::waits_for_block;
}

/// Joins the groups at a barrier that all of its threads have reached.
void Warp::release(int barrier) {
  Lanes here = 0;
  const auto is_here = [barrier](const Group& group) {
    return group.state == State::meets && group.barrier == barrier;
  };
  for (const Group& group : groups_) here |= is_here(group) ? group.lanes : 0;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    if (!is_here(groups_[g])) continue;
    Lanes expected = groups_[g].lanes;
    each_lane(groups_[g].lanes, [&](int lane) {
      expected |= together_[static_cast<std::size_t>(barrier)][static_cast<std::size_t>(lane)];
    });
    expected &= alive_;
    if ((expected & ~here) != 0) continue;
    groups_[g].state = State::ready;
    for (std::size_t other = groups_.size(); other-- > g + 1;) {
      if (!is_here(groups_[other]) || (groups_[other].lanes & expected) == 0 ||
          groups_[other].next != groups_[g].next)
        continue;
      groups_[g].lanes |= groups_[other].lanes;
      groups_.erase(groups_.begin() + static_cast<std::ptrdiff_t>(other));
      if (current_ == other) current_ = g;
      if (current_ > other) --current_;
    }
  }
}

void Warp::release_all() {
  for (int barrier = 0; barrier < kBarriers; ++barrier) release(barrier);
}

void Warp::leave_block_barrier() {
  std::vector<Group> joined;
  for (const Group& group : groups_) {
    const auto same = std::find_if(joined.begin(), joined.end(),
                                   [&](const Group& other) { return other.next == group.next; });
    if (same == joined.end()) {
      joined.push_back({group.lanes, group.next});
    } else {
      same->lanes |= group.lanes;
    }
  }
  groups_ = std::move(joined);
  current_ = 0;
}

namespace {

/// Runs each warp up to the next barrier of the block, in random order if `random` is given.
/// Returns false once all have ended.
bool run_to_barrier(const std::vector<std::unique_ptr<Warp>>& warps, std::mt19937* random) {
  if (random == nullptr) {
    for (const auto& warp : warps) warp->run();
  } else {
    std::vector<Warp*> left;
    for (const auto& warp : warps) left.push_back(warp.get());
    while (!left.empty()) {
      const auto next = left.begin() + static_cast<std::ptrdiff_t>((*random)() % left.size());
      const std::uint64_t most = 1 + (*random)() % 64;
      if ((*next)->run(most)) left.erase(next);
    }
  }
  return !std::ranges::all_of(warps, [](const auto& warp) { return warp->ended(); });
}

}  // namespace

void run_grid(Code& code, const LaunchShape& shape, const void* parameters, std::size_t bytes,
              unsigned seed) {
  std::vector<std::byte> constants(kParameters + bytes + sizeof(std::uint64_t));
  const auto put = [&]<class T>(std::size_t at, T value) {
    std::memcpy(constants.data() + at, &value, sizeof value);
  };
  put(kBlockShape, std::array{shape.threads, shape.teams, 1});
  put(kGridShape, std::array{static_cast<int>(shape.blocks), 1, 1});
  put(kLocalBase, std::uint64_t{Warp::kLocalWindow} << 32);
  put(kStackEnd, static_cast<std::uint32_t>(Warp::kLocalBytes));
  std::memcpy(constants.data() + kParameters, parameters, bytes);
  std::seed_seq seeds{seed, code.launches++};
  std::mt19937 random(seeds);
  std::vector<std::uint32_t> order(static_cast<std::size_t>(shape.blocks));
  std::iota(order.begin(), order.end(), 0u);
  if (seed != 0) std::shuffle(order.begin(), order.end(), random);
  Accesses in_shared, in_global;
  for (const std::uint32_t b : order) {
    in_shared.clear();
    in_global.begin_block();
    Block block{b, shape.threads, {}, &constants, &in_shared, &in_global};
    block.shared.assign(kReservedShared + shape.scratch_bytes, std::byte{0xcd});
    std::vector<std::unique_ptr<Warp>> warps;
    for (int first = 0; first < shape.threads * shape.teams; first += kLanes)
      warps.push_back(std::make_unique<Warp>(code, block, first));
    while (run_to_barrier(warps, seed == 0 ? nullptr : &random)) {
      in_shared.pass_barrier();
      in_global.pass_barrier();
      for (const auto& warp : warps) warp->leave_block_barrier();
    }
  }
}

}  // namespace wellspring::sass
