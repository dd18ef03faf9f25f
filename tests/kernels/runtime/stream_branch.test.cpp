#include "kernels/runtime/stream_branch.h"

#include "core/error.h"
#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/step_graph.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>

namespace wellspring {
namespace {

using Order = StreamBranch::Order;

TEST(StreamBranch, IsTheMainStreamOnTheCpu) {
  Stream stream(Device::cpu(), 1);
  StreamBranch branch(stream, Order::parallel);
  EXPECT_EQ(&branch.fork(stream), &stream);
  branch.join(stream);
}

class StreamBranchOnAGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cuda_status().device_count == 0) GTEST_SKIP() << "needs a GPU: " << cuda_status().reason;
  }
};

/// Copies a value along places in device memory, alternately in the main stream and in the branch.
struct Relay {
  explicit Relay(Order order) : stream(Device::parse("auto")), plan(stream.device()) {
    places = plan.reserve<int>("test", "places", kPlaces);
    here = plan.reserve<int>("test", "here", 1, MemorySpace::host);
    plan.commit();
    branch.emplace(stream, order);
  }
  void move(Stream& on, int from) {
    on.copy(places.data() + from + 1, places.data() + from, sizeof(int), CopyDirection::on_device,
            "move");
  }
  void enqueue(Stream& main) {
    for (int from = 0; from + 1 < kPlaces; from += 2) {
      move(main, from);
      move(branch->fork(main), from + 1);
      branch->join(main);
    }
  }
  /// The last place, after writing `value` to the first one and enqueuing `work`.
  int end_of(int value, const std::function<void()>& work) {
    *here.data() = value;
    stream.copy(places.data(), here.data(), sizeof(int), CopyDirection::host_to_device, "up");
    work();
    stream.copy(here.data(), places.data() + kPlaces - 1, sizeof(int),
                CopyDirection::device_to_host, "down");
    stream.synchronize();
    return *here.data();
  }

  static constexpr int kPlaces = 9;
  Stream stream;
  MemoryPlan plan;
  Planned<int> places, here;
  std::optional<StreamBranch> branch;
};

TEST_F(StreamBranchOnAGpu, RunsAfterTheForkAndBeforeTheJoin) {
  for (const Order order : {Order::parallel, Order::in_line}) {
    Relay relay(order);
    EXPECT_EQ(&relay.branch->fork(relay.stream) == &relay.stream, order == Order::in_line);
    relay.branch->join(relay.stream);
    EXPECT_EQ(relay.end_of(1, [&] { relay.enqueue(relay.stream); }), 1);
    const auto graph = StepGraph::record(relay.stream, [&](Stream& s) { relay.enqueue(s); });
    EXPECT_EQ(graph->census().copies_on_device, Relay::kPlaces - 1);
    for (const int value : {2, 3})
      EXPECT_EQ(relay.end_of(value, [&] { graph->launch(relay.stream); }), value);
  }
}

TEST_F(StreamBranchOnAGpu, MayLeaveTheLongestPath) {
  for (const Order order : {Order::parallel, Order::in_line}) {
    Relay relay(order);
    const auto graph = StepGraph::record(relay.stream, [&](Stream& main) {
      relay.move(main, 0);
      relay.move(relay.branch->fork(main), 4);
      relay.move(main, 1);
      relay.move(main, 2);
      relay.branch->join(main);
      relay.move(main, 6);
    });
    EXPECT_EQ(graph->census().nodes.size(), 5u);
    EXPECT_EQ(graph->census().longest_path, order == Order::parallel ? 4 : 5);
  }
}

TEST_F(StreamBranchOnAGpu, CannotBeLeftOpenInARecording) {
  Relay relay(Order::parallel);
  EXPECT_THROW(
      StepGraph::record(relay.stream, [&](Stream& s) { relay.move(relay.branch->fork(s), 0); }),
      Error);
}

}  // namespace
}  // namespace wellspring
