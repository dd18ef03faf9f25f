// Reads rows of an open data set, for the fuzzers of data sets; host only.
#pragma once

#include "sources/datasets/dataset.h"
#include "tests/fuzz/fuzz.h"

#include <vector>

namespace wellspring::fuzz {

/// Reads like a training run: the metadata of every row, and the data of the first two.
inline void read_rows(const Dataset& set) {
  const auto classes = static_cast<std::int32_t>(set.classes().size());
  const auto reader = set.reader();
  expect(set.layout().bytes() > 0, "a row has bytes");
  for (std::int64_t row = 0; row < set.size(); ++row) {
    expect(set.label(row) >= 0 && set.label(row) < classes, "a label names a class");
    if (row >= 2) continue;
    (void)set.location(row);
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(set.layout().bytes()));
    std::vector<float> latents(set.latents().size()), targets(set.targets().size());
    set.read_latents(row, latents.data());
    set.read_targets(row, targets.data());
    reader->check(row);
    reader->read(row, bytes.data());
  }
}

}  // namespace wellspring::fuzz
