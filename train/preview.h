// The first training batch as a picture, as the network saw it. Called by the trainer and the
// command line; host only.
#pragma once

#include "core/png.h"
#include "kernels/emission/batch.h"
#include "kernels/stream.h"
#include "kernels/view.h"
#include "sources/mixture.h"
#include "train/run_config.h"

#include <string>
#include <vector>

namespace wellspring {

/// What a picture of a batch needs to know about one of its sources.
struct PreviewSource {
  std::vector<std::string> classes;
  ViewSpec view;  ///< whose normalisation is undone
};
/// Those of a run, by source index.
std::vector<PreviewSource> preview_sources(const RunConfig& config, const Mixture& mixture);

/// Images of a batch side by side over their classes, augmentation included and normalisation
/// undone; at most 64. `slots`: host copy of the batch's; `sources`: by source index. Blocks.
RgbImage batch_sheet(Stream& stream, const BatchView& batch, const std::vector<Slot>& slots,
                     const std::vector<PreviewSource>& sources);

}  // namespace wellspring
