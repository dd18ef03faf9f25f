// Generator `visual_atom`: grey contours on black that grow from orbit to orbit, with two sine
// waves around them. The class determines the contour's parameters. Called through the registry;
// host and device.
//
// Sources: S. Takashima et al., "Visual atoms: pre-training vision transformers with sinusoidal
// waves", CVPR 2023, and the program published with it. Each class has its own random stream, so
// class k does not depend on the number of classes. All lengths scale from the published 512-pixel
// images to the size of the image.
#pragma once

#include "core/config/params.h"
#include "generators/images/contour.h"
#include "generators/sample_info.h"
#include "kernels/random/philox.h"

#include <cstdint>

namespace wellspring {

class VisualAtom : public ContourPainter {
 public:
  struct Params : ContourParams {
    Params() {
      vertices_low = 200;
      vertices_high = 1000;
      radius_low = 10;
      radius_high = 60;
      spread = 512;
    }
    int waves_low = 0, waves_high = 20;
  };
  static const ParamTable<Params>& table();
  static constexpr int kLatents = 11;
  static SampleInfo describe(const Params& params);

  class Tables : public ContourPainter::Tables {
   public:
    explicit Tables(const Params&) {}
  };

  /// Throws a config error if a lower limit is above its upper limit.
  explicit VisualAtom(const Params& params);

  /// Parameters that all samples of a class share; lengths in published pixels.
  struct Class {
    std::int32_t vertices, orbits;
    float noise, line_width;
    std::int32_t radius, wave_1, wave_2;
    float oval_x, oval_y;
  };
  WS_INLINE Class class_of(std::uint32_t k) const {
    RngStream draw({class_key_, k}, Purpose::scene);
    Class c;
    c.vertices = between(draw, params_.vertices_low, params_.vertices_high);
    c.orbits = between(draw, params_.orbits_low, params_.orbits_high);
    c.noise = draw.uniform(params_.noise_low, params_.noise_high);
    c.line_width = draw.uniform(0, params_.line_width);
    c.radius = between(draw, params_.radius_low, params_.radius_high);
    c.wave_1 = between(draw, params_.waves_low, params_.waves_high);
    // The second number differs from the first, unless the first is 0 or the only value. It
    // therefore has one value fewer to choose from.
    const bool other = c.wave_1 != 0 && params_.waves_low < params_.waves_high;
    c.wave_2 = between(draw, params_.waves_low, params_.waves_high - (other ? 1 : 0));
    if (other && c.wave_2 >= c.wave_1) ++c.wave_2;
    c.oval_x = draw.uniform(1, params_.oval);
    c.oval_y = draw.uniform(1, params_.oval);
    return c;
  }

  WS_INLINE Scene draw(const SampleKey& key, Truth<kLatents>& truth) const {
    const std::uint32_t k =
        RngStream(key.rng, Purpose::label).integer(static_cast<std::uint32_t>(params_.classes));
    const Class c = class_of(k);
    RngStream draw(key.rng, Purpose::scene);
    const auto x = static_cast<float>(between(draw, -params_.spread, params_.spread));
    const auto y = static_cast<float>(between(draw, -params_.spread, params_.spread));

    const float scale = scale_of(key.shape);
    Scene scene = centred(key, x, y);
    scene.vertices = c.vertices;
    scene.orbits = c.orbits;
    scene.radius_x = scale * static_cast<float>(c.radius) * c.oval_x;
    scene.radius_y = scale * static_cast<float>(c.radius) * c.oval_y;
    scene.growth = scale * (c.noise + c.line_width);
    scene.noise = scale * c.noise;
    scene.wave = scale * 0.5f;
    scene.wave_1 = c.wave_1;
    scene.wave_2 = c.wave_2;
    scene.shades = 256;

    truth.label = static_cast<std::int32_t>(k);
    const float latents[kLatents] = {centre_latent(x),
                                     centre_latent(y),
                                     sides(static_cast<float>(c.radius)),
                                     c.oval_x,
                                     c.oval_y,
                                     static_cast<float>(c.vertices),
                                     static_cast<float>(c.orbits),
                                     sides(c.noise),
                                     sides(c.line_width),
                                     static_cast<float>(c.wave_1),
                                     static_cast<float>(c.wave_2)};
    WS_UNROLL(11)
    for (int i = 0; i < kLatents; ++i) truth.latents[i] = latents[i];
    return scene;
  }

 private:
  Params params_;
  std::uint64_t class_key_;
};

}  // namespace wellspring
