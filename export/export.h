// Samples as files: every column with its metadata. Called by the command line; host only.
#pragma once

#include "export/sample_reader.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace wellspring {

struct ExportReport {
  std::vector<std::string> arrays;  ///< that were written
  SetOverflow overflow;             ///< what did not fit into the rows of a set, and was left out
  int abandoned =
      0;  ///< temporary folders that exports to the same place left when they were killed
};

struct ExportOptions {
  std::string layout;  ///< of export_layouts(); "": what samples of their kind have
  /// Called with how many samples are written; what it throws ends the export.
  std::function<void(std::uint64_t)> progress;
};

/// Writes the samples as they are made, each once; memory does not grow with their number. The
/// ending of `path` names the format: `.npz` (NumPy arrays), `.h5` or `.hdf5`. An array a column: x
/// [count, height, width, channels] or [count, features], further columns of the layout [count] or
/// [count, width], source [count] (index into `sources` of the metadata), sample [count] (its id
/// there), where some are stored location u8 [count, W] (the texts of SampleReader::location, filled
/// up with zeros), and metadata [], a text of JSON with names, units, parameters, versions and
/// seed. Sets are ragged: x [items of all, features], those of sample i from offsets[i] to
/// offsets[i + 1], offsets [count + 1]. HDF5 has x (and offsets) as the community of the generator
/// has them, unless `layout` says otherwise, and what the metadata says as attributes. `.trackml`:
/// a folder of tables, trackml.h. The file appears when it is complete. Errors: config for an
/// unknown ending, a layout that does not fit or more than a file holds, runtime when the file
/// cannot be written, and what the feed throws.
ExportReport export_samples(SampleReader& feed, const std::filesystem::path& path,
                            const ExportOptions& options = {});

}  // namespace wellspring
