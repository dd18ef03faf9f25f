#include "generators/functor_generator.h"

#include "kernels/batch/batch_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace wellspring::detail {
namespace {

void expect_size(const std::string& name, int size) {
  if (size >= 1 && size <= kLargestImageSide) return;
  fail(ErrorKind::config, {fmt::format("{}: impossible image size {}", name, size), "",
                           fmt::format("give a side between 1 and {} pixels", kLargestImageSide)});
}

/// Throws std::logic_error unless `batch` can hold the samples of the generator.
void expect_batch(const SampleInfo& info, const BatchView& batch) {
  const SampleLayout& layout = info.layout;
  SampleLayout luma = layout;
  if (layout.kind == SampleKind::image && layout.channels == 3) luma.channels = 1;
  if (!batch.layout.same_input(layout) && !batch.layout.same_input(luma)) {
    throw std::logic_error(fmt::format("{} makes samples of layout [{}], but the batch holds [{}]",
                                       info.name, to_string(layout), to_string(batch.layout)));
  }
  if (batch.latents != nullptr && batch.layout.latents < layout.latents) {
    throw std::logic_error(fmt::format("{} has {} latents, but the batch keeps {}", info.name,
                                       layout.latents, batch.layout.latents));
  }
  if (batch.target != nullptr && batch.layout.targets < layout.targets) {
    throw std::logic_error(fmt::format("{} has {} targets, but the batch keeps {}", info.name,
                                       layout.targets, batch.layout.targets));
  }
}

void expect_no_augmentation(const std::string& name, const AugmentationPlan& plan) {
  if (plan == AugmentationPlan{}) return;
  fail(ErrorKind::config,
       {fmt::format("{} makes events, but an augmentation was given", name),
        "flips, crops and colour operations are defined for images", "remove `augment`"});
}

/// Roles of the latents, in the same order.
LatentRoles latent_roles(const SampleInfo& info) {
  const std::vector<LatentInfo>& latents = info.latents;
  const auto side = [](SampleShape shape) {
    return static_cast<float>(std::min(shape.width, shape.height));
  };
  LatentRoles roles;
  if (latents.size() > static_cast<std::size_t>(kMostLatents))
    throw std::logic_error(fmt::format("{} latents, but at most {}", latents.size(), kMostLatents));
  roles.count = static_cast<std::int32_t>(latents.size());
  const SampleShape source = info.source_shape(), out = info.layout.shape();
  roles.source_side = side(source);
  roles.out_side = side(out);
  roles.source_left = 0.5f * (static_cast<float>(source.width) - roles.source_side);
  roles.source_top = 0.5f * (static_cast<float>(source.height) - roles.source_side);
  roles.out_left = 0.5f * (static_cast<float>(out.width) - roles.out_side);
  roles.out_top = 0.5f * (static_cast<float>(out.height) - roles.out_side);
  for (std::size_t i = 0; i < latents.size(); ++i) {
    roles.role[i] = latents[i].role;
    roles.fraction[i] = latents[i].unit == "image side";
    const auto has = [&](std::size_t place, LatentRole role) {
      return place < latents.size() && latents[place].role == role;
    };
    const auto lacks = [&](LatentRole role, bool whole, const char* rest) {
      if (latents[i].role == role && !whole)
        throw std::logic_error("latent " + latents[i].name + " has no " + rest + " after it");
    };
    const bool point = has(i + 1, LatentRole::position_y);
    lacks(LatentRole::position_x, point, "position_y");
    lacks(LatentRole::thing_x, point && has(i + 2, LatentRole::length), "position_y and length");
    lacks(LatentRole::wave_period,
          has(i + 1, LatentRole::wave_angle) && has(i + 2, LatentRole::wave_phase),
          "angle and phase");
  }
  return roles;
}

}  // namespace

FunctorGeneratorBase::FunctorGeneratorBase(SampleInfo info, const SampleLayout& layout,
                                           const FunctorTruth& truth)
    : info_(std::move(info)) {
  info_.layout = layout;
  if (layout.kind == SampleKind::image && !truth.is_event) {
    expect_size(info_.name, layout.height);
    expect_size(info_.name, layout.width);
  }
  // A functor has room for the latents of all parameters, but only the described ones count.
  info_.layout.latents = static_cast<int>(info_.latents.size());
  info_.layout.targets = truth.targets;
  if (truth.labels > 0) {
    for (const std::string& name : info_.classes) info_.targets.push_back({name, ""});
    info_.layout.targets = static_cast<int>(info_.targets.size());
  }
  is_event_ = truth.is_event;
}

void FunctorGeneratorBase::plan(MemoryPlan& memory, std::int64_t rows, DenseLabels dense) {
  if (dense == DenseLabels::plane && !info_.plane) {
    refuse_plane(info_, "leave --plane out");
  }
  notes_.clear();
  // Events are not augmented.
  const LatentRoles roles = is_event_ ? LatentRoles{} : latent_roles(info_);
  plan_emission(memory, rows, dense, roles);
}

void FunctorGeneratorBase::emit(Stream& stream, const EmitCall& call) {
  expect_batch(info_, call.batch);
  if (is_event_) expect_no_augmentation(info_.name, call.augmentation);
  EmitCall keyed = call;
  keyed.seed = key(call.seed);
  enqueue(stream, keyed);
}

void FunctorGeneratorBase::note(const std::vector<std::string>& more) {
  notes_.insert(notes_.end(), more.begin(), more.end());
}

void refuse_plane(const SampleInfo& info, const std::string& advice) {
  fail(ErrorKind::config, {fmt::format("{} has no dense labels", info.name),
                           info.layout.kind == SampleKind::image ? "its images have only colours"
                                                                 : "its samples have no pixels",
                           advice});
}

}  // namespace wellspring::detail
