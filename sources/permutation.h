// A random permutation of [0, n) computed element by element: position in, sample out, no table.
// Orders data sets (one permutation an epoch) and slots within a batch. Host and device.
#pragma once

#include "kernels/macros.h"
#include "kernels/philox.h"

#include <cstdint>

namespace wellspring {

/// What a permutation is for; keeps permutations under one seed independent of each other.
enum class PermutationUse : std::uint32_t {
  epoch = 0,  ///< of a data set, keyed by the epoch
  batch = 1,  ///< of the slots of a batch, keyed by the step
};

/// A balanced Feistel network with Philox4x32-10 as its round function, on the smallest domain 4^h
/// that holds `size`, restricted to [0, size) by cycle walking: a value outside is encrypted again
/// until it falls inside, which keeps the map one-to-one. The domain is less than 4 * size, so a
/// look-up walks fewer than four times on average.
///
/// Four rounds make a Feistel network indistinguishable from a random permutation on a large domain
/// of which little is seen (M. Luby, C. Rackoff, SIAM J. Comput. 17, 1988). Here all of it is seen,
/// and it may be tiny. The worst case is a domain of four, where the 24 permutations come within a
/// relative 2^(2 - rounds) of equal frequency (computed exactly): 0.1 % at the twelve used.
///
/// Feistel networks on 16 or more elements are even permutations. Exchanging the first two
/// positions, or not, makes even and odd equally likely.
class Permutation {
 public:
  static constexpr std::uint32_t kRounds = 12;
  /// Half a Feistel value shares its counter word with the round (4 bits) and the use (4 bits).
  static constexpr int kMostHalfBits = 24;
  static constexpr std::uint64_t kLargestSize = std::uint64_t{1} << (2 * kMostHalfBits);

  /// `size` in [1, 2^48]; `instance` is the epoch or step.
  WS_HD constexpr Permutation(std::uint64_t size, std::uint64_t seed, std::uint64_t instance,
                              PermutationUse use)
      : size_(size), rng_{seed, instance}, use_(static_cast<std::uint32_t>(use)) {
    while ((std::uint64_t{1} << (2 * half_bits_)) < size) ++half_bits_;
  }

  /// `position` in [0, size).
  WS_HD constexpr std::uint64_t operator()(std::uint64_t position) const {
    if (size_ == 1) return 0;
    if (position < 2) position ^= rng_.block(Purpose::order, draw(kRounds, 0)).word[0] & 1u;
    do {
      position = encrypt(position);
    } while (position >= size_);
    return position;
  }

 private:
  WS_HD constexpr std::uint32_t draw(std::uint32_t round, std::uint32_t half) const {
    return use_ << 28 | round << kMostHalfBits | half;
  }
  WS_HD constexpr std::uint64_t encrypt(std::uint64_t value) const {
    const std::uint32_t mask = (std::uint32_t{1} << half_bits_) - 1;
    std::uint32_t left = static_cast<std::uint32_t>(value >> half_bits_);
    std::uint32_t right = static_cast<std::uint32_t>(value) & mask;
    for (std::uint32_t round = 0; round < kRounds; ++round) {
      const Philox4 block = rng_.block(Purpose::order, draw(round, right));
      const std::uint32_t next = left ^ (block.word[0] & mask);
      left = right;
      right = next;
    }
    return std::uint64_t{left} << half_bits_ | right;
  }

  std::uint64_t size_;
  SampleRng rng_;
  std::uint32_t use_;
  int half_bits_ = 1;
};

}  // namespace wellspring
