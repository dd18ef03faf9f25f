// Finds races: accesses to the same bytes that nothing orders. Called by the machine; host only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace wellspring::sass {

enum class Access : std::uint8_t { read, write, atomic };

/// A set of kinds of access, with a bit per kind.
using Kinds = std::uint8_t;
constexpr Kinds bit_of(Access kind) {
  return static_cast<Kinds>(1u << static_cast<unsigned>(kind));
}

/// The accesses of a grid to one kind of memory. Barriers order the warps of a block; nothing
/// orders two blocks. A write conflicts with all other accesses to its bytes. Between blocks, a read
/// also conflicts with an atomic operation; within a block it does not, because lock-free code,
/// such as a union-find, mixes them on purpose. Not found: races of threads of one warp, and of
/// launches.
class Accesses {
 public:
  Accesses() = default;
  Accesses(const Accesses&) = delete;
  Accesses& operator=(const Accesses&) = delete;
  /// Forgets all accesses.
  void clear() { first_ = block_ = ++epoch_; }
  void begin_block() { block_ = ++epoch_; }
  void pass_barrier() { ++epoch_; }
  /// Returns the kinds of earlier accesses that conflict with this one, which is aligned and has up
  /// to 16 bytes.
  Kinds add(std::uint64_t address, std::size_t bytes, int warp, Access access);

 private:
  static constexpr std::int16_t kNone = -1, kSeveral = -2;
  static constexpr std::uint64_t kPageBytes = 4096;
  struct Unit {
    std::uint32_t epoch = 0;                       ///< the latest access's
    std::int16_t warp[3] = {kNone, kNone, kNone};  ///< by kind of access, in this epoch
    Kinds here = 0;                                ///< accesses of the latest block
    Kinds earlier = 0;                             ///< accesses of the blocks before it
  };
  /// Units have the size of the smallest access so far, but at most a word, so that blocks may
  /// write different bytes of a word.
  struct Page {
    int shift = 2;  ///< a unit has 1 << shift bytes
    std::vector<Unit> units = std::vector<Unit>(kPageBytes / 4);
  };

  Page& page_of(std::uint64_t address, std::size_t bytes);
  Kinds add(Unit& unit, std::int16_t warp, Access access) const;

  std::uint32_t first_ = 1, block_ = 1, epoch_ = 1;  ///< an epoch ends with a barrier or a block
  std::unordered_map<std::uint64_t, Page> pages_;
  Page* page_ = nullptr;  ///< the latest one
  std::uint64_t page_number_ = 0;
};

}  // namespace wellspring::sass
