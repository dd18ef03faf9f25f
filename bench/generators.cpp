// How fast each generator makes samples, beside how fast the memory could take them.
#include "bench/measure.h"
#include "generators/generator.h"
#include "kernels/emission/batch_columns.h"
#include "kernels/memory_plan.h"

#include <fmt/format.h>

namespace wellspring::bench {
namespace {

/// Samples a launch, and the side of images in pixels.
struct LaunchSize {
  std::int64_t samples;
  int side;
};
/// First what the device makes most of: enough work for every core or multiprocessor, 224 pixels as
/// vision users quote rates for. Then batches as training asks for them: configs/quickstart.yaml,
/// and the usual one at 224 pixels.
std::vector<LaunchSize> launch_sizes(bool images, Device device) {
  if (!images) return {{device.is_cuda() ? 1 << 24 : 1 << 20, 1}, {1024, 1}};
  std::vector<LaunchSize> sizes = {{device.is_cuda() ? 8192 : 64, 224}, {128, 32}};
  if (device.is_cuda()) sizes.push_back({256, 224});
  return sizes;
}

class GeneratorBench {
 public:
  GeneratorBench(const GeneratorEntry& entry, const LaunchSize& size, Device device)
      : generator_(entry.make({}, size.side)),
        stream_(device),
        memory_(device),
        image_(entry.kind == SampleKind::image) {
    BatchColumns columns;
    columns.plan(memory_, "bench", size.samples, generator_->layout(),
                 device.is_cuda() ? DType::bf16 : DType::f32);
    const auto slots = memory_.reserve<Slot>("bench", "slots", size.samples);
    generator_->plan(memory_, size.samples);
    memory_.commit();
    generator_->load(stream_);
    batch_ = columns.view();
    const auto count = static_cast<std::size_t>(batch_.size);
    slots_ = slots.data();
    std::vector<Slot> host(count);
    for (std::size_t i = 0; i < count; ++i) {
      host[i] = {i, i, 0, static_cast<std::uint32_t>(i)};
    }
    stream_.copy(slots_, host.data(), count * sizeof(Slot),
                 device.is_cuda() ? CopyDirection::host_to_device : CopyDirection::on_device,
                 "slots");
    stream_.synchronize();
  }

  void run() { generator_->emit(stream_, {slots_, 0, 1, ViewSpec{}, batch_}); }
  void wait() { stream_.synchronize(); }

  /// Of all columns that are written, in bytes.
  std::size_t sample_bytes() const {
    std::size_t bytes = 0;
    for (const BatchColumn& column : columns_of(batch_)) {
      if (column.data != nullptr) bytes += column.row_bytes();
    }
    return bytes;
  }
  std::int64_t samples() const { return batch_.size; }
  const char* unit() const { return image_ ? "images/s" : "events/s"; }
  std::string shape_text() const {
    const char* type = batch_.dtype == DType::bf16 ? "bf16" : "f32";
    const SampleShape shape = batch_.layout.shape();
    if (!image_) return fmt::format("{}, {} batch {}", to_string(batch_.layout), type, batch_.size);
    return fmt::format("{}x{}x{} {} batch {}", shape.height, shape.width, shape.channels, type,
                       batch_.size);
  }

 private:
  std::unique_ptr<Generator> generator_;
  Stream stream_;
  MemoryPlan memory_;
  BatchView batch_;
  Slot* slots_ = nullptr;
  bool image_;
};

}  // namespace

void bench_generators(Report& report, const Filter& filter) {
  for (const GeneratorEntry& entry : generator_registry()) {
    if (!filter.matches(entry.name)) continue;
    for (const LaunchSize& size : launch_sizes(entry.kind == SampleKind::image, report.device)) {
      GeneratorBench bench(entry, size, report.device);
      Row row = measure(
          entry.name + " " + bench.shape_text(), bench.unit(),
          {[&] { bench.run(); }, static_cast<double>(bench.samples()), [&] { bench.wait(); }});
      const std::size_t sample = bench.sample_bytes();
      const std::size_t bytes = sample * static_cast<std::size_t>(bench.samples());
      row.ceiling = {"memory write of as many bytes",
                     write_bandwidth(report.device, bytes) / static_cast<double>(sample)};
      report.add(std::move(row));
    }
  }
}

}  // namespace wellspring::bench
