// How the compiler's code of norms, pooling and metrics uses memory: counts of the interpreter. Needs
// listings (scripts/listing-tests).
#include "kernels/ops/batch_norm.h"
#include "kernels/ops/layer_norm.h"
#include "kernels/ops/metrics.h"
#include "kernels/ops/ops.h"
#include "tests/cuda_stand_in/sass/kernels.h"
#include "tests/ops/operation_test.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
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
    issued = kernels_->warp_instructions() - instructions;
    EXPECT_GT(issued, 0u) << "no kernel ran from a listing";
    return kernels_->traffic() - before;
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
  std::uint64_t issued = 0;  ///< warp instructions of the last traffic_of()

 private:
  sass::Kernels* kernels_ = nullptr;
};

void show(const char* what, const sass::Traffic& t, std::uint64_t issued, std::size_t n) {
  std::printf(
      "%s: n %zu read %.3f written %.3f narrow %llu waves %llu conflicts %llu issued/el %.3f\n",
      what, n, double(t.bytes_read) / double(2 * n), double(t.bytes_written) / double(2 * n),
      (unsigned long long)t.narrow, (unsigned long long)t.wavefronts,
      (unsigned long long)t.conflicts, 32 * double(issued) / double(n));
}

TEST_F(KernelTraffic, GroupNorms) {
  for (GroupNormSpec s : {GroupNormSpec{4, 8, 8, 64, 8}, GroupNormSpec{4, 8, 8, 24, 3},
                          GroupNormSpec{1, 91, 91, 8, 2}}) {
    for (bool residual : {false, true}) {
      s.residual = residual;
      s.activation = Activation::relu;
      s.compute = DType::bf16;
      const auto n = static_cast<std::size_t>(s.batch * s.height * s.width * s.channels),
                 c = static_cast<std::size_t>(s.channels);
      const std::size_t groups = static_cast<std::size_t>(s.batch * s.groups);
      const auto x = filled<bf16>(n, 1), res = filled<bf16>(n, 2), dy = filled<bf16>(n, 3);
      const auto y = empty<bf16>(n), dx = empty<bf16>(n), dres = empty<bf16>(n),
                 average = empty<bf16>(static_cast<std::size_t>(s.batch) * c);
      const auto gamma = filled<float>(c, 4), beta = filled<float>(c, 5);
      const auto mean = empty<float>(groups), rstd = empty<float>(groups), dgamma = empty<float>(c),
                 dbeta = empty<float>(c), partials = empty<float>(group_norm_partials(s));
      auto t = traffic_of(
          [&] { group_norm_forward(stream, s, x, gamma, beta, res, y, mean, rstd, partials); });
      show("group fwd", t, issued, n);
      t = traffic_of([&] {
        group_norm_forward(stream, s, x, gamma, beta, res, y, mean, rstd, partials, average);
      });
      show("group fwd avg", t, issued, n);
      t = traffic_of([&] {
        group_norm_backward(stream, s, x, y, dy.data(), gamma, mean, rstd, dx,
                            residual ? dres.data() : nullptr, dgamma, dbeta, partials);
      });
      show("group bwd", t, issued, n);
      const auto image = filled<bf16>(4 * n, 9);
      const auto dimage = empty<bf16>(4 * n);
      const auto winner = empty<std::uint8_t>(n);
      const PoolBeforeNorm pool{Activation::relu, winner, image, dimage};
      t = traffic_of([&] {
        group_norm_forward(stream, s, x, gamma, beta, res, y, mean, rstd, partials, nullptr, &pool);
      });
      show("pool group fwd", t, issued, n);
      t = traffic_of([&] {
        group_norm_backward(stream, s, x, y, dy.data(), gamma, mean, rstd, x,
                            residual ? dres.data() : nullptr, dgamma, dbeta, partials, nullptr,
                            &pool);
      });
      show("pool group bwd", t, issued, n);
    }
  }
}

TEST_F(KernelTraffic, LayerNorms) {
  for (int channels : {96, 192, 24}) {
    LayerNormSpec s;
    s.rows = 64;
    s.channels = channels;
    s.compute = DType::bf16;
    const auto c = static_cast<std::size_t>(channels), n = 64 * c;
    const auto x = filled<bf16>(n, 1), dy = filled<bf16>(n, 3);
    const auto y = empty<bf16>(n), dx = empty<bf16>(n);
    const auto gamma = filled<float>(c, 4), beta = filled<float>(c, 5), mean = empty<float>(64),
               rstd = empty<float>(64), dgamma = empty<float>(c), dbeta = empty<float>(c),
               partials = empty<float>(layer_norm_partials(s));
    auto t = traffic_of([&] { layer_norm_forward(stream, s, x, gamma, beta, y, mean, rstd); });
    show("layer fwd", t, issued, n);
    t = traffic_of([&] {
      layer_norm_backward(stream, s, x, dy, gamma, mean, rstd, dx, dgamma, dbeta, partials);
    });
    show("layer bwd", t, issued, n);
  }
}

TEST_F(KernelTraffic, BatchNorms) {
  for (int channels : {24, 64}) {
    const BatchNormSpec s{.rows = 700,
                          .channels = channels,
                          .residual = true,
                          .activation = Activation::relu,
                          .compute = DType::bf16};
    const auto c = static_cast<std::size_t>(channels), n = 700 * c;
    const auto x = filled<bf16>(n, 1), res = filled<bf16>(n, 2), dy = filled<bf16>(n, 3);
    const auto y = empty<bf16>(n), dx = empty<bf16>(n), dres = empty<bf16>(n);
    const auto gamma = filled<float>(c, 4), beta = filled<float>(c, 5), mean = empty<float>(c),
               rstd = empty<float>(c), rmean = filled<float>(c, 1), rvar = filled<float>(c, 2),
               dgamma = empty<float>(c), dbeta = empty<float>(c),
               partials = empty<float>(batch_norm_partials(s));
    auto t = traffic_of([&] {
      batch_norm_forward(stream, s, x, gamma, beta, res, y, {mean, rstd, rmean, rvar}, partials);
    });
    show("batch fwd", t, issued, n);
    t = traffic_of([&] {
      batch_norm_backward(stream, s, x, y, dy.data(), gamma, mean, rstd, dx, dres, dgamma, dbeta,
                          partials);
    });
    show("batch bwd", t, issued, n);
  }
}

TEST_F(KernelTraffic, Metrics) {
  for (const auto& [count, sources] : {std::pair{2, 1}, {4, 3}, {12, 3}}) {
    const std::size_t batch = 1024;
    const auto values = filled<float>(batch * static_cast<std::size_t>(count), 1);
    const Buffer<Slot> slots(stream, std::vector<Slot>(batch));
    const Buffer<StepState> state(stream, std::vector<StepState>(1));
    const auto lines = empty<StepMetrics>(4);
    const auto sums = empty<double>(static_cast<std::size_t>(4 * metric_sums(count, sources)));
    const Measures measures{
        .batch = batch, .count = count, .losses = 1, .sources = sources, .values = values};
    const auto t = traffic_of([&] {
      collect_metrics(stream, measures, slots, nullptr, state, {lines, sums, 4});
    });
    show("metrics", t, issued, batch);
  }
}

}  // namespace
}  // namespace wellspring::ops::test
