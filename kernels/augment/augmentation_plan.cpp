// The planner: converts settings in users' units to an AugmentationPlan for one image size.
#include "core/error.h"
#include "kernels/augment/augmentation_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>

namespace wellspring {
namespace {

/// `fraction * size` rounded down to whole pixels; a product that misses an integer only by the
/// rounding of the fraction (0.29 * 100) counts as that integer.
float whole_pixels(double fraction, int size) {
  const double product = fraction * size;
  const double nearest = std::round(product);
  return static_cast<float>(std::abs(product - nearest) < 1e-6 ? nearest : std::floor(product));
}

void set(AugmentStep& step, std::initializer_list<double> values) {
  int i = 0;
  for (const double value : values) step.value[i++] = static_cast<float>(value);
}

AugmentStep plan_step(const AugmentSetting& setting, FrameSize frame) {
  const AugmentParams& p = setting.params;
  AugmentStep step;
  step.op = setting.op;
  step.probability = static_cast<float>(p.probability);
  switch (setting.op) {
    case AugmentOp::crop_resize:
      set(step, {p.scale[0], p.scale[1], std::log(p.ratio[0]), std::log(p.ratio[1])});
      break;
    case AugmentOp::shift:
      step.value[0] = whole_pixels(p.fraction, frame.width);
      step.value[1] = whole_pixels(p.fraction, frame.height);
      break;
    case AugmentOp::zoom:
      set(step, {p.zoom[0], std::log(p.zoom[1] / p.zoom[0])});
      break;
    case AugmentOp::rotate:
      set(step, {p.angle / 360});
      break;
    case AugmentOp::perspective:  // as torchvision: half a side in whole pixels, times distortion
      step.value[0] = whole_pixels(p.distortion, frame.width / 2);
      step.value[1] = whole_pixels(p.distortion, frame.height / 2);
      break;
    case AugmentOp::brightness:
    case AugmentOp::contrast:
    case AugmentOp::saturation:
      set(step, {std::max(0., 1 - p.strength), 1 + p.strength,
                 p.about == ContrastCentre::mean ? 1. : 0.});
      break;
    case AugmentOp::hue:
      set(step, {p.strength});
      break;
    case AugmentOp::solarise:
      set(step, {p.threshold});
      break;
    case AugmentOp::blur:
      set(step, {p.sigma[0], p.sigma[1]});
      break;
    case AugmentOp::erase:
      set(step, {static_cast<double>(p.side)});
      break;
    case AugmentOp::erase_box:
      set(step, {p.scale[0], p.scale[1], std::log(p.ratio[0]), std::log(p.ratio[1]),
                 p.fill == ErasedFill::noise ? 1. : 0.});
      break;
    case AugmentOp::affine:
      set(step, {p.angle / 360, p.translate[0] * frame.width, p.translate[1] * frame.height,
                 p.zoom[0], p.zoom[1], p.shear[0] / 360, p.shear[1] / 360});
      break;
    case AugmentOp::posterise:
      set(step, {static_cast<double>(p.bits)});
      break;
    case AugmentOp::sharpen:
      set(step, {p.factor});
      break;
    case AugmentOp::noise:
      set(step, {p.deviation});
      break;
    case AugmentOp::rand_augment:
      set(step, {static_cast<double>(p.operations), p.magnitude, p.deviation});
      break;
    case AugmentOp::flip_x:
    case AugmentOp::flip_y:
    case AugmentOp::grey:
    case AugmentOp::autocontrast:
    case AugmentOp::equalise:
    case AugmentOp::contrast_about_mean:
    case AugmentOp::none:
      break;
  }
  return step;
}

int blur_radius(const AugmentSetting& setting, FrameSize out) {
  const AugmentParams& p = setting.params;
  const int radius = p.kernel != 0 ? p.kernel / 2 : static_cast<int>(std::ceil(3 * p.sigma[1]));
  const int least = std::min(out.width, out.height);
  if (radius >= least) {
    fail(ErrorKind::config,
         {fmt::format("{}augment.blur reaches {} pixels, but the shorter side of the image has {}",
                      setting.place.prefix(), radius, least),
          "the image is mirrored only once at its border",
          fmt::format("reduce sigma, or set kernel: {} or less", 2 * least - 1)});
  }
  return radius;
}

}  // namespace

AugmentationPlan plan_augmentation(const Augmentations& values, FrameSize source, FrameSize out) {
  check_augmentations(values);
  AugmentationPlan plan;
  plan.source = source;
  plan.out = out;
  plan.padding = values.padding;
  plan.interpolation = values.interpolation;
  const Normalisation& n = values.normalisation;
  for (std::size_t c = 0; c < 3; ++c) {
    plan.mean[c] = static_cast<float>(n.mean[n.mean.size() == 3 ? c : 0]);
    plan.inv_std[c] = static_cast<float>(1 / n.std[n.std.size() == 3 ? c : 0]);
  }
  FrameSize frame = source;
  bool blurred = false;
  for (const AugmentSetting& setting : values.list) {
    const AugmentStep step = plan_step(setting, frame);
    const AugmentStage stage = stage_of(setting);
    plan.whole_images |= stage == AugmentStage::whole || (setting.op == AugmentOp::erase_box &&
                                                          setting.params.fill == ErasedFill::noise);
    if (stage == AugmentStage::geometry || setting.op == AugmentOp::rand_augment)
      plan.geometry[plan.geometry_count++] = step;
    switch (stage) {
      case AugmentStage::geometry:
        break;
      case AugmentStage::colour:
      case AugmentStage::whole:
        plan.colour[plan.colour_count++] = step;
        if (!blurred) plan.colour_before_blur = plan.colour_count;
        break;
      case AugmentStage::neighbours:
        plan.blur = step;
        plan.blur_radius = blur_radius(setting, out);
        blurred = true;
        break;
      case AugmentStage::erase:
        plan.erase = step;
        break;
    }
    if (setting.op == AugmentOp::crop_resize) frame = out;
  }
  return plan;
}

void expect_mappable(const Augmentations& values, LatentRole role, const std::string& what) {
  for (const AugmentSetting& setting : values.list) {
    const AugmentEntry& entry = augmentation_entry(setting.op);
    const bool several = setting.op == AugmentOp::rand_augment;  // geometry, affine, colours
    const bool moves = several || entry.stage == AugmentStage::geometry;
    const bool colours =
        several || entry.stage == AugmentStage::colour || entry.stage == AugmentStage::whole;
    const bool stays = role == LatentRole::fixed || role == LatentRole::colour;
    const bool undefined = setting.op == AugmentOp::perspective && !stays;
    const bool lost =
        (role == LatentRole::unmapped && moves) || (role == LatentRole::colour && colours);
    if (!undefined && !lost) continue;
    fail(ErrorKind::config, {fmt::format("{}augment.{} cannot be used with the regression of {}",
                                         setting.place.prefix(), entry.name, what),
                             lost ? "the value after this operation is unknown"
                                  : "under perspective the value depends on the position",
                             fmt::format("remove {}, or choose another target", entry.name)});
  }
}

}  // namespace wellspring
