// Generator `rcdb`: radial grey contours on white that grow from orbit to orbit. The class
// determines the numbers of vertices and orbits and the growth parameters. Called through the
// registry; host and device.
//
// Sources: H. Kataoka et al., "Replacing labeled real-image datasets with auto-generated contours",
// CVPR 2022 (RCDB), and the program published with it. Each class has its own random stream, so
// class k does not depend on the number of classes. All lengths scale from the published 512-pixel
// images to the size of the image.
#pragma once

#include "core/config/params.h"
#include "generators/images/contour.h"
#include "generators/sample_info.h"
#include "kernels/random/math.h"
#include "kernels/random/philox.h"

#include <cstdint>

namespace wellspring {

class Rcdb : public ContourPainter {
 public:
  struct Params : ContourParams {
    Params() {
      vertices_low = 3;
      vertices_high = 200;
      radius_high = 100;
      spread = 400;
    }
    float vertices_mean = 100;
  };
  static const ParamTable<Params>& table();
  static constexpr int kLatents = 9;
  static SampleInfo describe(const Params& params);

  class Tables : public ContourPainter::Tables {
   public:
    explicit Tables(const Params&) {}
  };

  /// Throws a config error if a lower limit is above its upper limit.
  explicit Rcdb(const Params& params);

  /// Parameters that all samples of a class share; lengths in published pixels.
  struct Class {
    std::int32_t vertices, orbits;
    float noise, line_width;
  };
  WS_INLINE Class class_of(std::uint32_t k) const {
    RngStream draw({class_key_, k}, Purpose::scene);
    Class c;
    // Integer part of an exponential variate, truncated to the range.
    const float left = math::lerp(most_left_, least_left_, draw.uniform());
    const auto whole = static_cast<std::int32_t>(-(params_.vertices_mean * math::log(left)));
    const std::int32_t most = whole > params_.vertices_high ? params_.vertices_high : whole;
    c.vertices = most < params_.vertices_low ? params_.vertices_low : most;
    c.orbits = between(draw, params_.orbits_low, params_.orbits_high);
    c.noise = draw.uniform(params_.noise_low, params_.noise_high);
    c.line_width = draw.uniform(0, params_.line_width);
    return c;
  }

  WS_INLINE Scene draw(const SampleKey& key, Truth<kLatents>& truth) const {
    const std::uint32_t k =
        RngStream(key.rng, Purpose::label).integer(static_cast<std::uint32_t>(params_.classes));
    const Class c = class_of(k);
    RngStream draw(key.rng, Purpose::scene);
    const auto x = static_cast<float>(between(draw, -params_.spread, params_.spread));
    const auto y = static_cast<float>(between(draw, -params_.spread, params_.spread));
    const auto radius = static_cast<float>(between(draw, params_.radius_low, params_.radius_high));
    const float oval_x = draw.uniform(1, params_.oval), oval_y = draw.uniform(1, params_.oval);

    const float scale = scale_of(key.shape);
    Scene scene = centred(key, x, y);
    scene.vertices = c.vertices;
    scene.orbits = c.orbits;
    scene.radius_x = scale * radius * oval_x;
    scene.radius_y = scale * radius * oval_y;
    scene.growth = scale * (c.noise + c.line_width);
    scene.noise = scale * (2 * c.noise);
    scene.wave = 0;
    scene.wave_1 = scene.wave_2 = 0;
    scene.shades = 257;

    truth.label = static_cast<std::int32_t>(k);
    const float latents[kLatents] = {centre_latent(x),
                                     centre_latent(y),
                                     sides(radius),
                                     oval_x,
                                     oval_y,
                                     static_cast<float>(c.vertices),
                                     static_cast<float>(c.orbits),
                                     sides(c.noise),
                                     sides(c.line_width)};
    WS_UNROLL(9)
    for (int i = 0; i < kLatents; ++i) truth.latents[i] = latents[i];
    return scene;
  }

 private:
  Params params_;
  std::uint64_t class_key_;
  float most_left_, least_left_;  ///< survival probabilities at the ends of the range
};

}  // namespace wellspring
