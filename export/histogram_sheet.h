// Distributions of what events and sets hold. Called by previews; host only.
#pragma once

#include "export/picture.h"
#include "export/preview.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace wellspring {

/// Histograms of all features while they are filled, a line a class. Where no origin says in which
/// range its values lie, that of the first ones is taken; values beyond are counted at its ends.
class HistogramSheet {
 public:
  HistogramSheet(const std::vector<SampleOrigin>& origins, const SampleLayout& layout);

  void add(const HostSamples& samples);
  Preview draw(const SampleHeading& heading);

  /// Of one class in one bin of one feature: the sum of the weights, and its statistical variance,
  /// the sum over samples of the squared weight that each adds. The items of a set come together,
  /// so that it is not the sum over items.
  struct Bin {
    double sum = 0, variance = 0;
  };
  /// [feature][class][bin], after all was added; classes of all origins, one after another.
  const std::vector<std::vector<std::vector<Bin>>>& bins();

 private:
  struct Entry {
    std::size_t feature;
    float value, weight;
  };
  /// What one sample adds: entries [begin, end) of those kept.
  struct Sample {
    std::size_t line, begin, end;
  };
  struct Range {
    double low = 0, high = 0;
  };

  std::size_t features() const { return static_cast<std::size_t>(layout_.features); }
  std::string feature_name(std::size_t feature) const;
  std::size_t line_of(std::size_t origin, std::int32_t label) const;
  /// Takes the range of what came so far, where none is known, and counts it.
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
  std::vector<std::size_t> first_line_;  ///< of each origin: a line a class
  std::vector<std::string> lines_;
  std::vector<std::vector<std::vector<Bin>>> bins_;
  std::vector<Entry> entries_;   ///< of the samples below
  std::vector<Sample> samples_;  ///< until the range is known
  std::vector<double> added_;    ///< by one sample, [feature][bin]; zero between samples
  bool weighted_ = false;        ///< some sample has another weight than one
};

}  // namespace wellspring
