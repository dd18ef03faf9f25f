#include "train/heads/head_losses.h"

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
      regressions_(heads.size()) {
  for (const HeadSpec& head : heads) width_ += head.outputs();
  measures_ = memory.reserve<float>(group, "losses and scores",
                                    static_cast<std::size_t>(layout_.count() * share.rows));
  for (std::size_t h = 0; h < heads.size(); ++h) {
    if (heads[h].loss != LossKind::regression) continue;
    const std::size_t targets = heads[h].targets.size();
    regressions_[h].column =
        memory.reserve<std::int32_t>(group, "target columns", feeds_[h].column.size());
    regressions_[h].shift = memory.reserve<float>(group, "target shifts", targets);
    regressions_[h].scale = memory.reserve<float>(group, "target scales", targets);
  }
}

void HeadLosses::load(Stream& stream) {
  const auto upload = [&stream](auto& block, const auto& values) {
    stream.copy(block.data(), values.data(), block.bytes(), CopyDirection::host_to_device,
                "regression targets");
    stream.synchronize();
  };
  for (std::size_t h = 0; h < heads_.size(); ++h) {
    if (heads_[h].loss != LossKind::regression) continue;
    std::vector<float> shift, scale;
    for (const HeadTarget& target : heads_[h].targets) {
      shift.push_back(target.shift());
      scale.push_back(target.scale());
    }
    upload(regressions_[h].column, feeds_[h].column);
    upload(regressions_[h].shift, shift);
    upload(regressions_[h].scale, scale);
  }
}

void HeadLosses::enqueue(Stream& stream, const BatchView& batch, const Slot* slots,
                         const float* outputs, void* gradient, std::int64_t first) const {
  WS_EXPECT(first + batch.size <= share_.rows);
  for (std::size_t h = 0; h < heads_.size(); ++h)
    enqueue_head(stream, h, batch, {outputs, slots, batch.weight}, gradient, first);
}

void HeadLosses::enqueue_head(Stream& stream, std::size_t head, const BatchView& batch,
                              const ops::LossInput& in, void* gradient, std::int64_t first) const {
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
  switch (mixed ? LossKind::soft_label : spec.loss) {
    case LossKind::class_label:
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
    case LossKind::regression:
      ops::regression_loss(
          stream, slice, in,
          {static_cast<std::int32_t>(spec.targets.size()), batch.latents, batch.layout.latents,
           batch.target, target_width, regressions_[head].column.data(),
           regressions_[head].shift.data(), regressions_[head].scale.data()},
          spec.law, out);
      break;
  }
}

ops::Measures HeadLosses::measures() const {
  return {share_.rows, layout_.count(), layout_.heads(), layout_.sources(), measures_.data()};
}

}  // namespace wellspring
