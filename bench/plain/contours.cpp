// Contours drawn orbit by orbit, each line pixel by pixel (docs/generators/algorithms/visual_atom.md,
// docs/generators/algorithms/rcdb.md). Both generators share the loop and have their own classes.
#include "bench/plain/plain.h"
#include "generators/images/contour_noise.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

namespace wellspring::bench {
namespace {

constexpr float kPi = 3.14159265f;
constexpr int kClasses = 1000;
constexpr std::uint64_t kClassSeed = 1;

/// Parameters of a picture from its class and sample. Lengths in pixels of a 512-pixel image.
struct Contour {
  int vertices, orbits;
  float noise, line_width;
  float centre_x, centre_y, radius_x, radius_y;
  int wave_1 = 0, wave_2 = 0;
  float wave = 0;        ///< amplitude of both waves
  float noise_counts;    ///< number of noise values
  std::uint32_t shades;  ///< upper bound of the shades of orbits
  float background;
};

int between(RngStream& draw, int low, int high) {
  return low + static_cast<int>(draw.integer(static_cast<std::uint32_t>(high - low + 1)));
}

struct Canvas {
  int side;
  std::vector<float> value;

  void put(int x, int y, float shade) {
    if (x < 0 || y < 0 || x >= side || y >= side) return;
    value[static_cast<std::size_t>(y) * static_cast<std::size_t>(side) +
          static_cast<std::size_t>(x)] = shade;
  }
  /// Bresenham's line between two pixels, excluding the end pixel.
  void line(int x, int y, int x_end, int y_end, float shade) {
    const int dx = std::abs(x_end - x), dy = std::abs(y_end - y);
    const int sign_x = x_end < x ? -1 : 1, sign_y = y_end < y ? -1 : 1;
    const bool steep = dy >= dx;
    const int major = std::max(dx, dy), minor = std::min(dx, dy);
    if (major == 0) return put(x, y, shade);
    int error = 2 * minor - major;
    for (int i = 0; i < major; ++i) {
      put(x, y, shade);
      if (error >= 0) {
        (steep ? x : y) += steep ? sign_x : sign_y;
        error -= 2 * major;
      }
      error += 2 * minor;
      (steep ? y : x) += steep ? sign_y : sign_x;
    }
  }
};

void draw(const SampleRng& rng, const Contour& contour, Canvas& canvas, std::span<float> x) {
  const auto n = static_cast<std::size_t>(contour.vertices);
  const float side = static_cast<float>(canvas.side), scale = side / 512;
  std::vector<float> cosine(n), sine(n), growth(n), at_x(n), at_y(n);
  for (int v = 0; v < contour.vertices; ++v) {
    const auto k = static_cast<std::size_t>(v);
    const auto turn = [&](int times) {
      return 2 * kPi * static_cast<float>(v * times % contour.vertices) /
             static_cast<float>(contour.vertices);
    };
    cosine[k] = std::cos(turn(1));
    sine[k] = std::sin(turn(1));
    at_x[k] = scale * contour.radius_x * cosine[k] + scale * 0.5f * contour.centre_x + 0.5f * side;
    at_y[k] = scale * contour.radius_y * sine[k] + scale * 0.5f * contour.centre_y + 0.5f * side;
    growth[k] =
        scale * (contour.noise + contour.line_width +
                 contour.wave * (std::sin(turn(contour.wave_1)) + std::sin(turn(contour.wave_2))));
  }
  const float* knots = contour::noise_knots();
  const float noise = scale * contour.noise_counts * contour.noise;
  std::ranges::fill(canvas.value, contour.background);
  for (std::uint32_t orbit = 0; orbit < static_cast<std::uint32_t>(contour.orbits); ++orbit) {
    for (std::size_t v = 0; v < n; ++v) {
      const std::uint32_t word =
          rng.block(Purpose::texture, orbit / 4 * 65536 + static_cast<std::uint32_t>(v))
              .word[orbit % 4];
      at_x[v] += cosine[v] * (growth[v] - noise * contour::noise_value(knots, word & 0xffff));
      at_y[v] += sine[v] * (growth[v] - noise * contour::noise_value(knots, word >> 16));
    }
    const std::uint32_t shade = std::min(
        below(rng.block(Purpose::colour, orbit / 4).word[orbit % 4], contour.shades), 255u);
    for (std::size_t v = 0; v < n; ++v) {
      const std::size_t next = v + 1 < n ? v + 1 : 0;
      canvas.line(static_cast<int>(std::floor(at_x[v])), static_cast<int>(std::floor(at_y[v])),
                  static_cast<int>(std::floor(at_x[next])),
                  static_cast<int>(std::floor(at_y[next])), static_cast<float>(shade) / 255);
    }
  }
  for (std::size_t pixel = 0; pixel < canvas.value.size(); ++pixel)
    set_grey(x, pixel, canvas.value[pixel]);
}

Contour visual_atom(const SampleRng& rng) {
  const std::uint32_t label = RngStream(rng, Purpose::label).integer(kClasses);
  RngStream of_class({named_key(kClassSeed, "visual_atom classes"), label}, Purpose::scene);
  Contour contour{};
  contour.vertices = between(of_class, 200, 1000);
  contour.orbits = between(of_class, 1, 200);
  contour.noise = of_class.uniform(0, 4);
  contour.line_width = of_class.uniform(0, 0.1f);
  const auto radius = static_cast<float>(between(of_class, 10, 60));
  const int most = 20;  // periods of a wave
  contour.wave_1 = between(of_class, 0, most);
  if (contour.wave_1 == 0) {
    contour.wave_2 = between(of_class, 0, most);
  } else {
    contour.wave_2 = between(of_class, 0, most - 1);
    if (contour.wave_2 >= contour.wave_1) ++contour.wave_2;
  }
  contour.radius_x = radius * of_class.uniform(1, 2);
  contour.radius_y = radius * of_class.uniform(1, 2);
  RngStream of_sample(rng, Purpose::scene);
  contour.centre_x = static_cast<float>(between(of_sample, -512, 512));
  contour.centre_y = static_cast<float>(between(of_sample, -512, 512));
  contour.wave = 0.5f;
  contour.noise_counts = 1;
  contour.shades = 256;
  return contour;
}

Contour rcdb(const SampleRng& rng) {
  const std::uint32_t label = RngStream(rng, Purpose::label).integer(kClasses);
  RngStream of_class({named_key(kClassSeed, "rcdb classes"), label}, Purpose::scene);
  Contour contour{};
  const float mean = 100, least_left = std::exp(-(201 / mean)), most_left = std::exp(-(3 / mean));
  const float left = of_class.uniform() * (least_left - most_left) + most_left;
  contour.vertices = std::clamp(static_cast<int>(-(mean * std::log(left))), 3, 200);
  contour.orbits = between(of_class, 1, 200);
  contour.noise = of_class.uniform(0, 4);
  contour.line_width = of_class.uniform(0, 0.1f);
  RngStream of_sample(rng, Purpose::scene);
  contour.centre_x = static_cast<float>(between(of_sample, -400, 400));
  contour.centre_y = static_cast<float>(between(of_sample, -400, 400));
  const auto radius = static_cast<float>(between(of_sample, 0, 100));
  contour.radius_x = radius * of_sample.uniform(1, 2);
  contour.radius_y = radius * of_sample.uniform(1, 2);
  contour.noise_counts = 2;
  contour.shades = 257;
  contour.background = 1;
  return contour;
}

/// All pictures of one generator.
PlainLoop loop(const char* generator, int side, Contour (*contour_of)(const SampleRng&)) {
  auto canvas = std::make_shared<Canvas>();
  canvas->side = side;
  canvas->value.resize(static_cast<std::size_t>(side) * static_cast<std::size_t>(side));
  return {
      "", generator, {}, side, [=](std::uint64_t seed, std::uint64_t sample, std::span<float> x) {
        const SampleRng rng{named_key(seed, std::string_view(generator)), sample};
        draw(rng, contour_of(rng), *canvas, x);
      }};
}

}  // namespace

PlainLoop plain_rcdb(int side) {
  return loop("rcdb", side, rcdb);
}
PlainLoop plain_visual_atom(int side) {
  return loop("visual_atom", side, visual_atom);
}

}  // namespace wellspring::bench
