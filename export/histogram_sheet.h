// Histograms of the features of events and sets. Called by previews; host only.
#pragma once

#include "export/picture.h"
#include "export/preview.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace wellspring {

/// Fills and draws histograms of all features, with one line per class. If no origin gives a range
/// of values, the first samples set it; values outside it count in the outermost bins.
class HistogramSheet {
 public:
  HistogramSheet(const std::vector<SampleOrigin>& origins, const SampleLayout& layout);

  void add(const HostSamples& samples);
  Preview draw(const SampleHeading& heading);

  /// Sum of the weights in a bin, and its statistical variance: the sum, over samples, of the
  /// squared weight that each adds. Not a sum over items, because a set's items are correlated.
  struct Bin {
    double sum = 0, variance = 0;
  };
  /// [feature][class][bin], after the last add(); the classes of all origins are concatenated.
  const std::vector<std::vector<std::vector<Bin>>>& bins();

 private:
  struct Entry {
    std::size_t feature;
    float value, weight;
  };
  /// A sample's entries: [begin, end) of entries_.
  struct Sample {
    std::size_t line, begin, end;
  };
  struct Range {
    double low = 0, high = 0;
  };

  std::size_t features() const { return static_cast<std::size_t>(layout_.features); }
  std::string feature_name(std::size_t feature) const;
  std::size_t line_of(std::size_t origin, std::int32_t label) const;
  /// If the range is unknown, sets it from the samples so far; then counts those samples.
  void settle();
  void count(const Sample& sample);
  double highest(std::size_t feature) const;
  void draw_panel(Painter& painter, int left, int top, std::size_t feature) const;
  void draw_line(Painter& painter, int left, int bottom, std::size_t feature, std::size_t line,
                 double scale) const;

  const std::vector<SampleOrigin>& origins_;
  PictureNames names_;
  SampleLayout layout_;
  std::optional<Range> range_;
  std::vector<std::size_t> first_line_;  ///< index of each origin's first line
  std::vector<std::string> lines_;
  std::vector<std::vector<std::vector<Bin>>> bins_;
  std::vector<Entry> entries_;   ///< entries of samples_
  std::vector<Sample> samples_;  ///< kept until the range is known
  std::vector<double>
      added_;              ///< weight of the current sample, [feature][bin]; zero between samples
  bool weighted_ = false;  ///< true if a weight differs from 1
};

}  // namespace wellspring
