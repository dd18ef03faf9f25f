// How an exported file stores the values of samples: as plain columns, or in the file layout of a
// research community. Labels and true parameters are plain columns in either case. Called by export
// and the command line; host only.
#pragma once

#include "export/array_file.h"
#include "export/sample_reader.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace wellspring {

/// The arrays that hold x.
class ValueArrays {
 public:
  virtual ~ValueArrays() = default;
  /// True if one of the arrays grows; that array must then be opened last.
  virtual bool grows() const { return false; }
  virtual void open(ArrayFile& file) = 0;
  virtual void append(ArrayFile& file, const HostSamples& samples) = 0;
};

/// How the layout `columns` stores images.
struct ImageForm {
  ElementType pixels = ElementType::f32;  ///< u8: values from 0 to 1 become 0 to 255
  bool channels_first = false;
  friend bool operator==(const ImageForm&, const ImageForm&) = default;
};

struct ExportLayout {
  std::string name;
  std::string arrays;  ///< the arrays that replace x, one line for the help
  /// Makes the layout's arrays. Throws a config error, which says why, if the samples do not fit.
  std::unique_ptr<ValueArrays> (*make)(const SampleReader& feed) = nullptr;
  /// Default for HDF5 files if all samples come from one of these generators and fit. Empty:
  /// default for all other samples.
  std::vector<std::string> generators = {};
  bool (*fits)(const SampleInfo&) = nullptr;
};

/// columns, calochallenge, jetnet, icecube, kinematics.
const std::vector<ExportLayout>& export_layouts();

/// The layout called `name` or, for "", the default for these samples in a file with this name.
/// Throws a config error for an unknown name, or for a community's layout if the file is not HDF5.
const ExportLayout& find_export_layout(const std::string& name, const SampleReader& feed,
                                       const std::filesystem::path& path);

/// Arrays of `layout`, which must be `columns` if `form` is not the default. Throws config errors.
std::unique_ptr<ValueArrays> make_values(const ExportLayout& layout, const SampleReader& feed,
                                         const ImageForm& images);

/// Names and units of columns.
ArrayMeaning meaning_of(const std::vector<ValueInfo>& columns);
ArrayMeaning meaning_of(const std::vector<LatentInfo>& columns);

}  // namespace wellspring
