#include "train/optimizer/gradient_clipping.h"

#include "core/expect.h"
#include "kernels/runtime/launch.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace wellspring::ops {
namespace {

/// The packs of the elements from `sums` to `end`. `first`: the pack of `gradients`.
template <class T>
PackRange packs_of(const PartTotal& total, const T* gradients, std::int64_t first) {
  const std::int64_t begin = static_cast<const T*>(total.sums) - gradients;
  WS_EXPECT(begin % kPack == 0);
  return {first + begin / kPack,
          first + packs(begin + std::int64_t{total.samples} * total.columns)};
}

/// The packs of all sums, ascending and merged. A tensor begins a pack, and the rest of its last
/// pack is a gap of zeros.
template <class T>
std::vector<PackRange> summed_packs(const AddParts<PartTotals::kMost>& all,
                                    const ParameterView& parameters) {
  std::vector<PackRange> ranges;
  const auto* const matrices = static_cast<const T*>(parameters.matrix_gradient);
  for (const PartTotal& total : std::span(all.table, static_cast<std::size_t>(all.entries))) {
    const auto* const at = static_cast<const std::byte*>(total.sums);
    const auto is_in = [at](const auto* begin, std::int64_t n) {
      return !std::less()(at, reinterpret_cast<const std::byte*>(begin)) &&
             std::less()(at, reinterpret_cast<const std::byte*>(begin + n));
    };
    if (is_in(matrices, parameters.matrices)) {
      WS_EXPECT(total.type == DTypeOf<T>::value);
      ranges.push_back(packs_of(total, matrices, 0));
    } else {
      WS_EXPECT(is_in(parameters.vector_gradient, parameters.vectors));
      WS_EXPECT(total.type == DType::f32);
      ranges.push_back(packs_of(total, parameters.vector_gradient, packs(parameters.matrices)));
    }
  }
  std::ranges::sort(ranges, {}, &PackRange::begin);
  std::vector<PackRange> merged;
  for (const PackRange& range : ranges) {
    if (!merged.empty() && merged.back().end == range.begin)
      merged.back().end = range.end;
    else
      merged.push_back(range);
  }
  return merged;
}

/// Enqueues the first pass. Returns the number of partial sums.
template <class T>
std::int64_t sum_squares(Stream& stream, const ParameterView& parameters, float* partials,
                         PartTotals* totals) {
  const std::int64_t all = packs(parameters.matrices) + packs(parameters.vectors);
  const int lanes = reduce_lanes(all / kNormParts + 1);
  TeamShape shape{std::max(lanes, kWarp), static_cast<std::size_t>(lanes) * sizeof(Pack)};
  const GradientSquares<T> squares{static_cast<const T*>(parameters.matrix_gradient),
                                   parameters.vector_gradient, parameters.matrices,
                                   parameters.vectors, partials};
  if (totals != nullptr && totals->teams() > kMostTotalTeams) totals->launch(stream);
  const std::int64_t total_teams = totals == nullptr ? 0 : totals->teams();
  if (total_teams == 0) {
    league(stream, "gradient_squares", kNormParts, shape, squares);
    return kNormParts;
  }
  TotalsAndSquares<T> both{.totals = totals->waiting(), .squares = squares};
  const std::vector<PackRange> ranges = summed_packs<T>(both.totals, parameters);
  std::ranges::copy(ranges, both.summed);
  both.ranges = static_cast<std::int32_t>(ranges.size());
  both.total_teams = static_cast<std::int32_t>(total_teams);
  shape.size = std::max(shape.size, totals->shape().size);
  shape.scratch_bytes = std::max(shape.scratch_bytes, totals->shape().scratch_bytes);
  league(stream, "totals_and_squares", total_teams + kNormParts, shape, both);
  totals->clear();
  return kNormParts + total_teams;
}

}  // namespace

std::size_t gradient_norm_partials() {
  return static_cast<std::size_t>(kNormParts + kMostTotalTeams);
}

void gradient_norm(Stream& stream, const ParameterView& parameters, const ScheduleSpec& schedule,
                   float clip, float* partials, StepState* state, const CollectMetrics& end,
                   PartTotals* totals) {
  visit_float(parameters.compute, [&]<class T>(T) {
    const std::int64_t parts = sum_squares<T>(stream, parameters, partials, totals);
    league(stream, "gradient_scale", 1,
           {kMetricBound.threads, kMetricScratch + kReduceLanes * sizeof(float)},
           GradientScale{partials, parts, schedule, clip, state, end});
  });
}

void clip_adaptively(Stream& stream, const ParameterView& parameters, float factor) {
  visit_float(parameters.compute, [&]<class T>(T) {
    using Clip = AdaptiveClip<T>;
    league(stream, "clip_adaptively", parameters.units,
           {kReduceLanes, kReduceLanes * sizeof(typename Clip::Squares)},
           Clip{parameters.clip_units, parameters.clip_unit_count, parameters.matrices,
                parameters.master, static_cast<T*>(parameters.matrix_gradient),
                parameters.vector_gradient, factor});
  });
}

}  // namespace wellspring::ops
