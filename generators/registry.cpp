// All generators, by name. A new one is one line in generators/CMakeLists.txt.
#include "core/text/text.h"
#include "generators/functor_generator.h"
#include "kernels/batch/batch_columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

namespace wellspring {

// Each row is made in a file of its own, which the build writes beside this list:
// WS_GENERATOR(shapes).
namespace rows {
#define WS_GENERATOR(name) GeneratorEntry name();
#include "generators/generators.inc"
#undef WS_GENERATOR
}  // namespace rows

namespace {

std::vector<GeneratorEntry> build_registry() {
  std::vector<GeneratorEntry> entries = {
#define WS_GENERATOR(name) rows::name(),
#include "generators/generators.inc"
#undef WS_GENERATOR
  };
  std::sort(entries.begin(), entries.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  for (std::size_t i = 1; i < entries.size(); ++i) {
    if (entries[i].name == entries[i - 1].name) {
      throw std::logic_error("two generators are called '" + entries[i].name + "'");
    }
  }
  return entries;
}

}  // namespace

const std::vector<GeneratorEntry>& generator_registry() {
  static const std::vector<GeneratorEntry> entries = build_registry();
  return entries;
}

const GeneratorEntry& find_generator(const std::string& name, const ConfigLocation& place) {
  std::vector<std::string> names;
  for (const GeneratorEntry& entry : generator_registry()) {
    if (entry.name == name) return entry;
    names.push_back(entry.name);
  }
  fail(ErrorKind::config, {place.prefix() + fmt::format("unknown generator '{}'", name), "",
                           name_advice(name, names)});
}

std::unique_ptr<Generator> make_generator(const std::string& name, int size,
                                          const std::vector<ParamSetting>& settings,
                                          const ConfigLocation& place) {
  const GeneratorEntry& entry = find_generator(name, place);
  try {
    return entry.make(settings, size);
  } catch (const Error& error) {
    detail::rethrow_at(place, settings, error);
  }
}

void expect_plane(const SampleInfo& info) {
  if (info.plane) return;
  std::vector<std::string> names;
  for (const GeneratorEntry& entry : generator_registry()) {
    if (entry.has_plane) names.push_back(entry.name);
  }
  fail(
      ErrorKind::config,
      {fmt::format("{} has no plane of truth", info.name),
       info.layout.kind == SampleKind::image ? "it knows nothing of its pixels beyond their colours"
                                             : "its samples have no pixels",
       fmt::format("leave the plane out, or take one of {}", fmt::join(names, ", "))});
}

namespace detail {

void expect_size(const std::string& name, int size) {
  if (size >= 1 && size <= kLargestImageSide) return;
  fail(ErrorKind::config, {fmt::format("{}: image size {} is not possible", name, size), "",
                           fmt::format("give a side between 1 and {} pixels", kLargestImageSide)});
}

void expect_batch(const SampleInfo& info, const BatchView& batch) {
  const SampleLayout& layout = info.layout;
  if (!batch.layout.same_input(layout)) {
    throw std::logic_error(fmt::format("{} makes samples of layout [{}], the batch holds [{}]",
                                       info.name, to_string(layout), to_string(batch.layout)));
  }
  if (batch.latents != nullptr && batch.layout.latents < layout.latents) {
    throw std::logic_error(fmt::format("{} has {} latents, the batch keeps {}", info.name,
                                       layout.latents, batch.layout.latents));
  }
  if (batch.target != nullptr && batch.layout.targets < layout.targets) {
    throw std::logic_error(fmt::format("{} has {} targets, the batch keeps {}", info.name,
                                       layout.targets, batch.layout.targets));
  }
}

void expect_no_augmentation(const std::string& name, const AugmentationPlan& plan) {
  if (plan == AugmentationPlan{}) return;
  fail(ErrorKind::config,
       {fmt::format("{} makes events, and an augmentation was given", name),
        "flips, crops and colour operations are defined for images", "leave out `augment`"});
}

LatentRoles latent_roles(const std::vector<LatentInfo>& latents, SampleShape shape) {
  LatentRoles roles;
  if (latents.size() > static_cast<std::size_t>(kMostLatents))
    throw std::logic_error(fmt::format("{} latents, and {} at most", latents.size(), kMostLatents));
  roles.count = static_cast<std::int32_t>(latents.size());
  roles.source_side = static_cast<float>(std::min(shape.width, shape.height));
  roles.out_side = roles.source_side;
  for (std::size_t i = 0; i < latents.size(); ++i) {
    roles.role[i] = latents[i].role;
    roles.fraction[i] = latents[i].unit == "image side";
    const auto has = [&](std::size_t place, LatentRole role) {
      return place < latents.size() && latents[place].role == role;
    };
    const auto lacks = [&](LatentRole role, bool whole, const char* rest) {
      if (latents[i].role == role && !whole)
        throw std::logic_error("latent " + latents[i].name + " has no " + rest + " behind it");
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

}  // namespace detail

}  // namespace wellspring
