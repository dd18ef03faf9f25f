// Samples as files: every column with its metadata. Called by the command line; host only.
#pragma once

#include "generators/feed.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace wellspring {

struct ExportReport {
  std::vector<std::string> arrays;  ///< that were written
  SetOverflow overflow;             ///< what did not fit into the rows of a set, and was left out
};

/// Writes the samples as they are made, each once; memory does not grow with their number. The
/// ending of `path` names the format. `.npz`: NumPy arrays, a column each: x [count, height, width,
/// channels] or [count, features], further columns of the layout [count] or [count, width], source
/// [count] (index into `sources` of the metadata), sample [count] (its id there), and metadata [],
/// a text of JSON with names, units, parameters, versions and seed. Sets are ragged: x [items of
/// all, features], those of sample i from offsets[i] to offsets[i + 1], offsets [count + 1].
/// `.trackml`: a folder of tables, trackml.h.
/// `progress`: called with how many samples are written; what it throws ends the export. The file
/// appears when it is complete. Errors: config for an unknown ending or more than a file holds,
/// runtime when the file cannot be written, and what the feed throws.
ExportReport export_samples(SampleFeed& feed, const std::filesystem::path& path,
                            const std::function<void(std::uint64_t)>& progress = {});

}  // namespace wellspring
