#include "measure/load_test.h"

#include "core/error.h"
#include "core/signals.h"
#include "measure/ladder.h"

#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

namespace wellspring {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

/// Ends SampleReader::make before its last sample.
struct TimeOver {};

}  // namespace

LoadTest load_test(SampleReader& reader, double seconds, const std::optional<double>& consumer) {
  LoadTest result;
  std::vector<double> waits;
  std::optional<Clock::time_point> begin;
  Clock::time_point asked;
  const auto take = [&](const HostSamples& batch) {
    const auto now = Clock::now();
    stop_if_interrupted();
    if (begin) {
      waits.push_back(Seconds(now - asked).count());
      result.samples += static_cast<std::uint64_t>(batch.count());
    } else {
      for (const BatchColumn& column : columns_of(batch.rows))
        result.sample_bytes += column.data != nullptr ? static_cast<double>(column.row_bytes()) : 0;
    }
    if (consumer)
      std::this_thread::sleep_until(now + std::chrono::duration_cast<Clock::duration>(Seconds(
                                              static_cast<double>(batch.count()) / *consumer)));
    asked = Clock::now();
    if (!begin) begin = asked;  // the first batch also opens files and allocates memory
    result.seconds = Seconds(asked - *begin).count();
    if (result.seconds >= seconds && !waits.empty()) throw TimeOver{};
  };
  try {
    reader.make(take);
  } catch (const TimeOver&) {
  }
  if (waits.empty())
    fail(ErrorKind::config, {"the load test had fewer than two batches",
                             "the first batch is not measured", "use a larger --count"});
  result.batches = waits.size();
  result.wait = std::accumulate(waits.begin(), waits.end(), 0.0) / result.seconds;
  result.p50 = quantile(waits, 0.5);
  result.p99 = quantile(waits, 0.99);
  return result;
}

}  // namespace wellspring
