#include "tests/cuda_stand_in/sass/accesses.h"

#include <utility>

namespace wellspring::sass {
namespace {

constexpr Kinds kRead = bit_of(Access::read), kWrite = bit_of(Access::write),
                kAtomic = bit_of(Access::atomic);
/// Conflicting kinds, by kind of access.
constexpr Kinds kOfBlocks[] = {kWrite | kAtomic, kRead | kWrite | kAtomic, kRead | kWrite};
constexpr Kinds kOfWarps[] = {kWrite, kRead | kWrite | kAtomic, kWrite};

}  // namespace

Accesses::Page& Accesses::page_of(std::uint64_t address, std::size_t bytes) {
  const std::uint64_t number = address / kPageBytes;
  if (page_ == nullptr || number != page_number_) {
    page_ = &pages_[number];
    page_number_ = number;
  }
  while (std::size_t{1} << page_->shift > bytes) {
    std::vector<Unit> halves;
    halves.reserve(2 * page_->units.size());
    for (const Unit& unit : page_->units) halves.insert(halves.end(), 2, unit);
    page_->units = std::move(halves);
    --page_->shift;
  }
  return *page_;
}

Kinds Accesses::add(Unit& unit, std::int16_t warp, Access access) const {
  const auto kind = static_cast<std::size_t>(access);
  if (unit.epoch != epoch_) {
    if (unit.epoch < first_) unit = {};
    if (unit.epoch < block_) unit.earlier |= std::exchange(unit.here, Kinds{0});
    for (std::int16_t& other : unit.warp) other = kNone;
    unit.epoch = epoch_;
  }
  Kinds others = 0;
  for (std::size_t k = 0; k < 3; ++k)
    if (unit.warp[k] != kNone && unit.warp[k] != warp) others |= static_cast<Kinds>(1u << k);
  unit.warp[kind] = unit.warp[kind] == kNone || unit.warp[kind] == warp ? warp : kSeveral;
  unit.here |= bit_of(access);
  return static_cast<Kinds>((unit.earlier & kOfBlocks[kind]) | (others & kOfWarps[kind]));
}

Kinds Accesses::add(std::uint64_t address, std::size_t bytes, int warp, Access access) {
  Page& page = page_of(address, bytes);
  const std::uint64_t begin = address % kPageBytes, end = begin + bytes;
  Kinds conflicts = 0;
  for (std::uint64_t i = begin >> page.shift; i << page.shift < end; ++i)
    conflicts |= add(page.units[i], static_cast<std::int16_t>(warp), access);
  return conflicts;
}

}  // namespace wellspring::sass
