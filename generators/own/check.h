// The guarantees of every generator (docs/architecture.md), checked before a compiled header is
// used for the first time. Called by generators/own/own_generator.cpp; host only.
#pragma once

#include "generators/generator.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace wellspring::own {

/// A generator to check.
struct CheckedGenerator {
  GeneratorEntry entry;
  std::uint64_t (*drawn)() = nullptr;  ///< counter of its random blocks; null: not counted
};
struct CheckPlan {
  std::vector<ParamSetting> settings;  ///< other parameters have their defaults
  /// Samples to check after the first twelve. With at least kFillingSamples, every class must
  /// occur, and latents must come near the ends of their ranges.
  std::int64_t samples = 0;
  static constexpr std::int64_t kFillingSamples = 4096;
};
/// Checks samples of a generator: values in their ranges, no NaN, identical bytes for any batch and
/// order, and no more random blocks than declared. Runs in a child process with limited
/// processor time, so endless loops and crashes are reported like other failures. `load` is called
/// in the child. Returns the failure, which names the sample, or "".
std::string failure_of(const std::function<CheckedGenerator()>& load, const CheckPlan& plan);

/// Random blocks per sample that SampleInfo::draws allows on a host, with runs of 32 pixels.
std::int64_t blocks_allowed(const SampleInfo& info);

/// Compares sample bytes between the host and a GPU, in this process. Returns the failure, or "".
std::string failure_on_gpu(const GeneratorEntry& on_host, const GeneratorEntry& on_gpu,
                           Device device);

}  // namespace wellspring::own
