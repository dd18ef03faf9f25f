// The first training batch as a picture, as the network saw it. Called by the trainer; host only.
#pragma once

#include "core/png.h"
#include "kernels/batch.h"
#include "kernels/stream.h"
#include "kernels/view.h"

#include <vector>

namespace wellspring {

/// The images of a batch side by side, augmentation included and normalisation undone. `slots`:
/// host copy of the batch's; `views`: the training view of each source. At most 64 images. Blocks.
RgbImage batch_sheet(Stream& stream, const BatchView& batch, const std::vector<Slot>& slots,
                     const std::vector<ViewSpec>& views);

}  // namespace wellspring
