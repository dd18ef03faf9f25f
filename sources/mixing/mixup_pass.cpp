#include "sources/mixing/mixup_pass.h"

#include "core/error.h"
#include "core/text/plural.h"
#include "kernels/runtime/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace wellspring {

const ParamTable<MixConfig>& mix_table() {
  static const auto table =
      ParamTable<MixConfig>("mix")
          .real("mixup", &MixConfig::mixup, {0, 1000}, "",
                "a: two samples are blended in a proportion drawn from Beta(a, a); 0: off",
                "Zhang et al., ICLR 2018")
          .real("cutmix", &MixConfig::cutmix, {0, 1000}, "",
                "a: two images exchange a box, whose share of the area before clipping is drawn "
                "from Beta(a, a); 0: off",
                "Yun et al., ICCV 2019")
          .real("probability", &MixConfig::probability, {0, 1}, "",
                "probability of mixing two neighbouring samples of the batch; if mixup and "
                "cutmix are both on, either is equally likely");
  return table;
}

void expect_mixable(const MixConfig& mix, SampleKind kind, const std::string& whose) {
  if (!mix.on() || kind == SampleKind::image) return;
  if (kind == SampleKind::set)
    fail(ErrorKind::config,
         {fmt::format("{}data.mix: {} gives sets", mix.place.prefix(), whose),
          "items have no order and their number varies, so they cannot be paired", "remove mix"});
  if (mix.cutmix > 0)
    fail(ErrorKind::config,
         {fmt::format("{}data.mix.cutmix: {} gives events", mix.place.prefix(), whose),
          "cutmix needs images", "remove cutmix; mixup blends the features of events"});
}

void expect_pairs(const MixConfig& mix, std::int64_t rows, const std::string& whose) {
  if (!mix.on() || rows % 2 == 0) return;
  fail(ErrorKind::config,
       {fmt::format("{}data.mix with {} of {}", mix.place.prefix(), whose, counted(rows, "sample")),
        "samples are mixed in pairs, and one would have no partner",
        fmt::format("use an even number, for example {}", rows + 1)});
}

BatchMix::BatchMix(const MixConfig& config, std::uint64_t seed,
                   const std::vector<MixedLabels>& labels)
    : config_(config),
      law_{static_cast<float>(config.mixup), static_cast<float>(config.cutmix),
           static_cast<float>(config.probability)},
      seed_(seed) {
  if (labels.size() > kMaxSources) throw std::logic_error("labels of too many sources");
  std::copy(labels.begin(), labels.end(), labels_);
}

int BatchMix::targets() const {
  std::int32_t most = 0;
  for (const MixedLabels& of : labels_) most = std::max(most, of.classes);
  return most;
}

void BatchMix::plan(MemoryPlan& memory, const Share& share, const SampleLayout& layout) {
  expect_mixable(config_, layout.kind, "a source");
  if (layout.globals > 0)
    fail(ErrorKind::config,
         {config_.place.prefix() + "data.mix cannot be used on samples with globals",
          "the network reads the globals, which would stay unmixed", "remove mix"});
  expect_pairs(config_, share.rows, share.rows == share.global_batch ? "a batch" : "a rank");
  share_ = share;
  pairs_ = memory.reserve<PairMix>("data", "mixed pairs", static_cast<std::size_t>(share.rows / 2));
}

void BatchMix::enqueue(Stream& stream, const StepState* state, const Slot* slots,
                       const BatchView& batch) const {
  const std::int64_t pairs = share_.rows / 2, width = batch.layout.targets;
  if (batch.size != share_.rows || width < targets() || batch.target == nullptr)
    throw std::logic_error("the batch has no target columns for mixing");
  const SampleShape shape = batch.layout.shape();
  DrawMixes draw = {law_, seed_, share_, shape, {}, state, slots, batch.label, pairs_.data()};
  std::copy(std::begin(labels_), std::end(labels_), draw.labels);
  map(stream, "draw mixes", pairs, draw);
  MixTargets targets = {pairs_.data(), {},           slots,
                        batch.label,   batch.target, static_cast<std::int32_t>(width)};
  std::copy(std::begin(labels_), std::end(labels_), targets.labels);
  map(stream, "mix labels", pairs * width, targets);
  visit_float(batch.dtype, [&]<class T>(T) {
    const auto values = [&]<int N>(std::integral_constant<int, N>) {
      map(stream, "mix samples", pairs * (shape.elements() / N),
          MixValues<T, N>{pairs_.data(), static_cast<T*>(batch.x), shape});
    };
    if (shape.elements() % kMixRun<T> == 0) {
      values(std::integral_constant<int, kMixRun<T>>{});
    } else {
      values(std::integral_constant<int, 1>{});
    }
  });
}

}  // namespace wellspring
