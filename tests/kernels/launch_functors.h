// Functors for the launch tests, instantiated for CUDA in launch_functors.cu. For the kernel tests.
// Host and device.
#pragma once

#include "kernels/runtime/launch_bound.h"
#include "kernels/runtime/macros.h"

#include <cstdint>

namespace wellspring::test {

/// out[i] = 3 i + 1, launched in smaller blocks than the default.
struct AffineWriter {
  static constexpr LaunchBound kLaunchBound = {64, 1};
  std::int64_t* out;
  WS_HD void operator()(std::int64_t i) const { out[i] = 3 * i + 1; }
};

/// All teams scatter into the same cells, as on a canvas in parts: cells[0] is the number of
/// points, cells[1] their maximum and cells[2] the union of their bits.
struct SharedCanvasPainter {
  std::int64_t points;  ///< per team
  std::int32_t* cells;
  std::int64_t* sum;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t rank) const {
    for (std::int64_t k = team.rank(); k < points; k += team.size()) {
      const auto value = static_cast<std::int32_t>(rank * points + k);
      team.atomic_add(&cells[0], std::int32_t{1});
      team.atomic_max(&cells[1], value);
      team.atomic_or(&cells[2], std::int32_t{1} << (value % 31));
      team.atomic_add(sum, std::int64_t{value});
    }
  }
};

/// Histogram of (rank * 7919 + k) % 64 over k < count in scratch, with atomics; then the sum,
/// maximum and union of bits. Uses every operation of the team protocol.
struct HistogramMaker {
  static constexpr LaunchBound kLaunchBound = kSampleTeam;
  static constexpr bool kSharesWarps = true;
  std::int64_t count;
  std::int32_t* histogram;  ///< [n, 64]
  std::int64_t* summary;    ///< [n, 3]: sum of k, maximum of k * rank, OR of 1 << (k % 40)

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t rank) const {
    std::int32_t* bins = team.template scratch<std::int32_t>(64);
    std::int64_t* totals = team.template scratch<std::int64_t>(3);
    for (int b = team.rank(); b < 64; b += team.size()) bins[b] = 0;
    for (int t = team.rank(); t < 3; t += team.size()) totals[t] = 0;
    team.sync();
    for (std::int64_t k = team.rank(); k < count; k += team.size()) {
      team.atomic_add(&bins[(rank * 7919 + k) % 64], std::int32_t{1});
      team.atomic_add(&totals[0], k);
      team.atomic_max(&totals[1], k * rank);
      team.atomic_or(&totals[2], std::int64_t{1} << (k % 40));
    }
    team.sync();
    for (int b = team.rank(); b < 64; b += team.size()) histogram[rank * 64 + b] = bins[b];
    for (int t = team.rank(); t < 3; t += team.size()) summary[rank * 3 + t] = totals[t];
  }
};

}  // namespace wellspring::test
