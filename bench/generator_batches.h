// The batches of a generator that are timed. Called by the generator benchmark and by the
// instruction counter of scripts/issue-slots; host only.
#pragma once

#include "generators/generator.h"
#include "kernels/batch/batch_columns.h"
#include "kernels/runtime/memory_plan.h"
#include "sources/mixture.h"
#include "sources/procedural.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace wellspring::bench {

/// Samples per launch, and the image side in pixels (1 for events).
struct LaunchSize {
  std::int64_t samples;
  int side;
};

/// Settings that get their own rows in addition to the defaults, because they select another
/// functor or have a target rate.
struct GeneratorVariant {
  std::string generator;
  std::string what;  ///< added to its name
  std::vector<ParamSetting> settings;
  int side = 0;  ///< pixels; 0: the standard sides, or events
};
inline std::vector<GeneratorVariant> generator_variants() {
  return {{"calo_gflash", "ds2", {{"preset", "ds2"}}},
          {"calo_gflash", "ds2, expected shares", {{"preset", "ds2"}, {"mode", "mean"}}},
          {"dead_leaves", "filled with textures", {{"fill", "textures"}}},
          {"dead_leaves", "mixed", {{"kind", "mixed"}}, 128},
          {"ifs", "100,000 points", {{"points", "100000"}}, 224},
          {"ising", "", {}, 64},
          {"ising", "sweeps alone", {{"clusters", "0"}}, 64},
          {"sbi", "lotka_volterra", {{"task", "lotka_volterra"}}},
          {"visual_atom", "", {}, 512}};
}

/// Consecutive batches, as in training: resident data of one batch are reused for the next.
class GeneratorBatches {
 public:
  /// `threads`: CPU threads; 0: the machine's default.
  GeneratorBatches(const GeneratorEntry& entry, const std::vector<ParamSetting>& settings,
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

  /// Bytes of all columns written per sample.
  std::size_t sample_bytes() const { return sample_bytes(batch_.dtype); }
  /// Bytes per sample if x had type `dtype`.
  std::size_t sample_bytes(DType dtype) const {
    BatchView view = batch_;
    view.dtype = dtype;
    std::size_t bytes = 0;
    for (const BatchColumn& column : columns_of(view)) {
      if (column.data != nullptr) bytes += column.row_bytes();
    }
    return bytes;
  }
  std::int64_t samples() const { return batch_.size; }
  std::int64_t values() const { return batch_.layout.elements(); }
  int threads() const { return stream_.threads(); }
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

}  // namespace wellspring::bench
