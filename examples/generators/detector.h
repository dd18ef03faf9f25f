// Generator `detector`: two layers measure the energy of a particle, each with a finite resolution.
// The class is the kind of particle. Form: events, a fixed number of features.
#pragma once

#include "core/config/params.h"
#include "generators/sample_info.h"
#include "kernels/emission/events.h"
#include "kernels/random/math.h"
#include "kernels/random/philox.h"

namespace wellspring {

struct Detector {
  struct Params {
    float resolution = 0.1f;
  };
  static const ParamTable<Params>& table() {
    static const auto rows =
        ParamTable<Params>("detector")
            .real("resolution", &Params::resolution, {0, 1}, "sqrt(GeV)",
                  "a: the standard deviation of a measured energy E is a sqrt(E)");
    return rows;
  }

  static constexpr int kLatents = 1;
  static constexpr int kFeatures = 2;
  static constexpr float kLow = 10, kHigh = 100;  // GeV
  static constexpr forms::Events kForm = {};
  static SampleInfo describe(const Params& params) {
    SampleInfo info;
    info.name = "detector";
    info.version = 1;
    info.summary = "Energies in two layers; class: electron or pion";
    info.classes = {"electron", "pion"};
    info.latents = {{"energy", "true energy", "GeV", kLow, kHigh}};
    info.features = {{"front", "GeV"}, {"back", "GeV"}};
    info.low = 0;
    // box_muller returns less than 5.78; sqrt(100) is 10.
    info.high = kHigh + 57.8f * params.resolution;
    info.draws = {.scene = 2};
    return info;
  }

  explicit Detector(const Params& params) : resolution_(params.resolution) {}

  SampleLayout layout() const { return SampleLayout::event(kFeatures); }

  // The host makes several events at once; each draws from its own id.
  template <class Run>
  WS_INLINE void make(Run& run) const {
    run.each([&](int i, auto& row, auto& truth) WS_INLINED {
      RngStream draw(run.rng(i), Purpose::scene);
      const bool pion = draw.integer(2) == 1;
      const float energy = draw.uniform(kLow, kHigh);
      const float share = pion ? draw.uniform(0.1f, 0.7f) : draw.uniform(0.6f, 0.9f);
      const Philox4 word = run.rng(i).block(Purpose::noise, 0);
      const math::NormalPair noise = math::box_muller(word.word[0], word.word[1]);
      row.set_features(
          0, {measured(share * energy, noise.first), measured((1 - share) * energy, noise.second)});
      truth.label = pion ? 1 : 0;
      truth.latents[0] = energy;
    });
  }

 private:
  WS_INLINE float measured(float energy, float noise) const {
    return math::max(0, energy + resolution_ * math::sqrt(energy) * noise);
  }

  float resolution_;
};

}  // namespace wellspring
