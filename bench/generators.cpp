// How fast each generator makes samples: beside how fast the memory could take them, beside a plain
// loop that makes the same, and by how many threads.
#include "bench/measure.h"
#include "bench/plain/plain.h"
#include "core/counted.h"
#include "generators/generator.h"
#include "kernels/emission/batch_columns.h"
#include "kernels/memory_plan.h"
#include "sources/mixture.h"
#include "sources/procedural.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

namespace wellspring::bench {
namespace {

constexpr std::int64_t kTrainingBatch = 1024;  ///< of events

/// Samples a launch, and the side of images in pixels.
struct LaunchSize {
  std::int64_t samples;
  int side;
};
/// Events that keep every core or multiprocessor busy for a while and no longer: by how many random
/// numbers they need, and with at most 1 GiB of values.
std::int64_t events_a_launch(const GeneratorEntry& entry, Device device) {
  const std::int64_t most = device.is_cuda() ? 1 << 24 : 1 << 20;
  const std::int64_t blocks = device.is_cuda() ? 1 << 28 : 1 << 22;
  constexpr std::int64_t kMostValues = 1 << 28;
  const auto generator = entry.make({}, 1);
  const std::int64_t events = std::min(
      {most, blocks / generator->info().draws.scene, kMostValues / generator->layout().elements()});
  return std::max<std::int64_t>(kTrainingBatch, std::bit_floor(static_cast<std::uint64_t>(events)));
}

/// First what the device makes most of: enough work for every core or multiprocessor, 224 pixels as
/// vision users quote rates for. Then batches as training asks for them: configs/quickstart.yaml,
/// and the usual one at 224 pixels.
std::vector<LaunchSize> launch_sizes(const GeneratorEntry& entry, Device device,
                                     const LaunchChoice& choice) {
  const bool images = entry.kind == SampleKind::image;
  if (choice.any()) return {{choice.batch.value_or(128), images ? choice.size.value_or(64) : 1}};
  if (!images) {
    const std::int64_t events = events_a_launch(entry, device);
    if (events == kTrainingBatch) return {{kTrainingBatch, 1}};
    return {{events, 1}, {kTrainingBatch, 1}};
  }
  std::vector<LaunchSize> sizes = {{device.is_cuda() ? 8192 : 64, 224}, {128, 32}};
  if (device.is_cuda()) sizes.push_back({256, 224});
  return sizes;
}

/// Batch after batch of consecutive samples, as training asks for them: what is resident of one is
/// of use to the next.
class GeneratorBench {
 public:
  /// `threads`: of the CPU; 0: as the machine says.
  GeneratorBench(const GeneratorEntry& entry, const std::vector<ParamSetting>& settings,
                 const LaunchSize& size, Device device, int threads = 0)
      : stream_(device, threads),
        memory_(device),
        mixture_(kSeed),
        image_(entry.kind == SampleKind::image) {
    mixture_.add(std::make_unique<ProceduralSource>(entry.name, entry.make(settings, size.side),
                                                    ProceduralSource::Settings{kSeed, {}, {}}),
                 {});
    BatchColumns columns;
    columns.plan(memory_, "bench", size.samples, mixture_.layout(),
                 device.is_cuda() ? DType::bf16 : DType::f32);
    mixture_.plan(memory_, size.samples, 1);
    memory_.commit();
    mixture_.load(stream_);
    batch_ = columns.view();
  }

  void run() {
    mixture_.emit_range(stream_, 0, made_, batch_, batch_.size);
    made_ += static_cast<std::uint64_t>(batch_.size);
  }
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
  std::int64_t values() const { return batch_.layout.elements(); }
  int threads() const { return stream_.threads(); }
  Work work() {
    return {[this] { run(); }, static_cast<double>(batch_.size), [this] { wait(); }};
  }
  const char* unit() const { return image_ ? "images/s" : "events/s"; }
  std::string shape_text() const {
    const char* type = batch_.dtype == DType::bf16 ? "bf16" : "f32";
    const SampleShape shape = batch_.layout.shape();
    if (!image_) return fmt::format("{}, {} batch {}", to_string(batch_.layout), type, batch_.size);
    return fmt::format("{}x{}x{} {} batch {}", shape.height, shape.width, shape.channels, type,
                       batch_.size);
  }

 private:
  static constexpr std::uint64_t kSeed = 0;

  Stream stream_;
  MemoryPlan memory_;
  Mixture mixture_;
  BatchView batch_;
  std::uint64_t made_ = 0;
  bool image_;
};

std::string named(const GeneratorEntry& entry, const GeneratorBench& bench,
                  const std::string& what) {
  return entry.name + " " + bench.shape_text() + (what.empty() ? "" : ", " + what);
}

/// Settings under which a generator has a row beside that of its defaults: another functor of it.
struct Variant {
  const char* generator;
  const char* what;
  std::vector<ParamSetting> settings;
};
std::vector<Variant> variants() {
  return {{"dead_leaves", "filled with textures", {{"fill", "textures"}}}};
}

/// `what`: of the settings; "" for the defaults.
void bench_beside_memory(Report& report, const GeneratorEntry& entry,
                         const std::vector<ParamSetting>& settings, const std::string& what,
                         const LaunchChoice& choice) {
  for (const LaunchSize& size : launch_sizes(entry, report.device, choice)) {
    GeneratorBench bench(entry, settings, size, report.device, choice.threads.value_or(0));
    const std::size_t bytes = bench.sample_bytes() * static_cast<std::size_t>(bench.samples());
    MemoryTraffic traffic(report.device, MemoryTraffic::Kind::write, bytes);
    const auto samples = static_cast<double>(bench.samples());
    report.add(measure(named(entry, bench, what), bench.unit(), bench.work(),
                       {"memory write of as many bytes", traffic.work(samples)}, choice.repeats));
  }
}

/// In one thread beside the plain loop, then in all threads beside one.
void bench_beside_plain(Report& report, const GeneratorEntry& entry, const PlainLoop& plain) {
  const bool image = entry.kind == SampleKind::image;
  const LaunchSize size = {image ? 16 : 1 << 14, plain.side};
  GeneratorBench one(entry, plain.settings, size, report.device, 1);
  const std::string name = named(entry, one, plain.what);
  std::vector<float> x(static_cast<std::size_t>(one.values()));
  std::uint64_t made = 0;
  const int together = image ? 1 : 1024;
  const Work loop = {[&] {
                       for (int i = 0; i < together; ++i) plain.make(0, made++, x);
                     },
                     static_cast<double>(together)};
  report.add(compare(name + ", 1 thread", one.unit(), one.work(), {"a plain loop", loop}));

  GeneratorBench all(entry, plain.settings, size, report.device);
  if (all.threads() == 1) return;
  report.add(compare(name + ", " + counted(all.threads(), "thread"), all.unit(), all.work(),
                     {"1 thread", one.work()}));
}

}  // namespace

void bench_generators(Report& report, const Filter& filter, const LaunchChoice& choice) {
  std::vector<PlainLoop> plain;
  for (const GeneratorEntry& entry : generator_registry()) {
    if (!filter.matches(entry.name)) continue;
    bench_beside_memory(report, entry, {}, "", choice);
    for (const Variant& variant : variants()) {
      if (variant.generator == entry.name)
        bench_beside_memory(report, entry, variant.settings, variant.what, choice);
    }
    if (report.device.is_cuda() || choice.any()) continue;
    if (plain.empty()) plain = plain_loops();
    for (const PlainLoop& loop : plain) {
      if (loop.generator == entry.name) bench_beside_plain(report, entry, loop);
    }
  }
}

}  // namespace wellspring::bench
