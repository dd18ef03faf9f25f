// The number of samples of each data set of a run; a resumed run must have the same. Host only.
#pragma once

#include "sources/mixture.h"
#include "train/checkpoint/checkpoint.h"

#include <filesystem>

namespace wellspring {

/// Counts of the finite sources; generators have no end.
SampleCounts sample_counts(const Mixture& mixture);

/// Error (data) if a data set's number of samples differs from `before`, the counts stored in
/// `checkpoint`.
void require_same_data(const SampleCounts& before, const Mixture& mixture,
                       const std::filesystem::path& checkpoint);

}  // namespace wellspring
