// A data set with all of its rows in host memory. Used by streamed sources; host only.
#pragma once

#include "sources/datasets/dataset.h"

#include <memory>

namespace wellspring {

/// The same data set; hold() reads every row into memory, on `threads` threads.
std::unique_ptr<Dataset> cache_rows(std::unique_ptr<Dataset> data, int threads);

}  // namespace wellspring
