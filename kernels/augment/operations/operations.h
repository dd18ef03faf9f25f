// The list of augmentation operations, each in its own file. Called by the planner, the draw and
// the passes; host and device.
#pragma once

#include "kernels/augment/operations/affine.h"
#include "kernels/augment/operations/auto_augment.h"
#include "kernels/augment/operations/autocontrast.h"
#include "kernels/augment/operations/blur.h"
#include "kernels/augment/operations/brightness.h"
#include "kernels/augment/operations/contrast.h"
#include "kernels/augment/operations/crop.h"
#include "kernels/augment/operations/crop_resize.h"
#include "kernels/augment/operations/equalise.h"
#include "kernels/augment/operations/erase.h"
#include "kernels/augment/operations/erase_box.h"
#include "kernels/augment/operations/flip_x.h"
#include "kernels/augment/operations/flip_y.h"
#include "kernels/augment/operations/grey.h"
#include "kernels/augment/operations/hue.h"
#include "kernels/augment/operations/mask_patches.h"
#include "kernels/augment/operations/noise.h"
#include "kernels/augment/operations/perspective.h"
#include "kernels/augment/operations/posterise.h"
#include "kernels/augment/operations/rand_augment.h"
#include "kernels/augment/operations/rotate.h"
#include "kernels/augment/operations/saturation.h"
#include "kernels/augment/operations/sharpen.h"
#include "kernels/augment/operations/shift.h"
#include "kernels/augment/operations/solarise.h"
#include "kernels/augment/operations/trivial_augment.h"
#include "kernels/augment/operations/zoom.h"

namespace wellspring::augment {

/// In the order of the documentation.
using Operations = OperationList<CropResize, Crop, FlipX, FlipY, Shift, Zoom, Rotate, Perspective,
                                 Affine, Brightness, Contrast, Saturation, Hue, Grey, Solarise,
                                 Posterise, Autocontrast, Equalise, Sharpen, Noise, RandAugment,
                                 TrivialAugment, AutoAugment, Blur, Erase, EraseBox, MaskPatches>;
/// The operations that a drawn step may have.
using DrawnOperations = Operations::With<ContrastAboutMean, SolariseAdd>;

}  // namespace wellspring::augment
