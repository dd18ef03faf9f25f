// A generator's functor with teams of all sizes: the registry knows no types, and a team of threads
// is one, so the build writes a test a generator (teams.cpp.in). Host only.
#pragma once

#include "generators/generator.h"
#include "kernels/emission.h"
#include "tests/generators/golden.h"
#include "tests/support/draw_counter.h"
#include "tests/support/host_batch.h"
#include "tests/support/host_team.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace wellspring::test {

/// Emits two images through a warping view with teams of many sizes; see host_team.h.
template <class F>
void expect_equal_images(const F& functor, SampleShape shape) {
  const std::vector<Slot> slots = {{3, 3, 0, 0}, {4, 9, 0, 1}};
  SampleLayout layout = SampleLayout::image(shape);
  layout.latents = F::kLatents;
  const HostBatch batch(static_cast<std::int64_t>(slots.size()), layout);
  ViewSpec view;
  view.rotate = 0.5f;
  view.zoom_low = 0.8f;
  view.zoom_high = 1.5f;
  const Tiling tiling = detail::tiling_of<F>(shape, 3 * shape.width);
  const std::int64_t teams = batch.view().size * tiling.count();
  const ImageEmitter<F, float> emitter{functor, slots.data(), 0,     21,
                                       view,    batch.view(), shape, tiling};
  expect_equal_for_all_team_sizes(
      emitter, teams, {128, detail::scratch_of<F>()},
      {std::as_writable_bytes(batch.x()), std::as_writable_bytes(batch.label()),
       std::as_writable_bytes(batch.weight()), std::as_writable_bytes(batch.latents())});
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
  SampleLayout layout = SampleLayout::event(F::kFeatures);
  layout.latents = F::kLatents;
  const HostBatch forwards(kEvents, layout), backwards(kEvents, layout);
  const EventEmitter<F, float> one{functor, slots.data(), 0, 21, forwards.view()};
  const EventEmitter<F, float> other{functor, slots.data(), 0, 21, backwards.view()};
  for (std::size_t i = 0; i < kEvents; ++i) {
    one(static_cast<std::int64_t>(i));
    other(static_cast<std::int64_t>(kEvents - 1 - i));
  }
  EXPECT_TRUE(forwards == backwards);
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
