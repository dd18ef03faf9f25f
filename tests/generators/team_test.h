// Runs a generator's functor with teams of all sizes. Teams are compile-time types, which the
// registry cannot provide, so the build writes one test per generator (teams.cpp.in). Host only.
#pragma once

#include "generators/functor_generator.h"
#include "generators/generator.h"
#include "kernels/emission/emitter.h"
#include "tests/generators/golden.h"
#include "tests/support/augmentation.h"
#include "tests/support/draw_counter.h"
#include "tests/support/host_batch.h"
#include "tests/support/team_launcher.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace wellspring::test {

/// A functor with the memory needed for its emission, including tables.
template <class F>
class PlannedFunctor {
 public:
  PlannedFunctor(const typename F::Params& params, SampleShape shape, std::int64_t rows,
                 TableCache& cache)
      : functor_(params), shape_(shape) {
    if constexpr (wellspring::detail::ReadsTables<F>) {
      tables_ = std::make_unique<typename F::Tables>(params);
      tables_->prepare(cache);
      tables_->plan(memory_);
    }
    emitter_.plan(memory_, "test", rows, functor_, shape);
    plane_.plan(memory_, "plane", rows, functor_, shape);
    memory_.commit();
    if constexpr (wellspring::detail::ReadsTables<F>) {
      Stream stream(Device::cpu(), 1);
      tables_->load(stream);
      tables_->bind(functor_);
    }
  }

  /// Layout of a row with labels, latents, targets and dense labels.
  SampleLayout layout() const {
    SampleLayout layout = SampleLayout::image(shape_);
    if constexpr (MakesEvents<F>) layout = functor_.layout();
    layout.latents = F::kLatents;
    layout.targets = wellspring::detail::targets_of<F>();
    layout.planes = HasPlane<F> ? 1 : 0;
    return layout;
  }

  template <class Launcher>
  void emit(const Launcher& launch, const EmitCall& call) const {
    emitter_.emit(launch, "test", functor_, shape_, call);
    plane_.emit(launch, "plane", functor_, shape_, call);
  }

 private:
  F functor_;
  SampleShape shape_;
  MemoryPlan memory_{Device::cpu()};
  Emitter<F> emitter_;
  [[no_unique_address]] PlaneEmitter<F> plane_;
  [[no_unique_address]] typename decltype(wellspring::detail::tables_of<F>())::type tables_;
};

/// Emits samples (for images, with a warping augmentation) with teams of 1, 7, 32 and 256 threads
/// and expects identical bytes and the same number of random draws.
template <class F>
void expect_equal_for_all_teams(const typename F::Params& params, SampleShape shape) {
  const std::vector<Slot> slots = {{3, 3, 0, 0}, {4, 9, 0, 1}};
  const auto rows = static_cast<std::int64_t>(slots.size());
  EmitCall call;
  call.slots = slots.data();
  call.seed = 21;
  if constexpr (!MakesEvents<F>) {
    call.augmentation =
        plan_of("augment: [perspective, rotate: 30, zoom: [0.8, 1.5], hue: 0.1]", shape);
  }
  const TemporaryFolder folder;
  TableCache cache(folder.path());  // the tables of all teams are made once
  std::unique_ptr<HostBatch> first;
  std::uint64_t drawn = 0;
  for (const int members : {1, 7, 32, 256}) {
    const PlannedFunctor<F> planned(params, shape, rows, cache);
    auto batch = std::make_unique<HostBatch>(rows, planned.layout());
    call.batch = batch->view();
    const std::uint64_t blocks =
        blocks_drawn_by([&] { planned.emit(TeamLauncher{members}, call); });
    if (!first) {
      first = std::move(batch);
      drawn = blocks;
      continue;
    }
    EXPECT_TRUE(*batch == *first) << members << " members";
    EXPECT_EQ(blocks, drawn) << members << " members";
  }
}

/// The same with the parameters and size from `teams` in golden/<name>.json.
template <class F>
void expect_equal_for_all_teams(const std::string& name) {
  const GoldenTeams teams = read_golden(name).teams;
  expect_equal_for_all_teams<F>(F::table().read(teams.settings), {teams.height, teams.width, 3});
}

}  // namespace wellspring::test
