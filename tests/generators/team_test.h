// A generator's functor with teams of all sizes: the registry knows no types, and a team of threads
// is one, so the build writes a test a generator (teams.cpp.in). Host only.
#pragma once

#include "generators/generator.h"
#include "kernels/emission.h"
#include "tests/generators/golden.h"
#include "tests/support/draw_counter.h"
#include "tests/support/host_team.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace wellspring::test {

/// What a functor writes beside x, and the batch that leads to all of it.
template <class F>
struct TeamBatch {
  TeamBatch(SampleShape shape, std::size_t rows)
      : x(rows * static_cast<std::size_t>(shape.elements())),
        weight(rows),
        latents(rows * F::kLatents),
        label(rows),
        view{static_cast<std::int64_t>(rows),
             shape,
             DType::f32,
             x.data(),
             label.data(),
             weight.data(),
             latents.data(),
             F::kLatents} {}
  TeamBatch(const TeamBatch&) = delete;

  std::vector<std::span<std::byte>> bytes() {
    return {bytes_of(x), bytes_of(label), bytes_of(weight), bytes_of(latents)};
  }

  std::vector<float> x, weight, latents;
  std::vector<std::int32_t> label;
  BatchView view;
};

/// Emits two images through a warping view with teams of many sizes; see host_team.h.
template <class F>
void expect_equal_images(const F& functor, SampleShape shape) {
  const std::vector<Slot> slots = {{3, 3, 0, 0}, {4, 9, 0, 1}};
  TeamBatch<F> batch(shape, slots.size());
  ViewSpec view;
  view.rotate = 0.5f;
  view.zoom_low = 0.8f;
  view.zoom_high = 1.5f;
  const Tiling tiling = detail::tiling_of<F>(shape, 3 * shape.width);
  const std::int64_t teams = batch.view.size * tiling.count();
  const ImageEmitter<F, float> emitter{functor, slots.data(), 0,     21,
                                       view,    batch.view,   shape, tiling};
  expect_equal_for_all_team_sizes(emitter, teams, {128, detail::scratch_of<F>()}, batch.bytes());
  if constexpr (WS_COUNTS_DRAWS != 0) {
    const auto drawn_by = [&](int members) {
      return blocks_drawn_by(
          [&] { run_thread_league(teams, members, detail::scratch_of<F>(), emitter); });
    };
    const std::uint64_t drawn = drawn_by(1);
    for (const int members : {7, 32}) EXPECT_EQ(drawn_by(members), drawn) << members << " members";
  }
}

/// One thread makes an event, in any order with the others.
template <class F>
void expect_equal_events(const F& functor) {
  constexpr std::size_t kEvents = 100;
  std::vector<Slot> slots;
  for (std::uint32_t i = 0; i < kEvents; ++i) slots.push_back({40 + i, 90 + i, 0, i});
  TeamBatch<F> forwards({1, 1, F::kFeatures}, kEvents), backwards({1, 1, F::kFeatures}, kEvents);
  const EventEmitter<F, float> one{functor, slots.data(), 0, 21, forwards.view};
  const EventEmitter<F, float> other{functor, slots.data(), 0, 21, backwards.view};
  for (std::size_t i = 0; i < kEvents; ++i) {
    one(static_cast<std::int64_t>(i));
    other(static_cast<std::int64_t>(kEvents - 1 - i));
  }
  EXPECT_EQ(forwards.x, backwards.x);
  EXPECT_EQ(forwards.label, backwards.label);
  EXPECT_EQ(forwards.weight, backwards.weight);
  EXPECT_EQ(forwards.latents, backwards.latents);
}

/// With the parameters and size that golden/<name>.json gives under `teams`.
template <class F>
void expect_equal_for_all_teams(const std::string& name) {
  const GoldenTeams teams = read_golden(name).teams;
  const F functor(F::table().read(teams.settings));
  if constexpr (EventFunctor<F>) {
    expect_equal_events(functor);
  } else {
    expect_equal_images(functor, {teams.height, teams.width, 3});
  }
}

}  // namespace wellspring::test
