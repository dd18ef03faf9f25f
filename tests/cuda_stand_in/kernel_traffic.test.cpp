// How the compiler's code of norms, pooling and metrics uses memory: counts of the interpreter. Needs
// listings (scripts/listing-tests).
#include "kernels/ops/batch_norm.h"
#include "kernels/ops/layer_norm.h"
#include "kernels/ops/metrics.h"
#include "kernels/ops/ops.h"
#include "tests/cuda_stand_in/sass/kernels.h"
#include "tests/ops/operation_test.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace wellspring::ops::test {
namespace {

class KernelTraffic : public ::testing::Test {
 protected:
  void SetUp() override {
    kernels_ = sass::Kernels::of_environment();
    if (kernels_ == nullptr) GTEST_SKIP() << "needs listings: see scripts/listing-tests";
    kernels_->use(true);
  }

  /// The traffic of all kernels that `run` launches.
  template <class Run>
  sass::Traffic traffic_of(const Run& run) {
    const sass::Traffic before = kernels_->traffic();
    const std::uint64_t instructions = kernels_->warp_instructions();
    run();
    stream.synchronize();
    EXPECT_GT(kernels_->warp_instructions(), instructions) << "no kernel ran from a listing";
    return kernels_->traffic() - before;
  }
  /// Values are read and written in packs. A forward pass with moments may read single values of
  /// the first row of a chunk, which has at least 60 rows. It writes `outputs` bf16 for each of n
  /// values, and at most a fifth more, such as statistics.
  static void expect_packs(const sass::Traffic& traffic, std::size_t n, double outputs,
                           bool has_moments = false) {
    EXPECT_LE(traffic.narrow, has_moments ? n / 60 : 0);
    EXPECT_GE(static_cast<double>(traffic.bytes_written), outputs * sizeof(bf16) * double(n));
    EXPECT_LE(static_cast<double>(traffic.bytes_written), 1.2 * outputs * sizeof(bf16) * double(n));
  }

  template <class T>
  Buffer<T> filled(std::size_t n, unsigned seed) {
    return {stream, random_values<T>(n, seed, 0.5f, 1.5f)};
  }
  template <class T>
  Buffer<T> empty(std::size_t n) {
    return {stream, n};
  }

  Stream stream{Device::cuda(0), 1};

 private:
  sass::Kernels* kernels_ = nullptr;
};

TEST_F(KernelTraffic, GroupNormsUsePacks) {
  for (GroupNormSpec s : {GroupNormSpec{4, 8, 8, 64, 8}, GroupNormSpec{4, 8, 8, 24, 3},
                          GroupNormSpec{1, 91, 91, 8, 2}})
    for (const bool residual : {false, true}) {
      s.residual = residual;
      s.activation = Activation::relu;
      s.compute = DType::bf16;
      const auto c = static_cast<std::size_t>(s.channels),
                 n = static_cast<std::size_t>(s.batch * s.height * s.width) * c,
                 groups = static_cast<std::size_t>(s.batch * s.groups);
      const auto x = filled<bf16>(n, 1), added = filled<bf16>(n, 2), dy = filled<bf16>(n, 3),
                 image = filled<bf16>(4 * n, 9);
      const auto y = empty<bf16>(n), dx = empty<bf16>(n), dadded = empty<bf16>(n),
                 dimage = empty<bf16>(4 * n);
      const auto gamma = filled<float>(c, 4), beta = filled<float>(c, 5),
                 mean = empty<float>(groups), rstd = empty<float>(groups), dgamma = empty<float>(c),
                 dbeta = empty<float>(c), partials = empty<float>(group_norm_partials(s));
      const auto winner = empty<std::uint8_t>(n);
      const PoolBeforeNorm pool{Activation::relu, winner, image, dimage};
      const auto forward = [&](const PoolBeforeNorm* before) {
        return traffic_of([&] {
          group_norm_forward(stream, s, x, gamma, beta, added, y, mean, rstd, partials, nullptr,
                             before);
        });
      };
      const auto backward = [&](const PoolBeforeNorm* before) {
        return traffic_of([&] {
          group_norm_backward(stream, s, x, y, dy.data(), gamma, mean, rstd, before ? x : dx,
                              residual ? dadded.data() : nullptr, dgamma, dbeta, partials, nullptr,
                              before);
        });
      };
      const double sums = residual ? 1 : 0;  // gradient of the residual
      expect_packs(forward(nullptr), n, 1, true);
      expect_packs(backward(nullptr), n, 1 + sums);
      expect_packs(forward(&pool), n, 2.5, true);  // also pooled values and winners of one byte
      expect_packs(backward(&pool), n, 5 + sums);  // also the gradient of four times as many values
    }
}

TEST_F(KernelTraffic, LayerNormsUsePacks) {
  for (const int channels : {24, 96, 192}) {
    const LayerNormSpec s{.rows = 64, .channels = channels, .compute = DType::bf16};
    const auto c = static_cast<std::size_t>(channels), n = 64 * c;
    const auto x = filled<bf16>(n, 1), dy = filled<bf16>(n, 3);
    const auto y = empty<bf16>(n), dx = empty<bf16>(n);
    const auto gamma = filled<float>(c, 4), beta = filled<float>(c, 5), mean = empty<float>(64),
               rstd = empty<float>(64), dgamma = empty<float>(c), dbeta = empty<float>(c),
               partials = empty<float>(layer_norm_partials(s));
    expect_packs(traffic_of([&] { layer_norm_forward(stream, s, x, gamma, beta, y, mean, rstd); }),
                 n, 1);
    expect_packs(traffic_of([&] {
                   layer_norm_backward(stream, s, x, dy, gamma, mean, rstd, dx, dgamma, dbeta,
                                       partials);
                 }),
                 n, 1);
  }
}

TEST_F(KernelTraffic, BatchNormsUsePacks) {
  for (const int channels : {24, 64}) {
    const BatchNormSpec s{
        .rows = 700, .channels = channels, .activation = Activation::relu, .compute = DType::bf16};
    const auto c = static_cast<std::size_t>(channels), n = 700 * c;
    const auto x = filled<bf16>(n, 1), added = filled<bf16>(n, 2), dy = filled<bf16>(n, 3);
    const auto y = empty<bf16>(n), dx = empty<bf16>(n), dadded = empty<bf16>(n);
    const auto gamma = filled<float>(c, 4), beta = filled<float>(c, 5), mean = empty<float>(c),
               rstd = empty<float>(c), running_mean = filled<float>(c, 1),
               running_variance = filled<float>(c, 2), dgamma = empty<float>(c),
               dbeta = empty<float>(c), partials = empty<float>(batch_norm_partials(s));
    expect_packs(traffic_of([&] {
                   batch_norm_forward(stream, s, x, gamma, beta, added, y,
                                      {mean, rstd, running_mean, running_variance}, partials);
                 }),
                 n, 1, true);
    expect_packs(traffic_of([&] {
                   batch_norm_backward(stream, s, x, y, dy.data(), gamma, mean, rstd, dx, dadded,
                                       dgamma, dbeta, partials);
                 }),
                 n, 2);
  }
}

TEST_F(KernelTraffic, MetricsHaveNoBankConflicts) {
  for (const auto& [count, sources] : {std::pair{2, 1}, {4, 3}, {12, 3}}) {
    constexpr std::size_t kBatch = 1024;
    const auto values = filled<float>(kBatch * static_cast<std::size_t>(count), 1);
    const Buffer<Slot> slots(stream, std::vector<Slot>(kBatch));
    const Buffer<StepState> state(stream, std::vector<StepState>(1));
    const auto lines = empty<StepMetrics>(4);
    const auto sums = empty<double>(static_cast<std::size_t>(4 * metric_sums(count, sources)));
    const Measures measures{
        .batch = kBatch, .count = count, .losses = 1, .sources = sources, .values = values};
    const sass::Traffic traffic = traffic_of([&] {
      collect_metrics(stream, measures, slots, nullptr, state, {lines, sums, 4});
    });
    EXPECT_EQ(traffic.conflicts, 0u);
    EXPECT_GT(traffic.wavefronts, 0u);
  }
}

}  // namespace
}  // namespace wellspring::ops::test
