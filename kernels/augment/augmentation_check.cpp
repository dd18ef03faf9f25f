// Checks of a list of augmentations that involve more than one value.
#include "core/error.h"
#include "kernels/augment/augmentation_config.h"
#include "kernels/augment/setting_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace wellspring {
namespace {

void check_setting(const AugmentSetting& setting) {
  std::visit(
      [&]<class P>(const P& p) {
        const SettingCheck check(setting);
        if constexpr (requires { &P::template check<SettingCheck>; }) p.check(check);
      },
      setting.params);
}

bool moves(const AugmentSetting& setting) {
  return std::visit([]<class P>(const P&) { return moves_pixels<typename P::Operation>; },
                    setting.params);
}

/// Rejects a list in which a later stage precedes an earlier one. Colours may be anywhere before
/// the erased box, but geometry comes before whole-image colours and the blur.
void expect_order(const AugmentSetting& before, const AugmentSetting& setting) {
  const AugmentStage first = before.stage(), second = setting.stage();
  const bool colour = first == AugmentStage::colour || second == AugmentStage::colour ||
                      (second == AugmentStage::whole && !moves(setting));
  if (first == AugmentStage::erase ? second == first : (colour || first <= second)) return;
  const char* const why =
      first == AugmentStage::erase
          ? "the image is erased or masked last"
          : "geometry is applied when pixels are read, before operations that need neighbours";
  const std::string &name = augmentation_entry(setting.op()).name,
                    &other = augmentation_entry(before.op()).name;
  fail(ErrorKind::config, {fmt::format("{} comes after {}", setting.where(), other), why,
                           fmt::format("move {} before {}", name, other)});
}

/// augmix has the pass after emission. So it comes after geometry and pointwise colours, before other
/// operations that need a later pass, and is the only policy.
void expect_augmix_first(const AugmentSetting& before, const AugmentSetting& setting) {
  const bool first = before.op() == op_of<augment::AugMix>;
  if (!first && setting.op() != op_of<augment::AugMix>) return;
  const std::string& other = augmentation_entry(before.op()).name;
  const AugmentSetting& partner = first ? setting : before;
  if (partner.stage() == AugmentStage::whole && moves(partner))
    fail(ErrorKind::config, {fmt::format("{} is used together with {}", setting.where(), other),
                             "each of them is a whole policy", "remove one of the two"});
  const char* const why =
      "images are mixed after geometry and pointwise colours, before all other operations";
  if (first ? setting.stage() <= AugmentStage::colour : before.stage() >= AugmentStage::whole)
    fail(ErrorKind::config,
         {fmt::format("{} comes after {}", setting.where(), other), why,
          fmt::format("move {} before {}", augmentation_entry(setting.op()).name, other)});
}

/// Only one operation may erase.
void expect_one_erasure(const AugmentSetting& before, const AugmentSetting& setting) {
  if (before.stage() != AugmentStage::erase || setting.stage() != AugmentStage::erase) return;
  fail(ErrorKind::config, {fmt::format("{} is used together with {}", setting.where(),
                                       augmentation_entry(before.op()).name),
                           "only one operation erases or masks a sample", "remove one of the two"});
}

/// Only colours can be shuffled: each takes one step, and all run in the same pass or in sequence.
/// augmix has a pass of its own.
void expect_shuffled(const Augmentations& values) {
  const auto shuffled = [&](GroupPlace place) {
    return place.group >= 0 &&
           values.groups[static_cast<std::size_t>(place.group)].kind == GroupKind::random_order;
  };
  const auto refuse = [](const ConfigLocation& place, const std::string& what) {
    fail(ErrorKind::config, {fmt::format("{}augment: {} is in random_order", place.prefix(), what),
                             "only colour operations can be in random order",
                             fmt::format("move {} out of random_order", what)});
  };
  for (const GroupSetting& group : values.groups)
    if (shuffled(group.group)) refuse(group.place, group_name(group.kind));
  for (const AugmentSetting& setting : values.list)
    if (shuffled(setting.group) && (moves(setting) || setting.op() == op_of<augment::AugMix> ||
                                    setting.stage() >= AugmentStage::neighbours))
      refuse(setting.place, augmentation_entry(setting.op()).name);
}

}  // namespace

void check_augmentations(const Augmentations& values) {
  for (std::size_t i = 0; i < values.list.size(); ++i) {
    const AugmentSetting& setting = values.list[i];
    check_setting(setting);
    for (std::size_t j = 0; j < i; ++j) {
      if (values.list[j].op() == setting.op()) {
        fail(ErrorKind::config, {fmt::format("{} is listed twice", setting.where()),
                                 "the random numbers of an operation are keyed by its name",
                                 "widen the range of the first one"});
      }
      expect_order(values.list[j], setting);
      expect_augmix_first(values.list[j], setting);
      expect_one_erasure(values.list[j], setting);
    }
  }
  expect_shuffled(values);
}

}  // namespace wellspring
