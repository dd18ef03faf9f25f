// Shared parts of the whole-image operations. Included by their files in operations/; host and
// device.
#pragma once

#include "kernels/augment/operation.h"
#include "kernels/batch/batch.h"
#include "kernels/batch/pixel_run.h"
#include "kernels/runtime/macros.h"

namespace wellspring {

/// A run of pixels of a whole image, starting at (x, y).
struct WholeRun {
  const Augmentation& view;
  SampleShape shape;
  int x, y;

  /// Index of the channel that holds green or blue. An image with one channel is grey.
  WS_INLINE int green() const { return shape.channels == 3 ? 1 : 0; }
  WS_INLINE int blue() const { return shape.channels == 3 ? 2 : 0; }
};

/// For operations that need no statistics.
struct NoStatistics {};

}  // namespace wellspring
