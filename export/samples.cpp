#include "export/samples.h"

#include "core/text/plural.h"

#include <fmt/format.h>

#include <algorithm>

namespace wellspring {

void HostBatch::plan(MemoryPlan& memory, const std::string& group, std::int64_t rows,
                     const SampleLayout& layout) {
  made_.plan(memory, group, rows, layout, DType::f32);
  host_ = made_;
  if (memory.device().is_cuda())
    host_.plan(memory, group, rows, layout, DType::f32, MemorySpace::host);
}

BatchView HostBatch::begin(Stream& stream, std::int64_t rows) {
  BatchView batch = made_.view();
  batch.size = rows;
  if (batch.overflow != nullptr)
    stream.fill_zero(batch.overflow, sizeof(SetOverflow), "overflow of sets");
  return batch;
}

BatchView HostBatch::end(Stream& stream, std::int64_t rows) {
  const BatchView made = made_.view();
  BatchView host = host_.view();
  host.size = rows;
  if (host.x != made.x) {
    const auto from = columns_of(made), to = columns_of(host);
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (from[i].data == nullptr) continue;
      stream.copy(to[i].data, from[i].data, static_cast<std::size_t>(rows) * from[i].row_bytes(),
                  CopyDirection::device_to_host, "samples");
    }
    if (made.overflow != nullptr)
      stream.copy(host.overflow, made.overflow, sizeof(SetOverflow), CopyDirection::device_to_host,
                  "overflow of sets");
  }
  stream.synchronize();
  if (host.overflow != nullptr) {
    overflow_.samples += host.overflow->samples;
    overflow_.items += host.overflow->items;
  }
  return host;
}

SampleMaker::SampleMaker(Generator& generator, const SampleMaking& making, std::uint64_t most_rows)
    : generator_(generator), stream_(making.device, making.threads), memory_(making.device) {
  std::int64_t rows = making.batch;
  if (most_rows > 0 && most_rows < static_cast<std::uint64_t>(rows)) {
    rows = static_cast<std::int64_t>(most_rows);
  }
  const auto slots = static_cast<std::size_t>(rows);
  batch_.plan(memory_, "samples", rows, layout(generator, making.dense));
  slots_ = memory_.reserve<Slot>("samples", "slots", slots);
  host_slots_ = slots_;
  if (making.device.is_cuda())
    host_slots_ = memory_.reserve<Slot>("samples", "slots", slots, MemorySpace::host);
  if (making.device.is_cuda() && generator.info().settable_latents > 0)
    latents_ = memory_.reserve<float>("samples", "given latents",
                                      slots * static_cast<std::size_t>(generator.layout().latents));
  generator_.plan(memory_, rows, making.dense);
  memory_.commit();
  generator_.load(stream_);
}

SampleLayout SampleMaker::layout(const Generator& generator, DenseLabels dense) {
  SampleLayout layout = generator.layout();
  layout.planes = dense == DenseLabels::plane ? 1 : 0;
  return layout;
}

void SampleMaker::make(const SampleRange& range,
                       const std::function<void(const HostSamples&)>& take,
                       const AugmentationPlan& augmentation) {
  const auto batch = static_cast<std::uint64_t>(slots_.size());
  for (std::uint64_t done = 0; done < range.count; done += batch) {
    const auto rows = static_cast<std::int64_t>(std::min(batch, range.count - done));
    take(make_batch(range, done, rows, augmentation));
  }
}

const float* SampleMaker::given(const SampleRange& range, std::uint64_t done, std::int64_t count) {
  if (range.latents.empty()) return nullptr;
  const auto width = static_cast<std::size_t>(generator_.layout().latents);
  const float* const rows = range.latents.data() + done * width;
  if (stream_.device().is_cpu()) return rows;
  stream_.copy(latents_.data(), rows, static_cast<std::size_t>(count) * width * sizeof(float),
               CopyDirection::host_to_device, "latents");
  return latents_.data();
}

HostSamples SampleMaker::make_batch(const SampleRange& range, std::uint64_t done,
                                    std::int64_t count, const AugmentationPlan& augmentation) {
  const std::uint64_t first = range.first + done;
  for (std::uint32_t row = 0; row < host_slots_.size(); ++row) {
    host_slots_.data()[row] = {first + row, first + row, 0, row};
  }
  if (stream_.device().is_cuda()) {
    stream_.copy(slots_.data(), host_slots_.data(), slots_.bytes(), CopyDirection::host_to_device,
                 "slots");
  }
  generator_.emit(stream_, {slots_.data(), 0, range.seed, augmentation,
                            batch_.begin(stream_, count), given(range, done, count)});
  return {batch_.end(stream_, count), {host_slots_.data(), static_cast<std::size_t>(count)}};
}

std::string overflow_text(const SetOverflow& overflow, const SampleLayout& layout) {
  if (overflow.samples == 0) return "";
  return fmt::format("{} of {} did not fit into rows of {}", counted(overflow.items, "item"),
                     counted(overflow.samples, "sample"), counted(layout.items, "item"));
}

}  // namespace wellspring
