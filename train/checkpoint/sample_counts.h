// How many samples the data sets of a run have, which a resumed run must find again. Host only.
#pragma once

#include "sources/mixture.h"
#include "train/checkpoint/checkpoint.h"

#include <filesystem>

namespace wellspring {

/// Of the sources that end; generators do not.
SampleCounts sample_counts(const Mixture& mixture);

/// Error (data) where a data set has another number of samples than `before`, that of the run so
/// far, as `checkpoint` has it.
void require_same_data(const SampleCounts& before, const Mixture& mixture,
                       const std::filesystem::path& checkpoint);

}  // namespace wellspring
