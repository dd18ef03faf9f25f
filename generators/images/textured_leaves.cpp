#include "generators/images/textured_leaves.h"

#include "core/error.h"
#include "core/expect.h"
#include "core/text/plural.h"
#include "core/text/text.h"
#include "generators/functor_generator.h"
#include "kernels/runtime/launch.h"

#include <fmt/format.h>

#include <algorithm>

namespace wellspring {
namespace {

/// Number of fills per launch; limits the working memory of their generator.
constexpr std::int64_t kFillsAtOnce = 16;

[[noreturn]] void refuse(const std::string& problem, const std::string& why,
                         const std::string& advice) {
  fail(ErrorKind::config, {"dead_leaves: " + problem, why, advice});
}

const GeneratorEntry& expect_images(const Generators& others, const std::string& name) {
  std::vector<std::string> images;
  bool is_known = false;
  for (const GeneratorEntry& entry : others) {
    if (entry.kind == SampleKind::image) {
      if (entry.name == name) return entry;
      images.push_back(entry.name);
    }
    is_known = is_known || entry.name == name;
  }
  refuse(fmt::format("fill: {} '{}'", is_known ? "no images come from" : "unknown generator", name),
         "leaves can only be filled with images", name_advice(name, images));
}

/// Parses key=value, the form used after a generator's name on the command line.
ParamSetting setting_of(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    refuse(fmt::format("fill: '{}' is not key=value", text),
           "only parameters may follow the generator's name",
           "write, for example, fill: [textures, kind=perlin]");
  }
  return {std::string(trim(text.substr(0, equals))), std::string(trim(text.substr(equals + 1)))};
}

/// The generator that makes the fills.
std::unique_ptr<Generator> generator_of(const DeadLeaves::Params& params) {
  WS_EXPECT(!params.fill.empty() && params.others != nullptr);
  const GeneratorEntry& maker = expect_images(*params.others, params.fill.front());
  std::vector<ParamSetting> settings;
  for (std::size_t i = 1; i < params.fill.size(); ++i) {
    settings.push_back(setting_of(params.fill[i]));
  }
  try {
    return maker.make(settings, params.fill_side);
  } catch (const Error& error) {
    fail(error.kind(), {fmt::format("dead_leaves: fill: {}", error.what())});
  }
}

}  // namespace

std::unique_ptr<Generator> DeadLeaves::instead(Params params, SampleShape shape,
                                               const Generators& others) {
  if (params.fill.empty()) return nullptr;
  params.others = &others;
  return std::make_unique<FunctorGenerator<TexturedLeaves>>(params, shape);
}

TexturedLeaves::TexturedLeaves(const Params& params)
    : DeadLeaves(params),
      fills_(params.fills, params.fill_side),
      steps_(1 / params.fill_scale_low),
      log_steps_(math::log2(steps_)),
      octaves_(math::log2(params.fill_scale_high / params.fill_scale_low)) {
  const std::int64_t texels = std::int64_t{params.fill_side} * params.fill_side;
  if (texels * params.fills > kMostTexels) {
    refuse(fmt::format("{} of {} x {} pixels are too many", counted(params.fills, "fill"),
                       params.fill_side, params.fill_side),
           fmt::format(
               "their pixels stay in memory: at most {}, plus a third for their lower resolutions",
               human_bytes(kMostTexels * FillLevels::kChannels * sizeof(float))),
           fmt::format("use fills: {} or fewer at this fill_side", kMostTexels / texels));
  }
  table().expect_ordered(params, {"fill_scale"});
  if (!generator_of(params)->info().uses.empty()) {
    refuse("fill: the leaves of the fills have fills, too", "fills cannot be nested",
           "use dead_leaves with plain colours, or another generator");
  }
}

SampleInfo TexturedLeaves::describe(const Params& params) {
  SampleInfo info = DeadLeaves::describe(params);
  const SampleInfo fill = generator_of(params)->info();
  ++info.version;  // version 4: small leaves show means of their fills
  info.low = fill.low;
  info.high = fill.high;
  info.uses = {{fill.name, fill.version}};
  return info;
}

TexturedLeaves::Tables::Tables(const Params& params)
    : levels_(params.fills, params.fill_side),
      seed_(params.fill_seed),
      fill_(generator_of(params)) {}
TexturedLeaves::Tables::~Tables() = default;

const std::vector<std::string>& TexturedLeaves::Tables::notes() const {
  return fill_->notes();
}

void TexturedLeaves::Tables::plan(MemoryPlan& memory) {
  const auto elements = static_cast<std::size_t>(levels_.elements());
  pixels_ = memory.reserve<float>("dead_leaves", "fills", elements);
  const std::int64_t count = levels_.count();
  slots_ = memory.reserve<Slot>("dead_leaves", "fill slots", static_cast<std::size_t>(count));
  fill_->plan(memory, std::min(count, kFillsAtOnce));
}

void TexturedLeaves::Tables::load(Stream& stream) {
  fill_->load(stream);
  std::vector<Slot> slots(slots_.size());
  for (std::size_t i = 0; i < slots.size(); ++i) {
    slots[i] = {i, i, 0, static_cast<std::uint32_t>(i % kFillsAtOnce)};
  }
  stream.copy(slots_.data(), slots.data(), slots_.bytes(), CopyDirection::host_to_device,
              "fill slots");
  BatchView batch;
  batch.layout = SampleLayout::image(fill_->layout().shape());
  const std::int64_t count = levels_.count();
  for (std::int64_t first = 0; first < count; first += kFillsAtOnce) {
    batch.size = std::min(kFillsAtOnce, count - first);
    batch.x = pixels_.data() + first * batch.layout.elements();
    fill_->emit(stream, {slots_.data() + first, 0, seed_, {}, batch});
  }
  for (int level = 0; level < levels_.last(); ++level) {
    const float* const from = pixels_.data() + levels_.start(level);
    float* const to = pixels_.data() + levels_.start(level + 1);
    map(stream, "halve fills", levels_.elements(level + 1) / FillLevels::kChannels,
        HalveFills{from, to, levels_.side() >> level});
  }
  stream.synchronize();
}

}  // namespace wellspring
