// The planner: converts settings in user units to an AugmentationPlan for one image size.
#include "core/error.h"
#include "core/text/plural.h"
#include "core/text/text.h"
#include "kernels/augment/augmentation_config.h"
#include "kernels/augment/setting_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>

namespace wellspring {

double Planning::log(double x) {
  return std::log(x);
}

int AugmentationPlan::patches() const {
  if (erase.op != op_of<augment::MaskPatches>) return 0;
  const int side = static_cast<int>(erase.value[0]);
  return (out.width / side) * (out.height / side);
}

float Planning::whole_pixels(double fraction, int size) {
  const double product = fraction * size;
  const double nearest = std::round(product);
  return static_cast<float>(std::abs(product - nearest) < 1e-6 ? nearest : std::floor(product));
}

namespace {

constexpr int count(bool colours) {
  int number = 0;
  augment::ListedOperations::each(
      [&]<class Op>() { number += (colours ? changes_colours<Op> : moves_pixels<Op>) ? 1 : 0; });
  return number;
}
// A list with augmix has no other policy, and is therefore shorter.
static_assert(count(false) <= kMostGeometrySteps && count(true) - 1 <= kMostColourSteps,
              "a plan has no room for all operations: raise kMostGeometrySteps or "
              "kMostColourSteps in augmentation.h");

/// Appends a configured operation to the plan. `frame` is the size of the image before the
/// operation; it is updated.
template <class P>
void plan_operation(const P& params, const AugmentSetting& setting, FrameSize& frame,
                    AugmentationPlan& plan) {
  using Op = typename P::Operation;
  AugmentStep step = {op_of<Op>, setting.group, static_cast<float>(params.probability)};
  const auto set = [&](const StepValues& values) {
    std::copy(std::begin(values.value), std::end(values.value), step.value);
  };
  constexpr bool kResizes = requires {
    Op::kResizes;
  };
  const bool of_output = kResizes || Op::kInfo.stage >= AugmentStage::neighbours;
  const FrameSize before = of_output ? plan.out : frame;
  if constexpr (requires { params.plan(before, SettingCheck(setting)); }) {
    set(params.plan(before, SettingCheck(setting)));
  } else if constexpr (requires { params.plan(before); }) {
    set(params.plan(before));
  }
  bool whole = setting.stage() == AugmentStage::whole;
  if constexpr (requires { &P::needs_pass; }) whole |= params.needs_pass();
  if (whole) (plan.blurs() ? plan.whole_after_blur : plan.whole_images) = true;
  if constexpr (moves_pixels<Op>) plan.geometry[plan.geometry_count++] = step;
  if constexpr (kResizes) frame = plan.out;
  if constexpr (changes_colours<Op>) {
    if (setting.group.group >= 0) {
      AugmentGroup& group = plan.group[setting.group.group];
      if (group.kind == GroupKind::random_order && group.count++ == 0)
        group.first = static_cast<std::int8_t>(plan.colour_count);
    }
    plan.colour[plan.colour_count++] = step;
    if (!plan.blurs()) plan.colour_before_blur = plan.colour_count;
  } else if constexpr (Op::kInfo.stage == AugmentStage::neighbours) {
    plan.blur = step;
    plan.blur_radius = params.radius(plan.out, SettingCheck(setting));
  } else if constexpr (Op::kInfo.stage == AugmentStage::erase) {
    plan.erase = step;
  }
}

/// Brings images of their own sizes to the output's size before other operations: `shift`, for
/// example, is planned in pixels. An operation of the list may do so; flips may come before it.
void resize_first(const Augmentations& values, AugmentationPlan& plan) {
  const AugmentSetting* moved = nullptr;
  for (const AugmentSetting& setting : values.list) {
    bool resizes = false, moves = false;
    augment::ListedOperations::visit(setting.op(), [&]<class Op>() {
      resizes = requires {
        Op::kResizes;
      };
      moves = moves_pixels<Op> && op_of<Op> != op_of<augment::FlipX> &&
              op_of<Op> != op_of<augment::FlipY>;
    });
    if (resizes && moved == nullptr) return;
    if (resizes) {
      const std::string &name = augmentation_entry(setting.op()).name,
                        &before = augmentation_entry(moved->op()).name;
      fail(ErrorKind::config, {fmt::format("{} comes after {}", setting.where(), before),
                               "on a canvas, images have different sizes until they are cropped",
                               fmt::format("move {} before {}", name, before)});
    }
    if (moves && moved == nullptr) moved = &setting;
  }
  AugmentStep& fit = plan.geometry[plan.geometry_count++];
  fit = {op_of<augment::Crop>, {}, 1, {}};
  fit.value[1] = 1;  // the image just covers the output; in the centre
}

AugmentGroup plan_group(const GroupSetting& setting) {
  AugmentGroup group;
  group.kind = setting.kind;
  group.place = setting.group;
  group.probability = static_cast<float>(setting.probability);
  if (setting.kind != GroupKind::one_of) return group;
  group.count = static_cast<std::int8_t>(setting.members);
  const auto weight = [&](int i) {
    return setting.weights.empty() ? 1. : setting.weights[static_cast<std::size_t>(i)];
  };
  double all = 0, sum = 0;
  for (int i = 0; i < setting.members; ++i) all += weight(i);
  for (int i = 0; i < setting.members; ++i)
    group.until[i] = static_cast<float>((sum += weight(i)) / all);
  return group;
}

/// Refuses scalings meant for events and sets, and means meant for colours from 0 to 255.
void expect_colours(const Normalisation& values, const ConfigLocation& place) {
  const auto refuse = [&](const std::string& problem, const std::string& why,
                          const std::string& advice) {
    fail(ErrorKind::config, {place.prefix() + "normalise" + problem, why, advice});
  };
  if (values.choice == Normalisation::Choice::automatic)
    refuse(": auto is used for images", "auto is for events and sets; colours are always in [0, 1]",
           "write normalise: {mean: [0.5], std: [0.25]}");
  if (values.globals != ColumnScaling{})
    refuse(".globals is used for images", "only sets have globals", "remove globals");
  for (const auto& [name, list] : {std::pair("mean", &values.mean), std::pair("std", &values.std)})
    if (list->size() != 1 && list->size() != 3)
      refuse(fmt::format(".{} has {}", name, counted(list->size(), "value")),
             "images have one or three channels", "give one value or three");
  for (const double mean : values.mean)
    if (std::abs(mean) > 10)
      refuse(fmt::format(".mean is {}", shortest(mean)), "colours are in [0, 1]",
             "if it is for colours from 0 to 255, divide it by 255");
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
  expect_colours(n, values.place);
  for (std::size_t c = 0; c < 3; ++c) {
    plan.mean[c] = static_cast<float>(n.mean[n.mean.size() == 3 ? c : 0]);
    plan.inv_std[c] = static_cast<float>(1 / n.std[n.std.size() == 3 ? c : 0]);
  }
  for (const GroupSetting& group : values.groups)
    plan.group[plan.group_count++] = plan_group(group);
  if (source == FrameSize{}) resize_first(values, plan);
  FrameSize frame = source == FrameSize{} ? out : source;
  for (const AugmentSetting& setting : values.list) {
    std::visit([&](const auto& params) { plan_operation(params, setting, frame, plan); },
               setting.params);
  }
  return plan;
}

void expect_channels(const Augmentations& values, int channels) {
  if (channels != 1) return;
  const Normalisation& n = values.normalisation;
  for (const auto& [name, list] : {std::pair("mean", &n.mean), std::pair("std", &n.std)})
    if (list->size() > 1)
      fail(ErrorKind::config, {fmt::format("{}normalise.{} has {}", values.place.prefix(), name,
                                           counted(list->size(), "value")),
                               "the images have one channel", "give one value"});
  for (const AugmentSetting& setting : values.list)
    for (const AugmentOp op :
         {op_of<augment::Saturation>, op_of<augment::Hue>, op_of<augment::Grey>})
      if (setting.op() == op)
        fail(ErrorKind::config, {setting.where() + " is used for images with one channel",
                                 "it changes colours, but these images have none",
                                 fmt::format("remove {}", augmentation_entry(op).name)});
}

void expect_pixels_labelled(const Augmentations& values) {
  for (const AugmentSetting& setting : values.list) {
    augment::ListedOperations::visit(setting.op(), [&]<class Op>() {
      if constexpr (requires { Op::kBlendsCopies; })
        fail(ErrorKind::config, {setting.where() + " cannot be used with dense labels",
                                 "a pixel of the blend shows several points of the image",
                                 fmt::format("remove {}", Op::kInfo.name)});
    });
  }
}

void expect_mappable(const Augmentations& values, LatentRole role, const std::string& what) {
  for (const AugmentSetting& setting : values.list) {
    augment::ListedOperations::visit(setting.op(), [&]<class Op>() {
      const bool stays = role == LatentRole::fixed || role == LatentRole::colour;
      const bool undefined = requires {
        Op::kDependsOnPosition;
      }
      &&!stays;
      const bool blended = requires {
        Op::kBlendsCopies;
      }
      &&role != LatentRole::fixed;
      const bool lost = blended || (role == LatentRole::unmapped && moves_pixels<Op>) ||
                        (role == LatentRole::colour && changes_colours<Op>);
      if (!undefined && !lost) return;
      fail(ErrorKind::config,
           {fmt::format("{} cannot be used with the regression of {}", setting.where(), what),
            lost ? blended ? "the result shows things in several places"
                           : "the value after this operation is unknown"
                 : "under perspective the value depends on the position",
            fmt::format("remove {}, or choose another target", Op::kInfo.name)});
    });
  }
}

}  // namespace wellspring
