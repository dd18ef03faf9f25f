#include "kernels/runtime/step_graph.h"

#include "core/error.h"
#include "kernels/runtime/launch.h"
#include "kernels/runtime/memory_plan.h"
#include "tests/kernels/launch_functors.h"
#include "tests/support/allocation_counter.h"

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>

namespace wellspring::test {
namespace {

TEST(StepGraph, RecordsWithoutRunningAndReplaysInOrder) {
  Stream stream(Device::cpu(), 1);
  std::vector<int> order;
  const auto graph = StepGraph::record(stream, [&](Stream& s) {
    s.run(NodeKind::kernel, "first", [&] { order.push_back(1); });
    s.run(NodeKind::kernel, "second", [&] { order.push_back(2); });
  });
  EXPECT_TRUE(order.empty());
  EXPECT_FALSE(stream.recording());
  graph->launch(stream);
  graph->launch(stream);
  EXPECT_EQ(order, (std::vector<int>{1, 2, 1, 2}));
}

TEST(StepGraph, CountsNodesOfEveryKind) {
  Stream stream(Device::cpu(), 1);
  std::vector<std::int64_t> a(10), b(10);
  const auto graph = StepGraph::record(stream, [&](Stream& s) {
    map(s, "affine", 10, AffineWriter{a.data()});
    s.copy(b.data(), a.data(), 80, CopyDirection::on_device, "keep");
    s.fill_zero(a.data(), 40, "clear");
    s.copy(b.data(), a.data(), 8, CopyDirection::host_to_device, "up");
    s.copy(b.data() + 1, a.data(), 8, CopyDirection::device_to_host, "down");
    s.run(NodeKind::host, "callback", [] {});
    s.copy(b.data(), a.data(), 0, CopyDirection::host_to_device, "nothing");
  });
  const GraphCensus& census = graph->census();
  EXPECT_EQ(census.kernels, 1);
  EXPECT_EQ(census.memsets, 1);
  EXPECT_EQ(census.copies_on_device, 1);
  EXPECT_EQ(census.host_to_device, 1);
  EXPECT_EQ(census.device_to_host, 1);
  EXPECT_EQ(census.host_nodes, 1);
  EXPECT_EQ(census.other, 0);
  EXPECT_EQ(census.longest_path, 6);
  EXPECT_FALSE(census.no_host_transfer());
  std::vector<std::string> names;
  for (const GraphNode& node : census.nodes) names.push_back(node.name);
  EXPECT_EQ(names, (std::vector<std::string>{"affine", "keep", "clear", "up", "down", "callback"}));
  graph->launch(stream);
  EXPECT_EQ(a[9], 28);
  EXPECT_EQ(a[0], 0);
  EXPECT_EQ(b[9], 28);
}

TEST(StepGraph, DetectsAnyHostTransfer) {
  Stream stream(Device::cpu(), 1);
  std::int64_t a = 0, b = 0;
  const auto no_host_transfer = [&](const std::function<void(Stream&)>& body) {
    return StepGraph::record(stream, body)->census().no_host_transfer();
  };
  const auto copy = [&](CopyDirection direction) {
    return no_host_transfer([&](Stream& s) { s.copy(&b, &a, sizeof a, direction, "copy"); });
  };
  EXPECT_TRUE(copy(CopyDirection::on_device));
  EXPECT_FALSE(copy(CopyDirection::host_to_device));
  EXPECT_FALSE(copy(CopyDirection::device_to_host));
  EXPECT_FALSE(no_host_transfer([](Stream& s) { s.run(NodeKind::host, "callback", [] {}); }));
}

TEST(StepGraph, RefusesNestedRecordingAndLaunching) {
  Stream stream(Device::cpu());
  const auto inner = StepGraph::record(stream, [](Stream&) {});
  EXPECT_THROW(StepGraph::record(stream, [](Stream& s) { StepGraph::record(s, [](Stream&) {}); }),
               std::logic_error);
  EXPECT_THROW(StepGraph::record(stream, [&](Stream& s) { inner->launch(s); }), std::logic_error);
  EXPECT_THROW(StepGraph::record(stream, [](Stream& s) { s.synchronize(); }), std::logic_error);
  EXPECT_FALSE(stream.recording());  // even after the body threw
}

TEST(StepGraph, ReplaysWithoutHeapAllocation) {
  Stream stream(Device::cpu(), 2);
  std::vector<std::int64_t> out(1000), copy(1000), summary(3 * 50);
  std::vector<std::int32_t> histogram(64 * 50);
  const auto graph = StepGraph::record(stream, [&](Stream& s) {
    map(s, "affine", 1000, AffineWriter{out.data()});
    s.copy(copy.data(), out.data(), 8000, CopyDirection::on_device, "copy");
    league(s, "histogram", 50, {64, 512}, HistogramMaker{100, histogram.data(), summary.data()});
  });
  // The first two replays may allocate, because they start threads that allocate scratch.
  graph->launch(stream);
  graph->launch(stream);
  const std::uint64_t before = test::heap_allocation_count();
  const std::uint64_t blocks = device_allocation_count();
  for (int step = 0; step < 10; ++step) graph->launch(stream);
  EXPECT_EQ(test::heap_allocation_count(), before);
  EXPECT_EQ(device_allocation_count(), blocks);
}

TEST(StepGraph, CapturesTheSameCensusAndResultOnCuda) {
  if (cuda_status().device_count == 0) GTEST_SKIP() << "needs a GPU: " << cuda_status().reason;
  const Device device = Device::parse("auto");
  MemoryPlan plan(device);
  const auto there = plan.reserve<std::int64_t>("test", "there", 1000);
  const auto twin = plan.reserve<std::int64_t>("test", "twin", 1000);
  const auto here = plan.reserve<std::int64_t>("test", "here", 1000, MemorySpace::host);
  plan.commit();
  Stream stream(device);
  const auto body = [&](Stream& s) {
    s.fill_zero(there.data(), there.bytes(), "clear");
    map(s, "affine", 1000, AffineWriter{there.data()});
    s.copy(twin.data(), there.data(), there.bytes(), CopyDirection::on_device, "twin");
    s.copy(here.data(), twin.data(), there.bytes(), CopyDirection::device_to_host, "down");
  };
  const auto graph = StepGraph::record(stream, body);
  const GraphCensus& census = graph->census();
  EXPECT_EQ(census.kernels, 1);
  EXPECT_EQ(census.memsets, 1);
  EXPECT_EQ(census.copies_on_device, 1);
  EXPECT_EQ(census.device_to_host, 1);
  EXPECT_EQ(census.host_to_device, 0);
  EXPECT_EQ(census.longest_path, 4);
  EXPECT_FALSE(census.no_host_transfer());
  EXPECT_EQ(here.data()[999], 0) << "recording must not run the work";
  graph->launch(stream);
  stream.synchronize();
  EXPECT_EQ(here.data()[999], 2998);
  EXPECT_THROW(StepGraph::record(stream, [](Stream& s) { StepGraph::record(s, [](Stream&) {}); }),
               std::logic_error);
  graph->launch(stream);  // must still work after a failed capture
  stream.synchronize();
}

}  // namespace
}  // namespace wellspring::test
