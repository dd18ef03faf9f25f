// Weights of a mixture over the course of a run, and the number of rows of each source in every
// batch. Called by sources/mixture.cpp; host only.
#pragma once

#include "core/config/params.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace wellspring {

/// Weights at one point of the run, by source index. They are linear between points.
struct SchedulePoint {
  double at = 0;                ///< fraction of the run, [0, 1]
  std::vector<double> weights;  ///< one per source, in source order
  ConfigLocation place = {};    ///< location in the configuration
};

/// Piecewise-linear shares of the sources over a run of `samples` samples. Constant before the
/// first point and after the last; two points at the same position make a jump.
class WeightSchedule {
 public:
  /// Shares are the weights of a point divided by their sum, which need not be 1. The points must
  /// be valid and in order: the mixture has already checked the user's input.
  WeightSchedule(std::span<const SchedulePoint> points, double samples);

  int sources() const { return sources_; }
  double samples() const { return samples_; }
  /// Number of samples due from `source` among the run's first `sample`: the integral of its share.
  double target(int source, double sample) const;
  /// The first sample at which the target reaches `value`; infinity if it never does.
  double reached_at(int source, double value) const;
  /// True if `source` has a share above 0 anywhere in (from, to).
  bool active(int source, double from, double to) const;

 private:
  friend class PauseTable;
  struct Segment {
    double begin = 0, end = 0;  ///< samples
    std::vector<double> share_begin, share_end, target_begin;
    bool active(int source) const {
      const auto k = static_cast<std::size_t>(source);
      return share_begin[k] > 0 || share_end[k] > 0;
    }
    double target(int source, double sample) const;
  };
  const Segment& segment_at(double sample) const;

  int sources_ = 0;
  double samples_ = 0;
  std::vector<Segment> segments_;  ///< each has a length above 0
};

/// Number of samples drawn from each source before each step.
struct SlotTable {
  std::uint64_t steps = 0;
  int sources = 0;
  std::vector<std::int64_t> before;  ///< [steps + 1][sources]
  /// Largest distance of a count from its target at the end of any batch; below 1.
  double worst_deviation = 0;

  std::int64_t at(std::uint64_t step, int source) const {
    return before[step * static_cast<std::uint64_t>(sources) + static_cast<std::uint64_t>(source)];
  }
};

/// Assigns `batch` rows per step so that at the end of every batch each source's total is within
/// one of its target, even for shares below one row per batch. A source whose share is 0 throughout
/// a batch gets no row in it.
SlotTable deal_slots(const WeightSchedule& schedule, std::uint64_t steps, std::int64_t batch);

}  // namespace wellspring
