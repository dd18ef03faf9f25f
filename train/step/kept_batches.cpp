#include "train/step/kept_batches.h"

#include <algorithm>

namespace wellspring {

std::size_t KeepBatches::count(std::size_t batch, std::size_t step) const {
  if (least == 0 || bytes <= step || batch == 0) return least;
  return std::max(least, std::min(kMost, (bytes - step - 1) / batch + 1));
}

}  // namespace wellspring
