// Rate of each generator: compared with the rate of memory writes, compared with a plain loop that
// makes the same samples, and for different numbers of threads.
#include "bench/generator_batches.h"
#include "bench/measure.h"
#include "bench/plain/plain.h"
#include "core/text/plural.h"
#include "generators/generator.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

namespace wellspring::bench {
namespace {

constexpr std::int64_t kTrainingBatch = 1024;  ///< events

/// Number of events that keeps all cores or multiprocessors busy for a short while, estimated from
/// the random numbers that the events need; at most 1 GiB of values.
std::int64_t events_per_launch(const GeneratorEntry& entry, const GeneratorVariant& variant,
                               Device device) {
  const std::int64_t most = device.is_cuda() ? 1 << 24 : 1 << 20;
  const std::int64_t blocks = device.is_cuda() ? 1 << 28 : 1 << 22;
  constexpr std::int64_t kMostValues = 1 << 28;
  const auto generator = entry.make(variant.settings, 1);
  const std::int64_t events = std::min(
      {most, blocks / generator->info().draws.scene, kMostValues / generator->layout().elements()});
  return std::max<std::int64_t>(kTrainingBatch, std::bit_floor(static_cast<std::uint64_t>(events)));
}

/// The launches with the highest rates come first: enough work for every core or multiprocessor, at
/// 224 pixels, the size for which vision papers quote rates. Training batches follow: the batch of
/// configs/quickstart.yaml, and on a GPU 256 images of 224 pixels.
std::vector<LaunchSize> launch_sizes(const GeneratorEntry& entry, const GeneratorVariant& variant,
                                     Device device, const LaunchChoice& choice) {
  const bool images = entry.kind == SampleKind::image;
  if (choice.any()) return {{choice.batch.value_or(128), images ? choice.size.value_or(64) : 1}};
  if (!images) {
    const std::int64_t events = events_per_launch(entry, variant, device);
    if (events == kTrainingBatch) return {{kTrainingBatch, 1}};
    return {{events, 1}, {kTrainingBatch, 1}};
  }
  if (variant.side != 0) return {{device.is_cuda() ? 1024 : 64, variant.side}};
  std::vector<LaunchSize> sizes = {{device.is_cuda() ? 8192 : 64, 224}, {128, 32}};
  if (device.is_cuda()) sizes.push_back({256, 224});
  return sizes;
}

std::string named(const GeneratorEntry& entry, const GeneratorBatches& bench,
                  const std::string& what) {
  return entry.name + " " + bench.shape_text() + (what.empty() ? "" : ", " + what);
}

Work work_of(GeneratorBatches& batches) {
  return {[&batches] { batches.run(); }, static_cast<double>(batches.samples()),
          [&batches] { batches.wait(); }};
}

/// Uses the settings of `variant`, and its side if it has one.
void bench_against_memory(Report& report, const GeneratorEntry& entry,
                          const GeneratorVariant& variant, const LaunchChoice& choice) {
  for (const LaunchSize& size : launch_sizes(entry, variant, report.device, choice)) {
    GeneratorBatches bench(entry, variant.settings, size, report.device,
                           choice.threads.value_or(0));
    const std::size_t bytes = bench.sample_bytes() * static_cast<std::size_t>(bench.samples());
    MemoryTraffic traffic(report.device, MemoryTraffic::Kind::write, bytes);
    const auto samples = static_cast<double>(bench.samples());
    Row row = measure(named(entry, bench, variant.what), bench.unit(), work_of(bench),
                      {"memory write of the same size", traffic.work(samples)},
                      choice.repeats.value_or(kUsualPairs));
    row.bytes = static_cast<double>(bench.sample_bytes());
    row.gpu = gpu_ceilings(entry.name, variant.what, size.side,
                           static_cast<double>(bench.sample_bytes(DType::bf16)), report.device,
                           row.ceiling->rate);
    report.add(std::move(row));
  }
}

/// One thread against the plain loop, then all threads against one.
void bench_against_plain(Report& report, const GeneratorEntry& entry, const PlainLoop& plain) {
  const bool image = entry.kind == SampleKind::image;
  const LaunchSize size = {image ? 16 : 1 << 14, plain.side};
  GeneratorBatches one(entry, plain.settings, size, report.device, 1);
  const std::string name = named(entry, one, plain.what);
  std::vector<float> x(static_cast<std::size_t>(one.values()));
  std::uint64_t made = 0;
  const int together = image ? 1 : 1024;
  const Work loop = {[&] {
                       for (int i = 0; i < together; ++i) plain.make(0, made++, x);
                     },
                     static_cast<double>(together)};
  report.add(compare(name + ", 1 thread", one.unit(), work_of(one), {"a plain loop", loop}));

  GeneratorBatches all(entry, plain.settings, size, report.device);
  if (all.threads() == 1) return;
  report.add(compare(name + ", " + counted(all.threads(), "thread"), all.unit(), work_of(all),
                     {"1 thread", work_of(one)}));
}

}  // namespace

void bench_generator(Report& report, const GeneratorEntry& entry,
                     const std::vector<ParamSetting>& settings, const LaunchChoice& choice) {
  const GeneratorVariant variant = {entry.name, "", settings};
  bench_against_memory(report, entry, variant, choice);
  const auto built_in = std::ranges::find(generator_registry(), entry.name, &GeneratorEntry::name);
  if (built_in == generator_registry().end() || &*built_in == &entry) return;
  for (const LaunchSize& size : launch_sizes(entry, variant, report.device, choice)) {
    const int threads = choice.threads.value_or(0);
    GeneratorBatches own(entry, settings, size, report.device, threads);
    GeneratorBatches other(*built_in, settings, size, report.device, threads);
    report.add(compare(named(entry, own, ""), own.unit(), work_of(own),
                       {"the built-in " + entry.name, work_of(other)},
                       choice.repeats.value_or(kUsualPairs)));
  }
}

void bench_generators(Report& report, const Filter& filter, const LaunchChoice& choice) {
  std::vector<PlainLoop> plain;
  for (const GeneratorEntry& entry : generator_registry()) {
    if (!filter.matches(entry.name)) continue;
    bench_against_memory(report, entry, {entry.name, "", {}}, choice);
    for (const GeneratorVariant& variant : generator_variants()) {
      if (variant.generator == entry.name) bench_against_memory(report, entry, variant, choice);
    }
    if (report.device.is_cuda() || choice.any()) continue;
    if (plain.empty()) plain = plain_loops();
    for (const PlainLoop& loop : plain) {
      if (loop.generator == entry.name) bench_against_plain(report, entry, loop);
    }
  }
}

}  // namespace wellspring::bench
