// Runs of events that one host thread makes together in SIMD lanes. On a device, each thread is
// already a lane, so a run is one event. Used by emissions of events; host and device.
#pragma once

#include "kernels/batch/batch.h"
#include "kernels/batch/sample.h"
#include "kernels/batch/set_count.h"
#include "kernels/emission/host_float.h"
#include "kernels/random/philox.h"
#include "kernels/random/philox_run.h"
#include "kernels/runtime/dtype.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/simd.h"

#include <cstdint>

// Like WS_RUN_LENGTH, this is used only inside functions: both compilers must see the same types.
#if WS_DEVICE_CODE
#define WS_EVENT_LANES 1
#else
#define WS_EVENT_LANES 16
#endif

namespace wellspring {

/// Writes the features of one sample. T: element type of x.
template <class T>
class RowWriter {
 public:
  RowWriter() = default;
  WS_INLINE RowWriter(const BatchView& batch, std::int64_t b) : batch_(&batch), b_(b) {}

  /// Maximum number of items of a set; 1 for events.
  WS_INLINE int items() const { return batch_->layout.items; }
  WS_INLINE int features() const { return batch_->layout.features; }

  WS_INLINE void set(int feature, float value) { x().set(feature, value); }
  /// Ignores items that do not fit into the row; the number passed to set_count() includes them.
  WS_INLINE void set(int item, int feature, float value) {
    if (item >= items()) return;
    x().set(item * features() + feature, value);
  }
  /// Sets N neighbouring features, from `first` on, with fewer accesses than set() on a device.
  template <int N>
  WS_INLINE void set_features(int first, const float (&values)[N]) {
    x().set(first, values);
  }
  /// The same for an item of a set. Ignores items that do not fit into the row.
  template <int N>
  WS_INLINE void set_item(int item, const float (&values)[N], int first = 0) {
    if (item < items()) x().set(item * features() + first, values);
  }
  /// Sets features [0, count) to 0.
  WS_INLINE void clear(int count) { x().clear(0, count, 0, 1); }
  WS_INLINE void set_global(int index, float value) {
    if (batch_->globals != nullptr) batch_->globals[b_ * batch_->layout.globals + index] = value;
  }
  /// Sets the number of items of a set, including items that do not fit. `missing` items, which were
  /// never made, only count as overflow. Not for events.
  WS_INLINE void set_count(int count, int missing = 0) {
    count_ = count;
    missing_ = missing;
  }

  /// On a host, prefetches the row into the cache before it is written.
  WS_INLINE void fetch() const {
#if !WS_DEVICE_CODE
    const auto line = static_cast<std::int64_t>(64 / size_of(batch_->dtype));
    for (std::int64_t k = 0; k < batch_->layout.elements(); k += line) {
      __builtin_prefetch(x().at(k), 1);
    }
#endif
  }

  /// Called by each member `rank` of `size`: sets unused items to 0 and counts items that did not
  /// fit.
  WS_INLINE void finish(int rank, int size) {
    if (batch_->layout.kind != SampleKind::set) return;
    const int kept = count_ < items() ? count_ : items();
    x().clear(kept * features(), items() * features(), rank, size);
    if (rank == 0) detail::write_count(*batch_, b_, count_, missing_);
  }

 private:
  WS_INLINE detail::Elements<T> x() const {
    return {batch_->x, batch_->dtype, b_ * batch_->layout.elements()};
  }

  const BatchView* batch_ = nullptr;
  std::int64_t b_ = 0;
  int count_ = 0, missing_ = 0;
};

/// The truth of N events, one lane each.
template <int Latents, int Targets, int N>
class TruthRun {
 public:
  /// The numbers of one event, N elements apart.
  struct Numbers {
    float* first;
    WS_INLINE float& operator[](int k) const { return first[k * N]; }
  };
  /// Latents that the caller may have set.
  struct SettableNumbers : Numbers {
    bool given;
    /// Sets latent k to `drawn` unless the caller has set it. Returns the latent.
    WS_INLINE float draw(int k, float drawn) const {
      float& latent = (*this)[k];
      latent = given ? latent : drawn;
      return latent;
    }
  };
  /// Truth of one event, with the same members as Truth.
  struct Lane {
    std::int32_t& label;
    float& weight;
    SettableNumbers latents;
    Numbers target;
  };

  WS_INLINE TruthRun() {
    for (int i = 0; i < N; ++i) weight_[i] = 1;
  }
  WS_INLINE Lane of(int i) {
    return {label_[i], weight_[i], {{&latents_[0][i]}, given_}, {&target_[0][i]}};
  }

  /// Sets the latents of all events to rows of `column`, [rows][width].
  WS_INLINE void set_latents(const float* column, int width, const std::int64_t (&rows)[N]) {
    given_ = true;
    for (int i = 0; i < N; ++i) {
      WS_UNROLL(16)
      for (int k = 0; k < Latents; ++k) {
        if (k < width) latents_[k][i] = column[rows[i] * width + k];
      }
    }
  }

  WS_INLINE void write(const BatchView& batch, const std::int64_t (&rows)[N]) {
    for (int i = 0; i < N; ++i) {
      const Lane lane = of(i);
      if (batch.label != nullptr) batch.label[rows[i]] = lane.label;
      if (batch.weight != nullptr) batch.weight[rows[i]] = lane.weight;
      detail::write_row<Latents>(batch.latents, batch.layout.latents, rows[i], lane.latents);
      detail::write_row<Targets>(batch.target, batch.layout.targets, rows[i], lane.target);
    }
  }

 private:
  alignas(N * sizeof(float)) std::int32_t label_[N] = {};
  float weight_[N];
  bool given_ = false;
  float latents_[Latents > 0 ? Latents : 1][N] = {};
  float target_[Targets > 0 ? Targets : 1][N] = {};
};

/// N events of functor F, for rows[0] to rows[N - 1] of a batch. T: element type of x. `latents`:
/// see EmitCall.
template <class F, class T, int N>
class EventRun {
 public:
  static constexpr int kEvents = N;

  WS_INLINE EventRun(const BatchView& batch, const Slot* slots, std::uint64_t seed,
                     const std::int64_t* rows, const float* latents)
      : batch_(batch), seed_(seed) {
    for (int i = 0; i < N; ++i) {
      b_[i] = rows[i];
      sample_[i] = slots[rows[i]].sample;
      row_[i] = RowWriter<T>(batch, rows[i]);
    }
    if (latents != nullptr) truth_.set_latents(latents, batch.layout.latents, b_);
    if (N > 1) row_[0].fetch();
  }

  WS_INLINE SampleRng rng(int i) const { return {seed_, sample_[i]}; }
  /// Block `draw` of the stream for `purpose`, for every event.
  WS_INLINE PhiloxRun<N> blocks(Purpose purpose, std::uint32_t draw) const {
    return blocks_of_samples<N>(seed_, sample_, purpose, draw);
  }
  WS_INLINE RowWriter<T>& row(int i) { return row_[i]; }
  WS_INLINE auto truth(int i) { return truth_.of(i); }

  /// Calls make(i, row, truth), a WS_INLINE function, for each event; row only has set(feature,
  /// value) and set_features. All lanes take the same steps, so `make` must not contain branches or
  /// loops that depend on the sample. It writes at most F::kFeatures features.
  template <class Make>
  WS_INLINE void straight(const Make& make) {
    if constexpr (N == 1) {
      auto lane = truth(0);
      make(0, row_[0], lane);
    } else {
      float x[F::kFeatures][N];
      in_lanes<N>([&](int i) WS_INLINED {
        LaneRow row{&x[0][i]};
        auto lane = truth(i);
        make(i, row, lane);
      });
      for (int i = 0; i < N; ++i) {
        for (int f = 0; f < row_[i].features(); ++f) row_[i].set(f, x[f][i]);
      }
    }
  }

  /// Calls make(i, row, truth) for one event after another. Each row is prefetched while the
  /// previous one is made, because hardware prefetchers cannot predict which parts will be written
  /// when.
  template <class Make>
  WS_INLINE void each(const Make& make) {
    for (int i = 0; i < N; ++i) {
      if (i + 1 < N) row_[i + 1].fetch();
      auto lane = truth(i);
      make(i, row_[i], lane);
    }
  }

  /// Writes counts and truth; call after all features are set.
  WS_INLINE void finish() {
    for (int i = 0; i < N; ++i) row_[i].finish(0, 1);
    truth_.write(batch_, b_);
  }

 private:
  struct LaneRow {
    float* x;
    WS_INLINE void set(int feature, float value) { x[feature * N] = value; }
    template <int Count>
    WS_INLINE void set_features(int first, const float (&values)[Count]) {
      WS_UNROLL(16)
      for (int k = 0; k < Count; ++k) set(first + k, values[k]);
    }
  };

  const BatchView& batch_;
  std::uint64_t seed_;
  std::int64_t b_[N];
  alignas(N * sizeof(std::uint64_t)) std::uint64_t sample_[N];
  RowWriter<T> row_[N];
  TruthRun<F::kLatents, detail::targets_of<F>(), N> truth_;
};

}  // namespace wellspring
