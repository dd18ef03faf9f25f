// Minimal functors of the forms canvas, field and set, for the tests of these forms. Instantiated
// for CUDA in emission_functors.cu. Host and device.
#pragma once

#include "kernels/emission/canvas.h"
#include "kernels/emission/events.h"
#include "kernels/emission/field_emitter.h"

#include <cstdint>

namespace wellspring::test {

/// Canvas: points at random positions. A cell counts its points and stores the last one's
/// number.
struct Dust {
  static constexpr int kLatents = 1;
  static constexpr forms::Canvas kForm = {};
  using Cell = std::uint32_t;
  int points = 500;
  int painter_count = 3;

  struct Scene {
    SampleRng rng;
    int width, height;
  };
  WS_INLINE Scene draw(const SampleKey& key, Truth<kLatents>& truth) const {
    truth.label = static_cast<std::int32_t>(key.rng.sample % 3);
    truth.latents[0] = static_cast<float>(points);
    return {key.rng, key.shape.width, key.shape.height};
  }
  std::int64_t cells(SampleShape shape) const {
    return 2 * std::int64_t{shape.height} * shape.width;
  }
  int painters() const { return painter_count; }

  WS_INLINE static int place(const Scene& scene, int point) {
    const Philox4 words = scene.rng.block(Purpose::scene, static_cast<std::uint32_t>(point));
    return static_cast<int>(
        below(words.word[0], static_cast<std::uint32_t>(scene.width * scene.height)));
  }
  template <class Team>
  WS_HD void paint(Team& team, const Scene& scene, ScatterWork work, Cell* cells) const {
    for (std::int64_t i = work.first; i < points; i += work.stride) {
      const int cell = place(scene, static_cast<int>(i));
      team.atomic_add(&cells[2 * cell], Cell{1});
      team.atomic_max(&cells[2 * cell + 1], static_cast<Cell>(i + 1));
    }
  }
  template <int N>
  WS_INLINE void shade(const Scene& scene, const Cell* cells, const PixelRun<N>& run,
                       ColourRun<N>& colour) const {
    for (int i = 0; i < N; ++i) {
      const int x = static_cast<int>(math::floor(run.x[i]));
      const int y = static_cast<int>(math::floor(run.y[i]));
      const bool inside = x >= 0 && x < scene.width && y >= 0 && y < scene.height;
      const Cell* const cell = cells + (inside ? 2 * (y * scene.width + x) : 0);
      colour.r[i] = inside ? static_cast<float>(cell[0]) : 0.f;
      colour.g[i] = inside ? static_cast<float>(cell[1]) : 0.f;
      colour.b[i] = 1;
    }
  }
};

/// Field: a ring of cells. In each step, a cell becomes the mean of itself and its neighbours.
struct HeatField {
  static constexpr int kPlanes = 1, kShown = 0;
  struct Chain {
    float warmth;
  };
  WS_INLINE Chain chain(SampleRng rng) const {
    return {unit_float(rng.block(Purpose::scene, 0).word[0])};
  }
  template <class Team>
  WS_INLINE void begin(Team& team, const Chain& chain, SampleRng rng, std::int32_t side,
                       float* planes, Philox4&) const {
    for (std::int32_t i = team.rank(); i < side * side; i += team.size()) {
      const Philox4 words = rng.block(Purpose::texture, static_cast<std::uint32_t>(i));
      planes[i] = chain.warmth * unit_float(words.word[0]);
    }
  }
  template <class Team>
  WS_INLINE void step(Team& team, const Chain&, std::int32_t side, const float* from,
                      float* to) const {
    const std::int32_t cells = side * side;
    for (std::int32_t i = team.rank(); i < cells; i += team.size()) {
      const float around = from[i == 0 ? cells - 1 : i - 1] + from[i == cells - 1 ? 0 : i + 1];
      to[i] = math::fma(0.5f, from[i], 0.25f * around);
    }
  }
};

struct Heat {
  static constexpr int kLatents = 2;
  static constexpr forms::Field kForm = {};
  using Field = HeatField;
  ChainSchedule when = {5, 4, 3, 2};

  struct Scene {
    std::int32_t side;
  };
  WS_INLINE Scene draw(const SampleKey& chain, ChainSchedule::Position at,
                       Truth<kLatents>& truth) const {
    truth.label = static_cast<std::int32_t>(chain.rng.sample % 2);
    truth.latents[0] = static_cast<float>(at.frame);
    truth.latents[1] = HeatField{}.chain(chain.rng).warmth;
    return {chain.shape.width};
  }
  WS_INLINE Field field() const { return {}; }
  WS_INLINE ChainSchedule schedule() const { return when; }
  int field_side() const { return kSide; }
  static constexpr int kSide = 8;

  template <int N>
  WS_INLINE void shade(const Scene& scene, const float* frame, const PixelRun<N>& run,
                       ColourRun<N>& colour) const {
    for (int i = 0; i < N; ++i) {
      const int x = static_cast<int>(math::clamp(math::floor(run.x[i]), 0.f, kSide - 1.f));
      const int y = static_cast<int>(math::clamp(math::floor(run.y[i]), 0.f, kSide - 1.f));
      colour.r[i] = colour.g[i] = colour.b[i] = frame[y * scene.side + x];
    }
  }
};

/// Set: a random number of items. Item k holds k and random words. One thread makes a set.
struct Spray {
  static constexpr int kLatents = 1, kTargets = 2;
  static constexpr forms::Events kForm = {};
  int room = 6, most = 9;

  SampleLayout layout() const {
    SampleLayout layout = SampleLayout::set(room, 2);
    layout.globals = 1;
    return layout;
  }
  WS_INLINE int items_of(const SampleRng& rng) const {
    return static_cast<int>(
        below(rng.block(Purpose::scene, 0).word[0], static_cast<std::uint32_t>(most + 1)));
  }
  WS_INLINE static float value(const SampleRng& rng, int item) {
    return unit_float(rng.block(Purpose::texture, static_cast<std::uint32_t>(item)).word[0]);
  }
  template <class Run>
  WS_INLINE void make(Run& run) const {
    run.each([&](int lane, auto& row, auto& truth) {
      const SampleRng rng = run.rng(lane);
      const int items = items_of(rng);
      for (int i = 0; i < items; ++i) {
        row.set(i, 0, static_cast<float>(i + 1));
        row.set(i, 1, value(rng, i));
      }
      row.set_count(items);
      row.set_global(0, static_cast<float>(items));
      truth.label = items % 2;
      truth.latents[0] = static_cast<float>(items);
      truth.target[0] = 1;
      truth.target[1] = static_cast<float>(-items);
    });
  }
};

/// The same set, made by a team of threads.
struct TeamSpray {
  static constexpr int kLatents = 1, kTargets = 2;
  static constexpr forms::EventTeams kForm = {};
  Spray spray;

  SampleLayout layout() const { return spray.layout(); }
  int members() const { return 64; }
  std::size_t scratch_bytes() const { return 0; }
  template <class Team, class Row>
  WS_HD void make(Team& team, const SampleKey& key, Row& row,
                  Truth<kLatents, kTargets>& truth) const {
    const int items = spray.items_of(key.rng);
    for (int i = team.rank(); i < items; i += team.size()) {
      row.set_item(i, {static_cast<float>(i + 1), Spray::value(key.rng, i)});
    }
    row.set_count(items);
    if (team.rank() == 0) row.set_global(0, static_cast<float>(items));
    truth.label = items % 2;
    truth.latents[0] = static_cast<float>(items);
    truth.target[0] = 1;
    truth.target[1] = static_cast<float>(-items);
  }
};

}  // namespace wellspring::test
