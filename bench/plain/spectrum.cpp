// Three fields of random phases, each by an inverse Fourier transform of all rows and then all
// columns (docs/generators/algorithms/spectrum.md).
#include "bench/plain/plain.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <memory>
#include <utility>
#include <vector>

namespace wellspring::bench {
namespace {

using Complex = std::complex<float>;
constexpr float kPi = 3.14159265f;

/// Radix 2 in place, of `n` numbers `stride` apart: sum of c[k] exp(2 pi i k x / n).
void inverse_fourier(Complex* c, std::size_t n, std::size_t stride) {
  for (std::size_t i = 1, j = 0; i < n; ++i) {
    std::size_t bit = n / 2;
    for (; (j & bit) != 0; bit /= 2) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(c[i * stride], c[j * stride]);
  }
  for (std::size_t length = 2; length <= n; length *= 2) {
    for (std::size_t k = 0; k < length / 2; ++k) {
      const Complex turn =
          std::polar(1.0f, 2 * kPi * static_cast<float>(k) / static_cast<float>(length));
      for (std::size_t from = 0; from < n; from += length) {
        Complex& a = c[(from + k) * stride];
        Complex& b = c[(from + k + length / 2) * stride];
        const Complex turned = {b.real() * turn.real() - b.imag() * turn.imag(),
                                b.real() * turn.imag() + b.imag() * turn.real()};
        b = a - turned;
        a += turned;
      }
    }
  }
}

struct Spectrum {
  std::size_t side;
  std::vector<float> power;  ///< m of each frequency
  std::array<std::vector<Complex>, 3> field;

  int signed_frequency(std::size_t k) const {
    return k <= side / 2 ? static_cast<int>(k) : static_cast<int>(k) - static_cast<int>(side);
  }

  void draw(std::uint64_t seed, std::uint64_t sample, std::span<float> x) {
    const SampleRng rng{named_key(seed, "spectrum"), sample};
    const std::uint32_t label = RngStream(rng, Purpose::label).integer(12);
    RngStream scene(rng, Purpose::scene);
    const float slope = 0.5f + 3 * (static_cast<float>(label / 2) + scene.uniform()) / 6;
    const float radius = std::sqrt(-2 * std::log(unit_float_open(scene.next())));
    const float normal = std::abs(0.05f * radius * std::cos(2 * kPi * scene.uniform()));
    const float tilt = label % 2 == 0 ? -normal : normal;
    const std::uint32_t colours = 3 + scene.integer(20);

    fill_spectrum(rng, slope, tilt);
    for (std::vector<Complex>& f : field) {
      for (std::size_t row = 0; row < side; ++row) inverse_fourier(&f[row * side], side, 1);
      for (std::size_t column = 0; column < side; ++column) inverse_fourier(&f[column], side, side);
    }
    colour_fields(RngStream(rng, Purpose::colour), colours, x);
  }

  void fill_spectrum(const SampleRng& rng, float slope, float tilt) {
    const auto n = static_cast<float>(side);
    double sum = 0;
    for (std::size_t row = 0; row < side; ++row) {
      const float fy = std::abs(static_cast<float>(signed_frequency(row))) / n;
      for (std::size_t column = 0; column < side; ++column) {
        const float fx = std::abs(static_cast<float>(signed_frequency(column))) / n;
        const float m =
            row + column == 0 ? 0 : 1 / (std::pow(fx, slope + tilt) + std::pow(fy, slope - tilt));
        power[row * side + column] = m;
        sum += static_cast<double>(m) * static_cast<double>(m);
      }
    }
    const auto gain = static_cast<float>(1 / std::sqrt(sum));
    for (std::size_t row = 0; row < side; ++row) {
      for (std::size_t column = 0; column < side; ++column) {
        const int ky = signed_frequency(row), kx = signed_frequency(column);
        const int half = static_cast<int>(side / 2);
        const bool real = (ky == 0 || ky == half) && (kx == 0 || kx == half);
        const bool own =
            (kx > 0 && kx < half) || ((kx == 0 || kx == half) && (ky > 0 && ky < half));
        if (!own && !real) continue;
        const Philox4 words =
            rng.block(Purpose::texture, static_cast<std::uint32_t>(kx) * 65536 +
                                            (static_cast<std::uint32_t>(ky) & 0xffff));
        const float amplitude = gain * power[row * side + column];
        const std::size_t opposite = (side - row) % side * side + (side - column) % side;
        for (std::size_t f = 0; f < 3; ++f) {
          const std::uint32_t word = words.word[f];
          const Complex value = real ? Complex(word >> 31 != 0 ? -amplitude : amplitude, 0)
                                     : std::polar(amplitude, 2 * kPi * unit_float(word));
          field[f][opposite] = std::conj(value);
          field[f][row * side + column] = value;
        }
      }
    }
  }

  /// Fields become channels with the mean and the covariance of random colours, then fill [0, 1].
  void colour_fields(RngStream draw, std::uint32_t colours, std::span<float> x) const {
    std::array<double, 3> mean{};
    std::array<std::array<double, 3>, 3> covariance{}, root{};
    for (std::uint32_t k = 0; k < colours; ++k) {
      std::array<double, 3> c{};
      for (double& channel : c) channel = static_cast<double>(draw.uniform());
      for (std::size_t i = 0; i < 3; ++i) {
        mean[i] += c[i] / colours;
        for (std::size_t j = 0; j < 3; ++j) covariance[i][j] += c[i] * c[j] / colours;
      }
    }
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        double rest = covariance[i][j] - mean[i] * mean[j];
        for (std::size_t k = 0; k < j; ++k) rest -= root[i][k] * root[j][k];
        root[i][j] = i == j ? std::sqrt(std::max(rest, 1e-8)) : rest / root[j][j];
      }
    }
    float low = INFINITY, high = -INFINITY;
    for (std::size_t pixel = 0; pixel < side * side; ++pixel) {
      for (std::size_t i = 0; i < 3; ++i) {
        auto value = static_cast<float>(mean[i]);
        for (std::size_t k = 0; k <= i; ++k)
          value += static_cast<float>(root[i][k]) * field[k][pixel].real();
        x[3 * pixel + i] = value;
        low = std::min(low, value);
        high = std::max(high, value);
      }
    }
    for (float& value : x) value = (value - low) / (high - low);
  }
};

}  // namespace

PlainLoop plain_spectrum(int side) {
  auto spectrum = std::make_shared<Spectrum>();
  spectrum->side = static_cast<std::size_t>(side);
  spectrum->power.resize(spectrum->side * spectrum->side);
  for (std::vector<Complex>& field : spectrum->field) field.resize(spectrum->side * spectrum->side);
  return {
      "", "spectrum", {}, side, [=](std::uint64_t seed, std::uint64_t sample, std::span<float> x) {
        spectrum->draw(seed, sample, x);
      }};
}

}  // namespace wellspring::bench
