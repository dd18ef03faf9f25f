// The data sets of a run, as a checkpoint records them; a resumed run must read the same. Host
// only.
#pragma once

#include "sources/mixture.h"
#include "train/checkpoint/checkpoint.h"

#include <filesystem>

namespace wellspring {

/// Rows per data set whose bytes are in the digest, evenly spread.
inline constexpr std::int64_t kDigestedRows = 64;

/// The finite sources; generators have no end. A digest is a list of SHA-256 digests (the first 16
/// hexadecimal digits), separated by spaces: of the label, latents and targets of all rows, then of
/// the bytes of each of kDigestedRows rows. A row that cannot be read has "?", which equals any
/// digest: it is an error when the row is needed, and its file may be restored before the resume.
DataIdentity data_identity(const Mixture& mixture);

/// Error (data) if a data set differs from `before`, stored in `checkpoint`.
void require_same_data(const DataIdentity& before, const DataIdentity& now,
                       const std::filesystem::path& checkpoint);

}  // namespace wellspring
