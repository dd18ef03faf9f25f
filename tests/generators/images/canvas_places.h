// Runs functors that paint cells, with the canvas in scratch memory and in planned memory. Tests
// only; host only.
#pragma once

#include "kernels/emission/emitter.h"
#include "tests/support/augmentation.h"
#include "tests/support/host_batch.h"
#include "tests/support/team_launcher.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace wellspring::test {

/// Emits three samples of 40 x 40 pixels, directly and through a view, in teams of 7 threads.
/// Expects identical bytes whether the cells are in scratch memory of `scratch` bytes or in planned
/// memory. Then calls look(batch) for each batch.
template <class F, class Look>
void expect_equal_in_both_places(const F& functor, int targets, std::size_t scratch,
                                 const Look& look) {
  const SampleShape shape = {40, 40, 3};
  const std::vector<Slot> slots = {{3, 3, 0, 0}, {4, 9, 0, 1}, {900, 5, 0, 2}};
  SampleLayout layout = SampleLayout::image(shape);
  layout.latents = F::kLatents;
  layout.targets = targets;
  for (const bool warped : {false, true}) {
    EmitCall call;
    call.slots = slots.data();
    call.seed = 21;
    call.augmentation = plan_of(warped ? "augment: [rotate: 30, zoom: [1, 1.5]]" : "", shape);
    HostBatch in_scratch(3, layout), in_plan(3, layout);
    for (const auto& [batch, room] :
         {std::pair{&in_scratch, scratch}, std::pair{&in_plan, std::size_t{0}}}) {
      CanvasEmitter<F> stage;
      MemoryPlan memory(Device::cpu());
      stage.plan(memory, "test", 3, functor, shape, room);
      memory.commit();
      EXPECT_EQ(stage.place(), room == 0 ? CanvasPlace::memory : CanvasPlace::scratch);
      call.batch = batch->view();
      stage.emit(TeamLauncher{7}, "test", functor, shape, call);
    }
    EXPECT_TRUE(in_scratch == in_plan);
    look(in_plan);
  }
}

}  // namespace wellspring::test
