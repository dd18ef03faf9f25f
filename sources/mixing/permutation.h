// A random permutation of [0, n), computed element by element without a table. Orders data sets
// (one permutation per epoch) and the rows of a batch. Called by sources/mixing; host and device.
#pragma once

#include "kernels/random/philox.h"
#include "kernels/runtime/macros.h"

#include <cstdint>

namespace wellspring {

/// Purpose of a permutation. Under one seed, permutations for different purposes are independent.
enum class PermutationUse : std::uint32_t {
  epoch = 0,  ///< order of a data set, keyed by the epoch
  batch = 1,  ///< order of the rows of a batch, keyed by the step
};

/// A Feistel network with Philox4x32-10 as its round function and addition modulo m, on the
/// smallest square domain m * m that holds `size`, restricted to [0, size) by cycle walking: a
/// value outside is encrypted again until it falls inside, which keeps the map one-to-one (J.
/// Black, P. Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002). Because the domain is
/// so close to `size`, a look-up takes only 1 + 2 / sqrt(size) encryptions on average. On a GPU, a
/// step waits for the longest walk in its batch.
///
/// Four rounds make a Feistel network indistinguishable from a random permutation if only a small
/// part of a large domain is seen (M. Luby, C. Rackoff, SIAM J. Comput. 17, 1988). Here the whole
/// domain is seen, and it may be tiny, so there are twelve rounds. With ideal round functions, the
/// exact frequency of every order of 4 elements is then within 0.05 % of uniform, of 5 elements
/// within 0.8 % and of 6 within 2.1 %. Larger sets soon have more orders than a run has epochs.
///
/// If m is odd, all rounds have the same parity, and twelve make an even permutation of the domain.
/// Exchanging the first two positions at random makes even and odd permutations equally likely.
class Permutation {
 public:
  static constexpr std::uint32_t kRounds = 12;
  /// Half of a Feistel value shares a counter word with the round (4 bits) and the use (4 bits).
  static constexpr int kMostHalfBits = 24;

  /// `size` in [1, 2^48]; `instance` is the epoch or step.
  WS_HD constexpr Permutation(std::uint64_t size, std::uint64_t seed, std::uint64_t instance,
                              PermutationUse use)
      : size_(size), rng_{seed, instance}, use_(static_cast<std::uint32_t>(use)) {
    // The square root of size, rounded up, bit by bit from the top: root * root < size.
    std::uint32_t root = 0;
    for (std::uint32_t bit = 1u << (kMostHalfBits - 1); bit > 0; bit /= 2) {
      const std::uint64_t larger = root | bit;
      if (larger * larger < size) root |= bit;
    }
    side_ = root + 1;
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
    std::uint32_t left = static_cast<std::uint32_t>(value / side_);
    std::uint32_t right = static_cast<std::uint32_t>(value % side_);
    for (std::uint32_t round = 0; round < kRounds; ++round) {
      const Philox4 block = rng_.block(Purpose::order, draw(round, right));
      const std::uint32_t sum = left + below(block.word[0], side_);
      left = right;
      right = sum < side_ ? sum : sum - side_;
    }
    return std::uint64_t{left} * side_ + right;
  }

  std::uint64_t size_;
  SampleRng rng_;
  std::uint32_t use_;
  std::uint32_t side_ = 1;  ///< m: the domain is its square
};

}  // namespace wellspring
