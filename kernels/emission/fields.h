// Fields that evolve. A sample is one frame of a chain; a chain is a grid of cells that a rule
// advances step by step. Active chains are cached. A frame has the same bytes whether computed from
// the cache or from the start of its chain. Used by field generators; host and device.
//
// A field functor is a trivially copyable type:
//
//     static constexpr int kPlanes;                     floats per cell
//     static constexpr int kShown;                      the plane that a frame shows
//     struct Chain;                                     parameters of the rule of one chain
//     Chain chain(SampleRng) const;                     draws the Chain; rng.sample: its number
//     template <class Team>
//     void begin(Team&, const Chain&, SampleRng, int side, float* planes, Philox4& shared) const;
//     template <class Team>
//     void step(Team&, const Chain&, int side, const float* from, float* to) const;
//
// `planes` is [kPlanes, side, side]; `shared` is team memory for random numbers that one member
// draws for all. `begin` and `step` may contain barriers; neither ends with one.
#pragma once

#include "kernels/batch/batch.h"
#include "kernels/random/philox.h"
#include "kernels/runtime/launch_bound.h"
#include "kernels/runtime/macros.h"

#include <cstddef>
#include <cstdint>

namespace wellspring {

/// Maps samples to frames of chains. Consecutive samples belong to consecutive lanes, cyclically. A
/// lane shows one chain after another, and lanes change chains at different times. Consecutive
/// samples are therefore frames of different chains at different ages, and consecutive batches
/// continue the same chains.
struct ChainSchedule {
  std::int32_t lanes = 64;   ///< chains in progress
  std::int32_t frames = 32;  ///< frames shown per chain
  std::int32_t warm_up = 0;  ///< steps before the first frame
  std::int32_t stride = 1;   ///< steps between frames

  struct Position {
    std::uint64_t chain = 0;
    std::uint64_t turn = 0;  ///< number of earlier chains of its lane
    std::int32_t lane = 0;
    std::int32_t frame = 0;
  };
  WS_INLINE Position locate(std::uint64_t sample) const {
    const auto count = static_cast<std::uint64_t>(lanes),
               length = static_cast<std::uint64_t>(frames);
    const std::uint64_t lane = sample % count;
    const std::uint64_t round = sample / count + lane * length / count;
    const std::uint64_t turn = round / length;
    return {turn * count + lane, turn, static_cast<std::int32_t>(lane),
            static_cast<std::int32_t>(round % length)};
  }
  WS_INLINE std::int32_t steps_of(std::int32_t frame) const { return warm_up + frame * stride; }
  /// Number of steps that a lane's next chain has done when the current chain shows `frame`. The
  /// warm-up of the next chain is spread over the frames of the current one.
  WS_INLINE std::int32_t steps_ahead(std::int32_t frame) const {
    const std::int64_t done = std::int64_t{warm_up} * (frame + 1) / frames;
    return static_cast<std::int32_t>(done);
  }
};

/// State of a cache entry.
struct FieldHead {
  std::uint64_t chain = 0;  ///< 1 + number of the chain; 0: none yet
  std::uint64_t key = 0;    ///< key of the chain's random numbers
  std::int32_t step = 0;    ///< steps done; the cells are in buffer step % 2
  std::int32_t reserved = 0;
};

/// Two entries per lane, one for chains of even turns and one for chains of odd turns: the next
/// chain warms up while the current chain is shown.
struct FieldCache {
  FieldHead* heads = nullptr;  ///< [2 lanes]
  float* cells = nullptr;      ///< [2 lanes, 2, planes, side, side]
  float* frames = nullptr;     ///< [rows, side, side] frames of the batch
  std::int32_t side = 0;
};

/// Team functor: one team per cache entry advances its chain through the frames that the batch
/// shows, and copies them out. If the batch shows none of its frames, the entry works ahead.
template <class F>
struct EvolveFields {
  F field;
  ChainSchedule schedule;
  FieldCache cache;
  const Slot* slots;
  std::int64_t rows;
  std::uint32_t source;
  std::uint64_t key;  ///< key of the generator's random numbers

  static constexpr std::size_t scratch_bytes() { return sizeof(Shared) + alignof(Shared); }

  static constexpr LaunchBound kLaunchBound = kSampleTeam;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t place) const {
    auto& shared = *team.template scratch<Shared>(1);
    const auto lane = static_cast<std::int32_t>(place / 2);
    const auto parity = static_cast<std::uint64_t>(place % 2);
    // Takes frames in the order of their samples, which is chronological within a lane.
    std::uint64_t next = 0;  // first sample not yet shown
    Position last{};
    bool shown = false, any = false;
    for (;;) {
      std::uint64_t sample = UINT64_MAX;
      for (std::int64_t b = 0; b < rows; ++b) {
        const Slot slot = slots[b];
        if (slot.source != source || slot.sample < next || slot.sample >= sample) continue;
        if (schedule.locate(slot.sample).lane == lane) sample = slot.sample;
      }
      if (sample == UINT64_MAX) break;
      next = sample + 1;
      last = schedule.locate(sample);
      any = true;
      if (last.turn % 2 != parity) continue;
      shown = true;
      bring(team, shared, place, last.chain, schedule.steps_of(last.frame));
      copy_out(team, place, sample);
    }
    if (any && !shown) {
      const auto lanes = static_cast<std::uint64_t>(schedule.lanes);
      bring(team, shared, place, last.chain + lanes, schedule.steps_ahead(last.frame));
    }
  }

 private:
  using Position = ChainSchedule::Position;
  struct Shared {
    typename F::Chain chain;
    Philox4 random;
  };

  WS_INLINE std::int64_t plane_size() const { return std::int64_t{cache.side} * cache.side; }
  WS_INLINE float* buffer(std::int64_t place, std::int32_t step) const {
    return cache.cells + (2 * place + step % 2) * F::kPlanes * plane_size();
  }

  /// Advances the entry to step `steps` of `chain`. Starts from the entry's current state if that
  /// is an earlier step of this chain.
  template <class Team>
  WS_INLINE void bring(Team& team, Shared& shared, std::int64_t place, std::uint64_t chain,
                       std::int32_t steps) const {
    const FieldHead head = cache.heads[place];
    std::int32_t step = head.step;
    const bool on_the_way = head.chain == chain + 1 && head.key == key && step <= steps;
    if (on_the_way && step == steps) return;
    const SampleRng rng{key, chain};
    if (team.rank() == 0) shared.chain = field.chain(rng);
    team.sync();
    const typename F::Chain& rule = shared.chain;
    if (!on_the_way) {
      step = 0;
      field.begin(team, rule, rng, cache.side, buffer(place, 0), shared.random);
      team.sync();
    }
    for (; step < steps; ++step) {
      field.step(team, rule, cache.side, buffer(place, step), buffer(place, step + 1));
      team.sync();
    }
    if (team.rank() == 0) cache.heads[place] = {chain + 1, key, step, 0};
    team.sync();
  }

  template <class Team>
  WS_INLINE void copy_out(Team& team, std::int64_t place, std::uint64_t sample) const {
    const std::int64_t cells = plane_size();
    const float* const from = buffer(place, cache.heads[place].step) + F::kShown * cells;
    for (std::int64_t b = 0; b < rows; ++b) {
      if (slots[b].source != source || slots[b].sample != sample) continue;
      float* const to = cache.frames + b * cells;
      for (std::int64_t i = team.rank(); i < cells; i += team.size()) to[i] = from[i];
    }
    team.sync();
  }
};

}  // namespace wellspring
