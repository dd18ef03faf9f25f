// Ising lattices for one team. A word holds 32 spins of a row; checkerboard sweeps and cluster
// updates work on whole words. Called by generator `ising`; host and device.
//
//   E = - sum over neighbours s_i s_j,  s = +-1 (bits 1 and 0), J = 1, periodic, side x side
//
// Metropolis: N. Metropolis et al., J. Chem. Phys. 21 (1953) 1087, applied to the two colours of
// the checkerboard in turn. Clusters: R. Swendsen, J.-S. Wang, "Nonuniversal critical dynamics in
// Monte Carlo simulations", PRL 58 (1987) 86. Each member of a team works on its own words and
// synchronises between phases. Clusters are joined by an integer maximum, so a cluster is
// identified by its last site, whatever the order of execution. Lanes share the bits of random
// words: see bernoulli().
#pragma once

#include "kernels/random/philox.h"
#include "kernels/runtime/bits.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/team.h"

#include <cstdint>

namespace wellspring {

/// Probabilities as integers, in units of 2^-32.
struct IsingChances {
  std::uint32_t bond = 0;   ///< 1 - exp(-2 / T): chance to bind equal neighbours into a cluster
  std::uint32_t four = 0;   ///< exp(-4 / T): chance to accept a flip that costs 4
  std::uint32_t eight = 0;  ///< exp(-8 / T)
};

namespace ising {

/// Blocks of random numbers reserved per call of bernoulli().
inline constexpr std::uint32_t kDrawsAWord = 3;

/// For each lane set in `lanes`, returns whether u < t, where u is uniform in 32 bits and t is
/// `rare_chance` in lanes of `rare` and `chance` elsewhere. Lanes compare bit by bit, starting with
/// the highest bit, so one block gives four bits to all lanes, and two blocks decide 255 of 256
/// lanes. Each remaining lane takes its last 24 bits from one of the four words of a third block.
/// (With five such lanes, which happens once in 10^7 calls, two lanes share a word: probabilities
/// stay exact, but these two are not independent.)
WS_INLINE std::uint32_t bernoulli(const SampleRng& rng, Purpose purpose, std::uint32_t draw,
                                  std::uint32_t lanes, std::uint32_t chance, std::uint32_t rare,
                                  std::uint32_t rare_chance) {
  std::uint32_t below = 0, open = lanes;
  for (std::uint32_t block = 0; block < 2; ++block) {
    if (open == 0) return below;
    const Philox4 random = rng.block(purpose, draw + block);
    WS_UNROLL(4)
    for (std::uint32_t i = 0; i < 4; ++i) {
      const std::uint32_t bit = 31 - 4 * block - i;
      const std::uint32_t t =
          ((0u - (chance >> bit & 1u)) & ~rare) | ((0u - (rare_chance >> bit & 1u)) & rare);
      const std::uint32_t u = random.word[i];
      below |= open & ~u & t;
      open &= ~(u ^ t);
    }
  }
  if (open == 0) return below;
  const Philox4 random = rng.block(purpose, draw + 2);
  for (std::uint32_t turn = 0; open != 0; ++turn, open &= open - 1) {
    const int lane = lowest_bit(open);
    const std::uint32_t low = (turn & 1u) != 0 ? random.word[1] : random.word[0];
    const std::uint32_t high = (turn & 1u) != 0 ? random.word[3] : random.word[2];
    const std::uint32_t u = ((turn & 2u) != 0 ? high : low) >> 8;
    const std::uint32_t t = (rare >> lane & 1u) != 0 ? rare_chance : chance;
    if (u < (t & 0x00ffffffu)) below |= std::uint32_t{1} << lane;
  }
  return below;
}

}  // namespace ising

/// Layout of a lattice: `across` words per row; the last word may be partly filled. The number
/// of a site is 32 times its word plus its bit.
struct IsingShape {
  std::int32_t side = 4;    ///< even, at least 4
  std::int32_t across = 1;  ///< words per row

  static WS_INLINE constexpr IsingShape of(std::int32_t side) { return {side, (side + 31) / 32}; }
  WS_INLINE constexpr std::int32_t words() const { return across * side; }
  WS_INLINE constexpr std::int32_t spins() const { return side * side; }
  /// Number of spins in word `column` of a row.
  WS_INLINE constexpr std::int32_t filled(std::int32_t column) const {
    return column == across - 1 ? side - 32 * (across - 1) : 32;
  }
};

/// Working memory that a team shares.
struct IsingWork {
  std::uint32_t* spins;   ///< [words]
  std::uint32_t* other;   ///< [words] spins for the next half sweep; horizontal bonds
  std::uint32_t* flips;   ///< [words] the bit of a cluster's last site is set if the cluster flips
  std::uint32_t* parent;  ///< [32 words] a later site of the same cluster, or the site itself; only
                          ///< set for the last site of each run of bonds in a word
  std::int32_t* sums;     ///< [2] number of unequal neighbours; number of spins up

  static WS_INLINE constexpr std::int64_t words_of(IsingShape shape) {
    return std::int64_t{35} * shape.words() + 2;
  }
  static WS_INLINE IsingWork in(IsingShape shape, std::uint32_t* words) {
    const std::int32_t n = shape.words();
    return {words, words + n, words + 2 * n, words + 3 * n,
            reinterpret_cast<std::int32_t*>(words + 35 * n)};
  }
};

struct IsingLattice {
  IsingShape shape;
  IsingChances chances;
  SampleRng rng;

  /// A word and its neighbouring words.
  struct Place {
    std::int32_t word, row, column;
    std::int32_t filled;
    std::uint32_t all;  ///< mask of the bits that are spins

    WS_INLINE std::uint32_t top() const { return std::uint32_t{1} << (filled - 1); }
  };
  WS_INLINE Place place(std::int32_t word) const {
    const std::int32_t row = word / shape.across, column = word - row * shape.across;
    const std::int32_t filled = shape.filled(column);
    return {word, row, column, filled, ~std::uint32_t{0} >> (32 - filled)};
  }
  WS_INLINE std::int32_t below(const Place& at) const {
    return at.row == shape.side - 1 ? at.column : at.word + shape.across;
  }
  WS_INLINE std::int32_t above(const Place& at) const {
    return at.row == 0 ? at.word + shape.words() - shape.across : at.word - shape.across;
  }
  WS_INLINE std::int32_t right(const Place& at) const {
    return at.column == shape.across - 1 ? at.word - at.column : at.word + 1;
  }
  /// The right or left neighbours of a word's spins, lane by lane.
  WS_INLINE std::uint32_t to_the_right(const std::uint32_t* spins, const Place& at) const {
    return spins[at.word] >> 1 | (spins[right(at)] & 1u) << (at.filled - 1);
  }
  WS_INLINE std::uint32_t to_the_left(const std::uint32_t* spins, const Place& at) const {
    const std::int32_t column = at.column == 0 ? shape.across - 1 : at.column - 1;
    const std::uint32_t before = spins[at.word - at.column + column];
    return (spins[at.word] << 1 & at.all) | (before >> (shape.filled(column) - 1) & 1u);
  }

  /// Sets all spins up or, if `hot`, to random values: word w of the spins is word w % 4 of random
  /// block w / 4.
  template <class Team>
  WS_INLINE void begin(Team& team, const IsingWork& work, bool hot) const {
    for (std::int32_t w = team.rank(); w < shape.words(); w += team.size()) {
      const std::uint32_t spins =
          hot ? word_of(rng.block(Purpose::init, static_cast<std::uint32_t>(w / 4)), w % 4) : ~0u;
      work.spins[w] = spins & place(w).all;
    }
    team.sync();
  }

  /// One sweep tries to flip every spin once, starting with the sites where row + column is even.
  template <class Team>
  WS_INLINE void sweep(Team& team, const IsingWork& work, std::uint32_t number) const {
    half_sweep(team, work.spins, work.other, number, 0);
    half_sweep(team, work.other, work.spins, number, 1);
  }

  /// A cluster update binds equal neighbours with probability `bond` and flips each cluster with
  /// probability 1/2.
  template <class Team>
  WS_INLINE void update_clusters(Team& team, const IsingWork& work, std::uint32_t number) const {
    const std::uint32_t first = number * static_cast<std::uint32_t>(shape.words());
    for (std::int32_t w = team.rank(); w < shape.words(); w += team.size()) {
      const Place at = place(w);
      const std::uint32_t equal = ~(work.spins[w] ^ to_the_right(work.spins, at)) & at.all;
      const std::uint32_t draw = (first + static_cast<std::uint32_t>(w)) * 2 * ising::kDrawsAWord;
      const std::uint32_t bonds =
          ising::bernoulli(rng, Purpose::texture, draw, equal, chances.bond, 0, 0);
      work.other[w] = bonds;
      for (std::uint32_t ends = at.all & ~within(bonds, at); ends != 0; ends &= ends - 1) {
        const std::int32_t site = 32 * w + lowest_bit(ends);
        work.parent[site] = static_cast<std::uint32_t>(site);
      }
    }
    for (std::int32_t i = 4 * team.rank(); i < shape.words(); i += 4 * team.size()) {
      const std::uint32_t draw = number * static_cast<std::uint32_t>((shape.words() + 3) / 4) +
                                 static_cast<std::uint32_t>(i / 4);
      const Philox4 random = rng.block(Purpose::order, draw);
      WS_UNROLL(4)
      for (std::int32_t k = 0; k < 4; ++k) {
        if (i + k < shape.words()) work.flips[i + k] = random.word[k];
      }
    }
    team.sync();

    for (std::int32_t w = team.rank(); w < shape.words(); w += team.size()) {
      const Place at = place(w);
      const std::uint32_t bonds = work.other[w], runs = within(bonds, at);
      if ((bonds & at.top()) != 0) {
        const std::int32_t next = right(at);
        const std::uint32_t next_runs = within(work.other[next], place(next));
        join(team, work.parent, end_of_run(w, at.filled - 1, runs), end_of_run(next, 0, next_runs));
      }
      const std::int32_t under = below(at);
      const std::uint32_t under_runs = within(work.other[under], at);
      const std::uint32_t equal = ~(work.spins[w] ^ work.spins[under]) & at.all;
      const std::uint32_t draw =
          ((first + static_cast<std::uint32_t>(w)) * 2 + 1) * ising::kDrawsAWord;
      const std::uint32_t down =
          ising::bernoulli(rng, Purpose::texture, draw, equal, chances.bond, 0, 0);
      // Keeps only the first of adjacent bonds between the same two runs.
      for (std::uint32_t left = down & ~((down & runs & under_runs) << 1); left != 0;
           left &= left - 1) {
        const int lane = lowest_bit(left);
        join(team, work.parent, end_of_run(w, lane, runs), end_of_run(under, lane, under_runs));
      }
    }
    team.sync();

    // Starts with the last word: paths lead to later sites, whose paths a lone member has already
    // shortened.
    for (std::int32_t i = team.rank(); i < shape.words(); i += team.size()) {
      const std::int32_t w = shape.words() - 1 - i;
      const Place at = place(w);
      const std::uint32_t runs = within(work.other[w], at);
      std::uint32_t turned = 0;
      int first_lane = 0;
      for (std::uint32_t ends = at.all & ~runs; ends != 0; ends &= ends - 1) {
        const int lane = lowest_bit(ends);
        const std::int32_t end = 32 * w + lane;
        std::uint32_t site = static_cast<std::uint32_t>(end);
        while (work.parent[site] != site) site = work.parent[site];
        if constexpr (LoneTeam<Team>) work.parent[end] = site;
        const std::uint32_t run = (~0u << first_lane) & (~0u >> (31 - lane));
        if ((work.flips[site / 32] >> (site % 32) & 1u) != 0) turned |= run;
        first_lane = lane + 1;
      }
      work.spins[w] ^= turned;
    }
    team.sync();
  }

  /// Writes sums over the lattice to work.sums.
  template <class Team>
  WS_INLINE void measure(Team& team, const IsingWork& work) const {
    if (team.rank() == 0) work.sums[0] = work.sums[1] = 0;
    team.sync();
    std::int32_t unequal = 0, up = 0;
    for (std::int32_t w = team.rank(); w < shape.words(); w += team.size()) {
      const Place at = place(w);
      const std::uint32_t spins = work.spins[w];
      unequal += bits_set((spins ^ to_the_right(work.spins, at)) & at.all) +
                 bits_set(spins ^ work.spins[below(at)]);
      up += bits_set(spins);
    }
    team.atomic_add(&work.sums[0], unequal);
    team.atomic_add(&work.sums[1], up);
    team.sync();
  }

 private:
  WS_INLINE static std::uint32_t word_of(const Philox4& block, std::int32_t i) {
    const std::uint32_t low = i == 0 ? block.word[0] : block.word[1];
    const std::uint32_t high = i == 2 ? block.word[2] : block.word[3];
    return i < 2 ? low : high;
  }

  /// Bonds to the right, excluding the last spin's bond, which leads to another word.
  WS_INLINE static std::uint32_t within(std::uint32_t bonds, const Place& at) {
    return bonds & (at.all >> 1);
  }
  /// Last site of the run of bonds that contains this site, within the word.
  WS_INLINE static std::uint32_t end_of_run(std::int32_t word, int lane, std::uint32_t runs) {
    return static_cast<std::uint32_t>(32 * word + lane + lowest_bit(~(runs >> lane)));
  }

  template <class Team>
  WS_INLINE void half_sweep(Team& team, const std::uint32_t* from, std::uint32_t* to,
                            std::uint32_t number, std::uint32_t colour) const {
    const std::uint32_t first = number * static_cast<std::uint32_t>(shape.words());
    for (std::int32_t w = team.rank(); w < shape.words(); w += team.size()) {
      const Place at = place(w);
      const std::uint32_t s = from[w];
      // Number of equal neighbours per lane, as binary digits.
      const std::uint32_t a = ~(s ^ to_the_right(from, at)), b = ~(s ^ to_the_left(from, at));
      const std::uint32_t c = ~(s ^ from[above(at)]), d = ~(s ^ from[below(at)]);
      const std::uint32_t one = a ^ b, two = a & b, other_one = c ^ d, other_two = c & d;
      const std::uint32_t four = two & other_two;
      const std::uint32_t three = (two & other_one) | (one & other_two);
      const std::uint32_t turn =
          at.all &
          ((static_cast<std::uint32_t>(at.row) + colour) % 2 == 0 ? 0x55555555u : 0xaaaaaaaau);
      const std::uint32_t draw =
          ((first + static_cast<std::uint32_t>(w)) * 2 + colour) * ising::kDrawsAWord;
      const std::uint32_t costly = three | four;
      const std::uint32_t made = ising::bernoulli(rng, Purpose::noise, draw, costly & turn,
                                                  chances.four, four, chances.eight);
      to[w] = s ^ (turn & (~costly | made));
    }
    team.sync();
  }

  /// Reads a value that other members may be writing.
  template <class Team>
  WS_INLINE static std::uint32_t peek(Team& team, std::uint32_t* at) {
#if WS_DEVICE_CODE
    return *static_cast<volatile std::uint32_t*>(at);
#else
    return team.atomic_or(at, std::uint32_t{0});
#endif
  }
  /// Last known site of a cluster.
  template <class Team>
  WS_INLINE static std::uint32_t last_of(Team& team, std::uint32_t* parent, std::uint32_t site) {
    for (;;) {
      const std::uint32_t next = peek(team, parent + site);
      if (next == site) return site;
      if constexpr (LoneTeam<Team>) parent[site] = parent[next];  // path halving
      site = next;
    }
  }
  /// Joins two clusters. Parents only increase, so no concurrent write is lost. If the replaced
  /// parent was not the site itself, its cluster is joined as well (Y. Komura, Comput. Phys.
  /// Commun. 194 (2015) 54).
  template <class Team>
  WS_INLINE static void join(Team& team, std::uint32_t* parent, std::uint32_t a, std::uint32_t b) {
    for (;;) {
      a = last_of(team, parent, a);
      b = last_of(team, parent, b);
      if (a == b) return;
      if (a < b) {
        const std::uint32_t lower = a;
        a = b;
        b = lower;
      }
      const std::uint32_t old = team.atomic_max(parent + b, a);
      if (old == b) return;
      b = old;
    }
  }
};

}  // namespace wellspring
