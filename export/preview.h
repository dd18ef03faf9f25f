// Pictures of samples: contact sheets of images, histograms of events. Called by the command line
// and by the trainer for reports of runs; host only.
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
  std::uint64_t values = 0;   ///< of images, that were drawn
  std::uint64_t clamped = 0;  ///< of them: too dark or too bright for a picture, see preview()
  std::vector<std::string> legend;  ///< of names that the picture has as numbers; a line a source
};

/// Images: the samples side by side, each beside its plane of truth where there is one, numbers in
/// colours, near depths bright, and over its class (and source, where there are several),
/// normalisation undone; small images are enlarged by a whole factor. A picture shows intensities
/// from 0 to 1: values beyond are drawn as the nearer end and counted, where that shows (by more
/// than half a step of 8 bits). Events and sets: the distribution of every feature, of all items,
/// a line a class, with statistical errors. Under the feed's heading. Names are written in ASCII:
/// see Preview::legend. Error (config) where the picture would be too large.
Preview preview(SampleReader& feed, const std::function<void(std::uint64_t)>& progress = {});
/// The same of a generator, which is left as it was.
RgbImage preview(Generator& generator, const SampleRange& range);

/// Of samples that are there already. `origins`: by Slot::source.
Preview preview(const SampleHeading& heading, const std::vector<SampleOrigin>& origins,
                const HostSamples& samples);

/// Preview::legend of any picture of these origins.
std::vector<std::string> picture_legend(const std::vector<SampleOrigin>& origins);

}  // namespace wellspring
