// The arrays of an exported file: values, labels, true parameters and origins of samples. Called by
// export; host only.
#pragma once

#include "export/array_file.h"
#include "export/export_layout.h"
#include "export/sample_reader.h"
#include "kernels/batch/batch_columns.h"

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

namespace wellspring {

class SampleArrays {
 public:
  /// Opens the arrays of `feed.count()` samples in `file`. Both must outlive this object.
  SampleArrays(const SampleReader& feed, std::unique_ptr<ValueArrays> values, ArrayFile& file);
  /// Writes the next samples, in order.
  void append(const HostSamples& samples);

 private:
  void append_locations(const HostSamples& samples);

  const SampleReader& feed_;
  ArrayFile& file_;
  std::unique_ptr<ValueArrays> values_;
  std::size_t location_bytes_;  ///< 0: no stored samples
  std::array<std::optional<ArrayFile::Array>, kBatchColumns>
      columns_;  ///< in the order of columns_of
  ArrayFile::Array source_ = 0, sample_ = 0, location_ = 0;
};

}  // namespace wellspring
