// Compares the shipped run of gaussian_linear with its posterior in closed form.
#include "generators/events/gaussian_linear.h"

#include "kernels/batch/batch_columns.h"
#include "tests/support/npz_fixtures.h"
#include "tests/train/training_testing.h"
#include "train/checkpoint/checkpoint.h"
#include "train/evaluation/evaluation.h"
#include "train/heads/heads.h"
#include "train/step/source_truth.h"
#include "train/step/supervised_task.h"

#include <Eigen/Dense>

#include <cmath>
#include <numbers>

namespace wellspring {
namespace {

constexpr int kN = GaussianLinear::kParameters;
using Matrix = Eigen::Matrix<double, kN, kN>;
using Vector = Eigen::Matrix<double, kN, 1>;

/// The posterior of configs/gaussian_linear.yaml.
struct Posterior {
  Matrix map, covariance, gain;  ///< mean = gain x
  explicit Posterior(const GaussianLinear::Params& params) : map(Matrix::Zero()) {
    for (int i = 0; i < kN; ++i)
      for (int j = 0; j <= i; ++j) map(i, j) = std::pow(params.mixing, i - j);
    const double precision = 1 / (params.noise * params.noise);
    covariance = (Matrix::Identity() + precision * map.transpose() * map).inverse();
    gain = precision * covariance * map.transpose();
  }
};

/// Held-out samples and the outputs of a trained network.
struct Predictions {
  std::vector<Vector> x, mean, square;  ///< in the units of the latents
};

Predictions predict(const RunConfig& config, const std::filesystem::path& folder, int batches) {
  RunContext context(single_rank(), config.train.batch, Device::cpu(), 1);
  Stream& stream = context.stream;
  MemoryPlan& memory = context.memory;
  Mixture mixture = config.open_held_out();
  const ModelFile model(find_model_file(folder));
  const std::vector<HeadSpec>& heads = model.described().heads;
  SupervisedTask task(config, context, DType::f32, {mixture.layout(), heads});
  BatchColumns columns;
  columns.plan(memory, "test", config.train.batch, mixture.layout(), DType::f32);
  mixture.plan(memory, config.train.batch, 1);
  memory.commit();
  mixture.load(stream);
  load_weights(model, task.parameters(), stream);

  Predictions all;
  const BatchView batch = columns.view();
  for (int b = 0; b < batches; ++b) {
    mixture.emit_range(stream, 0, static_cast<std::uint64_t>(b * batch.size), batch, batch.size);
    task.forward({stream, batch, mixture.slots(), nullptr, PassMode::evaluate});
    for (std::int64_t row = 0; row < batch.size; ++row) {
      Vector x, mean, square;
      for (int i = 0; i < kN; ++i) {
        // A head's output is (t - centre) * 2 / width of the target's range.
        const auto unscaled = [&](std::size_t head) {
          const HeadTarget& t = heads[head].targets[static_cast<std::size_t>(i)];
          const double y = task.outputs()[row * 2 * kN + static_cast<std::int64_t>(head) * kN + i];
          return 0.5 * (y * (t.high - t.low) + t.high + t.low);
        };
        x(i) = static_cast<const float*>(batch.x)[row * kN + i];
        mean(i) = unscaled(0);
        square(i) = unscaled(1);
      }
      all.x.push_back(x);
      all.mean.push_back(mean);
      all.square.push_back(square);
    }
  }
  return all;
}

// The tolerances, in units of the posterior (root mean squares over x):
// - The mean is within 1/5 of the standard deviation of theta_i, so it adds less than S_ii / 25 to
//   the squared error.
// - The mean square is within 1/2 of the standard deviation of theta_i^2 given x. Its variance is
//   2 S_ii^2 + 4 m_i^2 S_ii, with m_i^2 = 1 - S_ii on average.
// - The variance computed from both, averaged over x, is within S_ii / 2. Predicting the prior's
// mean would miss the first tolerance, with a squared error of 1 - S_ii = 4 S_ii.
TEST(GaussianLinearRun, LearnsTheMeanAndTheVarianceOfThePosterior) {
#ifdef WELLSPRING_SANITIZED
  GTEST_SKIP() << "tests accuracy only and is slow under sanitizers";
#endif
  const test::TemporaryFolder folder;
  const std::vector<std::string> on_the_cpu = {"device=cpu", "threads=1", "eval.every=0",
                                               "train.checkpoint_every=0",
                                               "out=" + folder.path().string()};
  const RunConfig config =
      RunConfig::load(WELLSPRING_SOURCE_DIR "/configs/gaussian_linear.yaml", on_the_cpu);
  TrainObserver observer;
  Trainer trainer(config, observer, test::quick());
  const EvaluationResult result = trainer.run().evaluation->results.at(0);
  EXPECT_FALSE(result.accuracy.has_value()) << "a regression has no accuracy";
  ASSERT_EQ(result.heads.size(), 2u);

  const Posterior posterior({.mixing = 0.5, .noise = 0.5});
  const Predictions predictions = predict(config, folder.path(), 20);
  const auto n = static_cast<double>(predictions.x.size());
  for (int i = 0; i < kN; ++i) {
    const double s = posterior.covariance(i, i);
    const double square_variance = 2 * s * s + 4 * (1 - s) * s;
    double mean_error = 0, square_error = 0, variance = 0;
    for (std::size_t k = 0; k < predictions.x.size(); ++k) {
      const double m = (posterior.gain * predictions.x[k])(i);
      mean_error += std::pow(predictions.mean[k](i) - m, 2) / n;
      square_error += std::pow(predictions.square[k](i) - (m * m + s), 2) / n;
      variance += (predictions.square[k](i) - std::pow(predictions.mean[k](i), 2)) / n;
    }
    EXPECT_LT(mean_error, s / 25) << "theta" << i;
    EXPECT_LT(square_error, square_variance / 4) << "theta" << i;
    EXPECT_NEAR(variance, s, s / 2) << "theta" << i;

    // The evaluation's error consists of the posterior's own spread, the network's error, and the
    // scatter of 200000 samples (five standard errors of a mean of squares with variance 2 s^2).
    const Score& rmse = result.heads[0].scores[static_cast<std::size_t>(2 * i)];
    EXPECT_EQ(rmse.what, "rmse of theta" + std::to_string(i));
    EXPECT_NEAR(rmse.best.value_or(0), std::sqrt(s), 1e-10);
    const double scatter = 5 * s * std::sqrt(2.0 / 200000);
    EXPECT_GT(rmse.value * rmse.value, s - scatter);
    EXPECT_LT(rmse.value * rmse.value, s * (1 + 1.0 / 25) + scatter);
  }
}

// The best possible results, from this test's own posterior: for theta_i, the root of its variance
// and the mean absolute deviation of a normal distribution; for theta_i^2, the root of 2 S^2 + 4
// m^2 S with m^2 = 1 - S on average.
TEST(GaussianLinearRun, ReportsTheBestPossibleResult) {
  for (const GaussianLinear::Params params : {GaussianLinear::Params{.mixing = 0.5, .noise = 0.5},
                                              {.mixing = 0, .noise = 2},
                                              {.mixing = 1, .noise = 0.01}}) {
    const SampleInfo info = GaussianLinear::describe(params);
    const Posterior posterior(params);
    for (int i = 0; i < kN; ++i) {
      const std::string theta = "theta" + std::to_string(i);
      const double s = posterior.covariance(i, i);
      // Each inversion has a relative error of about 1e-16 times the condition number, < 1e5 here.
      EXPECT_NEAR(info.best_result("rmse of " + theta).value_or(-1), std::sqrt(s), 1e-10);
      EXPECT_NEAR(info.best_result("mae of " + theta).value_or(-1),
                  std::sqrt(2 * s / std::numbers::pi), 1e-10);
      EXPECT_NEAR(info.best_result("rmse of " + theta + "_squared").value_or(-1),
                  std::sqrt(2 * s * s + 4 * (1 - s) * s), 1e-10);
    }
  }
}

// Each product of two components must have the expected mean over N samples. The variance of a
// product of two normal numbers is below 3 times the product of their variances. Six standard
// errors give a false alarm once in 500 million comparisons, so 64 comparisons give one in 8
// million runs.
TEST(GaussianLinearRun, DrawsSamplesWithTheExpectedCovariance) {
  const RunConfig config = RunConfig::load(WELLSPRING_SOURCE_DIR "/configs/gaussian_linear.yaml",
                                           std::vector<std::string>{"device=cpu"});
  RunContext context(single_rank(), config.train.batch, Device::cpu(), 1);
  Stream& stream = context.stream;
  MemoryPlan& memory = context.memory;
  Mixture mixture = config.open_training();
  constexpr std::int64_t kRows = 100000;
  BatchColumns columns;
  columns.plan(memory, "test", kRows, mixture.layout(), DType::f32);
  mixture.plan(memory, kRows, 1);
  memory.commit();
  mixture.load(stream);
  const BatchView batch = columns.view();
  mixture.emit_range(stream, 0, 0, batch, kRows);
  const Posterior posterior({.mixing = 0.5, .noise = 0.5});
  Eigen::Matrix<double, 2 * kN, 2 * kN> law, found;
  law.topLeftCorner<kN, kN>().setIdentity();
  law.bottomLeftCorner<kN, kN>() = posterior.map;
  law.topRightCorner<kN, kN>() = posterior.map.transpose();
  law.bottomRightCorner<kN, kN>() =
      posterior.map * posterior.map.transpose() + 0.25 * Matrix::Identity();
  found.setZero();
  for (std::int64_t row = 0; row < kRows; ++row) {
    Eigen::Matrix<double, 2 * kN, 1> v;
    for (int i = 0; i < kN; ++i) {
      const float theta = batch.latents[row * GaussianLinear::kLatents + i];
      ASSERT_EQ(batch.latents[row * GaussianLinear::kLatents + kN + i], theta * theta);
      v(i) = theta;
      v(kN + i) = static_cast<const float*>(batch.x)[row * kN + i];
    }
    found += v * v.transpose() / static_cast<double>(kRows);
  }
  for (int i = 0; i < 2 * kN; ++i)
    for (int j = 0; j < 2 * kN; ++j)
      EXPECT_NEAR(found(i, j), law(i, j),
                  6 * std::sqrt(3 * law(i, i) * law(j, j) / static_cast<double>(kRows)));
}

// The posterior is a Gaussian with mean m and the same variance S_ii for every x. A network whose
// mean and deviation are off by less than a quarter of the deviation gives
// - a predicted deviation within a quarter of sqrt(S_ii), on average over x, and
// - quantiles at levels 0.16 and 0.84 that cover 0.16 and 0.84 within 0.5 phi(1) = 0.12 (the
//   density phi at one deviation, times both errors). Five standard errors of 4000 samples add 0.03.
TEST(GaussianLinearRun, LearnsDeviationsAndQuantiles) {
#ifdef WELLSPRING_SANITIZED
  GTEST_SKIP() << "tests accuracy only and is slow under sanitizers";
#endif
  const test::TemporaryFolder folder;
  const std::vector<std::string> overrides = {
      "device=cpu",
      "threads=1",
      "eval.every=0",
      "eval.samples=4000",
      "train.checkpoint_every=0",
      "train.steps=1000",
      "heads=[{name: normal, loss: regression, error: gaussian, targets: [theta0, theta1, theta2, "
      "theta3]}, {name: interval, loss: regression, error: quantile, quantiles: [0.16, 0.84], "
      "targets: [theta0, theta1, theta2, theta3]}]",
      "out=" + (folder / "run").string()};
  const RunConfig config =
      RunConfig::load(WELLSPRING_SOURCE_DIR "/configs/gaussian_linear.yaml", overrides);
  TrainObserver observer;
  Trainer(config, observer, test::quick()).run();
  const std::filesystem::path file = folder / "p.npz";
  evaluate_checkpoint(folder / "run", config, observer, file);
  const auto truth = test::npz_values<float>(file, "truth_normal"),
             deviation = test::npz_values<float>(file, "deviation_normal"),
             median = test::npz_values<float>(file, "prediction_interval"),
             low = test::npz_values<float>(file, "quantile_0.16_interval"),
             high = test::npz_values<float>(file, "quantile_0.84_interval");
  ASSERT_EQ(truth.size(), 4000u * kN);
  const Posterior posterior({.mixing = 0.5, .noise = 0.5});
  for (std::size_t i = 0; i < kN; ++i) {
    double mean = 0, below_low = 0, below_median = 0, below_high = 0;
    for (std::size_t k = i; k < truth.size(); k += kN) {
      mean += static_cast<double>(deviation[k]) / 4000;
      below_low += truth[k] < low[k] ? 1.0 / 4000 : 0;
      below_median += truth[k] < median[k] ? 1.0 / 4000 : 0;
      below_high += truth[k] < high[k] ? 1.0 / 4000 : 0;
    }
    const double exact = std::sqrt(posterior.covariance(static_cast<int>(i), static_cast<int>(i)));
    EXPECT_NEAR(mean, exact, exact / 4) << "theta" << i;
    EXPECT_NEAR(below_low, 0.16, 0.15) << "theta" << i;
    EXPECT_NEAR(below_median, 0.5, 0.15) << "theta" << i;
    EXPECT_NEAR(below_high, 0.84, 0.15) << "theta" << i;
  }
}

}  // namespace
}  // namespace wellspring
