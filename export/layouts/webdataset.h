// Writes samples as tar shards of a WebDataset. Called by export_samples; host only.
#pragma once

#include "export/export.h"

#include <filesystem>

namespace wellspring {

inline constexpr const char* kWebDataset = "webdataset";

/// Writes shard-000000.tar, ... into the folder `path`, and index.json: settings, metadata, and
/// each shard's number of samples, bytes and SHA-256. The members of sample i (a number of 9
/// digits) are i.png (8-bit RGB), or i.npy for an event or the items of a set; i.cls with its
/// label; i.json with source, sample and true parameters; and i.plane.npy with dense labels. If the
/// feed has image files (SampleReader::has_files), they are copied, as i.jpg, i.png, i.webp or
/// i.ppm, unless `options.reencode` is set. classes.txt lists the classes if all samples have the
/// same ones. A shard ends after `options.shard_samples` samples, or at 1 GiB.
///
/// index.json is written first and updated after each shard, so an interrupted or killed export
/// continues after its last complete one; the result is byte-identical. Images are encoded in
/// parallel. Source of the format: webdataset's tariterators.py; IEEE Std 1003.1-2017, pax, "ustar
/// Interchange Format".
///
/// Throws config errors for a folder with other files, an export with different settings or too
/// many shards, runtime errors if files cannot be written, data errors for pixels outside [0, 1],
/// and errors of the feed.
ExportReport export_webdataset(SampleReader& feed, const std::filesystem::path& path,
                               const ExportOptions& options);

}  // namespace wellspring
