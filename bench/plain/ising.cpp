// The Ising model site by site (docs/generators/algorithms/ising.md).
#include "bench/plain/plain.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

namespace wellspring::bench {
namespace {

/// Spins are drawn 32 at a time, those of a word of a row.
struct Lattice {
  int side;
  std::vector<bool> up = std::vector<bool>(static_cast<std::size_t>(side * side), true);

  int across() const { return (side + 31) / 32; }
  int words() const { return side * across(); }
  int at(int x, int y) const { return (y + side) % side * side + (x + side) % side; }
  bool equal(int a, int b) const {
    return up[static_cast<std::size_t>(a)] == up[static_cast<std::size_t>(b)];
  }
  /// By word, lane and so on to the last one, the clusters' order.
  int number(int site) const { return site / side * 32 * across() + site % side; }
};

/// Whether a uniform number of 32 bits is below `chance`, for the lanes of a word, one after
/// another.
class Draws {
 public:
  Draws(const SampleRng& rng, Purpose purpose, int number)
      : rng_(rng), purpose_(purpose), first_(3 * static_cast<std::uint32_t>(number)) {
    for (std::uint32_t i = 0; i < 2; ++i) bits_[i] = rng_.block(purpose_, first_ + i);
  }

  bool below(int lane, std::uint32_t chance) {
    std::uint32_t high = 0;
    for (const Philox4& block : bits_) {
      for (const std::uint32_t word : block.word) high = high << 1 | (word >> lane & 1);
    }
    if (high != chance >> 24) return high < chance >> 24;
    const Philox4 more = rng_.block(purpose_, first_ + 2);
    return more.word[open_++ % 4] >> 8 < (chance & 0xffffff);
  }

 private:
  SampleRng rng_;
  Purpose purpose_;
  std::uint32_t first_;
  Philox4 bits_[2];
  int open_ = 0;
};

std::uint32_t chance_of(float probability) {
  return static_cast<std::uint32_t>(probability * 0x1p+32f);
}

/// Halves the way for the next one.
int root_of(std::vector<int>& parent, int site) {
  const auto of = [&](int at) -> int& { return parent[static_cast<std::size_t>(at)]; };
  while (of(site) != site) site = of(site) = of(of(site));
  return site;
}

void update_clusters(const SampleRng& rng, float t, int update, Lattice& spins) {
  const std::uint32_t bond = chance_of(1 - std::exp(-2 / t));
  std::vector<int> parent(spins.up.size());
  std::iota(parent.begin(), parent.end(), 0);
  const auto join = [&](int a, int b) {
    a = root_of(parent, a);
    b = root_of(parent, b);
    parent[static_cast<std::size_t>(std::min(a, b))] = std::max(a, b);
  };
  for (int w = 0; w < spins.words(); ++w) {
    const int y = w / spins.across(), x0 = 32 * (w % spins.across());
    Draws right(rng, Purpose::texture, 2 * (update * spins.words() + w));
    Draws down(rng, Purpose::texture, 2 * (update * spins.words() + w) + 1);
    for (int x = x0; x < std::min(x0 + 32, spins.side); ++x) {
      const int here = spins.at(x, y), next = spins.at(x + 1, y), under = spins.at(x, y + 1);
      if (spins.equal(here, next) && right.below(x - x0, bond)) join(here, next);
      if (spins.equal(here, under) && down.below(x - x0, bond)) join(here, under);
    }
  }
  const int blocks = (spins.words() + 3) / 4;
  for (int site = 0; site < spins.side * spins.side; ++site) {
    const int last = spins.number(root_of(parent, site)), word = last / 32;
    const Philox4 random =
        rng.block(Purpose::order, static_cast<std::uint32_t>(update * blocks + word / 4));
    if ((random.word[word % 4] >> (last % 32) & 1) != 0)
      spins.up[static_cast<std::size_t>(site)] = !spins.up[static_cast<std::size_t>(site)];
  }
}

void sweep(const SampleRng& rng, float t, int number, Lattice& spins) {
  const std::uint32_t four = chance_of(std::exp(-4 / t)), eight = chance_of(std::exp(-8 / t));
  for (int colour = 0; colour < 2; ++colour) {
    for (int w = 0; w < spins.words(); ++w) {
      const int y = w / spins.across(), x0 = 32 * (w % spins.across());
      Draws draws(rng, Purpose::noise, 2 * (number * spins.words() + w) + colour);
      for (int x = x0; x < std::min(x0 + 32, spins.side); ++x) {
        if ((x + y) % 2 != colour) continue;
        const int here = spins.at(x, y);
        int equal = 0;
        for (const auto& [dx, dy] : {std::pair{-1, 0}, {1, 0}, {0, -1}, {0, 1}})
          equal += spins.equal(here, spins.at(x + dx, y + dy)) ? 1 : 0;
        if (equal <= 2 || draws.below(x - x0, equal == 4 ? eight : four))
          spins.up[static_cast<std::size_t>(here)] = !spins.up[static_cast<std::size_t>(here)];
      }
    }
  }
}

void draw_ising(const SampleRng& rng, int side, int rounds, std::span<float> x) {
  constexpr float kCritical = 2.269185314213022f;
  const Philox4 scene = rng.block(Purpose::scene, 0);
  const float low = scene.word[0] >> 31 == 0 ? 1.5f : kCritical;
  const float high = scene.word[0] >> 31 == 0 ? kCritical : 3.5f;
  const float t = std::min(std::fma(unit_float(scene.word[1]), high - low, low), 3.5f);
  Lattice spins{side};
  for (int round = 0; round < rounds; ++round) {
    update_clusters(rng, t, round, spins);
    sweep(rng, t, round, spins);
  }
  for (std::size_t i = 0; i < spins.up.size(); ++i) set_grey(x, i, spins.up[i] ? 1.f : 0.f);
}

}  // namespace

PlainLoop plain_ising(int side, int rounds) {
  return {"",
          "ising",
          {{"rounds", std::to_string(rounds)}},
          side,
          [=](std::uint64_t seed, std::uint64_t sample, std::span<float> x) {
            draw_ising({named_key(seed, "ising"), sample}, side, rounds, x);
          }};
}

}  // namespace wellspring::bench
