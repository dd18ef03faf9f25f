// Totals of partial sums, such as gradients of normalisation parameters, for many tensors in one
// launch. Called by kernels/ops and train/network; host only. The functor runs on host and device.
#pragma once

#include "kernels/ops/channel_sums.h"
#include "kernels/runtime/dtype.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/simd.h"
#include "kernels/runtime/stream.h"

#include <cstdint>
#include <initializer_list>

namespace wellspring {
struct TeamShape;
}

namespace wellspring::ops {

/// sums [samples, columns] = parts [samples, count, columns], added over `count`.
struct PartTotal {
  const float* parts = nullptr;
  void* sums = nullptr;
  std::int32_t count = 1, columns = 1, samples = 1;
  /// Columns [taps, outputs] of the parts are columns [outputs, taps] of the sums.
  std::int32_t taps = 1;
  std::int32_t first_team = 0;  ///< set when the total is added to a table
  DType type = DType::f32;      ///< type of the sums
};

/// One team per sample and pack of columns, for all entries of the table. It adds in the order of
/// channel_sums.h.
template <int most>
struct AddParts {
  PartTotal table[most];
  std::int32_t entries = 0;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t index) const {
    add(team, index);
  }

  /// Also returns the sum of the squares of the team's sums, as stored.
  template <class Team>
  WS_HD float add(Team& team, std::int64_t index) const {
    int entry = 0, end = entries;  // table[entry] holds the team
    while (end - entry > 1) {
      const int middle = (entry + end) / 2;
      (table[middle].first_team <= index ? entry : end) = middle;
    }
    const PartTotal& of = table[entry];
    const int width = channel_width(of.columns), units = channel_units(of.columns);
    const std::int64_t task = index - of.first_team, sample = task / units, stride = of.columns;
    const int first = static_cast<int>(task % units) * width;
    const float* const parts = of.parts + sample * of.count * stride + first;
    float* slots =
        team.template scratch<float>(static_cast<std::size_t>(channel_slots(of.count, width)));
    channel_sums<1>(team, slots, of.count, width, NoParameters(),
                    [=]<int n>(Width<n>, const auto&, int part, int k, Values<n>* sum) WS_INLINED {
                      const auto value = load_values<n>(parts + part * stride + k);
                      for (int j = 0; j < n; ++j) sum->v[j] += value.v[j];
                    });
    const int outputs = of.columns / of.taps;
    for (int k = team.rank(); k < width; k += team.size()) {
      const int column = first + k;
      const std::int64_t at = sample * stride + column % outputs * of.taps + column / outputs;
      if (of.type == DType::f32) {
        static_cast<float*>(of.sums)[at] = slots[k];
      } else {
        static_cast<bf16*>(of.sums)[at] = bf16(slots[k]);
      }
    }
    float squares = 0;
    for (int k = 0; k < width; ++k) {
      const float sum = of.type == DType::f32 ? slots[k] : static_cast<float>(bf16(slots[k]));
      squares += sum * sum;
    }
    return squares;
  }
};

/// Collects totals. The parts must not change before the launch; the sums are valid after the
/// launch.
class PartTotals {
 public:
  static constexpr int kMost = 64;
  /// Launches first if the table is full.
  void add(Stream& stream, const PartTotal& total);
  /// Launches everything added since the last launch.
  void launch(Stream& stream);

  /// For a caller that adds the waiting totals in a launch of its own: the functor, its shape and
  /// its number of teams. Then call clear().
  const AddParts<kMost>& waiting() const { return all_; }
  TeamShape shape() const;
  std::int64_t teams() const;
  void clear() { all_.entries = 0; }

 private:
  AddParts<kMost> all_;
};

/// Maximum number of totals per call. The compiler would copy a table of 2 to local memory.
inline constexpr int kTotals = 4;
/// Adds the totals to `later`, or launches them now if it is null.
void sum_parts(Stream& stream, PartTotals* later, std::initializer_list<PartTotal> totals);

}  // namespace wellspring::ops
