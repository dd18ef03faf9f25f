// Reads the rows of a data set in order and as stored, for export, digest, preview and stats of a
// path. Called by the command line; host only.
#pragma once

#include "export/sample_reader.h"
#include "sources/files/format.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace wellspring {

class DatasetReader final : public SampleReader {
 public:
  /// Rows [first, first + count); by default, all starting at `first`. Throws the errors of
  /// open_dataset; config errors: too few rows, images that keep their own sizes (canvas), a path or
  /// setting that is not UTF-8; and a data error for such a class.
  DatasetReader(const DatasetRequest& request, std::uint64_t first,
                std::optional<std::uint64_t> count);

  std::uint64_t count() const override { return count_; }
  /// Limits the number of samples. Call before make().
  void limit(std::uint64_t most) { count_ = std::min(count_, most); }
  SampleLayout layout() const override { return layout_; }
  const std::vector<SampleOrigin>& origins() const override { return origins_; }
  std::string location(const Slot& slot) const override;
  std::size_t longest_location() const override;
  std::uint64_t skip(std::uint64_t samples) override { return skipped_ = samples; }
  void make(const std::function<void(const HostSamples&)>& take) override;
  bool has_files() const override { return data_->is_verbatim(); }
  /// Checks headers only. Images may differ in size. Errors (data): unreadable, not 8-bit RGB.
  void make_files(const std::function<void(const HostSamples&)>& take) override;
  SetOverflow overflow() const override { return batch_.overflow(); }
  SampleHeading heading() const override;
  std::string summary() const override;
  nlohmann::ordered_json identity() const override;
  nlohmann::ordered_json making() const override;

 private:
  /// Writes data set row `row` into row `b` of the batch.
  void read_row(RowReader& reader, std::int64_t row, const BatchView& batch, std::int64_t b) const;
  /// Number of rows, starting at `begin`, whose files fill a batch.
  std::int64_t rows_of_files(std::int64_t begin) const;

  DatasetRequest request_;
  std::unique_ptr<Dataset> data_;
  SampleLayout layout_;
  std::vector<SampleOrigin> origins_;
  std::uint64_t first_, count_ = 0, skipped_ = 0;
  HostBatch batch_;
};

}  // namespace wellspring
