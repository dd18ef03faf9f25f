// Generator `walk`: a branching random walk in the plane. The class says whether it ever branched.
// Form: sets, a varying number of items.
#pragma once

#include "core/config/params.h"
#include "generators/sample_info.h"
#include "kernels/emission/events.h"
#include "kernels/random/math.h"
#include "kernels/random/philox.h"

namespace wellspring {

struct Walk {
  static constexpr int kMost = 64;       // walkers
  static constexpr int kDepth = 6;       // generations: at most 2^kDepth walkers
  static constexpr float kStep = 5.78f;  // box_muller returns less

  struct Params {
    float branching = 0.5f;
  };
  static const ParamTable<Params>& table() {
    static const auto rows =
        ParamTable<Params>("walk").real("branching", &Params::branching, {0, 1}, "",
                                        "probability that a walker branches at a step");
    return rows;
  }

  static constexpr int kLatents = 1;
  static constexpr forms::Events kForm = {};
  static SampleInfo describe(const Params&) {
    SampleInfo info;
    info.name = "walk";
    info.version = 1;
    info.summary = "Ends of a branching random walk; class: whether it branched";
    info.classes = {"single", "branched"};
    info.latents = {{"walkers", "number of walkers at the end", "", 1, kMost}};
    info.features = {{"x", ""}, {"y", ""}};
    info.high = kDepth * kStep;
    info.low = -info.high;
    info.draws = {.scene = kDepth * kMost};
    return info;
  }

  explicit Walk(const Params& params) : branching_(params.branching) {}

  SampleLayout layout() const { return SampleLayout::set(kMost, 2); }

  template <class Run>
  WS_INLINE void make(Run& run) const {
    run.each([&](int lane, auto& row, auto& truth) {
      const SampleRng rng = run.rng(lane);
      float x[kMost] = {}, y[kMost] = {};
      int count = 1;
      for (int depth = 0; depth < kDepth; ++depth) {
        const int before = count;
        for (int i = 0; i < before; ++i) {
          // One block per walker and generation.
          const Philox4 word =
              rng.block(Purpose::scene, static_cast<std::uint32_t>(depth * kMost + i));
          const math::NormalPair step = math::box_muller(word.word[0], word.word[1]);
          if (unit_float(word.word[2]) < branching_) {
            x[count] = x[i] - step.first;
            y[count] = y[i] - step.second;
            ++count;
          }
          x[i] += step.first;
          y[i] += step.second;
        }
      }
      for (int i = 0; i < count; ++i) row.set_item(i, {x[i], y[i]});
      row.set_count(count);
      truth.label = count > 1 ? 1 : 0;
      truth.latents[0] = static_cast<float>(count);
    });
  }

 private:
  float branching_;
};

}  // namespace wellspring
