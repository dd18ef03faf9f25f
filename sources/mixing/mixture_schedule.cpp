#include "sources/mixing/mixture_schedule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace wellspring {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// Tolerance when targets are compared with whole numbers. Targets are sums of products in double,
/// exact to about 1e-16 of the run's length: enough for 1e10 samples.
constexpr double kRounding = 1e-6;

std::size_t index(int source) {
  return static_cast<std::size_t>(source);
}

}  // namespace

WeightSchedule::WeightSchedule(std::span<const SchedulePoint> points, double samples)
    : sources_(static_cast<int>(points.front().weights.size())), samples_(samples) {
  const auto shares = [](const SchedulePoint& point) {
    const double sum = std::accumulate(point.weights.begin(), point.weights.end(), 0.0);
    std::vector<double> result = point.weights;
    for (double& share : result) share /= sum;
    return result;
  };
  std::vector<double> due(index(sources_), 0.0);
  const auto append = [&](double begin, double end, std::vector<double> first,
                          std::vector<double> last) {
    if (end <= begin) return;
    segments_.push_back({begin, end, std::move(first), std::move(last), due});
    for (int k = 0; k < sources_; ++k) due[index(k)] = segments_.back().target(k, end);
  };
  const std::vector<double> first = shares(points.front()), last = shares(points.back());
  append(0, points.front().at * samples, first, first);
  for (std::size_t p = 0; p + 1 < points.size(); ++p) {
    append(points[p].at * samples, points[p + 1].at * samples, shares(points[p]),
           shares(points[p + 1]));
  }
  append(points.back().at * samples, samples, last, last);
}

double WeightSchedule::Segment::target(int source, double sample) const {
  const std::size_t k = index(source);
  const double t = sample - begin;
  const double slope = (share_end[k] - share_begin[k]) / (end - begin);
  return target_begin[k] + t * (share_begin[k] + 0.5 * slope * t);
}

const WeightSchedule::Segment& WeightSchedule::segment_at(double sample) const {
  for (const Segment& segment : segments_) {
    if (sample <= segment.end) return segment;
  }
  return segments_.back();
}

double WeightSchedule::target(int source, double sample) const {
  return segment_at(sample).target(source, sample);
}

double WeightSchedule::reached_at(int source, double value) const {
  const std::size_t k = index(source);
  for (const Segment& segment : segments_) {
    if (segment.target(source, segment.end) < value) continue;
    // Smallest t >= 0 with share t + slope t^2 / 2 = rest, in a form that is accurate for small
    // slopes.
    const double rest = std::max(0.0, value - segment.target_begin[k]);
    const double slope =
        (segment.share_end[k] - segment.share_begin[k]) / (segment.end - segment.begin);
    const double share = segment.share_begin[k];
    const double root = std::sqrt(std::max(0.0, share * share + 2 * slope * rest));
    if (share + root <= 0) return segment.begin;
    return std::min(segment.end, segment.begin + 2 * rest / (share + root));
  }
  return kInfinity;
}

bool WeightSchedule::active(int source, double from, double to) const {
  return std::any_of(segments_.begin(), segments_.end(), [&](const Segment& segment) {
    return segment.begin < to && segment.end > from && segment.active(source);
  });
}

/// When a source's share falls to 0, its target stops, usually between two whole numbers. Its final
/// count is chosen in advance, largest remainder first, so that all pausing sources together leave
/// the others within one slot of their targets. Otherwise the fractions of several pausing sources
/// could add up and push another source more than a slot away from its target.
class PauseTable {
 public:
  explicit PauseTable(const WeightSchedule& schedule) : pauses_(index(schedule.sources_)) {
    const int sources = schedule.sources_;
    std::vector<std::optional<std::int64_t>> stopped(index(sources));
    const auto& segments = schedule.segments_;
    for (std::size_t s = 1; s < segments.size(); ++s) {
      std::vector<Remainder> stopping;
      double left_over = 0;  ///< sum over all paused sources of target minus count
      for (int k = 0; k < sources; ++k) {
        if (segments[s].active(k)) {
          stopped[index(k)].reset();
          continue;
        }
        const double target = segments[s].target_begin[index(k)];
        if (stopped[index(k)]) {
          left_over += target - static_cast<double>(*stopped[index(k)]);
        } else if (segments[s - 1].active(k)) {
          const double whole = std::floor(target + kRounding);
          stopping.push_back({k, whole, std::max(0.0, target - whole)});
          left_over += target - whole;
        }
      }
      std::stable_sort(stopping.begin(), stopping.end(),
                       [](const auto& a, const auto& b) { return a.fraction > b.fraction; });
      double round_up = std::round(left_over);
      for (const Remainder& rest : stopping) {
        const bool up = round_up >= 1 && rest.fraction > kRounding;
        if (up) --round_up;
        stopped[index(rest.source)] = static_cast<std::int64_t>(rest.whole) + (up ? 1 : 0);
        pauses_[index(rest.source)].push_back({segments[s].begin, *stopped[index(rest.source)]});
      }
    }
  }

  struct Pause {
    double begin = kInfinity;  ///< first sample at which the share is 0
    std::int64_t count = std::numeric_limits<std::int64_t>::max();  ///< slots given before
  };
  /// The first pause of `source` after `sample`.
  Pause next(int source, double sample) const {
    for (const Pause& pause : pauses_[index(source)]) {
      if (pause.begin > sample) return pause;
    }
    return {};
  }

 private:
  struct Remainder {
    int source;
    double whole, fraction;
  };
  std::vector<std::vector<Pause>> pauses_;  ///< by source, in order
};

// Slots are jobs. With D sources and delta = 1 / (2 D - 2), slot j (from 0) of a source may
// be given once its target has reached j + delta and must be given before the target exceeds
// j + 1 - delta. Then no count is ever further than 1 - delta from its target, and giving each
// position to the permitted slot with the earliest deadline meets every deadline.
// Source: R. Tijdeman, "The chairman assignment problem", Discrete Mathematics 32 (1980) 323-330.
// A batch takes `batch` jobs at once, so windows are evaluated at the ends of batches. Earliest
// deadline first remains optimal, since jobs have unit length and batches a fixed size.
SlotTable deal_slots(const WeightSchedule& schedule, std::uint64_t steps, std::int64_t batch) {
  const int sources = schedule.sources();
  const double delta = sources > 1 ? 1.0 / (2 * sources - 2) : 0.0;
  const PauseTable pauses(schedule);
  SlotTable table{steps, sources, {}, 0};
  table.before.reserve((steps + 1) * static_cast<std::uint64_t>(sources));
  table.before.assign(index(sources), 0);
  std::vector<std::int64_t> count(index(sources), 0);

  for (std::uint64_t step = 0; step < steps; ++step) {
    const double begin = static_cast<double>(step) * static_cast<double>(batch);
    const double end = begin + static_cast<double>(batch);
    std::int64_t free = batch;

    struct Candidate {
      bool active = false;
      double target = 0;
      PauseTable::Pause pause;
      double deadline = kInfinity;  ///< deadline of its next slot
      double ahead(std::int64_t given) const { return target - static_cast<double>(given); }
    };
    std::vector<Candidate> candidates(index(sources));
    const auto set_deadline = [&](int k) {
      Candidate& candidate = candidates[index(k)];
      candidate.deadline = schedule.reached_at(k, static_cast<double>(count[index(k)]) + 1 - delta);
      if (count[index(k)] < candidate.pause.count) {
        candidate.deadline = std::min(candidate.deadline, candidate.pause.begin);
      }
    };
    for (int k = 0; k < sources; ++k) {
      Candidate& candidate = candidates[index(k)];
      candidate.active = schedule.active(k, begin, end);
      candidate.target = schedule.target(k, end);
      candidate.pause = pauses.next(k, begin);
      if (!candidate.active) continue;
      // All due slots except the last two are past their deadlines, so they must be given now.
      const auto due = static_cast<std::int64_t>(std::floor(candidate.ahead(count[index(k)]))) - 1;
      const std::int64_t sure =
          std::clamp<std::int64_t>(std::min(due, candidate.pause.count - count[index(k)]), 0, free);
      count[index(k)] += sure;
      free -= sure;
      set_deadline(k);
    }
    for (; free > 0; --free) {
      int earliest = -1, furthest_behind = -1;
      for (int k = 0; k < sources; ++k) {
        const Candidate& candidate = candidates[index(k)];
        if (!candidate.active) continue;
        const double ahead = candidate.ahead(count[index(k)]);
        if (furthest_behind < 0 ||
            ahead > candidates[index(furthest_behind)].ahead(count[index(furthest_behind)])) {
          furthest_behind = k;
        }
        const bool stopped =
            count[index(k)] >= candidate.pause.count && candidate.pause.begin >= end;
        if (stopped || ahead < delta - kRounding) continue;
        if (earliest < 0 || candidate.deadline < candidates[index(earliest)].deadline) earliest = k;
      }
      const int chosen = earliest >= 0 ? earliest : furthest_behind;
      ++count[index(chosen)];
      set_deadline(chosen);
    }
    for (int k = 0; k < sources; ++k) {
      table.worst_deviation =
          std::max(table.worst_deviation, std::abs(candidates[index(k)].ahead(count[index(k)])));
      table.before.push_back(count[index(k)]);
    }
  }
  return table;
}

}  // namespace wellspring
