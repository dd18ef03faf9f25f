#include "kernels/runtime/shard_runner.h"

#include "kernels/runtime/step_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace wellspring {
namespace {

TEST(ShardRunner, RunsEachShardsListInOrder) {
  for (const int threads : {1, 2, 5}) {
    Stream stream(Device::cpu(), threads);
    ShardRunner runner;
    std::array<std::vector<int>, 7> seen;
    runner.enqueue(stream, "test", {7, 5}, [&](ShardRunner::Place place, Stream& alone) {
      const std::size_t s = place.shard;
      EXPECT_EQ(alone.threads(), 1);
      for (int i = 0; i < 3; ++i)
        alone.run(NodeKind::kernel, "step", [&seen, s, i] { seen[s].push_back(i); });
    });
    for (const std::vector<int>& steps : seen) EXPECT_EQ(steps, (std::vector<int>{0, 1, 2}));
  }
}

// Two lists never use the same thread memory at the same time. A stream with more threads than
// memory slots uses only as many threads as there are slots.
TEST(ShardRunner, GivesEachThreadItsOwnMemory) {
  for (const int threads : {2, 3, 8}) {
    Stream stream(Device::cpu(), threads);
    ShardRunner runner;
    std::array<int, 3> thread_memory{};
    std::array<int, 40> seen{};
    runner.enqueue(
        stream, "test", {seen.size(), thread_memory.size()},
        [&](ShardRunner::Place place, Stream& alone) {
          EXPECT_LT(place.thread,
                    std::min<std::size_t>(thread_memory.size(), static_cast<std::size_t>(threads)));
          int* own = &thread_memory.at(place.thread);
          for (int i = 0; i < 1000; ++i)
            alone.run(NodeKind::kernel, "count", [own, i] { *own = i == 0 ? 1 : *own + 1; });
          int* result = &seen[place.shard];
          alone.run(NodeKind::kernel, "store", [own, result] { *result += *own; });
        });
    for (const int count : seen) EXPECT_EQ(count, 1000);
  }
}

TEST(ShardRunner, RecordsAsOneNode) {
  Stream stream(Device::cpu(), 2);
  ShardRunner runner;
  std::array<int, 3> runs{};
  const auto graph = StepGraph::record(stream, [&](Stream& to) {
    runner.enqueue(to, "test", {3, 2}, [&](ShardRunner::Place place, Stream& alone) {
      const std::size_t s = place.shard;
      alone.run(NodeKind::kernel, "step", [&runs, s] { ++runs[s]; });
    });
  });
  EXPECT_EQ(graph->census().kernels, 1);
  EXPECT_EQ(runs, (std::array{0, 0, 0}));
  graph->launch(stream);
  graph->launch(stream);
  EXPECT_EQ(runs, (std::array{2, 2, 2}));
}

// Each replay reads the number of active threads, on which the results do not depend.
TEST(ShardRunner, ReplaysWithTheActiveThreadCount) {
  Stream stream(Device::cpu(), 3);
  ShardRunner runner;
  std::array<float, 7> results{};
  std::array<int, 3> lists_per_thread{};
  const std::vector<float> parts = {1e8f, 4, 4};
  float sum = 0;
  const auto graph = StepGraph::record(stream, [&](Stream& to) {
    runner.enqueue(to, "test", {7, 3}, [&](ShardRunner::Place place, Stream& alone) {
      alone.run(NodeKind::kernel, "step", [&, place] {
        results[place.shard] += 1.0f / static_cast<float>(place.shard + 3);
#pragma omp atomic
        ++lists_per_thread[place.thread];
      });
    });
    add_partial_sums(to, "sum", {{{&parts[0], &parts[1], &parts[2]}, &sum, 1, false}});
  });
  graph->launch(stream);
  const auto first = results;
  const float first_sum = sum;
  // On a machine that keeps losing cores, half of the threads are tried.
  *stream.active_threads() = ActiveThreads(3, [lost = 0L]() mutable { return lost += 1000; });
  stream.active_threads()->step(1);
  ASSERT_EQ(stream.active_threads()->count(), 2);
  results = {};
  lists_per_thread = {};
  graph->launch(stream);
  EXPECT_EQ(lists_per_thread[0] + lists_per_thread[1], 7);
  EXPECT_EQ(results, first);
  EXPECT_EQ(sum, first_sum);
}

TEST(ShardRunner, RethrowsAfterAllShardsHaveRun) {
  Stream stream(Device::cpu(), 2);
  ShardRunner runner;
  std::array<int, 6> ran{};
  const auto run = [&] {
    runner.enqueue(stream, "test", {6, 2}, [&](ShardRunner::Place place, Stream& alone) {
      const std::size_t s = place.shard;
      alone.run(NodeKind::kernel, "step", [&ran, s] {
        ran[s] = 1;
        if (s == 2) throw std::runtime_error("third shard");
      });
    });
  };
  EXPECT_THROW(run(), std::runtime_error);
  EXPECT_EQ(std::accumulate(ran.begin(), ran.end(), 0), 6);
}

TEST(ShardRunner, RefusesHostCopies) {
  Stream stream(Device::cpu(), 2);
  ShardRunner runner;
  float from = 0, to = 0;
  const auto copies = [&](CopyDirection direction) {
    runner.enqueue(stream, "test", {1, 1}, [&](ShardRunner::Place, Stream& alone) {
      alone.copy(&to, &from, sizeof to, direction, "copy");
    });
  };
  EXPECT_NO_THROW(copies(CopyDirection::on_device));
  EXPECT_THROW(copies(CopyDirection::host_to_device), std::logic_error);
  EXPECT_THROW(copies(CopyDirection::device_to_host), std::logic_error);
}

TEST(AddPartialSums, AddsInTheGivenOrder) {
  constexpr std::int64_t kN = 10000;
  // Floats near 1e8 are 8 apart, so in f32 (1e8 + 4) + 4 is 1e8, but (4 + 4) + 1e8 is not.
  const std::vector<float> huge(kN, 1e8f), one(kN, 4);
  std::vector<float> first(kN, -1), last(kN, -1), kept(kN, 0.5f);
  for (const int threads : {1, 3}) {
    Stream stream(Device::cpu(), threads);
    add_partial_sums(stream, "test",
                     {{{huge.data(), one.data(), one.data()}, first.data(), kN, false},
                      {{one.data(), one.data(), huge.data()}, last.data(), kN, false}});
    for (std::size_t i = 0; i < kN; ++i) {
      ASSERT_EQ(first[i], (1e8f + 4) + 4);
      ASSERT_EQ(last[i], (4.0f + 4) + 1e8f);
    }
  }
  ASSERT_NE((1e8f + 4) + 4, (4.0f + 4) + 1e8f);
  Stream stream(Device::cpu(), 2);
  add_partial_sums(stream, "test", {{{one.data()}, kept.data(), kN, true}});
  EXPECT_EQ(kept, std::vector<float>(kN, 4.5f));
}

// bf16 has 8 significant bits: 256 + 1 + 1 is 256 if every sum is rounded, and 258 if only the last is.
TEST(AddPartialSums, RoundsBf16Once) {
  constexpr std::int64_t kN = 5000;
  const std::vector<bf16> large(kN, bf16(256.0f)), one(kN, bf16(1.0f));
  std::vector<bf16> sum(kN), kept(kN, bf16(1.0f));
  Stream stream(Device::cpu(), 2);
  add_partial_sums(stream, "test",
                   {{{large.data(), one.data(), one.data()}, sum.data(), kN, false, DType::bf16},
                    {{one.data(), large.data()}, kept.data(), kN, true, DType::bf16}});
  for (std::size_t i = 0; i < kN; ++i) {
    ASSERT_EQ(static_cast<float>(sum[i]), 258);
    ASSERT_EQ(static_cast<float>(kept[i]), 258);
  }
}

}  // namespace
}  // namespace wellspring
