// Writes samples to files, with all columns and metadata. Called by the command line; host only.
#pragma once

#include "export/export_layout.h"
#include "export/sample_reader.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace wellspring {

struct ExportReport {
  std::vector<std::string> arrays;  ///< names of the written arrays, or of the shards
  SetOverflow overflow;       ///< items left out because they did not fit into the row of their set
  int abandoned = 0;          ///< leftovers of killed exports to this path that were removed
  std::uint64_t resumed = 0;  ///< samples in shards that an earlier export had completed
  bool copied = false;        ///< the shards hold the image files of the samples, unchanged
};

struct ExportOptions {
  /// A name from export_layouts(), or kWebDataset; "": the default for these samples.
  std::string layout = {};
  /// Called with the number of samples written; if it throws, the export ends.
  std::function<void(std::uint64_t)> progress = {};
  ImageForm images = {};
  Compression compression = {};         ///< HDF5 only
  std::uint64_t shard_samples = 10000;  ///< per shard
  int threads = 0;                      ///< for encoding images; see compute_threads
  bool store_headers = false;           ///< adds stored_headers() to the metadata
  std::string shards = {};              ///< kNpzShards, kHdf5Shards: a folder of array files
  bool reencode = false;                ///< kWebDataset: writes PNG even if files could be copied
};

/// Writes the samples as they are made; memory use does not depend on their number. The file
/// appears when it is complete. The extension of `path` selects the format: `.npz` (NumPy), `.h5`
/// or `.hdf5`, `.trackml` (a folder of tables, see trackml.h), or
/// `.lhe`, `.hepmc` or `.hepmc3` (event records, see event_records.h). The layout kWebDataset
/// writes a folder of shards (layouts/webdataset.h), and so does `options.shards` (array_shards.h).
///
/// There is one array per column. x is [count, height, width, channels] or [count, features]; the
/// other columns are [count] or [count, width]. `label` is i64, as PyTorch's losses require.
/// `source` [count] is an index into the metadata's `sources`, and `sample` [count] is the id in
/// that source. If any samples come from files, `location` u8 [count, W] has SampleReader::location
/// padded with zeros. `metadata` [] is JSON text with names, units, parameters, versions and seed.
/// Sets are ragged: x is [all items, features], offsets is [count + 1], and sample i has items
/// offsets[i] to offsets[i + 1]. HDF5 files repeat the metadata as attributes, and store x and
/// offsets in the layout of the generator's community unless `layout` selects another.
///
/// Throws config errors for an unknown extension, a layout that does not fit, or more data than a
/// file can hold; runtime errors if the file cannot be written; and any error of the feed.
ExportReport export_samples(SampleReader& feed, const std::filesystem::path& path,
                            const ExportOptions& options = {});

/// Progress of the feed: it has made all samples that the metadata describe, or only some of them.
enum class SamplesMade { all, some };

/// Everything that describes the samples: identity, names, units, classes, parameters, version. If
/// the feed has made only some of them, the count of left-out items is null.
nlohmann::ordered_json export_metadata(const SampleReader& feed, const ExportOptions& options = {},
                                       SamplesMade made = SamplesMade::all);

}  // namespace wellspring
