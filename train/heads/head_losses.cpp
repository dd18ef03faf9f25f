#include "train/heads/head_losses.h"

#include "core/error.h"
#include "core/text/plural.h"

#include <fmt/format.h>

#include <algorithm>

namespace wellspring {
HeadLosses::HeadLosses(const std::vector<HeadSpec>& heads, std::vector<HeadSources> feeds,
                       std::int32_t sources, const Share& share, DType gradient, Mode mode,
                       MemoryPlan& memory, const std::string& group)
    : heads_(heads),
      feeds_(std::move(feeds)),
      layout_(heads, sources),
      share_(share),
      gradient_(gradient),
      mode_(mode),
      regressions_(heads.size()),
      embeddings_(heads.size()) {
  for (const HeadSpec& head : heads) width_ += head.outputs();
  measures_ = memory.reserve<float>(group, "losses and scores",
                                    static_cast<std::size_t>(layout_.count() * share.rows));
  for (std::size_t h = 0; h < heads.size(); ++h) {
    if (heads[h].is_embedding() && !is_left_out(heads[h])) plan_embedding(h, memory, group);
    if (!heads[h].has_targets()) continue;
    const std::size_t targets = heads[h].targets.size();
    regressions_[h].column =
        memory.reserve<std::int32_t>(group, "target columns", feeds_[h].column.size());
    if (heads[h].is_item()) continue;
    regressions_[h].shift = memory.reserve<float>(group, "target shifts", targets);
    regressions_[h].scale = memory.reserve<float>(group, "target scales", targets);
    if (heads[h].law.error == ops::RegressionError::quantile)
      regressions_[h].level = memory.reserve<float>(group, "quantile levels",
                                                    static_cast<std::size_t>(heads[h].law.outputs));
  }
}

void HeadLosses::plan_embedding(std::size_t head, MemoryPlan& memory, const std::string& group) {
  const HeadSpec& spec = heads_[head];
  if (share_.rows != share_.global_batch)
    fail(ErrorKind::config,
         {fmt::format("head '{}': loss {} needs a batch that is not divided among {}", spec.name,
                      to_string(spec.loss), counted(share_.global_batch / share_.rows, "rank")),
          "it compares all samples of a batch, and each rank has only its own", "use one rank"});
  embeddings_[head] = memory.reserve<float>(
      group, "embeddings", ops::embedding_workspace(spec.embedding, share_.rows, spec.rows()));
}

void HeadLosses::load(Stream& stream) {
  const auto upload = [&stream](auto& block, const auto& values) {
    stream.copy(block.data(), values.data(), block.bytes(), CopyDirection::host_to_device,
                "regression targets");
    stream.synchronize();
  };
  for (std::size_t h = 0; h < heads_.size(); ++h) {
    if (!heads_[h].has_targets()) continue;
    upload(regressions_[h].column, feeds_[h].column);
    if (heads_[h].is_item()) continue;
    std::vector<float> shift, scale;
    for (const HeadTarget& target : heads_[h].targets) {
      shift.push_back(target.shift());
      scale.push_back(target.scale());
    }
    upload(regressions_[h].shift, shift);
    upload(regressions_[h].scale, scale);
    const ops::RegressionLaw& law = heads_[h].law;
    if (law.error == ops::RegressionError::quantile)
      upload(regressions_[h].level, std::vector<float>(law.level, law.level + law.outputs));
  }
}

void HeadLosses::enqueue(Stream& stream, const BatchView& batch, const Slot* slots,
                         const float* outputs, void* gradient, std::int64_t first,
                         const ops::OutputLayer* layer) const {
  WS_EXPECT(first + batch.size <= share_.rows);
  for (std::size_t h = 0; h < heads_.size(); ++h)
    if (!is_left_out(heads_[h]))
      enqueue_head(stream, h, batch, {outputs, slots, batch.weight}, gradient, first, layer);
}

void HeadLosses::enqueue_head(Stream& stream, std::size_t head, const BatchView& batch,
                              const ops::LossInput& in, void* gradient, std::int64_t first,
                              const ops::OutputLayer* layer) const {
  const HeadSpec& spec = heads_[head];
  const HeadSources& feed = feeds_[head];
  ops::HeadSlice slice;
  slice.batch = share_.rows;
  slice.rows = batch.size;
  slice.global_batch = share_.global_batch;
  slice.width = width_;
  slice.begin = spec.begin;
  slice.outputs = spec.outputs();
  slice.gradient = gradient_;
  slice.sources = feed.sources;
  for (int s = 0; s < kMaxSources; ++s)
    slice.weight[s] = mode_ == Mode::evaluate ? 1.0f : feed.weight[s];
  const float smoothing = mode_ == Mode::evaluate ? 0.0f : spec.label_smoothing;
  const auto positives = mode_ == Mode::evaluate ? ops::PositiveWeight::equal : spec.positives;
  float* all = measures_.data() + first;
  const ops::LossResult out = {all + static_cast<std::int64_t>(head) * share_.rows,
                               all + layout_.first_score(head) * share_.rows, gradient};
  const auto target_width = static_cast<std::int32_t>(batch.layout.targets);
  const bool mixed = mode_ == Mode::mixed && spec.loss == LossKind::class_label;
  const LossKind loss = mixed ? LossKind::soft_label : spec.loss;
  if (spec.is_choice() && spec.is_binary()) {
    const bool labels = loss == LossKind::class_label;
    ops::binary_cross_entropy(stream, slice, in,
                              labels ? ops::ClassTargets{batch.label}
                                     : ops::ClassTargets{nullptr, batch.target, target_width},
                              smoothing, out);
    return;
  }
  switch (loss) {
    case LossKind::class_label:
      if (layer != nullptr)
        ops::output_layer_loss(stream, slice, *layer, in, batch.label, smoothing, out);
      else
        ops::softmax_cross_entropy(stream, slice, in, batch.label, smoothing, out);
      break;
    case LossKind::soft_label:
      ops::soft_cross_entropy(stream, slice, in, batch.target, target_width, smoothing, out);
      break;
    case LossKind::multi_label:
      ops::sigmoid_cross_entropy(stream, slice, in, batch.target, target_width, positives, out);
      break;
    case LossKind::pixel_class:
      ops::pixel_cross_entropy(stream, slice, in, {batch.plane, spec.positions}, smoothing, out);
      break;
    case LossKind::item_regression:
      ops::item_regression_loss(stream, slice, in,
                                {batch.x, batch.count, batch.layout.items, batch.layout.features,
                                 spec.rows(), regressions_[head].column.data()},
                                out);
      break;
    case LossKind::masked_patches:
      ops::masked_patch_loss(stream, slice, in, {batch.layout.shape(), spec.patch}, batch.x,
                             batch.mask, out);
      break;
    case LossKind::info_nce:
    case LossKind::alignment_uniformity:
    case LossKind::vicreg:
      ops::embedding_loss(stream, slice, in.outputs, spec.embedding, embeddings_[head].data(), out);
      break;
    case LossKind::regression:
      ops::regression_loss(stream, slice, in,
                           {static_cast<std::int32_t>(spec.targets.size()), batch.latents,
                            batch.layout.latents, batch.target, target_width,
                            regressions_[head].column.data(), regressions_[head].shift.data(),
                            regressions_[head].scale.data(), regressions_[head].level.data()},
                           spec.law, out);
      break;
  }
}

std::vector<HeadReport> HeadLosses::report(const double* sums, int source) const {
  std::vector<HeadReport> reports = report_heads(heads_, feeds_, layout_, sums, source);
  std::erase_if(reports, [&](const HeadReport& report) {
    return is_left_out(*std::ranges::find(heads_, report.head, &HeadSpec::name));
  });
  return reports;
}

ops::Measures HeadLosses::measures() const {
  return {share_.rows, layout_.count(), layout_.heads(), layout_.sources(), measures_.data()};
}

}  // namespace wellspring
