// Whether samples that are held out are trained on, too: by the place they come from and by their
// bytes. Host only.
#pragma once

#include "core/work_watch.h"
#include "sources/mixture.h"

#include <cstdint>
#include <string>
#include <vector>

namespace wellspring {

/// Rows of a held-out data set with the bytes of rows that are trained on.
struct Overlap {
  int held_out = 0, trained = 0;  ///< indices of the two sources
  std::int64_t rows = 0;          ///< of the held-out set; 0: none was found
  /// How many rows of each were compared: all, or as many, evenly spread, as kMostComparedBytes
  /// hold.
  std::int64_t compared = 0, trained_compared = 0;
  std::string first, first_trained;  ///< where one of them lies, in either set
};

inline constexpr std::int64_t kMostComparedBytes = std::int64_t{1} << 30;

/// Compares every held-out data set with every one that is trained on and has rows of the same
/// layout; `threads` read. Error (data) where a row of both is the same one of the same file: what
/// is held out then was named wrongly. Equal bytes are no error, since sets have duplicates.
std::vector<Overlap> find_overlaps(const Mixture& training, const Mixture& held_out, int threads,
                                   std::int64_t most_bytes = kMostComparedBytes,
                                   const WorkWatch& watch = {});
/// For the head of a run: "held out 'test': 12 of 5000 rows are also in 'cifar10' (...)".
std::string to_string(const Overlap& overlap, const Mixture& training, const Mixture& held_out);

}  // namespace wellspring
