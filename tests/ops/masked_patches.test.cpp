#include "kernels/ops/masked_patches.h"

#include "tests/ops/loss_test.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

namespace wellspring::ops::test {
namespace {

/// Six images of 4 x 6 pixels as patches of side 2. The mask of row 3 is empty, and the mask of row
/// 5 is full.
struct MaskedImages {
  static constexpr std::int32_t kPatches = 6;
  PatchPixels patches;
  Rows rows;
  std::vector<float> x;
  std::vector<std::uint8_t> mask;

  MaskedImages(int channels, DType gradient)
      : patches{{4, 6, channels}, 2},
        rows(six_rows(kPatches * patches.values(), gradient)),
        x(random_values<float>(static_cast<std::size_t>(6 * patches.shape.elements()), 3, -2, 2)),
        mask(6 * kPatches, 0) {
    rows.scores = 0;
    for (float& value : x)  // exact in both types
      value = std::round(value * 16) / 16;
    for (std::size_t i = 0; i < mask.size(); ++i) mask[i] = i % 5 < 2 ? 1 : 0;
    std::fill_n(mask.begin() + 3 * kPatches, kPatches, std::uint8_t{0});
    std::fill_n(mask.begin() + 5 * kPatches, kPatches, std::uint8_t{1});
    // A patch of one colour has no variance.
    for (std::int32_t v = 0; v < patches.values(); ++v)
      x[static_cast<std::size_t>(patches.place(0, v))] = 0.5f;
  }

  bool masks(std::size_t row, std::size_t patch) const { return mask[row * kPatches + patch] != 0; }
  /// The value in line `y`, column `x` and channel `c` of a patch.
  double pixel(std::size_t row, std::size_t patch, int y, int column, int c) const {
    const int down = static_cast<int>(patch) / 3 * 2 + y,
              across = static_cast<int>(patch) % 3 * 2 + column;
    const int channels = patches.shape.channels;
    return x[row * static_cast<std::size_t>(patches.shape.elements()) +
             static_cast<std::size_t>((down * 6 + across) * channels + c)];
  }
  /// As in models_mae.py: (target - mean) / (var + 1e-6)^0.5 with torch's unbiased var.
  Doubles targets(std::size_t row, std::size_t patch) const {
    Doubles values;
    for (int y = 0; y < 2; ++y)
      for (int column = 0; column < 2; ++column)
        for (int c = 0; c < patches.shape.channels; ++c)
          values.push_back(pixel(row, patch, y, column, c));
    double mean = 0, variance = 0;
    for (const double value : values) mean += value / static_cast<double>(values.size());
    for (const double value : values)
      variance += (value - mean) * (value - mean) / static_cast<double>(values.size() - 1);
    for (double& value : values) value = (value - mean) / std::sqrt(variance + 1e-6);
    return values;
  }
  double loss(const double* z, std::size_t row) const {
    double sum = 0, masked = 0;
    for (std::size_t p = 0; p < kPatches; ++p) {
      if (!masks(row, p)) continue;
      const Doubles wanted = targets(row, p);
      for (std::size_t v = 0; v < wanted.size(); ++v)
        sum +=
            std::pow(z[p * wanted.size() + v] - wanted[v], 2) / static_cast<double>(wanted.size());
      ++masked;
    }
    return masked > 0 ? sum / masked : 0;
  }
};

class MaskedPatchesTest : public test::LossFixture {};

// Up to 72 squares are added; a target has the errors of a mean and a variance of 12 values.
TEST_P(MaskedPatchesTest, MatchDoublePrecisionAndFiniteDifferences) {
  for (const int channels : {1, 3})
    for (const DType dtype : {DType::f32, DType::bf16}) {
      SCOPED_TRACE(channels);
      const MaskedImages images(channels, dtype);
      const Buffer<std::uint8_t> mask = buffer(images.mask);
      const Result result = visit_float(dtype, [&]<class T>(T) {
        const Buffer<T> x = buffer(std::vector<T>(images.x.begin(), images.x.end()));
        return run(images.rows, [&](const LossInput& in, const LossResult& out) {
          masked_patch_loss(stream(), images.rows.head, in, images.patches, x, mask, out);
        });
      });
      expect_agrees(
          images.rows, result,
          [&](const double* z, std::size_t row) { return images.loss(z, row); }, 24);
    }
}

TEST_P(MaskedPatchesTest, HideThePixelsOfTheMask) {
  const MaskedImages images(3, DType::f32);
  const Buffer<float> x = buffer(images.x), visible = buffer<float>(images.x.size());
  const Buffer<std::uint8_t> mask = buffer(images.mask);
  BatchView batch;
  batch.size = 6;
  batch.layout = SampleLayout::image(images.patches.shape);
  batch.layout.patches = MaskedImages::kPatches;
  batch.x = x.data();
  batch.mask = mask.data();
  hide_patches(stream(), batch, 2, visible.data());
  const std::vector<float> seen = visible.values();
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const std::size_t row = i / 72, y = i % 72 / 18, column = i % 18 / 3;
    EXPECT_EQ(seen[i], images.masks(row, y / 2 * 3 + column / 2) ? 0 : images.x[i]) << i;
  }
}

WS_ON_EVERY_BACKEND(MaskedPatchesTest);

}  // namespace
}  // namespace wellspring::ops::test
