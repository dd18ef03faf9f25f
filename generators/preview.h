// Pictures of samples: contact sheets of images, histograms of events. Called by the command line
// and by run reports; host only.
#pragma once

#include "core/png.h"
#include "generators/generator.h"
#include "generators/samples.h"

namespace wellspring {

/// Images: the samples side by side, each over its class, values clamped to [0, 1]; small images
/// are enlarged by a whole factor. Events and
/// sets: the distribution of every feature, of all items, a line a class.
/// Headed by name, seed, ids and parameters.
RgbImage preview(Generator& generator, const SampleRange& range, const SampleMaking& making = {});

}  // namespace wellspring
