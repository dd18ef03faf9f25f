// Random numbers as NumPy's RandomState makes them, a stream that NumPy keeps as it is (NEP 19),
// for what others published with it: categories of `ifs`, constants of `sbi`. Host only.
#pragma once

#include <cstdint>
#include <random>

namespace wellspring {

/// MT19937, seeded with one integer as np.random.seed does. The standard's engine gives the same
/// words (M. Matsumoto, T. Nishimura, ACM TOMACS 8 (1998) 3, with the initialisation of 2002).
class NumpyRandom {
 public:
  explicit NumpyRandom(std::uint32_t seed) : words_(seed) {}

  /// np.random.randint(low, high): below `high`, by refusing what exceeds it within its bits.
  int randint(int low, int high);
  /// np.random.random(): 53 bits of two words, in [0, 1).
  double random();
  /// np.random.uniform(low, high).
  double uniform(double low, double high) { return low + (high - low) * random(); }
  /// np.random.normal(): G. Marsaglia's polar method.
  double normal();
  /// As many calls of random(), unseen.
  void skip(std::int64_t draws) { words_.discard(2 * static_cast<unsigned long long>(draws)); }

 private:
  std::mt19937 words_;
  double second_ = 0;  ///< normal numbers come in pairs
  bool has_second_ = false;
};

}  // namespace wellspring
