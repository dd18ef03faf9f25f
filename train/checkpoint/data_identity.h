// The data sets of a run, as a checkpoint records them; a resumed run must read the same. Host
// only.
#pragma once

#include "sources/mixture.h"
#include "train/checkpoint/checkpoint.h"

#include <filesystem>

namespace wellspring {

/// Rows per data set whose bytes are in the digest, evenly spread.
inline constexpr std::int64_t kDigestedRows = 64;

/// The finite sources; generators have no end. A digest covers the label, latents and targets of
/// every row and the bytes of kDigestedRows rows, so copies of equal content are equal.
DataIdentity data_identity(const Mixture& mixture);

/// Error (data) if a data set differs from `before`, stored in `checkpoint`.
void require_same_data(const DataIdentity& before, const DataIdentity& now,
                       const std::filesystem::path& checkpoint);

}  // namespace wellspring
