#include "kernels/runtime/launch.h"

#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/step_graph.h"
#include "tests/kernels/launch_functors.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace wellspring::test {
namespace {

constexpr std::int64_t kLeagues = 9;
constexpr std::int64_t kCount = 1000;
constexpr std::size_t kScratch = 64 * sizeof(std::int32_t) + 3 * sizeof(std::int64_t);

void expect_histograms(const std::int32_t* histogram, const std::int64_t* summary) {
  for (std::int64_t i = 0; i < kLeagues; ++i) {
    std::vector<std::int32_t> expected(64);
    for (std::int64_t k = 0; k < kCount; ++k)
      ++expected[static_cast<std::size_t>((i * 7919 + k) % 64)];
    EXPECT_EQ(std::vector<std::int32_t>(histogram + 64 * i, histogram + 64 * (i + 1)), expected);
    EXPECT_EQ(summary[3 * i], kCount * (kCount - 1) / 2);
    EXPECT_EQ(summary[3 * i + 1], (kCount - 1) * i);
    EXPECT_EQ(summary[3 * i + 2], (std::int64_t{1} << 40) - 1);
  }
}

TEST(Launch, MapRunsEveryIndexOnce) {
  for (const int threads : {1, 2, 5}) {
    Stream stream(Device::cpu(), threads);
    for (const std::int64_t n : {0, 1, 2, 1000}) {
      std::vector<std::int64_t> out(static_cast<std::size_t>(n) + 1, -1);
      map(stream, "affine", n, AffineWriter{out.data()});
      for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(out[static_cast<std::size_t>(i)], 3 * i + 1);
      EXPECT_EQ(out.back(), -1);
    }
  }
}

TEST(Launch, LeagueSupportsAllTeamOperations) {
  for (const int threads : {1, 2, 5}) {
    Stream stream(Device::cpu(), threads);
    std::vector<std::int32_t> histogram(64 * kLeagues);
    std::vector<std::int64_t> summary(3 * kLeagues);
    league(stream, "histogram", kLeagues, {64, kScratch},
           HistogramMaker{kCount, histogram.data(), summary.data()});
    expect_histograms(histogram.data(), summary.data());
  }
}

/// Counts how often each team runs.
struct RunCounter {
  const float* costs;
  std::int32_t* runs;

  float cost(std::int64_t i) const { return costs[i]; }
  template <class Team>
  void operator()(Team& team, std::int64_t i) const {
    team.atomic_add(&runs[i], 1);
  }
};

TEST(Launch, HostLeagueStartsWithTheMostExpensiveTeams) {
  const std::vector<float> costs = {2, 5, 0, 5, 7, 0};
  std::vector<std::int32_t> runs(costs.size());
  const RunCounter counter{costs.data(), runs.data()};
  const auto n = static_cast<std::int64_t>(costs.size());
  const std::int64_t* const order = host::costliest_first(n, counter);
  EXPECT_EQ(std::vector<std::int64_t>(order, order + n),
            (std::vector<std::int64_t>{4, 1, 3, 0, 2, 5}));
  for (const int threads : {1, 2, 5}) {
    host::run_league(n, threads, {32, 0}, counter);
    for (std::int32_t& count : runs) EXPECT_EQ(std::exchange(count, 0), 1);
  }
}

constexpr std::int64_t kPainters = 64, kPoints = 50'000;  // large enough for contention

/// Checks SharedCanvasPainter's result, which must not depend on the order of the teams.
void expect_canvas(const std::int32_t* cells, std::int64_t sum) {
  constexpr std::int64_t kAll = kPainters * kPoints;
  EXPECT_EQ(cells[0], kAll);
  EXPECT_EQ(cells[1], kAll - 1);
  EXPECT_EQ(cells[2], 0x7fffffff);
  EXPECT_EQ(sum, kAll * (kAll - 1) / 2);
}

TEST(Launch, HostTeamsUpdateSharedCellsAtomically) {
  for (const int threads : {1, 2, 8}) {
    std::vector<std::int32_t> cells(3);
    std::int64_t sum = 0;
    Stream stream(Device::cpu(), threads);
    league(stream, "paint", kPainters, {32, 0}, SharedCanvasPainter{kPoints, cells.data(), &sum});
    expect_canvas(cells.data(), sum);
  }
}

// The same test with std::thread, because ThreadSanitizer does not understand OpenMP's
// threads.
TEST(Launch, SoloTeamsOfStdThreadsUpdateSharedCellsAtomically) {
  std::vector<std::int32_t> cells(3);
  std::int64_t sum = 0;
  const SharedCanvasPainter painter{kPoints, cells.data(), &sum};
  std::vector<std::thread> threads;
  for (std::int64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&painter, t] {
      SoloTeam team({});
      for (std::int64_t rank = t; rank < kPainters; rank += 4) painter(team, rank);
    });
  }
  for (std::thread& thread : threads) thread.join();
  expect_canvas(cells.data(), sum);
}

/// AffineWriter, declared like a kernel compiled elsewhere.
CompiledKernel compiled_affine() {
  return {"affine, compiled", nullptr, [](const void* parameters) {
            const auto& block = *static_cast<const MapBlock<AffineWriter>*>(parameters);
            host::run_map(block.n, 1, block.f);
          }};
}

TEST(Launch, CompiledKernelCopiesItsParameters) {
  std::vector<std::int64_t> out(100);
  Stream stream(Device::cpu());
  MapBlock<AffineWriter> block{100, {out.data()}};
  const auto graph = StepGraph::record(
      stream, [&](Stream& recorded) { launch_kernel(recorded, compiled_affine(), {}, block); });
  EXPECT_EQ(graph->census().kernels, 1);
  block = {0, {nullptr}};
  graph->launch(stream);
  stream.synchronize();
  for (std::size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], 3 * static_cast<int>(i) + 1);
}

TEST(Launch, RefusesACompiledKernelThatCannotRun) {
  Stream stream(Device::cpu());
  const MapBlock<AffineWriter> block{0, {nullptr}};
  EXPECT_THROW(launch_kernel(stream, {"none", nullptr, {}}, {}, block), std::logic_error);
  for (const LaunchShape shape : {LaunchShape{0, 32, 0}, LaunchShape{1, 0, 0},
                                  LaunchShape{1, 1025, 0}, LaunchShape{1, 32, 1u << 30}}) {
    EXPECT_THROW(launch_kernel(stream, compiled_affine(), shape, block), std::logic_error);
  }
}

TEST(Launch, RunsACompiledKernelOnTheDevice) {
  if (cuda_status().device_count == 0) GTEST_SKIP() << "needs a GPU: " << cuda_status().reason;
#if WELLSPRING_CUDA
  const Device device = Device::parse("auto");
  constexpr std::size_t n = 1000;
  MemoryPlan plan(device);
  const auto out = plan.reserve<std::int64_t>("test", "out", n);
  const auto host = plan.reserve<std::int64_t>("test", "host", n, MemorySpace::host);
  plan.commit();
  Stream stream(device);
  CompiledKernel kernel = compiled_affine();
  kernel.device = &cuda::map_kernel<AffineWriter>();
  launch_kernel(stream, kernel, cuda::map_shape(n, launch_bound<AffineWriter>()),
                MapBlock<AffineWriter>{n, {out.data()}});
  stream.copy(host.data(), out.data(), out.bytes(), CopyDirection::device_to_host, "down");
  stream.synchronize();
  for (std::size_t i = 0; i < n; ++i) {
    ASSERT_EQ(host.data()[i], 3 * static_cast<std::int64_t>(i) + 1);
  }
#endif
}

TEST(Launch, RefusesInvalidShapes) {
  Stream stream(Device::cpu());
  const HistogramMaker functor{0, nullptr, nullptr};
  for (const int size : {-8, 0, 3, 12, 33, 1024}) {
    EXPECT_THROW(league(stream, "bad size", 1, {size, 0}, functor), std::logic_error) << size;
  }
  const SharedCanvasPainter whole_warps{0, nullptr, nullptr};
  EXPECT_THROW(league(stream, "bad size", 1, {16, 0}, whole_warps), std::logic_error);
  // Eight teams of 4 share a warp and its scratch.
  EXPECT_THROW(league(stream, "bad scratch", 1, {4, kHostScratchBytes / 8 + 1}, functor),
               std::logic_error);
  EXPECT_THROW(league(stream, "bad scratch", 1, {32, kHostScratchBytes + 1}, functor),
               std::logic_error);
  EXPECT_THROW(map(stream, "negative", -1, AffineWriter{nullptr}), std::logic_error);
  league(stream, "empty", 0, {32, 0}, functor);
}

// A kernel's registers are allocated for its launch bound, so CUDA refuses larger blocks.
TEST(Launch, RefusesTeamsAboveTheLaunchBound) {
  Stream stream(Device::cpu());
  std::vector<std::int32_t> cells(3);
  std::int64_t sum = 0;
  const SharedCanvasPainter usual{1, cells.data(), &sum};
  EXPECT_EQ(launch_bound<SharedCanvasPainter>().threads, kUsualBound.threads);
  league(stream, "usual", 1, {kUsualBound.threads, 0}, usual);
  EXPECT_THROW(league(stream, "usual", 1, {kUsualBound.threads + 32, 0}, usual), std::logic_error);
  const HistogramMaker stated{0, nullptr, nullptr};
  league(stream, "stated", 0, {kSampleTeam.threads, 0}, stated);
  EXPECT_THROW(league(stream, "stated", 0, {kSampleTeam.threads + 32, 0}, stated),
               std::logic_error);
}

TEST(Launch, RefusesFunctorsOfTheWrongSide) {
  EXPECT_THROW(detail::check_side("f", RunsOn::host, Device::cuda(0)), std::logic_error);
  EXPECT_THROW(detail::check_side("f", RunsOn::device, Device::cpu()), std::logic_error);
  detail::check_side("f", RunsOn::host, Device::cpu());
  detail::check_side("f", RunsOn::both, Device::cuda(0));
}

TEST(Launch, GridCoversEveryElement) {
  constexpr LaunchBound kBound = launch_bound<AffineWriter>();
  for (const std::int64_t n : {1, 63, 64, 65, 6400, 6401}) {
    const LaunchShape shape = cuda::map_shape(n, kBound);
    EXPECT_EQ(shape.threads, kBound.threads);
    EXPECT_GE(shape.blocks * kBound.threads, n);
    EXPECT_LT((shape.blocks - 1) * kBound.threads, n);
    EXPECT_EQ(cuda::league_shape(n, {128, 7}).blocks, n);
  }
}

// Teams smaller than a warp share a warp; each has aligned scratch.
TEST(Launch, PacksSmallTeamsIntoAWarp) {
  for (const int size : {1, 2, 4, 8, 16}) {
    for (const std::int64_t n : {1, 31, 32, 33, 1000}) {
      const LaunchShape shape = cuda::league_shape(n, {size, 20});
      EXPECT_EQ(shape.threads, size);
      EXPECT_EQ(shape.threads * shape.teams, 32);
      EXPECT_GE(shape.blocks * shape.teams, n);
      EXPECT_LT((shape.blocks - 1) * shape.teams, n);
      EXPECT_EQ(shape.scratch_bytes, 32u * static_cast<unsigned>(shape.teams));
    }
  }
}

// Kernels have no grid-stride loop, so the grid size limits the number of elements.
TEST(Launch, RefusesMoreElementsThanAGridHolds) {
  Stream stream(Device::cpu());
  constexpr std::int64_t kMostBlocks = 0x7fffffff;
  EXPECT_THROW(
      league(stream, "teams", kMostBlocks + 1, {32, 0}, HistogramMaker{0, nullptr, nullptr}),
      std::logic_error);
  const std::int64_t most = kMostBlocks * launch_bound<AffineWriter>().threads;
  EXPECT_NO_THROW(detail::check_map("elements", most, launch_bound<AffineWriter>()));
  EXPECT_THROW(map(stream, "elements", most + 1, AffineWriter{nullptr}), std::logic_error);
}

TEST(Launch, RefusesScratchBeyondTheShape) {
#if !defined(NDEBUG) || defined(WELLSPRING_SANITIZED)
  std::byte block[64];
  SoloTeam team({block, 64, 0});
  EXPECT_NO_THROW(team.scratch<float>(16));
  EXPECT_THROW(team.scratch<float>(1), std::logic_error);
#else
  GTEST_SKIP() << "contracts are checked in debug and sanitizer builds";
#endif
}

TEST(Launch, AlignsScratch) {
  alignas(16) std::byte block[64];
  SoloTeam team({block, 64, 0});
  auto* bytes = team.scratch<std::uint8_t>(3);
  auto* words = team.scratch<std::int64_t>(2);
  EXPECT_EQ(reinterpret_cast<std::byte*>(bytes), block);
  EXPECT_EQ(reinterpret_cast<std::byte*>(words), block + 8);
}

TEST(Launch, RunsMapAndLeagueOnTheDevice) {
  if (cuda_status().device_count == 0) GTEST_SKIP() << "needs a GPU: " << cuda_status().reason;
  const Device device = Device::parse("auto");
  MemoryPlan plan(device);
  constexpr std::size_t n = 100'001;
  const auto out = plan.reserve<std::int64_t>("test", "out", n);
  const auto histogram = plan.reserve<std::int32_t>("test", "histogram", 64 * kLeagues);
  const auto summary = plan.reserve<std::int64_t>("test", "summary", 3 * kLeagues);
  const auto host = plan.reserve<std::int64_t>("test", "host", n, MemorySpace::host);
  const auto host_histogram =
      plan.reserve<std::int32_t>("test", "host_histogram", 64 * kLeagues, MemorySpace::host);
  plan.commit();
  Stream stream(device);
  map(stream, "affine", n, AffineWriter{out.data()});
  stream.copy(host.data(), out.data(), out.bytes(), CopyDirection::device_to_host, "down");
  stream.synchronize();
  for (std::size_t i = 0; i < n; ++i) {
    ASSERT_EQ(host.data()[i], 3 * static_cast<std::int64_t>(i) + 1);
  }
  // The last shape needs more scratch than CUDA grants without an opt-in.
  for (const TeamShape shape :
       {TeamShape{32, kScratch}, TeamShape{512, kScratch}, TeamShape{1, kScratch},
        TeamShape{8, kScratch}, TeamShape{16, kScratch}, TeamShape{128, scratch_limit(device)}}) {
    league(stream, "histogram", kLeagues, shape,
           HistogramMaker{kCount, histogram.data(), summary.data()});
    stream.copy(host_histogram.data(), histogram.data(), histogram.bytes(),
                CopyDirection::device_to_host, "down");
    stream.copy(host.data(), summary.data(), summary.bytes(), CopyDirection::device_to_host,
                "down");
    stream.synchronize();
    expect_histograms(host_histogram.data(), host.data());
  }
  plan.check_guards();
}

}  // namespace
}  // namespace wellspring::test
