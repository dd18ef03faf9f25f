// Pictures of samples: contact sheets of images, histograms of events. Called by the command line
// and by the trainer's reports; host only.
#pragma once

#include "core/picture/png.h"
#include "export/sample_reader.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace wellspring {

struct Preview {
  RgbImage image;
  std::uint64_t values = 0;   ///< number of drawn image values
  std::uint64_t clamped = 0;  ///< number of those that were clamped; see preview()
  std::vector<std::string>
      legend;  ///< names that the picture shows as numbers; one line per source
};

/// Draws the samples under the feed's heading.
///
/// Images are drawn in a grid. Each has its dense labels, if any, next to it (numbers in colours,
/// near depths bright) and its class (and its source if there are several) below. Normalisation is
/// undone, and small images are enlarged by an integer factor. Intensities outside [0, 1] are
/// clamped, and counted if clamping changes them by more than half an 8-bit step.
///
/// Events and sets get a histogram of every feature over all items: one line per class, with
/// statistical errors. Names are ASCII; see Preview::legend. Throws a config error if the picture
/// would be too large.
Preview preview(SampleReader& feed, const std::function<void(std::uint64_t)>& progress = {});
/// The same for a generator, which is left unchanged.
RgbImage preview(Generator& generator, const SampleRange& range);

/// The same for existing samples. `origins` is indexed by Slot::source.
Preview preview(const SampleHeading& heading, const std::vector<SampleOrigin>& origins,
                const HostSamples& samples);

/// Preview::legend for pictures of these origins.
std::vector<std::string> picture_legend(const std::vector<SampleOrigin>& origins);

}  // namespace wellspring
