// How the values of samples lie in an exported file: as the columns they are, or as a community's
// files have them. Truth lies beside them as columns in either case. Called by export and the
// command line; host only.
#pragma once

#include "export/array_file.h"
#include "export/sample_reader.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace wellspring {

/// The arrays of x in a file.
class ValueArrays {
 public:
  virtual ~ValueArrays() = default;
  /// Whether one of them grows, so that all others are opened before.
  virtual bool grows() const { return false; }
  virtual void open(ArrayFile& file) = 0;
  virtual void append(ArrayFile& file, const HostSamples& samples) = 0;
};

struct ExportLayout {
  std::string name;
  std::string arrays;  ///< what it has in place of x, one line for help
  /// Its arrays. Error (config) where the samples do not fit: what they lack.
  std::unique_ptr<ValueArrays> (*make)(const SampleReader& feed) = nullptr;
  /// Whose HDF5 files have it where all samples are of one of these, they fit, and no layout is
  /// named; none: all others'.
  std::vector<std::string> generators = {};
  bool (*fits)(const SampleInfo&) = nullptr;
};

/// columns, calochallenge, jetnet, icecube.
const std::vector<ExportLayout>& export_layouts();

/// The layout of that name; of "" the one that the samples have in a file of this name. Errors
/// (config): unknown name, a community's layout in a file that is no HDF5.
const ExportLayout& find_export_layout(const std::string& name, const SampleReader& feed,
                                       const std::filesystem::path& path);

/// Names and units of a list of columns.
ArrayMeaning meaning_of(const std::vector<ValueInfo>& columns);
ArrayMeaning meaning_of(const std::vector<LatentInfo>& columns);

}  // namespace wellspring
