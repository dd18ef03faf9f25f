#include "generators/numpy_random.h"

#include <bit>
#include <cmath>

namespace wellspring {

int NumpyRandom::randint(int low, int high) {
  const auto most = static_cast<std::uint32_t>(high - low - 1);
  const std::uint32_t mask = std::bit_ceil(most + 1) - 1;
  std::uint32_t value = 0;
  do {
    value = static_cast<std::uint32_t>(words_()) & mask;
  } while (value > most);
  return low + static_cast<int>(value);
}

double NumpyRandom::random() {
  const auto upper = static_cast<double>(words_() >> 5);
  const auto lower = static_cast<double>(words_() >> 6);
  return (upper * 0x1p26 + lower) / 0x1p53;
}

double NumpyRandom::normal() {
  if (has_second_) {
    has_second_ = false;
    return second_;
  }
  double x = 0, y = 0, square = 0;
  do {
    x = 2 * random() - 1;
    y = 2 * random() - 1;
    square = x * x + y * y;
  } while (square >= 1 || square == 0);
  const double scale = std::sqrt(-2 * std::log(square) / square);
  second_ = scale * x;
  has_second_ = true;
  return scale * y;
}

}  // namespace wellspring
