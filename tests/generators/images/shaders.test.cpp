#include "generators/images/shaders.h"

#include "tests/generators/collect.h"
#include "tests/support/error_testing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace wellspring {
namespace {

using shaders::bent;
using shaders::Domain;
using shaders::Form;
using shaders::Point;
using shaders::Program;
using shaders::tone;

enum Latent : std::size_t { kProgram, kDomain, kFine, kFormB, kBend, kX, kY, kUnit, kTurn };

// ---- samples ------------------------------------------------------------------------------------

// Latents locate the fields of a board, even if it is mirrored and rotated. They determine the
// level at each pixel, and colours are a monotonic function of the level. So if grey values are
// sorted by the level computed from the latents, they must ascend. Rounding moves levels by 1e-4 at
// steep edges; a wrong position, rotation or unit would mix fields whose values differ by 0.3 or
// more.
TEST(Shaders, LatentsLocateABoard) {
  const auto generator = make_generator(
      "shaders", 48, {{"programs", "3", {}}, {"domains", "1", {}}, {"palette", "grey", {}}});
  int boards = 0;
  for (const std::string look : {"", "augment: [flip_x: 1]", "augment: [flip_y: 1, rotate: 180]"}) {
    const auto samples = test::collect(*generator, {6, 0, 60}, {}, look);
    for (std::size_t i = 0; i < samples.count(); ++i) {
      if (samples.label[i] != 2) continue;
      ++boards;
      const auto latent = [&](std::size_t l) { return static_cast<double>(samples.latent(i, l)); };
      Form form{};
      form.a = samples.latent(i, kFine);
      form.b = samples.latent(i, kFormB);
      form.phase[0] = samples.latent(i, kTurn + 1);
      form.phase[1] = samples.latent(i, kTurn + 2);
      form.pixel = static_cast<float>(1 / (48 * latent(kUnit)));
      const double mirror = look.empty() ? 1 : -1;
      std::vector<std::pair<float, float>> values;  // level, grey
      for (int p = 0; p < 48 * 48; ++p) {
        const double dx = (p % 48 + 0.5) / 48 - latent(kX), dy = latent(kY) - (p / 48 + 0.5) / 48;
        const double c = std::cos(latent(kTurn)), s = std::sin(latent(kTurn));
        const Point at = {static_cast<float>((c * dx + s * dy) / latent(kUnit)),
                          static_cast<float>(mirror * (c * dy - s * dx) / latent(kUnit))};
        values.emplace_back(tone<Program::checker>(form, at).level,
                            samples.image(i)[3 * static_cast<std::size_t>(p)]);
      }
      std::sort(values.begin(), values.end());
      const float sign = values.back().second > values.front().second ? 1.f : -1.f;
      float worst = 0, reached = -1e9f;
      for (const auto& [level, grey] : values) {
        reached = std::max(reached, sign * grey);
        worst = std::max(worst, reached - sign * grey);
      }
      ASSERT_LT(worst, 0.01f) << look << ", sample " << i;
    }
  }
  EXPECT_GT(boards, 30);
}

// Measures the spread of each picture's strongest channel. Among 1024 samples of all programs and
// bends, fewer than 1 in 50 may be nearly uniform (standard deviation below 0.03), and none may be
// exactly uniform.
TEST(Shaders, PicturesAreNotFlat) {
  const auto samples = test::collect(*make_generator("shaders", 32), {5, 0, 1024});
  int nearly = 0;
  for (std::size_t i = 0; i < samples.count(); ++i) {
    double most = 0;
    for (std::size_t c = 0; c < 3; ++c) {
      double sum = 0, squares = 0;
      for (std::size_t p = c; p < samples.elements; p += 3) {
        const double v = samples.image(i)[p];
        sum += v;
        squares += v * v;
      }
      const double n = static_cast<double>(samples.elements) / 3;
      most = std::max(most, squares / n - sum * sum / (n * n));
    }
    EXPECT_GT(most, 1e-6) << i;
    nearly += most < 0.03 * 0.03 ? 1 : 0;
  }
  EXPECT_LT(nearly, 20);
}

TEST(Shaders, RefusesUnknownPrograms) {
  test::expect_parts(test::message_of(ErrorKind::config,
                                      [] {
                                        make_generator("shaders", 32, {{"programs", "17", {}}});
                                      }),
                     {"programs = 17", "16"});
}

}  // namespace
}  // namespace wellspring
