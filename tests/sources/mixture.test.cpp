#include "sources/mixture.h"

#include "kernels/runtime/step_graph.h"
#include "tests/sources/fake_source.h"
#include "tests/support/chi_square.h"
#include "tests/support/error_testing.h"
#include "tests/support/host_batch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

namespace wellspring::test {
namespace {

std::unique_ptr<Source> fake(const std::string& name, FakeSource::Traits traits = {}) {
  return std::make_unique<FakeSource>(name, std::move(traits));
}

bool same(const Slot& a, const Slot& b) {
  return a.sample == b.sample && a.ordinal == b.ordinal && a.source == b.source && a.row == b.row;
}

std::string config_error(const std::function<void()>& action) {
  return test::message_of(ErrorKind::config, action);
}

/// Three sources with a schedule, planned and loaded.
struct PlannedRun {
  static constexpr std::int64_t kBatch = 16;
  static constexpr std::uint64_t kSteps = 40;

  explicit PlannedRun(std::uint64_t seed = 1) : mixture(seed) {
    mixture.add(fake("shapes", {.classes = {"a", "b", "c"}, .latents = 2}), {});
    mixture.add(fake("noise", {.classes = {"n"}}), {});
    mixture.add(fake("real", {.classes = {"a", "b", "c"}, .size = 50}), {});
    mixture.set_schedule({{0, {0.8, 0.2, 0}}, {0.5, {0.5, 0.1, 0.4}}, {1, {0, 0, 1}}});
    mixture.plan(memory, kBatch, kSteps);
    state = memory.reserve<StepState>("state", "step", 1);
    memory.commit();
    mixture.load(stream);
  }
  std::vector<Slot> device_slots() const { return {mixture.slots(), mixture.slots() + kBatch}; }

  Mixture mixture;
  MemoryPlan memory{Device::cpu()};
  Stream stream{Device::cpu(), 2};
  Planned<StepState> state;
};

TEST(Mixture, HasEqualSlotsOnHostAndDevice) {
  PlannedRun run;
  HostBatch batch(PlannedRun::kBatch, run.mixture.layout());
  for (std::uint64_t step = 0; step < PlannedRun::kSteps; ++step) {
    run.state.data()->step = step;
    run.mixture.before_step(run.stream, step);
    run.mixture.emit(run.stream, run.state.data(), batch.view());
    run.mixture.after_step(run.stream, step);
    const std::vector<Slot> host = run.mixture.host_slots(step), device = run.device_slots();
    for (std::size_t i = 0; i < host.size(); ++i) {
      ASSERT_TRUE(same(host[i], device[i])) << step << " " << i;
      ASSERT_EQ(host[i].row, i);
      ASSERT_EQ(batch.x()[i], static_cast<float>(host[i].sample));
      ASSERT_EQ(batch.label()[i], static_cast<std::int32_t>(host[i].ordinal % 1000));
    }
  }
}

TEST(Mixture, DrawsEverySourceInOrderWithoutGaps) {
  PlannedRun run;
  std::vector<std::uint64_t> next(3, 0);
  for (std::uint64_t step = 0; step < PlannedRun::kSteps; ++step) {
    std::vector<std::set<std::uint64_t>> ordinals(3);
    for (const Slot& slot : run.mixture.host_slots(step)) {
      ASSERT_TRUE(ordinals[slot.source].insert(slot.ordinal).second);
      const SampleOrder order = run.mixture.source(static_cast<int>(slot.source)).order();
      ASSERT_EQ(slot.sample, order.sample(slot.ordinal));
    }
    for (int k = 0; k < 3; ++k) {
      auto& n = next[static_cast<std::size_t>(k)];
      ASSERT_EQ(run.mixture.achieved(step, k), static_cast<std::int64_t>(n));
      for (const std::uint64_t ordinal : ordinals[static_cast<std::size_t>(k)]) {
        ASSERT_EQ(ordinal, n++);
      }
      ASSERT_LT(std::abs(static_cast<double>(n) - run.mixture.target(step + 1, k)), 1);
    }
  }
  // A source whose ramp starts at weight 0 gets no sample in the first step.
  EXPECT_EQ(run.mixture.achieved(1, 2), 0);
}

TEST(Mixture, SpreadsEachSourceOverTheBatch) {
  std::vector<double> counts(PlannedRun::kBatch, 0);
  double total = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const PlannedRun run(seed);
    for (std::uint64_t step = 0; step < PlannedRun::kSteps / 2; ++step) {
      for (const Slot& slot : run.mixture.host_slots(step)) {
        if (slot.source == 1) ++counts[slot.row], ++total;
      }
    }
  }
  EXPECT_LT(test::chi_square_score(counts, total / PlannedRun::kBatch), 5);
}

TEST(Mixture, NeedsNoTableForOneSource) {
  Mixture mixture(3);
  mixture.add(fake("only"), {});
  MemoryPlan memory(Device::cpu());
  mixture.plan(memory, 8, 1'000'000'000'000);  // must not depend on the length of the run
  memory.commit();
  Stream stream(Device::cpu(), 1);
  mixture.load(stream);
  const std::vector<Slot> slots = mixture.host_slots(500'000'000'000);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    EXPECT_EQ(slots[i].ordinal, 4'000'000'000'000 + i);
    EXPECT_EQ(slots[i].source, 0u);
  }
}

TEST(Mixture, RepeatsTheLastSharesBeyondThePlan) {
  PlannedRun run;
  for (const std::uint64_t step : {PlannedRun::kSteps, PlannedRun::kSteps + 5}) {
    std::vector<std::int64_t> counts(3, 0);
    for (const Slot& slot : run.mixture.host_slots(step)) ++counts[slot.source];
    for (int k = 0; k < 3; ++k) {
      EXPECT_EQ(counts[static_cast<std::size_t>(k)],
                run.mixture.achieved(PlannedRun::kSteps, k) -
                    run.mixture.achieved(PlannedRun::kSteps - 1, k));
    }
  }
}

TEST(Mixture, ReplaysFromTheStepCounterAlone) {
  PlannedRun eager, replayed;
  const SampleLayout layout = eager.mixture.layout();
  HostBatch a(PlannedRun::kBatch, layout), b(PlannedRun::kBatch, layout);
  const auto graph = StepGraph::record(replayed.stream, [&](Stream& stream) {
    replayed.mixture.emit(stream, replayed.state.data(), b.view());
  });
  EXPECT_TRUE(graph->census().no_host_transfer());
  for (std::uint64_t step = 0; step < PlannedRun::kSteps; ++step) {
    eager.state.data()->step = replayed.state.data()->step = step;
    eager.mixture.emit(eager.stream, eager.state.data(), a.view());
    graph->launch(replayed.stream);
    ASSERT_TRUE(a == b);
  }
}

TEST(Mixture, EvaluatesARangeInPlainOrder) {
  PlannedRun run;
  HostBatch batch(8, run.mixture.layout());
  run.mixture.emit_range(run.stream, 2, 40, batch.view(), 5);
  for (int row = 0; row < 8; ++row) {
    const float sample = static_cast<float>(row < 5 ? 40 + row : 40);
    EXPECT_EQ(batch.x()[static_cast<std::size_t>(row)], -sample);  // has the evaluation view's sign
    EXPECT_EQ(run.mixture.slots()[row].source, 2u);
  }
  run.mixture.emit_range(run.stream, 0, 3, batch.view(), 8);
  EXPECT_EQ(batch.x()[0], -5003.f);  // evaluation ids of generators are separate
  EXPECT_THROW(run.mixture.emit_range(run.stream, 2, 46, batch.view(), 5), std::logic_error);
}

TEST(Mixture, RefusesBadSources) {
  Mixture mixture(1);
  mixture.add(fake("a"), {});
  const ConfigLocation place{"run.yaml", 7, 3};
  expect_parts(config_error([&] { mixture.add(fake("a"), {}, place); }),
               {"run.yaml:7:3", "two sources are called 'a'"});
  expect_parts(config_error([&] {
                 mixture.add(fake("b", {.shape = {2, 2, 3}}), {}, place);
               }),
               {"2x2x3", "1x1x1", "resize"});
  const auto mixed_with = [&](FakeSource::Traits there, FakeSource::Traits here) {
    Mixture two(1);
    two.add(fake("there", std::move(there)), {});
    return config_error([&] { two.add(fake("here", std::move(here)), {}, place); });
  };
  const FakeSource::Traits event = {.shape = {1, 1, 3}, .kind = SampleKind::event},
                           set = {.shape = {1, 4, 3}, .kind = SampleKind::set};
  expect_parts(mixed_with({}, event), {"mix images with images"});
  expect_parts(mixed_with(event, set), {"sets with sets"});
  expect_parts(mixed_with(event, {.shape = {1, 1, 2}, .kind = SampleKind::event}),
               {"the same features, in the same order"});
  expect_parts(mixed_with(set, {.shape = {1, 5, 3}, .kind = SampleKind::set}),
               {"the same number of items (items:", "globals"});
  expect_parts(config_error([&] { mixture.add(fake("b"), {.weight = -1}, place); }),
               {"run.yaml:7:3", "weight -1"});
  expect_parts(config_error([&] { mixture.add(fake("b"), {.weight = std::nan("")}, place); }),
               {"weight nan"});
  Mixture full(1);
  for (int k = 0; k < kMaxSources; ++k) full.add(fake("s" + std::to_string(k)), {});
  expect_parts(config_error([&] { full.add(fake("more"), {}, place); }), {"at most 16"});
}

TEST(Mixture, RefusesBadWeightsAndSchedules) {
  MemoryPlan memory(Device::cpu());
  Mixture none(1);
  expect_parts(config_error([&] { none.plan(memory, 8, 10); }), {"no source"});
  Mixture mixture(1);
  mixture.add(fake("a"), {.weight = 0});
  mixture.add(fake("b"), {.weight = 0});
  expect_parts(config_error([&] { mixture.plan(memory, 8, 10); }),
               {"weights of all sources are 0"});
  const ConfigLocation place{"run.yaml", 9, 5};
  using Points = std::vector<SchedulePoint>;
  const auto refused = [&](const Points& points) {
    return config_error([&] { mixture.set_schedule(points); });
  };
  expect_parts(refused({{0, {1}, place}}), {"run.yaml:9:5", "1 weight for 2 sources"});
  expect_parts(refused({{0, {1, 1, 1}, place}}),
               {"3 weights for 2 sources", "a weight of 0 excludes one"});
  expect_parts(refused({{0, {0, 0}, place}}), {"all weights"});
  expect_parts(refused({{0, {1, -2}, place}}), {"source 'b' weight -2"});
  expect_parts(refused({{1.5, {1, 1}, place}}), {"1.5", "outside"});
  expect_parts(refused({{0.5, {1, 1}}, {0.2, {1, 1}, place}}), {"run.yaml:9:5", "0.2", "after"});
  // A table for two sources and 10^9 steps would need 15 GiB.
  mixture.set_schedule({{0, {1, 1}}});
  expect_parts(config_error([&] { mixture.plan(memory, 8, 1'000'000'000); }), {"table", "MiB"});
}

}  // namespace
}  // namespace wellspring::test
