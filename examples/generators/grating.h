// Generator `grating`: a sinusoidal grating, as in orientation experiments. The class says whether
// it is tilted to the left or to the right. Form: pixels, a colour per pixel.
#pragma once

#include "core/config/params.h"
#include "generators/sample_info.h"
#include "kernels/emission/pixels.h"
#include "kernels/random/math.h"
#include "kernels/random/philox.h"

namespace wellspring {

struct Grating {
  // Parameters: set by `params:` in a configuration or by key=value on the command line.
  struct Params {
    float contrast = 0.5f;
    float tilt = 20;
  };
  static const ParamTable<Params>& table() {
    static const auto rows =
        ParamTable<Params>("grating")
            .real("contrast", &Params::contrast, {0, 1}, "", "contrast of the stripes")
            .real("tilt", &Params::tilt, {0, 90}, "degrees", "largest tilt from the vertical");
    return rows;
  }

  static constexpr int kLatents = 2;  // numbers that are stored with each sample
  static constexpr forms::Pixels kForm = {};
  static SampleInfo describe(const Params& params) {
    SampleInfo info;
    info.name = "grating";  // as the file
    info.version = 1;       // increase it whenever samples change
    info.summary = "Sinusoidal gratings; class: the direction of their tilt";
    info.classes = {"left", "right"};
    info.latents = {
        {"tilt", "angle from the vertical, clockwise", "degrees", -params.tilt, params.tilt},
        {"period", "distance between stripes", "pixels", 4, 16}};
    info.low = 0;  // range of all values
    info.high = 1;
    info.draws = {.scene = 1};  // blocks of four random words per sample
    return info;
  }

  // All that is drawn once per sample; only numbers.
  struct Scene {
    float across_x, across_y, phase;
  };

  explicit Grating(const Params& params) : params_(params) {}

  // Random numbers come only from key.rng, so sample i is the same everywhere.
  WS_INLINE Scene draw(const SampleKey& key, Truth<kLatents>& truth) const {
    RngStream draw(key.rng, Purpose::scene);
    const float tilt = draw.uniform(-params_.tilt, params_.tilt);
    const float period = draw.uniform(4, 16);
    truth.label = tilt < 0 ? 0 : 1;
    truth.latents[0] = tilt;
    truth.latents[1] = period;
    // math:: gives the same bits on every device; functions of <cmath> do not.
    const math::SinCos turn = math::sincos_turns(tilt / 360);
    return {turn.cosine / period, turn.sine / period, draw.uniform()};
  }

  // The colour at a point, in pixels.
  WS_INLINE Rgb at(const Scene& scene, PixelCoordinate p) const {
    const float turns = scene.across_x * p.x + scene.across_y * p.y + scene.phase;
    const float grey = 0.5f + 0.5f * params_.contrast * math::sin_turns(turns);
    return {grey, grey, grey};
  }

 private:
  Params params_;
};

}  // namespace wellspring
