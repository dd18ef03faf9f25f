// Pictures of samples: contact sheets of images, histograms of events. Called by the command line
// and by run reports; host only.
#pragma once

#include "core/png.h"
#include "generators/generator.h"
#include "generators/samples.h"

namespace wellspring {

/// Images: the samples side by side, each over its class, values clamped to [0, 1]; small images
/// are enlarged by a whole factor. Events: the distribution of every feature, a line a class.
/// Headed by name, seed, ids and parameters.
RgbImage preview(const Generator& generator, const SampleRange& range,
                 const SampleMaking& making = {});

}  // namespace wellspring
