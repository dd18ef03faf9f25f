// Compares self-supervised losses with independent formulas in double precision, and their
// gradients with finite differences.
#include "kernels/ops/embedding_loss.h"

#include "kernels/ops/embedding_teams.h"
#include "tests/ops/loss_test.h"
#include "tests/support/host_team.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace wellspring::ops::test {
namespace {

using Kind = EmbeddingLossKind;

/// Embeddings of a batch in double precision: row r is view r % views of sample r / views.
struct EmbeddingBatch {
  std::size_t rows, width, views;
  Doubles u;

  std::size_t samples() const { return rows / views; }
  double at(std::size_t row, std::size_t d) const { return u[row * width + d]; }
  double product(std::size_t a, std::size_t b) const {
    double sum = 0;
    for (std::size_t d = 0; d < width; ++d) sum += at(a, d) * at(b, d);
    return sum;
  }
  double cosine(std::size_t a, std::size_t b) const {
    return product(a, b) / std::sqrt(product(a, a) * product(b, b));
  }
  /// The mean of f(row, other) over pairs of views of each sample.
  double mean_of_pairs(const std::function<double(std::size_t, std::size_t)>& f) const {
    double sum = 0, count = 0;
    for (std::size_t a = 0; a < rows; ++a)
      for (std::size_t b = 0; b < a; ++b)
        if (a / views == b / views) sum += f(a, b), ++count;
    return sum / count;
  }
};

double info_nce(const EmbeddingBatch& batch, double temperature) {
  double sum = 0;
  for (std::size_t i = 0; i < batch.rows; ++i)
    for (std::size_t p = i / batch.views * batch.views; p < (i / batch.views + 1) * batch.views;
         ++p) {
      if (p == i) continue;
      double all = 0;
      for (std::size_t k = 0; k < batch.rows; ++k)
        if (k != i) all += std::exp(batch.cosine(i, k) / temperature);
      sum -= std::log(std::exp(batch.cosine(i, p) / temperature) / all);
    }
  return sum / static_cast<double>(batch.rows * (batch.views - 1));
}

double alignment_uniformity(const EmbeddingBatch& batch, double uniformity) {
  const auto distance = [&](std::size_t a, std::size_t b) { return 2 - 2 * batch.cosine(a, b); };
  double uniform = 0;
  for (std::size_t v = 0; v < batch.views; ++v) {
    double sum = 0, pairs = 0;
    for (std::size_t i = v; i < batch.rows; i += batch.views)
      for (std::size_t k = v; k < i; k += batch.views)
        sum += std::exp(-2 * distance(i, k)), ++pairs;
    uniform += std::log(sum / pairs) / static_cast<double>(batch.views);
  }
  return batch.mean_of_pairs(distance) + uniformity * uniform;
}

double vicreg(const EmbeddingBatch& batch, const EmbeddingLoss& loss) {
  const auto n = static_cast<double>(batch.samples()), width = static_cast<double>(batch.width);
  const double invariance = batch.mean_of_pairs([&](std::size_t a, std::size_t b) {
    double sum = 0;
    for (std::size_t d = 0; d < batch.width; ++d)
      sum += (batch.at(a, d) - batch.at(b, d)) * (batch.at(a, d) - batch.at(b, d)) / width;
    return sum;
  });
  double variance = 0, covariance = 0;
  for (std::size_t v = 0; v < batch.views; ++v) {
    const auto moment = [&](std::size_t a, std::size_t b) {
      double mean_a = 0, mean_b = 0, sum = 0;
      for (std::size_t i = v; i < batch.rows; i += batch.views)
        mean_a += batch.at(i, a) / n, mean_b += batch.at(i, b) / n;
      for (std::size_t i = v; i < batch.rows; i += batch.views)
        sum += (batch.at(i, a) - mean_a) * (batch.at(i, b) - mean_b);
      return sum / (n - 1);
    };
    for (std::size_t a = 0; a < batch.width; ++a)
      for (std::size_t b = 0; b < batch.width; ++b)
        if (a == b)
          variance += std::max(0.0, 1 - std::sqrt(moment(a, a) + 1e-4)) / width;
        else
          covariance += moment(a, b) * moment(a, b) / width;
  }
  const auto views = static_cast<double>(batch.views);
  return static_cast<double>(loss.invariance) * invariance +
         static_cast<double>(loss.variance) * variance / views +
         static_cast<double>(loss.covariance) * 2 * covariance / views;
}

double reference(const EmbeddingBatch& batch, const EmbeddingLoss& loss) {
  if (loss.kind == Kind::vicreg) return vicreg(batch, loss);
  if (loss.kind == Kind::info_nce) return info_nce(batch, static_cast<double>(loss.temperature));
  return alignment_uniformity(batch, static_cast<double>(loss.uniformity));
}

class EmbeddingLossTest : public test::LossFixture {
 protected:
  /// The head's embeddings are a part of each row of outputs.
  static Rows rows_of(std::int64_t rows, std::int32_t width, DType gradient) {
    Rows made;
    made.scores = 0;
    made.head.batch = rows;
    made.head.width = width + 3;
    made.head.begin = 2;
    made.head.outputs = width;
    made.head.gradient = gradient;
    made.head.sources = 1;
    made.head.weight[0] = 0.5f;
    made.outputs = random_values<float>(static_cast<std::size_t>(rows * (width + 3)), 3, -1, 1.5f);
    made.slots = slots_of(std::vector<std::uint32_t>(static_cast<std::size_t>(rows), 0));
    made.weights.assign(static_cast<std::size_t>(rows), 1);
    return made;
  }
  Result run_loss(const Rows& rows, const EmbeddingLoss& loss) {
    const Buffer<float> workspace =
        buffer<float>(embedding_workspace(loss, rows.head.batch, rows.head.outputs));
    return run(rows, [&](const LossInput& in, const LossResult& out) {
      embedding_loss(stream(), rows.head, in.outputs, loss, workspace, out);
    });
  }
};

// Sums of up to 35 products and 24 terms, of magnitude below 4 (similarities) or 40 (weighted terms
// of vicreg); each has a few rounding errors.
TEST_P(EmbeddingLossTest, MatchesDoublePrecisionAndFiniteDifferences) {
  for (const Kind kind : {Kind::info_nce, Kind::alignment_uniformity, Kind::vicreg})
    for (const std::int32_t views : {2, 3})
      for (const std::int32_t width : {1, 5, 35})
        for (const DType dtype : {DType::f32, DType::bf16}) {
          SCOPED_TRACE(::testing::Message() << static_cast<int>(kind) << " " << views << " views, "
                                            << width << " values");
          EmbeddingLoss loss{.kind = kind, .views = views};
          loss.temperature = 0.2f;
          loss.uniformity = 0.75f;
          const Rows rows = rows_of(views * 4, width, dtype);
          const Result result = run_loss(rows, loss);
          const Doubles outputs = in_double(rows.outputs);
          const auto own = static_cast<std::size_t>(width);
          const auto value = [&](const Doubles& all) {
            EmbeddingBatch batch{rows.batch(), own, static_cast<std::size_t>(views), {}};
            for (std::size_t row = 0; row < rows.batch(); ++row)
              for (std::size_t d = 0; d < own; ++d) batch.u.push_back(all[rows.own(row) + d]);
            return 0.5 * reference(batch, loss);
          };
          double mean = 0;
          for (const float row : result.loss)
            mean += static_cast<double>(row) / static_cast<double>(rows.batch());
          EXPECT_NEAR(mean, value(outputs), 40 * 64 * kU);
          Doubles gradient = test::gradient(value, outputs);
          for (std::size_t i = 0; i < gradient.size(); ++i) {
            const auto column = static_cast<std::int32_t>(i % (own + 3)) - rows.head.begin;
            if (column < 0 || column >= width) gradient[i] = 9;
          }
          // Finite differences of a loss of 40 have an error of 1e-8.
          const double most = largest_magnitude(gradient);
          expect_within(result.gradient, gradient, most * (64 * kU + test::rounding(dtype)) + 1e-8,
                        "gradient");
        }
}

// With S samples and identical embeddings, every similarity is 1.
TEST_P(EmbeddingLossTest, HasClosedFormsForEqualEmbeddings) {
  Rows rows = rows_of(8, 4, DType::f32);
  for (std::size_t i = 0; i < rows.outputs.size(); ++i)
    rows.outputs[i] = rows.outputs[i % static_cast<std::size_t>(rows.head.width)];
  const auto first_loss = [&](const EmbeddingLoss& loss) {
    return 2 * static_cast<double>(run_loss(rows, loss).loss.front());
  };
  EXPECT_NEAR(first_loss({.kind = Kind::info_nce, .temperature = 0.1f}), std::log(7), 64 * kU);
  EXPECT_NEAR(first_loss({.kind = Kind::alignment_uniformity}), 0, 64 * kU);
  EXPECT_NEAR(first_loss({.kind = Kind::vicreg}), 25 * (1 - std::sqrt(1e-4)), 25 * 64 * kU);
}

TEST_P(EmbeddingLossTest, StaysFiniteForZeroAndOppositeEmbeddings) {
  Rows rows = rows_of(4, 2, DType::f32);
  const std::vector<float> values = {0, 0, 0, 0, 1, 0, -1, 0};
  for (std::size_t row = 0; row < 4; ++row)
    for (std::size_t d = 0; d < 2; ++d) rows.outputs[rows.own(row) + d] = values[2 * row + d];
  for (const Kind kind : {Kind::info_nce, Kind::alignment_uniformity, Kind::vicreg}) {
    const Result result = run_loss(rows, {.kind = kind, .temperature = 0.01f});
    for (const float loss : result.loss) EXPECT_TRUE(std::isfinite(loss));
    for (const double value : result.gradient) EXPECT_TRUE(std::isfinite(value));
  }
}

WS_ON_EVERY_BACKEND(EmbeddingLossTest);

TEST(EmbeddingTeams, GiveEqualBitsForAnySize) {
  using wellspring::test::bytes_of;
  constexpr std::int32_t kWidth = 37, kViews = 2;
  constexpr std::size_t kRows = 10, kColumns = kViews * kWidth;
  const Embeddings of = {kRows, kWidth, kViews, kWidth + 3, 2, 0.5f};
  const auto outputs = random_values<float>(kRows * (kWidth + 3), 1);
  const auto check = [](const auto& functor, std::int64_t teams, const auto& made) {
    wellspring::test::expect_equal_for_all_team_sizes(functor, teams,
                                                      {kEmbeddingTeam, kEmbeddingScratch}, made);
  };
  std::vector<float> z(kRows * kWidth), transposed(z), similarities(kRows * kRows), norm(kRows),
      statistic(kRows), rows(z), columns(z), deviation(kColumns), covariance(kColumns * kWidth),
      penalty(kColumns), gradients(z), loss(kRows), gradient(outputs.size());
  const CentredColumns centred = {rows.data(), columns.data(), deviation.data(), covariance.data(),
                                  penalty.data()};
  check(NormaliseEmbeddings{{}, of, outputs.data(), z.data(), transposed.data(), norm.data()},
        kRows, std::vector{bytes_of(z), bytes_of(transposed), bytes_of(norm)});
  for (const Kind kind : {Kind::info_nce, Kind::alignment_uniformity}) {
    check(CompareEmbeddings{{},
                            of,
                            {.kind = kind},
                            z.data(),
                            transposed.data(),
                            similarities.data(),
                            statistic.data()},
          kRows, std::vector{bytes_of(similarities), bytes_of(statistic)});
    check(ContrastEmbeddings<float>{{},
                                    of,
                                    {.kind = kind},
                                    z.data(),
                                    norm.data(),
                                    statistic.data(),
                                    similarities.data(),
                                    gradients.data(),
                                    loss.data(),
                                    gradient.data()},
          kRows, std::vector{bytes_of(similarities), bytes_of(loss), bytes_of(gradient)});
  }
  check(CentreEmbeddings{{}, of, outputs.data(), centred}, kColumns,
        std::vector{bytes_of(rows), bytes_of(columns), bytes_of(deviation)});
  check(CovarianceOfEmbeddings{{}, of, {}, centred}, kColumns,
        std::vector{bytes_of(covariance), bytes_of(penalty)});
  check(
      RegulariseEmbeddings<float>{
          {}, of, {}, outputs.data(), centred, gradients.data(), loss.data(), gradient.data()},
      kRows, std::vector{bytes_of(loss), bytes_of(gradient)});
}

}  // namespace
}  // namespace wellspring::ops::test
