// Statistics of samples, stored as a profile, and the drift between two profiles. Called by
// `wellspring stats`; host only.
#pragma once

#include "export/sample_reader.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace wellspring {

/// Equal bins between `low` and `high`, with one more on each side for values outside.
struct Histogram {
  double low = 0, high = 1;
  std::vector<std::uint64_t> counts;

  void add(double value);
  std::uint64_t total() const;
};

/// A channel of images, a feature, a latent, or the label.
struct ColumnProfile {
  std::string name;
  std::uint64_t values = 0, not_finite = 0;           ///< finite values, and the others
  double mean = 0, deviation = 0, low = 0, high = 0;  ///< without the others
  /// One entry per sample: its value, or the mean of its pixels or items.
  Histogram histogram;
};

struct SourceProfile {
  std::string name;
  std::uint64_t samples = 0;
  std::uint64_t duplicates = 0;  ///< samples with the same x as an earlier one
  std::vector<ColumnProfile> columns;
};

struct DataProfile {
  std::string title;
  std::vector<SourceProfile> sources;  ///< those with samples
};

/// Number of samples of this kind that a profile has, unless the caller says otherwise.
std::uint64_t usual_profile_samples(SampleKind kind);

/// Reads all samples. Images are profiled before normalisation. `against` sets the bins of the
/// columns that it has. `progress` receives the number of finished samples.
DataProfile profile_of(SampleReader& reader, const DataProfile* against,
                       const std::function<void(std::uint64_t)>& progress);

nlohmann::ordered_json to_json(const DataProfile& profile);
/// Errors (data): not a profile. `name`: of the text, for messages.
DataProfile parse_profile(const std::string& text, const std::string& name);
DataProfile read_profile(const std::filesystem::path& path);

/// Probability that a comparison reports drift although both profiles are independent samples of one
/// distribution.
inline constexpr double kFalseAlarms = 0.001;

struct ColumnDrift {
  std::string source, column;
  double distance = 0;      ///< largest difference of the distribution functions at the bins' ends
  double threshold = 0;     ///< a larger distance is drift
  bool not_finite = false;  ///< values that are not finite, and the stored profile has none
  bool drifts() const { return not_finite || distance > threshold; }
};

struct Drift {
  std::vector<ColumnDrift> columns;
  std::vector<std::string> not_compared;  ///< columns of only one profile, or with different bins
  bool drifts() const;                    ///< a column drifts, or was not compared
  /// Null: it was not compared.
  const ColumnDrift* find(const std::string& source, const std::string& column) const;
};

/// Compares columns of the same name, of sources of the same name, or of the only sources. It is the
/// test of Kolmogorov and Smirnov for two samples, divided among the columns (Bonferroni). Its
/// distribution is asymptotic, and bins only make false alarms rarer. Error (data): nothing to compare.
Drift compare(const DataProfile& stored, const DataProfile& now);

nlohmann::ordered_json to_json(const Drift& drift);
/// A table per source. `drift`: null, or from compare().
std::string to_text(const DataProfile& profile, const Drift* drift);

}  // namespace wellspring
