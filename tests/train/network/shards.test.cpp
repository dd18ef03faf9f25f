#include "train/network/shards.h"

#include <gtest/gtest.h>

#include <array>

namespace wellspring {
namespace {

Node dense(int in, int width) {
  Node node;
  Dense operation;
  operation.width = width;
  node.operation = operation;
  node.inputs = {{0, {1, 1, in}}};
  node.output = {1, {1, 1, width}};
  return node;
}

Node convolution(int side, int in, int channels) {
  Node node;
  Convolution operation;
  operation.channels = channels;
  node.operation = operation;
  node.inputs = {{0, {side, side, in}}};
  node.output = {1, {side, side, channels}};
  return node;
}

std::size_t shards_of(const Node& node, std::int64_t batch) {
  return make_shards(std::array{node}, batch).size();
}

TEST(Shards, HoldEveryRowOnceAndInOrder) {
  for (const std::int64_t batch : {1, 4, 7, 128, 1000})
    for (const std::int64_t asked : {0, 1, 3, 32, 5000}) {
      std::int64_t next = 0;
      for (const Rows& rows : make_shards(batch, asked)) {
        EXPECT_EQ(rows.first, next);
        EXPECT_GT(rows.count, 0);
        next += rows.count;
      }
      EXPECT_EQ(next, batch);
    }
}

TEST(Shards, FollowTheAmountOfWork) {
  const Node wide = convolution(32, 32, 32);  // 9.4 million multiplications per row
  EXPECT_EQ(shards_of(wide, 1024), 32u);      // the maximum
  EXPECT_EQ(shards_of(wide, 128), 8u);        // 16 rows each
  EXPECT_EQ(shards_of(wide, 15), 1u);
  EXPECT_EQ(shards_of(convolution(8, 8, 8), 512), 4u);  // 36,864 per row, 4.5 * 2^22 in total
  EXPECT_EQ(shards_of(dense(2048, 2048), 128), 2u);     // 64 rows: as large as the gradient
  EXPECT_EQ(shards_of(dense(4, 4), 128), 1u);
}

TEST(Shards, RowsStartAtTheRightOffsetInEveryColumn) {
  SampleLayout layout = SampleLayout::set(5, 3);
  layout.globals = 2;
  std::array<float, 8 * 15> x{};
  std::array<std::int32_t, 8> count{}, label{};
  std::array<float, 8 * 2> globals{};
  BatchView batch;
  batch.size = 8;
  batch.layout = layout;
  batch.x = x.data();
  batch.count = count.data();
  batch.globals = globals.data();
  batch.label = label.data();
  const BatchView part = rows_of(batch, {3, 2});
  EXPECT_EQ(part.size, 2);
  EXPECT_EQ(part.x, x.data() + 45);
  EXPECT_EQ(part.count, count.data() + 3);
  EXPECT_EQ(part.globals, globals.data() + 6);
  EXPECT_EQ(part.label, label.data() + 3);
  EXPECT_EQ(part.target, nullptr);
  batch.dtype = DType::bf16;
  EXPECT_EQ(rows_of(batch, {3, 2}).x, reinterpret_cast<bf16*>(x.data()) + 45);
}

}  // namespace
}  // namespace wellspring
