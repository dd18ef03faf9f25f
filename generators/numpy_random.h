// Random numbers of NumPy's RandomState, whose stream is frozen (NEP 19). They reproduce data that
// others published: the categories of `ifs` and the constants of `sbi`. Host only.
#pragma once

#include <cstdint>
#include <random>

namespace wellspring {

/// MT19937, seeded with one integer like np.random.seed. The C++ standard's engine gives the same
/// words (M. Matsumoto, T. Nishimura, ACM TOMACS 8 (1998) 3, with the initialisation of 2002).
class NumpyRandom {
 public:
  explicit NumpyRandom(std::uint32_t seed) : words_(seed) {}

  /// np.random.randint(low, high), `high` excluded: masks each word to the bits needed and rejects
  /// values that are too large.
  int randint(int low, int high);
  /// np.random.random(): 53 bits of two words, in [0, 1).
  double random();
  /// np.random.uniform(low, high).
  double uniform(double low, double high) { return low + (high - low) * random(); }
  /// np.random.normal(): G. Marsaglia's polar method.
  double normal();
  /// Skips the results of this many calls of random().
  void skip(std::int64_t draws) { words_.discard(2 * static_cast<unsigned long long>(draws)); }

 private:
  std::mt19937 words_;
  double second_ = 0;  ///< second number of a pair: normal deviates come in pairs
  bool has_second_ = false;
};

}  // namespace wellspring
