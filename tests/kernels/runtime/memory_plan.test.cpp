#include "kernels/runtime/memory_plan.h"

#include "core/error.h"
#include "kernels/runtime/stream.h"
#include "tests/support/error_testing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace wellspring::test {
namespace {

/// These tests run on every back end of this machine.
class MemoryPlanTest : public ::testing::TestWithParam<Backend> {
 protected:
  void SetUp() override {
    if (GetParam() == Backend::cpu) return;
    if (cuda_status().device_count == 0) GTEST_SKIP() << "needs a GPU: " << cuda_status().reason;
    device = Device::parse("auto");
  }
  Device device = Device::cpu();
};
INSTANTIATE_TEST_SUITE_P(Backends, MemoryPlanTest, ::testing::Values(Backend::cpu, Backend::cuda),
                         [](const auto& test) {
                           return test.param == Backend::cuda ? "cuda" : "cpu";
                         });

bool aligned(const void* pointer, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(pointer) % alignment == 0;
}

TEST(MemoryPlan, ReservesAlignedDisjointZeroedBlocks) {
  MemoryPlan plan(Device::cpu());
  const auto a = plan.reserve<float>("parameters", "a", 3);
  const auto b = plan.reserve<std::uint8_t>("data", "b", 1000);
  const auto c = plan.reserve<double>("data", "c", 5, MemorySpace::host);
  plan.commit();
  for (const void* block : {static_cast<const void*>(a.data()), static_cast<const void*>(b.data()),
                            static_cast<const void*>(c.data())}) {
    EXPECT_TRUE(aligned(block, kBlockAlignment));
  }
  EXPECT_GE(reinterpret_cast<std::byte*>(b.data()),
            reinterpret_cast<std::byte*>(a.data()) + a.bytes());
  EXPECT_TRUE(std::all_of(b.data(), b.data() + b.size(), [](auto x) { return x == 0; }));
  EXPECT_TRUE(std::all_of(c.data(), c.data() + c.size(), [](auto x) { return x == 0; }));
  EXPECT_EQ(b.size(), 1000u);
  EXPECT_EQ(c.bytes(), 5 * sizeof(double));
}

TEST_P(MemoryPlanTest, AllocatesOncePerMemorySpace) {
  const std::uint64_t before = device_allocation_count();
  MemoryPlan plan(device);
  for (int i = 0; i < 20; ++i) {
    plan.reserve<int>("group", "device block", 100);
    plan.reserve<int>("group", "host block", 100, MemorySpace::host);
  }
  EXPECT_EQ(device_allocation_count(), before);
  plan.commit();
  EXPECT_EQ(device_allocation_count(), before + 2);
  plan.check_guards();
  EXPECT_EQ(device_allocation_count(), before + 2);
}

TEST_P(MemoryPlanTest, AcceptsEmptyBlocksAndPlans) {
  MemoryPlan empty(device);
  const auto nothing = empty.reserve<float>("group", "nothing", 0);
  EXPECT_TRUE(nothing);
  empty.commit();
  EXPECT_EQ(nothing.size(), 0u);
  static_cast<void>(nothing.data());
  empty.check_guards();
  MemoryPlan bare(device);
  bare.commit();
  bare.check_guards();
  const Planned<float> none;
  EXPECT_FALSE(none);
  EXPECT_EQ(none.data(), nullptr);
  EXPECT_EQ(none.size(), 0u);
}

// Blocks start as zeros, and copying into one does not change the other.
TEST_P(MemoryPlanTest, BlocksStoreCopiedData) {
  constexpr std::size_t kCount = 1000;
  MemoryPlan plan(device);
  const auto first = plan.reserve<std::int32_t>("test", "first", kCount);
  const auto second = plan.reserve<std::int32_t>("test", "second", kCount);
  const auto host = plan.reserve<std::int32_t>("test", "host", 2 * kCount, MemorySpace::host);
  plan.commit();
  Stream stream(device);
  for (std::size_t i = 0; i < kCount; ++i) host.data()[i] = static_cast<std::int32_t>(i);
  stream.copy(first.data(), host.data(), first.bytes(), CopyDirection::host_to_device, "up");
  stream.copy(host.data() + kCount, first.data(), first.bytes(), CopyDirection::device_to_host,
              "down");
  stream.copy(host.data(), second.data(), second.bytes(), CopyDirection::device_to_host, "down");
  stream.synchronize();
  for (std::size_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(host.data()[i], 0);
    ASSERT_EQ(host.data()[kCount + i], static_cast<std::int32_t>(i));
  }
  plan.check_guards();
}

TEST(MemoryPlan, GivesAddressesOnlyWhileCommitted) {
  Planned<int> block;
  {
    MemoryPlan plan(Device::cpu());
    block = plan.reserve<int>("group", "early bird", 1);
    try {
      static_cast<void>(block.data());
      FAIL() << "an error was expected";
    } catch (const std::logic_error& error) {
      EXPECT_NE(std::string(error.what()).find("early bird"), std::string::npos);
    }
    plan.commit();
    *block.data() = 1;
    EXPECT_THROW(plan.reserve<int>("group", "late", 1), std::logic_error);
    EXPECT_THROW(plan.commit(), std::logic_error);
  }
  EXPECT_THROW(static_cast<void>(block.data()), std::logic_error);
}

TEST_P(MemoryPlanTest, ListsOnlyStateInOrderOfReservation) {
  MemoryPlan plan(device);
  plan.reserve<float>("activations", "x", 100);
  const auto weights = plan.reserve_state<float>("parameters", "weights", 10);
  plan.reserve<float>("parameters", "weights", 10);  // not state, so it may share the name
  const auto copy =
      plan.reserve_state<std::uint16_t>("parameters", "copy", 10, Persistence::derived);
  plan.reserve<int>("data", "staging", 3, MemorySpace::host);
  const auto nothing = plan.reserve_state<int>("data", "nothing", 0);
  plan.commit();
  const std::vector<StateBlock> state = plan.state();
  ASSERT_EQ(state.size(), 3u);
  EXPECT_EQ(state[0].name, "parameters/weights");
  EXPECT_EQ(state[0].data, weights.data());
  EXPECT_EQ(state[0].bytes, 10 * sizeof(float));
  EXPECT_EQ(state[0].persistence, Persistence::stored);
  EXPECT_EQ(state[1].name, "parameters/copy");
  EXPECT_EQ(state[1].data, copy.data());
  EXPECT_EQ(state[1].bytes, 10 * sizeof(std::uint16_t));
  EXPECT_EQ(state[1].persistence, Persistence::derived);
  EXPECT_EQ(state[2].name, "data/nothing");
  EXPECT_EQ(state[2].bytes, 0u);
  static_cast<void>(nothing.data());
}

TEST(MemoryPlan, RefusesDuplicateAndLateState) {
  MemoryPlan plan(Device::cpu());
  plan.reserve_state<float>("parameters", "weights", 10);
  EXPECT_THROW(plan.reserve_state<int>("parameters", "weights", 1), std::logic_error);
  EXPECT_THROW(plan.reserve_state<int>("parameters", "other", 1, Persistence::none),
               std::logic_error);
  EXPECT_THROW(static_cast<void>(plan.state()), std::logic_error);
  plan.commit();
  EXPECT_EQ(plan.state().size(), 1u);
  EXPECT_THROW(plan.reserve_state<int>("parameters", "late", 1), std::logic_error);
}

TEST(MemoryPlan, TableListsGroupsBySize) {
  MemoryPlan plan(Device::cpu());
  plan.reserve<std::byte>("small", "x", 1 << 10);
  plan.reserve<std::byte>("large", "y", 3 << 20);
  plan.reserve<std::byte>("large", "z", 1 << 20, MemorySpace::host);
  plan.commit(std::size_t{64} << 20);
  const std::string table = plan.table();
  EXPECT_LT(table.find("large"), table.find("small")) << table;
  expect_parts(table, {"3.0 MiB", "1.0 KiB", "total", "64.0 MiB"});
}

TEST_P(MemoryPlanTest, ChecksBeforeAllocating) {
  MemoryPlan plan(device);
  plan.reserve<float>("activations", "conv1", 1 << 20);
  const std::uint64_t before = device_allocation_count();
  plan.check(8 << 20);
  EXPECT_NE(plan.table().find("8.0 MiB"), std::string::npos) << plan.table();
  EXPECT_THROW(plan.check(1 << 20), Error);
  EXPECT_FALSE(plan.committed());
  EXPECT_EQ(device_allocation_count(), before);
  plan.commit(8 << 20);
}

// A configured limit cannot add memory to the machine.
TEST(MemoryPlan, RefusesMoreThanIsFreeDespiteALargerLimit) {
  MemoryPlan plan(Device::cpu());
  plan.reserve<std::byte>("data", "all of it", std::size_t{1} << 50);
  expect_parts(message_of(ErrorKind::device, [&] { plan.commit(std::size_t{1} << 51); }),
               {"are free", "data/all of it", "total"});
}

TEST_P(MemoryPlanTest, ReportsTheTableWhenOverTheLimit) {
  MemoryPlan plan(device);
  const auto block = plan.reserve<float>("activations", "conv1", 1 << 20);
  const std::uint64_t before = device_allocation_count();
  expect_parts(message_of(ErrorKind::device, [&] { plan.commit(1 << 20); }),
               {"activations", "conv1", "4.0 MiB", "limit is 1.0 MiB", "smaller batch"});
  EXPECT_FALSE(plan.committed());
  EXPECT_EQ(device_allocation_count(), before);
  EXPECT_THROW(static_cast<void>(block.data()), std::logic_error);
}

TEST_P(MemoryPlanTest, RefusesMoreThanTheMachineHas) {
  MemoryPlan on_device(device);
  on_device.reserve<std::byte>("data", "all of it", std::size_t{1} << 50);
  EXPECT_THROW(on_device.commit(), Error);
  MemoryPlan on_host(device);
  on_host.reserve<std::byte>("data", "all of it", std::size_t{1} << 50, MemorySpace::host);
  EXPECT_THROW(on_host.commit(), Error);
}

TEST(MemoryPlan, RefusesOverflowingCountsByName) {
  MemoryPlan plan(Device::cpu());
  const auto negative = [&] {
    plan.reserve<double>("group", "negative", static_cast<std::size_t>(-1));
  };
  expect_parts(message_of(ErrorKind::device, negative), {"group/negative"});
  plan.reserve<std::byte>("group", "half", PTRDIFF_MAX / 2 + 1);
  EXPECT_THROW(plan.reserve<std::byte>("group", "other half", PTRDIFF_MAX / 2 + 1), Error);
}

TEST(MemoryPlan, GuardsReportTheOverwrittenBlock) {
  if (!kMemoryGuards) GTEST_SKIP() << "guard words exist in debug and sanitizer builds";
  MemoryPlan plan(Device::cpu());
  plan.reserve<float>("group", "innocent", 10);
  const auto victim = plan.reserve<float>("group", "victim", 10);
  const auto pinned = plan.reserve<float>("group", "pinned", 7, MemorySpace::host);
  plan.commit();
  plan.check_guards();
  float* const past = victim.data() + 10;
  const float kept = *past;
  *past = 1.0f;
  try {
    plan.check_guards();
    FAIL() << "an error was expected";
  } catch (const std::logic_error& error) {
    EXPECT_NE(std::string(error.what()).find("group/victim"), std::string::npos) << error.what();
  }
  *past = kept;
  plan.check_guards();
  pinned.data()[7] = 0.0f;
  EXPECT_THROW(plan.check_guards(), std::logic_error);
}

}  // namespace
}  // namespace wellspring::test
