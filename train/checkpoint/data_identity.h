// Identities of a run's data sets, as recorded in checkpoints; a resumed run must read the same
// data. Host only.
#pragma once

#include "sources/mixture.h"
#include "train/checkpoint/checkpoint.h"

#include <filesystem>

namespace wellspring {

/// Number of evenly spaced rows per data set whose bytes enter the digest.
inline constexpr std::int64_t kDigestedRows = 64;

/// Identities of the finite sources; generators are endless and have none. A digest is a list of
/// SHA-256 digests (their first 16 hexadecimal digits), separated by spaces. The first covers all
/// rows' labels, latents and targets; each of the others covers the bytes of one of kDigestedRows
/// rows. An unreadable row has "?", which matches any digest: a row causes an error only when it
/// is needed, and its file may be restored before the resume.
DataIdentity data_identity(const Mixture& mixture);

/// Error (data) if a data set differs from its identity in `before`, stored in `checkpoint`.
void require_same_data(const DataIdentity& before, const DataIdentity& now,
                       const std::filesystem::path& checkpoint);

}  // namespace wellspring
