#include "kernels/runtime/stream.h"

#include "core/error.h"
#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/threads.h"
#include "tests/support/error_testing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <omp.h>
#include <stdexcept>
#include <vector>

namespace wellspring {
namespace {

TEST(Stream, RunsImmediatelyAndInOrderOnTheCpu) {
  Stream stream(Device::cpu());
  std::vector<int> order;
  stream.run(NodeKind::kernel, "one", [&] { order.push_back(1); });
  stream.run(NodeKind::kernel, "two", [&] { order.push_back(2); });
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
  EXPECT_EQ(stream.native(), nullptr);
}

TEST(Stream, UsesTheMachinesThreadsByDefault) {
  const int limit = omp_get_thread_limit();  // OMP_THREAD_LIMIT, which sanitizer runs set
  EXPECT_EQ(Stream(Device::cpu()).threads(), compute_threads(0).count);
  EXPECT_EQ(Stream(Device::cpu(), 3).threads(), std::min(3, limit));
  EXPECT_THROW(Stream(Device::cpu(), -1), Error);
}

TEST(Stream, RefusesAnAbsentGpu) {
  if (cuda_status().device_count != 0) GTEST_SKIP() << "this machine has a GPU";
  test::message_of(ErrorKind::device, [] { Stream stream(Device::cuda(0)); });
}

TEST(Stream, CopiesAndFills) {
  Stream stream(Device::cpu());
  std::vector<int> from = {1, 2, 3}, to(3);
  stream.copy(to.data(), from.data(), 3 * sizeof(int), CopyDirection::on_device, "copy");
  EXPECT_EQ(to, from);
  stream.fill_zero(to.data(), 2 * sizeof(int), "zero");
  EXPECT_EQ(to, (std::vector<int>{0, 0, 3}));
  stream.copy(nullptr, nullptr, 0, CopyDirection::on_device, "nothing");
  stream.fill_zero(nullptr, 0, "nothing");
}

TEST(Stream, CopiesThroughTheDevice) {
  if (cuda_status().device_count == 0) GTEST_SKIP() << "needs a GPU: " << cuda_status().reason;
  const Device device = Device::parse("auto");
  MemoryPlan plan(device);
  const auto there = plan.reserve<int>("test", "there", 1000);
  const auto staging = plan.reserve<int>("test", "staging", 1000, MemorySpace::host);
  plan.commit();
  for (int i = 0; i < 1000; ++i) staging.data()[i] = i;
  Stream stream(device);
  stream.copy(there.data(), staging.data(), there.bytes(), CopyDirection::host_to_device, "up");
  stream.fill_zero(there.data() + 500, 500 * sizeof(int), "zero");
  stream.copy(staging.data(), there.data(), there.bytes(), CopyDirection::device_to_host, "down");
  stream.synchronize();
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(staging.data()[i], i < 500 ? i : 0);
}

TEST(Stream, BorrowsTheCallersStream) {
  if (cuda_status().device_count == 0) GTEST_SKIP() << "needs a GPU: " << cuda_status().reason;
  const Device device = Device::parse("auto");
  MemoryPlan plan(device);
  const auto there = plan.reserve<int>("test", "there", 1000);
  const auto staging = plan.reserve<int>("test", "staging", 1000, MemorySpace::host);
  plan.commit();
  for (int i = 0; i < 1000; ++i) staging.data()[i] = i;
  Stream callers(device);
  {
    const auto borrowed = Stream::borrow(device, callers.native());
    EXPECT_EQ(borrowed->native(), callers.native());
    borrowed->copy(there.data(), staging.data(), there.bytes(), CopyDirection::host_to_device,
                   "up");
    borrowed->fill_zero(there.data() + 500, 500 * sizeof(int), "zero");
    borrowed->synchronize();
  }
  // The caller's stream has done that work and still exists.
  callers.copy(staging.data(), there.data(), there.bytes(), CopyDirection::device_to_host, "down");
  callers.synchronize();
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(staging.data()[i], i < 500 ? i : 0);
}

TEST(Stream, BorrowsNothingOnTheCpu) {
  const auto stream = Stream::borrow(Device::cpu(), nullptr, 2);
  EXPECT_EQ(stream->threads(), Stream(Device::cpu(), 2).threads());
  int other = 0;
  EXPECT_THROW(Stream::borrow(Device::cpu(), &other), std::logic_error);
}

TEST(Event, IsDoneImmediatelyOnTheCpu) {
  Stream stream(Device::cpu());
  Event begin(Device::cpu(), true), end(Device::cpu(), true);
  begin.record(stream);
  end.record(stream);
  end.wait(stream);
  end.synchronize();
  EXPECT_TRUE(end.done());
  EXPECT_GE(end.milliseconds_since(begin), 0.0);
}

TEST(Event, OrdersStreamsOnTheDevice) {
  if (cuda_status().device_count == 0) GTEST_SKIP() << "needs a GPU: " << cuda_status().reason;
  const Device device = Device::parse("auto");
  Stream first(device), second(device);
  Event begin(device, true), end(device, true);
  begin.record(first);
  begin.wait(second);
  end.record(second);
  end.synchronize();
  EXPECT_TRUE(begin.done());
  EXPECT_GE(end.milliseconds_since(begin), 0.0);
}

}  // namespace
}  // namespace wellspring
