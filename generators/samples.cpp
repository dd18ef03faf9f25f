#include "generators/samples.h"

#include <algorithm>

namespace wellspring {
namespace {

template <class T>
std::span<const T> to_host(Stream& stream, const T* data, std::int64_t count,
                           std::vector<T>& host) {
  const auto size = static_cast<std::size_t>(count);
  if (stream.device().is_cpu()) return {data, size};
  host.resize(size);
  stream.copy(host.data(), data, size * sizeof(T), CopyDirection::device_to_host, "samples");
  return host;
}

}  // namespace

SampleReader::SampleReader(const Generator& generator, std::uint64_t seed,
                           const SampleMaking& making)
    : generator_(generator),
      seed_(seed),
      stream_(making.device, making.threads),
      memory_(making.device) {
  const auto size = static_cast<std::size_t>(making.batch);
  const std::size_t latents = generator.info().latents.size();
  const auto elements = static_cast<std::size_t>(generator.shape().elements());
  const auto x = memory_.reserve<float>("samples", "x", size * elements);
  const auto label = memory_.reserve<std::int32_t>("samples", "label", size);
  const auto latent = memory_.reserve<float>("samples", "latents", size * latents);
  const auto weight = memory_.reserve<float>("samples", "weight", size);
  slots_ = memory_.reserve<Slot>("samples", "slots", size);
  memory_.commit();
  device_batch_ = {
      making.batch, generator.shape(), DType::f32,    x.data(),
      label.data(), weight.data(),     latent.data(), static_cast<std::int64_t>(latents)};
  host_slots_.resize(size);
}

void SampleReader::read(std::uint64_t first, std::uint64_t count,
                        const std::function<void(const HostSamples&)>& take) {
  const auto batch = static_cast<std::uint64_t>(device_batch_.size);
  for (std::uint64_t done = 0; done < count; done += batch) {
    take(make(first + done, static_cast<std::int64_t>(std::min(batch, count - done))));
  }
}

HostSamples SampleReader::make(std::uint64_t first, std::int64_t count) {
  for (std::uint32_t row = 0; row < host_slots_.size(); ++row) {
    host_slots_[row] = {first + row, first + row, 0, row};
  }
  stream_.copy(
      slots_.data(), host_slots_.data(), host_slots_.size() * sizeof(Slot),
      stream_.device().is_cuda() ? CopyDirection::host_to_device : CopyDirection::on_device,
      "slots");
  BatchView batch = device_batch_;
  batch.size = count;
  generator_.emit(stream_, slots_.data(), 0, seed_, ViewSpec{}, batch);
  HostSamples samples;
  samples.first = first;
  samples.count = count;
  samples.x =
      to_host(stream_, static_cast<const float*>(batch.x), count * batch.shape.elements(), x_);
  samples.label = to_host(stream_, batch.label, count, label_);
  samples.latents = to_host(stream_, batch.latents, count * batch.latent_stride, latents_);
  samples.weight = to_host(stream_, batch.weight, count, weight_);
  stream_.synchronize();
  return samples;
}

}  // namespace wellspring
