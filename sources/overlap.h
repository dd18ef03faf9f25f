// Finds held-out samples that are also used for training, by comparing their locations and their
// bytes. Called at the start of a run; host only.
#pragma once

#include "core/work_watch.h"
#include "sources/mixture.h"

#include <cstdint>
#include <string>
#include <vector>

namespace wellspring {

/// Rows of a held-out data set with the same bytes as rows of a training data set.
struct Overlap {
  int held_out = 0, trained = 0;  ///< indices of the two sources
  std::int64_t rows = 0;          ///< number of such rows in the held-out set
  /// Number of rows compared in each set: all, or an evenly spread selection of kMostComparedBytes.
  std::int64_t compared = 0, trained_compared = 0;
  std::string first, first_trained;  ///< location of one such row in each set
};

inline constexpr std::int64_t kMostComparedBytes = std::int64_t{1} << 30;

/// Compares the bytes of every held-out data set and every training data set with the same row
/// layout, using `threads` threads. Throws a data error if both contain the same row of the same
/// file, in any layout, since that is a mistake. Identical bytes are not an error: published sets
/// have duplicates.
std::vector<Overlap> find_overlaps(const Mixture& training, const Mixture& held_out, int threads,
                                   std::int64_t most_bytes = kMostComparedBytes,
                                   const WorkWatch& watch = {});
/// For the beginning of a run: "held out 'test': 12 of 5000 rows are also in 'cifar10' (...)".
std::string to_string(const Overlap& overlap, const Mixture& training, const Mixture& held_out);

}  // namespace wellspring
