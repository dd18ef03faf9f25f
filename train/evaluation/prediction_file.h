// A file of predictions: a network's outputs for each sample, and the truth. Called by `eval` and
// `predict`; host only.
#pragma once

#include "export/array_file.h"
#include "sources/mixture.h"
#include "train/evaluation/network_pass.h"
#include "train/heads/heads.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace wellspring {

/// Features among the outputs of a sample, see SupervisedTask::Input.
struct FeatureColumns {
  std::string layer;
  std::int32_t first = 0;  ///< index of the first feature
  TensorShape shape;
};

/// Samples that a network predicts, source by source.
struct PredictedSamples {
  const Mixture* mixture = nullptr;
  std::vector<std::uint64_t> counts;  ///< samples of each source
  const std::vector<HeadSpec>* heads = nullptr;
  std::vector<SourceTruth> truth = {};  ///< by source; empty for samples without labels
  std::vector<HeadSources> feeds = {};  ///< by head; empty for samples without labels
  std::optional<FeatureColumns> features = {};
};

/// Errors (config): the name does not end in .npz, .csv, .h5 or .hdf5, or it is a folder or one of
/// the `inputs`.
void require_prediction_path(const std::filesystem::path& path,
                             const std::vector<std::filesystem::path>& inputs);

/// Writes predictions batch by batch. The file appears only once finish() has returned.
///
/// `source` [samples] indexes `sources` in the metadata; `sample` [samples] is the id in that
/// source; `location` names a file's row. A classifier writes `scores` [samples, classes], its
/// probabilities, and `predicted`, the likeliest class. A regression writes `prediction` [samples,
/// targets] and, depending on its error, `deviation` or `quantile_LEVEL`. The truth is in `label`,
/// `weight`, `latents` and, for regressions, multi_label and soft_label, `truth`; NaN where a
/// source has no value. With several heads, `predicted`, `scores`, `prediction` and `truth` end in
/// _HEAD. In CSV files, `label` and `predicted` are class names. A per-pixel head writes
/// `predicted` [samples, height, width]. `features` [samples, ...] has the shape of the layer.
class PredictionFile {
 public:
  /// `path`: see require_prediction_path. Error (runtime): the file cannot be written.
  PredictionFile(const std::filesystem::path& path, PredictedSamples samples);
  PredictionFile(const PredictionFile&) = delete;
  PredictionFile& operator=(const PredictionFile&) = delete;
  void append(const PredictedRows& rows);
  void finish();

 private:
  /// A column of the file, and how rows fill it.
  using Fill = std::function<void(const PredictedRows&)>;
  void add_samples();
  void add_truth();
  void add_spread(const HeadSpec& head, const ArrayMeaning& meaning);
  void add_head(std::size_t head);
  void add_pixel_classes(const HeadSpec& head);
  void add_items(const HeadSpec& head);
  void add_features(const FeatureColumns& features);
  void add_floats(const std::string& name, const ArrayMeaning& meaning, std::size_t width,
                  std::function<void(const PredictedRows&, std::int64_t row, float* out)> value);
  /// Class indices, as names in CSV files; `names`: class names of each source.
  void add_classes(const std::string& name, std::vector<std::vector<std::string>> names,
                   std::function<std::int64_t(const PredictedRows&, std::int64_t row)> index);
  void add_texts(const std::string& name, std::size_t longest,
                 std::function<std::string(const PredictedRows&, std::int64_t row)> text);
  std::string named(const std::string& what, const HeadSpec& head) const;

  PredictedSamples samples_;
  bool csv_;
  std::int64_t count_ = 0;
  std::unique_ptr<ArrayFile> file_;
  std::vector<Fill> columns_;
};

}  // namespace wellspring
