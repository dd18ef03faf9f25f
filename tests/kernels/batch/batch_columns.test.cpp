#include "kernels/batch/batch_columns.h"

#include "tests/support/error_testing.h"
#include "tests/support/host_batch.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace wellspring {
namespace {

/// Column widths of a layout, by column name.
std::map<std::string, std::int64_t> widths(const SampleLayout& layout) {
  BatchView view;
  view.layout = layout;
  std::map<std::string, std::int64_t> result;
  for (const BatchColumn& column : columns_of(view)) {
    if (column.width > 0) result[column.name] = column.width;
  }
  return result;
}

TEST(SampleLayout, ListsItsColumns) {
  using Widths = std::map<std::string, std::int64_t>;
  EXPECT_EQ(widths(SampleLayout::image(4, 5, 3)), (Widths{{"x", 60}, {"label", 1}, {"weight", 1}}));
  SampleLayout event = SampleLayout::event(2);
  event.latents = 3;
  event.targets = 4;
  EXPECT_EQ(widths(event),
            (Widths{{"x", 2}, {"label", 1}, {"weight", 1}, {"latents", 3}, {"target", 4}}));
  SampleLayout set = SampleLayout::set(30, 4);
  set.globals = 2;
  EXPECT_EQ(widths(set),
            (Widths{{"x", 120}, {"count", 1}, {"globals", 2}, {"label", 1}, {"weight", 1}}));
}

TEST(SampleLayout, SameInputIgnoresTruthColumns) {
  const SampleLayout plain = SampleLayout::set(30, 4);
  SampleLayout other = plain;
  other.latents = 2;
  other.targets = 5;
  EXPECT_TRUE(plain.same_input(other));
  other.globals = 1;
  EXPECT_FALSE(plain.same_input(other));
  EXPECT_FALSE(plain.same_input(SampleLayout::set(31, 4)));
  EXPECT_FALSE(SampleLayout::image(1, 30, 4).same_input(plain)) << "an image is not a set";
  EXPECT_FALSE(SampleLayout::event(4).same_input(SampleLayout::set(1, 4)));
}

TEST(SampleLayout, HasAReadableName) {
  EXPECT_EQ(to_string(SampleLayout::image(32, 48, 1)), "image 32x48x1");
  EXPECT_EQ(to_string(SampleLayout::event(2)), "event of 2 features");
  SampleLayout set = SampleLayout::set(30, 4);
  set.globals = 2;
  EXPECT_EQ(to_string(set), "set of up to 30 items of 4 features, 2 globals");
}

TEST(BatchColumns, ReservesOnlyTheLayoutsColumns) {
  SampleLayout layout = SampleLayout::set(3, 2);
  layout.globals = 5;
  layout.latents = 7;
  MemoryPlan memory(Device::cpu());
  BatchColumns columns;
  columns.plan(memory, "data", 4, layout, DType::bf16);
  std::map<std::string, std::size_t> bytes;
  for (const Reservation& block : memory.reservations()) bytes[block.name] = block.bytes;
  EXPECT_EQ(bytes, (std::map<std::string, std::size_t>{{"x", 4 * 6 * 2},
                                                       {"count", 4 * 4},
                                                       {"globals", 4 * 5 * 4},
                                                       {"label", 4 * 4},
                                                       {"weight", 4 * 4},
                                                       {"latents", 4 * 7 * 4},
                                                       {"overflow", sizeof(SetOverflow)}}));
  memory.commit();
  const BatchView view = columns.view();
  EXPECT_EQ(view.size, 4);
  EXPECT_EQ(view.layout, layout);
  EXPECT_EQ(view.target, nullptr);
  EXPECT_NE(view.overflow, nullptr);
}

TEST(BatchColumns, RefusesASampleWithMoreValuesThanKernelsCount) {
  MemoryPlan memory(Device::cpu());
  BatchColumns columns;
  const auto plan = [&](const SampleLayout& layout) {
    columns.plan(memory, "data", 1, layout, DType::bf16);
  };
  plan(SampleLayout::image(1 << 14, 1 << 14, 7));
  test::expect_parts(
      test::message_of(ErrorKind::config, [&] { plan(SampleLayout::image(1 << 14, 1 << 14, 8)); }),
      {"image 16384x16384x8 has 2147483648 values"});
  test::expect_parts(
      test::message_of(ErrorKind::config, [&] { plan(SampleLayout::set(1 << 16, 1 << 15)); }),
      {"the limit is 2147483647"});
}

TEST(BatchColumns, StoresOnlyTheOverflowInARunsState) {
  MemoryPlan memory(Device::cpu());
  BatchColumns columns;
  columns.plan_state(memory, "data", 4, SampleLayout::set(3, 2), DType::f32);
  memory.commit();
  ASSERT_NE(columns.view().overflow, nullptr);
  for (const StateBlock& block : memory.state())
    EXPECT_EQ(block.persistence == Persistence::stored, block.data == columns.view().overflow)
        << block.name;
}

TEST(BatchColumns, MapsEveryColumnToTheView) {
  SampleLayout layout = SampleLayout::set(3, 2);
  layout.globals = layout.targets = layout.latents = 1;
  const test::HostBatch batch(2, layout);
  const BatchView& view = batch.view();
  BatchView none = view;
  none.x = nullptr;
  none.count = none.label = nullptr;
  none.globals = none.target = none.weight = none.latents = nullptr;
  const BatchView again = with_columns(none, columns_of(view));
  EXPECT_EQ(again.x, view.x);
  EXPECT_EQ(again.count, view.count);
  EXPECT_EQ(again.globals, view.globals);
  EXPECT_EQ(again.label, view.label);
  EXPECT_EQ(again.target, view.target);
  EXPECT_EQ(again.weight, view.weight);
  EXPECT_EQ(again.latents, view.latents);
}

}  // namespace
}  // namespace wellspring
