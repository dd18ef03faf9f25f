#include "generators/samples.h"

#include <algorithm>

namespace wellspring {

SampleReader::SampleReader(const Generator& generator, std::uint64_t seed,
                           const SampleMaking& making)
    : generator_(generator),
      seed_(seed),
      stream_(making.device, making.threads),
      memory_(making.device) {
  const auto rows = static_cast<std::size_t>(making.batch);
  batch_.plan(memory_, "samples", making.batch, generator.layout(), DType::f32);
  slots_ = memory_.reserve<Slot>("samples", "slots", rows);
  host_batch_ = batch_;
  host_slots_ = slots_;
  if (making.device.is_cuda()) {
    host_batch_.plan(memory_, "samples", making.batch, generator.layout(), DType::f32,
                     MemorySpace::host);
    host_slots_ = memory_.reserve<Slot>("samples", "slots", rows, MemorySpace::host);
  }
  memory_.commit();
}

void SampleReader::read(std::uint64_t first, std::uint64_t count,
                        const std::function<void(const HostSamples&)>& take) {
  const auto batch = static_cast<std::uint64_t>(slots_.size());
  for (std::uint64_t done = 0; done < count; done += batch) {
    take(make(first + done, static_cast<std::int64_t>(std::min(batch, count - done))));
  }
}

HostSamples SampleReader::make(std::uint64_t first, std::int64_t count) {
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
  generator_.emit(stream_, slots_.data(), 0, seed_, ViewSpec{}, batch);
  if (on_device) {
    const auto from = columns_of(batch), to = columns_of(host);
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (from[i].data == nullptr) continue;
      stream_.copy(to[i].data, from[i].data, static_cast<std::size_t>(count) * from[i].row_bytes(),
                   CopyDirection::device_to_host, "samples");
    }
  }
  stream_.synchronize();
  return {first, host};
}

}  // namespace wellspring
