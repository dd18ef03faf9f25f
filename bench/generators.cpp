// How fast each generator makes samples, beside how fast the memory could take them.
#include "bench/measure.h"
#include "generators/generator.h"
#include "kernels/emission/batch_columns.h"
#include "kernels/memory_plan.h"

#include <fmt/format.h>

namespace wellspring::bench {
namespace {

constexpr int kSide = 224;  // pixels; the size that vision users quote rates for

struct Shape {
  std::int64_t images, events;  ///< samples a launch
};
/// Enough work a launch for every core or multiprocessor, little enough to repeat often.
Shape launch_size(Device device) {
  return device.is_cuda() ? Shape{8192, 1 << 24} : Shape{64, 1 << 20};
}

class GeneratorBench {
 public:
  GeneratorBench(const GeneratorEntry& entry, Device device)
      : generator_(entry.make({}, kSide)),
        stream_(device),
        memory_(device),
        image_(entry.kind == SampleKind::image) {
    const Shape size = launch_size(device);
    BatchColumns columns;
    columns.plan(memory_, "bench", image_ ? size.images : size.events, generator_->layout(),
                 device.is_cuda() ? DType::bf16 : DType::f32);
    const auto slots = memory_.reserve<Slot>("bench", "slots", image_ ? size.images : size.events);
    generator_->plan(memory_, image_ ? size.images : size.events);
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

  std::size_t sample_bytes() const {
    return static_cast<std::size_t>(batch_.layout.elements()) * size_of(batch_.dtype);
  }
  std::int64_t samples() const { return batch_.size; }
  const char* unit() const { return image_ ? "images/s" : "events/s"; }
  std::string shape_text() const {
    const char* type = batch_.dtype == DType::bf16 ? "bf16" : "f32";
    const SampleShape shape = batch_.layout.shape();
    if (!image_) return fmt::format("{} features {}", shape.channels, type);
    return fmt::format("{}x{}x{} {}", shape.height, shape.width, shape.channels, type);
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
    GeneratorBench bench(entry, report.device);
    Row row = measure(
        entry.name + " " + bench.shape_text(), bench.unit(),
        {[&] { bench.run(); }, static_cast<double>(bench.samples()), [&] { bench.wait(); }});
    const std::size_t bytes = bench.sample_bytes() * static_cast<std::size_t>(bench.samples());
    row.ceiling = {"memory write of as many bytes", write_bandwidth(report.device, bytes) /
                                                        static_cast<double>(bench.sample_bytes())};
    report.add(std::move(row));
  }
}

}  // namespace wellspring::bench
