#include "generators/samples.h"

#include <fmt/format.h>

#include <algorithm>

namespace wellspring {

SampleMaker::SampleMaker(Generator& generator, const SampleMaking& making, std::uint64_t most_rows)
    : generator_(generator), stream_(making.device, making.threads), memory_(making.device) {
  std::int64_t rows = making.batch;
  if (most_rows > 0 && most_rows < static_cast<std::uint64_t>(rows)) {
    rows = static_cast<std::int64_t>(most_rows);
  }
  const auto slots = static_cast<std::size_t>(rows);
  batch_.plan(memory_, "samples", rows, generator.layout(), DType::f32);
  slots_ = memory_.reserve<Slot>("samples", "slots", slots);
  host_batch_ = batch_;
  host_slots_ = slots_;
  if (making.device.is_cuda()) {
    host_batch_.plan(memory_, "samples", rows, generator.layout(), DType::f32, MemorySpace::host);
    host_slots_ = memory_.reserve<Slot>("samples", "slots", slots, MemorySpace::host);
  }
  generator_.plan(memory_, rows);
  memory_.commit();
  generator_.load(stream_);
}

void SampleMaker::make(const SampleRange& range,
                       const std::function<void(const HostSamples&)>& take, const ViewSpec& view) {
  const auto batch = static_cast<std::uint64_t>(slots_.size());
  for (std::uint64_t done = 0; done < range.count; done += batch) {
    const auto rows = static_cast<std::int64_t>(std::min(batch, range.count - done));
    take(make_batch(range.seed, range.first + done, rows, view));
  }
}

HostSamples SampleMaker::make_batch(std::uint64_t seed, std::uint64_t first, std::int64_t count,
                                    const ViewSpec& view) {
  for (std::uint32_t row = 0; row < host_slots_.size(); ++row) {
    host_slots_.data()[row] = {first + row, first + row, 0, row};
  }
  const bool on_device = stream_.device().is_cuda();
  if (on_device) {
    stream_.copy(slots_.data(), host_slots_.data(), slots_.bytes(), CopyDirection::host_to_device,
                 "slots");
  }
  BatchView batch = batch_.view(), host = host_batch_.view();
  batch.size = host.size = count;
  if (batch.overflow != nullptr) {
    stream_.fill_zero(batch.overflow, sizeof(SetOverflow), "overflow of sets");
  }
  generator_.emit(stream_, {slots_.data(), 0, seed, view, batch});
  if (on_device) {
    const auto from = columns_of(batch), to = columns_of(host);
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (from[i].data == nullptr) continue;
      stream_.copy(to[i].data, from[i].data, static_cast<std::size_t>(count) * from[i].row_bytes(),
                   CopyDirection::device_to_host, "samples");
    }
    if (batch.overflow != nullptr) {
      stream_.copy(host.overflow, batch.overflow, sizeof(SetOverflow),
                   CopyDirection::device_to_host, "overflow of sets");
    }
  }
  stream_.synchronize();
  if (host.overflow != nullptr) {
    overflow_.samples += host.overflow->samples;
    overflow_.items += host.overflow->items;
  }
  return {first, host};
}

std::string overflow_text(const SetOverflow& overflow, const SampleLayout& layout) {
  if (overflow.samples == 0) return "";
  return fmt::format("{} items of {} samples did not fit into rows of {} items", overflow.items,
                     overflow.samples, layout.items);
}

}  // namespace wellspring
