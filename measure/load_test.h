// Rate of a data set alone, without a network. Called by `wellspring loadtest`; host only.
#pragma once

#include "export/sample_reader.h"

#include <cstdint>
#include <optional>

namespace wellspring {

struct LoadTest {
  std::uint64_t samples = 0, batches = 0;  ///< after the first batch
  double seconds = 0;
  double wait = 0;          ///< share of the time that the consumer waited for a batch
  double p50 = 0, p99 = 0;  ///< seconds of waiting per batch
  double sample_bytes = 0;  ///< all columns of a sample in host memory

  double samples_per_second() const { return static_cast<double>(samples) / seconds; }
};

/// Reads samples for at most `seconds`. `consumer`: samples per second that an emulated accelerator
/// takes, which is busy for as long as its rate implies after each batch; nullopt: takes them at once.
/// Error (config): fewer than two batches.
LoadTest load_test(SampleReader& reader, double seconds, const std::optional<double>& consumer);

}  // namespace wellspring
