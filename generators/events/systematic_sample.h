// A random choice of items (a systematic sample), for sets that must drop some. Used by generators
// of sets; host and device.
#pragma once

#include "kernels/random/philox.h"
#include "kernels/runtime/macros.h"

#include <cstdint>

namespace wellspring {

/// Keeps `most` of `all` items at equal intervals from a random start. Every item has the same
/// chance, and any run of consecutive items keeps its share to within one item. If there are no
/// more than `most` items, all are kept.
class SystematicSample {
 public:
  WS_INLINE SystematicSample(std::uint32_t all, std::uint32_t most, std::uint32_t word)
      : all_(all), most_(most), start_(below(word, all)), before_(intervals(0)) {}

  /// Index of an item among the kept items, in their order; -1 if it is not kept.
  WS_INLINE std::int32_t place(std::uint32_t item) const {
    if (all_ <= most_) return static_cast<std::int32_t>(item);
    const std::uint64_t here = intervals(item);
    return intervals(item + 1) == here ? -1 : static_cast<std::int32_t>(here - before_);
  }

 private:
  /// Number of intervals (each all / most items long) that end before `item`; the first interval
  /// begins `start` items before item 0.
  WS_INLINE std::uint64_t intervals(std::uint32_t item) const {
    return (std::uint64_t{start_} + item) * most_ / (all_ > 0 ? all_ : 1);
  }

  std::uint32_t all_, most_, start_;
  std::uint64_t before_;
};

}  // namespace wellspring
