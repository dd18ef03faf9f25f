#include "measure/load_test.h"

#include "core/error.h"
#include "core/signals.h"
#include "measure/ladder.h"

#include <algorithm>
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

/// Waits until `seconds` after `begin`, or until over(); a signal throws Interrupted.
template <class Over>
void be_busy(Clock::time_point begin, double seconds, Over over) {
  constexpr double kSlice = 0.05;
  for (double left = seconds; left > 0 && !over();
       left = seconds - Seconds(Clock::now() - begin).count()) {
    stop_if_interrupted();
    std::this_thread::sleep_for(Seconds(std::min(left, kSlice)));
  }
}

}  // namespace

LoadTest load_test(SampleReader& reader, double seconds, const std::optional<double>& consumer) {
  LoadTest result;
  std::vector<double> waits;
  std::optional<Clock::time_point> begin;
  Clock::time_point asked;
  const auto take = [&](const HostSamples& batch) {
    const auto now = Clock::now();
    stop_if_interrupted();
    const auto over = [&] { return Seconds(Clock::now() - *begin).count() >= seconds; };
    if (begin) {
      waits.push_back(Seconds(now - asked).count());
      result.samples += static_cast<std::uint64_t>(batch.count());
    } else {
      for (const BatchColumn& column : columns_of(batch.rows))
        result.sample_bytes += column.data != nullptr ? static_cast<double>(column.row_bytes()) : 0;
    }
    if (!begin) {  // the first batch also opens files and allocates memory
      begin = asked = Clock::now();
      return;
    }
    if (consumer) be_busy(now, static_cast<double>(batch.count()) / *consumer, over);
    asked = Clock::now();
    result.seconds = Seconds(asked - *begin).count();
    if (over()) throw TimeOver{};
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
