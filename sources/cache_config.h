// The key `cache` of a file source: a word, or a list of tiers. Called by data_config; host only.
//
//     cache: decoded                                    # all rows, in host memory
//     cache:
//       - {tier: shm, rows: decoded, fraction: 0.3}     # /dev/shm, shared by the ranks of a node
//       - {tier: disk, path: /scratch, rows: encoded}   # the other rows: a copy on a local disk
#pragma once

#include "core/config/config.h"
#include "core/config/config_values.h"
#include "sources/datasets/cached_rows.h"

#include <vector>

namespace wellspring {

/// Config errors: an unknown word, fractions that sum to more than 1, a path for a tier that is not
/// on disk, or a disk tier without a path. A tier without `fraction` takes the rows that the
/// earlier tiers leave.
std::vector<CacheTier> read_cache(const ConfigNode& source);
void write_cache(ConfigWriter& writer, const std::vector<CacheTier>& tiers);
/// The sections of the key, for `describe`.
void append_cache(std::vector<ConfigSection>& sections, const std::string& source);

}  // namespace wellspring
