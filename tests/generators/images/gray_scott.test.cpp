#include "generators/images/gray_scott.h"

#include "tests/support/host_team.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace wellspring {
namespace {

SoloTeam solo() {
  return SoloTeam(ScratchCursor{});
}

/// u and v on one grid of side x side cells.
struct Grid {
  std::int32_t side;
  std::vector<float> now, next;

  explicit Grid(std::int32_t grid_side, float u = 1, float v = 0) : side(grid_side) {
    const auto cells = static_cast<std::size_t>(side * side);
    now.assign(2 * cells, u);
    std::fill(now.begin() + static_cast<std::ptrdiff_t>(cells), now.end(), v);
    next = now;
  }
  float& u(int x, int y) { return now[static_cast<std::size_t>(y * side + x)]; }
  float& v(int x, int y) { return now[static_cast<std::size_t>((side + y) * side + x)]; }
  void run(const GrayScottField::Chain& chain, int steps) {
    SoloTeam team = solo();
    for (int i = 0; i < steps; ++i) {
      GrayScottField{}.step(team, chain, side, now.data(), next.data());
      now.swap(next);
    }
  }
};

constexpr TeamShape kTeam{128, EvolveFields<GrayScottField>::scratch_bytes()};

/// A cache with its own memory, and the frames of one batch.
struct Lanes {
  ChainSchedule schedule;
  std::int32_t side;
  std::vector<FieldHead> heads;
  std::vector<float> cells, frames;
  std::vector<Slot> slots;

  Lanes(const ChainSchedule& chains, std::int32_t grid_side)
      : schedule(chains),
        side(grid_side),
        heads(static_cast<std::size_t>(2 * chains.lanes)),
        cells(static_cast<std::size_t>(2 * chains.lanes * 4 * side * side)) {}

  EvolveFields<GrayScottField> functor(const std::vector<std::uint64_t>& samples) {
    slots.clear();
    for (const std::uint64_t sample : samples)
      slots.push_back({sample, sample, 3, static_cast<std::uint32_t>(slots.size())});
    frames.assign(slots.size() * static_cast<std::size_t>(side * side), -1);
    return {GrayScottField{},
            schedule,
            {heads.data(), cells.data(), frames.data(), side},
            slots.data(),
            static_cast<std::int64_t>(slots.size()),
            3,
            77};
  }
  std::vector<float> show(const std::vector<std::uint64_t>& samples) {
    host::run_league(2 * schedule.lanes, 1, kTeam, functor(samples));
    return frames;
  }
};

constexpr ChainSchedule kShort{.lanes = 3, .frames = 4, .warm_up = 30, .stride = 7};

TEST(Fields, LocateTheFramesOfChains) {
  // Lane l starts l * frames / lanes frames into its first chain.
  const ChainSchedule::Position first = kShort.locate(0), second = kShort.locate(4);
  EXPECT_EQ(first.chain, 0u);
  EXPECT_EQ(first.frame, 0);
  EXPECT_EQ(second.lane, 1);
  EXPECT_EQ(second.frame, 2);  // round 1, which starts at frame 1
  // Every frame of every chain appears once, except for the first chain of each lane.
  std::vector<std::vector<int>> count(12, std::vector<int>(4, 0));
  for (std::uint64_t sample = 0; sample < 3 * 4 * 5; ++sample) {
    const ChainSchedule::Position at = kShort.locate(sample);
    EXPECT_EQ(at.chain % 3, static_cast<std::uint64_t>(at.lane));
    if (at.chain < 12) ++count[at.chain][static_cast<std::size_t>(at.frame)];
  }
  for (std::size_t chain = 3; chain < 12; ++chain)
    EXPECT_EQ(count[chain], (std::vector<int>{1, 1, 1, 1})) << chain;
}

/// A single sample, computed from the start of its chain.
std::vector<float> from_the_start(std::uint64_t sample, std::int32_t side) {
  return Lanes(kShort, side).show({sample});
}

TEST(Fields, DoNotDependOnResidentChains) {
  const std::int32_t side = 19;
  const auto expect_frames = [&](Lanes& lanes, const std::vector<std::uint64_t>& samples) {
    const std::vector<float> got = lanes.show(samples);
    const auto cells = static_cast<std::size_t>(side * side);
    for (std::size_t b = 0; b < samples.size(); ++b) {
      const std::vector<float> want = from_the_start(samples[b], side);
      EXPECT_TRUE(std::equal(want.begin(), want.end(),
                             got.begin() + static_cast<std::ptrdiff_t>(b * cells)))
          << "sample " << samples[b] << " in row " << b;
    }
  };
  Lanes lanes(kShort, side);
  for (std::uint64_t first = 0; first < 60; first += 6)  // ascending, two frames per lane and batch
    expect_frames(lanes, {first + 4, first, first + 5, first + 1, first + 3, first + 2});
  expect_frames(lanes, {7, 7, 7});                         // backwards, one sample three times
  expect_frames(lanes, {std::uint64_t{1} << 48, 8, 100});  // far ahead, and near
  std::fill(lanes.heads.begin(), lanes.heads.end(), FieldHead{});  // as after a resume
  std::fill(lanes.cells.begin(), lanes.cells.end(), 0.f);
  expect_frames(lanes, {60, 61, 62, 63});
}

TEST(Fields, WarmUpTheNextChainInTime) {
  Lanes lanes(kShort, 19);
  // Lane 0 shows chain 0 in rounds 0 to 3, and chain 3 starting at round 4.
  for (std::uint64_t round = 0; round < 4; ++round) {
    lanes.show({3 * round});
    EXPECT_EQ(lanes.heads[0].step, kShort.steps_of(static_cast<std::int32_t>(round)));
    EXPECT_EQ(lanes.heads[1].chain, 1 + 3u);
    EXPECT_EQ(lanes.heads[1].step, kShort.steps_ahead(static_cast<std::int32_t>(round)));
  }
  EXPECT_EQ(lanes.heads[1].step, kShort.warm_up);
}

TEST(GrayScott, GivesEqualFieldsForAnyTeamSize) {
  Lanes lanes(kShort, 11);
  auto functor = lanes.functor({0, 1, 3, 2});
  test::expect_equal_for_all_team_sizes(
      functor, 6, kTeam,
      {test::bytes_of(lanes.heads), test::bytes_of(lanes.cells), test::bytes_of(lanes.frames)});
}

}  // namespace
}  // namespace wellspring
