// Stores of several neighbouring elements write the same bytes as single stores, at every address.
#include "kernels/runtime/neighbours.h"

#include "kernels/runtime/dtype.h"

#include <gtest/gtest.h>

#include <cstring>
#include <utility>

namespace wellspring {
namespace {

constexpr int kRoom = 64, kOffsets = 8;

template <class T>
struct alignas(16) Line {
  T v[kRoom];
  Line() { std::memset(static_cast<void*>(v), 0x5a, sizeof(v)); }
  bool operator==(const Line& other) const { return std::memcmp(v, other.v, sizeof(v)) == 0; }
};

template <class T, int N>
void expect_as_single_stores() {
  float values[N];
  for (int k = 0; k < N; ++k) values[k] = 1.0f / static_cast<float>(k + 3);  // rounded in bf16
  for (int at = 0; at < kOffsets; ++at) {
    Line<T> expected, written;
    for (int k = 0; k < N; ++k) expected.v[at + k] = static_cast<T>(values[k]);
    store_neighbours(written.v + at, values);
    EXPECT_EQ(written, expected) << N << " at " << at;
  }
}

template <class T, int... N>
void expect_for_lengths(std::integer_sequence<int, N...>) {
  (expect_as_single_stores<T, N + 1>(), ...);
}

TEST(Neighbours, AreStoredAtEveryAddress) {
  expect_for_lengths<float>(std::make_integer_sequence<int, 24>());
  expect_for_lengths<bf16>(std::make_integer_sequence<int, 24>());
}

TEST(Neighbours, TakeTheWidestAccessThatDividesTheirNumber) {
  EXPECT_EQ(detail::access_width<float>(4), 4);
  EXPECT_EQ(detail::access_width<float>(6), 2);
  EXPECT_EQ(detail::access_width<bf16>(16), 8);
  EXPECT_EQ(detail::access_width<bf16>(4), 4);
  EXPECT_EQ(detail::access_width<bf16>(7), 2);
}

template <class T>
void expect_zeros(int size) {
  for (int at = 0; at < kOffsets; ++at) {
    for (int count = 0; count <= 40; ++count) {
      Line<T> expected, written;
      for (int k = 0; k < count; ++k) expected.v[at + k] = T{};
      for (int rank = 0; rank < size; ++rank) store_zeros(written.v + at, count, rank, size);
      EXPECT_EQ(written, expected) << count << " at " << at << " by " << size;
    }
  }
}

TEST(Neighbours, AreSetToZeroByTeamsOfAnySize) {
  for (const int size : {1, 2, 3, 32}) {
    expect_zeros<float>(size);
    expect_zeros<bf16>(size);
  }
}

}  // namespace
}  // namespace wellspring
