#include "kernels/ops/loss.h"
#include "tests/ops/loss_test.h"
#include "tests/support/host_team.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace wellspring::ops::test {
namespace {

/// Six rows, each with an image whose pixels have one vector of logits and one label.
struct Images {
  Rows rows;
  std::size_t pixels, classes;
  std::vector<float> plane;

  Images(std::size_t pixel_count, std::size_t class_count, DType gradient = DType::f32)
      : rows(six_rows(static_cast<std::int32_t>(pixel_count * class_count), gradient)),
        pixels(pixel_count),
        classes(class_count) {
    rows.scores = pixel_scores(static_cast<std::int32_t>(classes));
    plane = random_values<float>(6 * pixels, 7, 0, static_cast<float>(classes));
    for (float& label : plane) label = std::floor(label);
  }

  std::size_t label(std::size_t row, std::size_t pixel) const {
    return static_cast<std::size_t>(plane[row * pixels + pixel]);
  }
  Doubles wanted(std::size_t row, std::size_t pixel, float smoothing) const {
    Doubles probabilities(classes, 0);
    probabilities[label(row, pixel)] = 1;
    return smoothed(probabilities, static_cast<double>(smoothing));
  }
  /// Mean loss of a row with outputs z.
  double loss(const double* z, std::size_t row, float smoothing) const {
    double sum = 0;
    for (std::size_t p = 0; p < pixels; ++p)
      sum += cross_entropy(z + p * classes, wanted(row, p, smoothing));
    return sum / static_cast<double>(pixels);
  }
  std::vector<float> scores(std::size_t row) const {
    std::vector<float> hits(classes, 0), unions(classes, 0);
    float right = 0;
    for (std::size_t p = 0; p < pixels; ++p) {
      const float* z = rows.outputs.data() + rows.own(row) + p * classes;
      const auto guess =
          static_cast<std::size_t>(std::max_element(z, z + classes) - z);  // the first of equals
      const std::size_t truth = label(row, p);
      ++unions[truth];
      if (guess == truth) {
        ++right;
        ++hits[truth];
      } else {
        ++unions[guess];
      }
    }
    std::vector<float> all = {right / static_cast<float>(pixels)};
    all.insert(all.end(), hits.begin(), hits.end());
    all.insert(all.end(), unions.begin(), unions.end());
    return all;
  }
};

class PixelLossTest : public test::LossFixture {
 protected:
  Result run_pixels(const Images& images, float smoothing = 0) {
    const Buffer<float> plane = buffer(images.plane);
    return run(images.rows, [&](const LossInput& in, const LossResult& out) {
      pixel_cross_entropy(stream(), images.rows.head, in,
                          {plane, static_cast<std::int64_t>(images.pixels)}, smoothing, out);
    });
  }
  static std::vector<float> scores_of(const Images& images, const Result& result, std::size_t row) {
    std::vector<float> scores;
    for (std::size_t i = row; i < result.scores.size(); i += images.rows.batch())
      scores.push_back(result.scores[i]);
    return scores;
  }
  static void expect_scores(const Images& images, const Result& result) {
    for (std::size_t row = 0; row < images.rows.batch(); ++row) {
      if (!images.rows.holds(row)) continue;
      EXPECT_EQ(scores_of(images, result, row), images.scores(row)) << row;
    }
  }
};

TEST_P(PixelLossTest, MatchesDoublePrecisionAndFiniteDifferences) {
  for (const auto& [pixels, classes] : {std::pair{1, 11}, {35, 3}, {6, 11}, {1, 256}}) {
    for (const float smoothing : {0.0f, 0.1f}) {
      for (const DType dtype : {DType::f32, DType::bf16}) {
        SCOPED_TRACE(std::to_string(pixels) + " pixels, " + std::to_string(classes) + " classes");
        const Images images(static_cast<std::size_t>(pixels), static_cast<std::size_t>(classes),
                            dtype);
        const Result result = run_pixels(images, smoothing);
        expect_agrees(
            images.rows, result,
            [&](const double* z, std::size_t row) { return images.loss(z, row, smoothing); },
            classes);
        expect_scores(images, result);
      }
    }
  }
}

// More pixels than lanes, and a batch that is part of a larger one. The gradient is compared with
// its formula, because finite differences would take minutes.
TEST_P(PixelLossTest, AveragesLargeImages) {
  Images images(1300, 3);
  images.rows.head.global_batch = 10;
  const Result result = run_pixels(images, 0.1f);
  expect_scores(images, result);
  const Doubles z = in_double(images.rows.outputs);
  Doubles loss(6), gradient(z.size(), 9);
  for (std::size_t row = 0; row < 6; ++row) {
    const double weight = images.rows.holds(row) ? images.rows.weight(row) : 0;
    loss[row] = weight * images.loss(z.data() + images.rows.own(row), row, 0.1f);
    for (std::size_t p = 0; p < images.pixels; ++p) {
      const std::size_t own = images.rows.own(row) + 3 * p;
      const Doubles wanted = images.wanted(row, p, 0.1f);
      const double sum = std::exp(z[own]) + std::exp(z[own + 1]) + std::exp(z[own + 2]);
      for (std::size_t k = 0; k < 3; ++k)
        gradient[own + k] = weight * (std::exp(z[own + k]) / sum - wanted[k]) / 10 / 1300;
    }
  }
  const double u = test::rounding(DType::f32);
  // As in expect_agrees. A lane adds three pixels, and the tree has nine levels.
  expect_within(result.loss, loss, 16 * (16 + 12) * u, "loss");
  expect_within(result.gradient, gradient, 16 * u / 10 / 1300, "gradient");
}

TEST_P(PixelLossTest, ResolvesTiesToTheFirstLogit) {
  Images images(2, 3);
  std::fill(images.rows.outputs.begin(), images.rows.outputs.end(), 1.0f);
  images.plane = {0, 0, 0, 0, 1, 2, 0, 1, 2, 2, 1, 0};
  const Result result = run_pixels(images);
  using Scores = std::vector<float>;
  EXPECT_EQ(scores_of(images, result, 0), (Scores{1, 2, 0, 0, 2, 0, 0}));
  EXPECT_EQ(scores_of(images, result, 2), (Scores{0, 0, 0, 0, 2, 1, 1}));
  EXPECT_EQ(scores_of(images, result, 3), (Scores{0.5f, 1, 0, 0, 2, 1, 0}));
}

TEST_P(PixelLossTest, IsNaNForAValueThatIsNoClass) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const Images valid(35, 3);
  const Result expected = run_pixels(valid);
  for (const float value : {-1.0f, -0.5f, 0.5f, 3.0f, 1e30f, infinity, nan}) {
    SCOPED_TRACE(value);
    Images images = valid;
    images.plane[4 * 35 + 20] = value;
    images.plane[1 * 35 + 2] = value;  // this row does not train the head
    const Result result = run_pixels(images);
    const std::size_t begin = images.rows.own(4), end = begin + std::size_t{35} * 3;
    for (std::size_t i = 0; i < result.gradient.size(); ++i)
      EXPECT_EQ(result.gradient[i], i < begin || i >= end ? expected.gradient[i] : 0) << i;
    for (std::size_t row = 0; row < 6; ++row) {
      if (row == 4) continue;
      EXPECT_EQ(result.loss[row], expected.loss[row]) << row;
      EXPECT_EQ(scores_of(images, result, row), scores_of(valid, expected, row)) << row;
    }
    EXPECT_TRUE(std::isnan(result.loss[4]));
    EXPECT_EQ(scores_of(images, result, 4), std::vector<float>(7, 0));
  }
}

TEST_P(PixelLossTest, PassesNaNsThroughAndStaysFiniteForHugeLogits) {
  Images images(35, 3);
  const std::size_t pixel = images.rows.own(0) + std::size_t{20} * 3;
  images.plane[20] = 1;
  for (const float value : {3e4f, 1e30f}) {
    images.rows.outputs[pixel] = value;
    const Result result = run_pixels(images, 0.1f);
    // The other 34 pixels cost less than 8 each; the bound allows eight roundings.
    EXPECT_NEAR(result.loss[0] * 35 / value, 0.9 + 0.1 * 2 / 3,
                34.0 * 8 / static_cast<double>(value) + 8 * test::rounding(DType::f32));
    for (const double g : result.gradient) EXPECT_TRUE(std::isfinite(g));
  }
  for (const float value :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    images.rows.outputs[pixel] = value;
    EXPECT_FALSE(std::isfinite(run_pixels(images).loss[0])) << value;
  }
}

WS_ON_EVERY_BACKEND(PixelLossTest);

TEST(PixelLossTeams, GiveEqualBitsForAnySize) {
  for (const auto& [pixels, classes] : {std::pair{1, 11}, {35, 3}, {700, 11}, {35, 256}}) {
    SCOPED_TRACE(std::to_string(pixels) + " pixels, " + std::to_string(classes) + " classes");
    Images images(static_cast<std::size_t>(pixels), static_cast<std::size_t>(classes));
    images.plane.back() = -1;
    const Rows& rows = images.rows;
    std::vector<float> loss(6), scores(6 * static_cast<std::size_t>(rows.scores)),
        gradient(rows.outputs.size());
    using wellspring::test::bytes_of;
    const PixelCrossEntropy<float> functor{
        {rows.head, rows.outputs.data(), rows.slots.data(), rows.weights.data(), loss.data(),
         scores.data(), gradient.data()},
        {images.plane.data(), pixels},
        0.1f};
    wellspring::test::expect_equal_for_all_team_sizes(
        functor, 6, {512, functor.scratch_bytes(classes)},
        {bytes_of(loss), bytes_of(scores), bytes_of(gradient)});
  }
}

}  // namespace
}  // namespace wellspring::ops::test
