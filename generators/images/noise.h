// Generator `noise`: independent uniform or Gaussian values on the lattice of source pixels. The
// class is the distribution. Both have the same mean and variance, so only their shapes distinguish
// them. Called through the registry; host and device.
#pragma once

#include "core/config/params.h"
#include "generators/images/periodic.h"
#include "generators/sample_info.h"
#include "kernels/emission/pixels.h"
#include "kernels/random/math.h"
#include "kernels/random/philox.h"

#include <cmath>
#include <cstdint>
#include <utility>

namespace wellspring {

struct Noise {
  enum class Law : std::uint8_t { uniform, gaussian, either };
  enum class Palette : std::uint8_t { colour, grey };

  struct Params {
    Law law = Law::either;
    float mean = 0.5f;
    float sigma = 0.25f;
    Palette palette = Palette::colour;
  };
  static const ParamTable<Params>& table() {
    static const auto rows =
        ParamTable<Params>("noise")
            .choice(
                "law", &Params::law,
                {{"uniform", Law::uniform}, {"gaussian", Law::gaussian}, {"either", Law::either}},
                "distribution of the values; either: drawn per sample with equal probability")
            .real("mean", &Params::mean, {0, 1}, "", "mean of the values")
            .real("sigma", &Params::sigma, {0, 1}, "", "standard deviation of the values")
            .choice("palette", &Params::palette,
                    {{"colour", Palette::colour}, {"grey", Palette::grey}},
                    "colour: independent channels; grey: one value for all three");
    return rows;
  }

  static constexpr int kLatents = 2;
  static constexpr forms::Pixels kForm = {};
  static SampleInfo describe(const Params& params) {
    SampleInfo info;
    info.name = "noise";
    info.version = 2;
    info.summary = "Independent uniform or Gaussian values per pixel; class: the distribution";
    info.reference =
        "Box and Muller, Ann. Math. Stat. 29 (1958) 610, for the Gaussian distribution";
    info.classes = {"uniform", "gaussian"};
    info.latents = {{"mean", "mean of the values", "", params.mean, params.mean},
                    {"sigma", "standard deviation of the values", "", params.sigma, params.sigma}};
    // The transform's smallest uniform number is 2^-24, so values are within sqrt(2 ln 2^24) =
    // 5.768 standard deviations of the mean.
    info.low = params.mean - 5.769f * params.sigma;
    info.high = params.mean + 5.769f * params.sigma;
    info.draws = {.scene = params.law == Law::either ? 1 : 0, .pixel = 1};
    return info;
  }

  struct Scene {
    SampleRng rng;
    Law law;
  };

  explicit Noise(const Params& params) : params_(params) {}

  WS_INLINE Scene draw(const SampleKey& key, Truth<kLatents>& truth) const {
    Law law = params_.law;
    if (law == Law::either) {
      const std::uint32_t half = RngStream(key.rng, Purpose::label).integer(2);
      law = half == 0 ? Law::uniform : Law::gaussian;
    }
    truth.label = law == Law::gaussian ? 1 : 0;
    truth.latents[0] = params_.mean;
    truth.latents[1] = params_.sigma;
    return {key.rng, law};
  }

  template <int N>
  WS_INLINE void shade(const Scene& scene, const PixelRun<N>& run, ColourRun<N>& colour) const {
    if (scene.law == Law::gaussian) {
      WS_LANES
      for (int i = 0; i < N; ++i) {
        const Philox4 w = lattice(scene, run.x[i], run.y[i]);
        const math::NormalPair first = math::box_muller(w.word[0], w.word[1]);
        const math::NormalPair second = math::box_muller(w.word[2], w.word[3]);
        colour.r[i] = math::fma(params_.sigma, first.first, params_.mean);
        colour.g[i] = math::fma(params_.sigma, first.second, params_.mean);
        colour.b[i] = math::fma(params_.sigma, second.first, params_.mean);
      }
    } else {
      const float width =
          3.4641016f * params_.sigma;  // sqrt(12), because a unit interval has sigma 12^-1/2
      const float low = params_.mean - 0.5f * width;
      WS_LANES
      for (int i = 0; i < N; ++i) {
        const Philox4 w = lattice(scene, run.x[i], run.y[i]);
        colour.r[i] = math::fma(width, unit_float(w.word[0]), low);
        colour.g[i] = math::fma(width, unit_float(w.word[1]), low);
        colour.b[i] = math::fma(width, unit_float(w.word[2]), low);
      }
    }
    colour.grey = params_.palette == Palette::grey;
  }

 private:
  /// Random words of the source pixel at (x, y). The lattice has no border, so views beyond the
  /// image show more noise. Its period is 65536 pixels.
  WS_INLINE static Philox4 lattice(const Scene& scene, float x, float y) {
    const auto ix = static_cast<std::uint32_t>(periodic::floor_int(x));
    const auto iy = static_cast<std::uint32_t>(periodic::floor_int(y));
    return scene.rng.block(Purpose::texture, (iy << 16) | (ix & 0xffffu));
  }

  Params params_;
};

}  // namespace wellspring
