// Writes samples as a folder of array files. Called by export_samples; host only.
#pragma once

#include "export/export.h"

#include <filesystem>

namespace wellspring {

/// Formats of array shards, named like the data set formats that read them.
inline constexpr const char* kNpzShards = "npz";
inline constexpr const char* kHdf5Shards = "hdf5";

/// Writes shard-000000.npz (or .h5), ... into the folder `path`, and index.json: settings,
/// metadata, and each shard's number of samples, bytes and SHA-256. A shard is a complete export of
/// its samples: it has the arrays of export_samples(), in the layout `columns` unless `options`
/// names another. It has `options.shard_samples` samples, or fewer if those could exceed 1 GiB.
///
/// index.json is written first and updated after each shard, so an interrupted or killed export
/// continues after its last listed one; the result is byte-identical. Only one batch is in memory
/// at a time. Checksums are computed while the next shard is written.
///
/// Throws config errors for a folder with other files, an export with different settings, too many
/// shards or a build without HDF5; runtime errors if files cannot be written; and errors of the
/// layout and the feed.
ExportReport export_array_shards(SampleReader& feed, const std::filesystem::path& path,
                                 const ExportOptions& options);

}  // namespace wellspring
