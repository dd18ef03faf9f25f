// Generator `reaction`: the reaction A + B -> nothing, with diffusion, on a periodic lattice. The
// class says which substance there is more of. Form: field, one frame of an evolving grid.
#pragma once

#include "core/config/params.h"
#include "generators/sample_info.h"
#include "kernels/emission/field_emitter.h"
#include "kernels/emission/fields.h"
#include "kernels/random/math.h"
#include "kernels/random/philox.h"

#include <cstdint>

namespace wellspring {

// The rule of the field. A chain is one evolution; its frames are samples.
struct ReactionField {
  static constexpr int kPlanes = 2;  // a, b
  static constexpr int kShown = 0;   // the plane that frames show
  float rate = 0.5f;

  struct Chain {
    float amount = 0;  // mean of a; that of b is 1 - amount
  };

  WS_INLINE Chain chain(SampleRng rng) const {
    return {RngStream(rng, Purpose::scene).uniform(0.3f, 0.7f)};
  }

  template <class Team>
  WS_INLINE void begin(Team& team, const Chain& chain, SampleRng rng, std::int32_t side,
                       float* planes, Philox4&) const {
    const std::int32_t cells = side * side;
    for (std::int32_t i = team.rank(); i < cells; i += team.size()) {
      const Philox4 word = rng.block(Purpose::texture, static_cast<std::uint32_t>(i));
      planes[i] = 2 * chain.amount * unit_float(word.word[0]);
      planes[cells + i] = 2 * (1 - chain.amount) * unit_float(word.word[1]);
    }
  }

  template <class Team>
  WS_INLINE void step(Team& team, const Chain&, std::int32_t side, const float* from,
                      float* to) const {
    const std::int32_t cells = side * side;
    for (std::int32_t i = team.rank(); i < cells; i += team.size()) {
      const std::int32_t y = i / side, x = i - y * side;
      const std::int32_t row = y * side, up = (y + side - 1) % side * side,
                         down = (y + 1) % side * side;
      const std::int32_t left = (x + side - 1) % side, right = (x + 1) % side;
      const float reacted = rate * from[i] * from[cells + i];
      for (std::int32_t p = 0; p < kPlanes; ++p) {
        const float* const c = from + p * cells;
        const float around = (c[up + x] + c[down + x]) + (c[row + left] + c[row + right]);
        to[p * cells + i] = math::max(0, 0.5f * c[i] + 0.125f * around - reacted);
      }
    }
  }
};

struct Reaction {
  struct Params {
    int cells = 64;
    int frames = 16;
    int stride = 4;
    float rate = 0.5f;
  };
  static const ParamTable<Params>& table() {
    static const auto rows =
        ParamTable<Params>("reaction")
            .integer("cells", &Params::cells, {4, 1024}, "cells", "side of the lattice")
            .integer("frames", &Params::frames, {1, 4096}, "frames", "frames per evolution")
            .integer("stride", &Params::stride, {1, 1000}, "steps", "steps between frames")
            .real("rate", &Params::rate, {0, 0.5}, "1 / step", "rate of the reaction");
    return rows;
  }

  static constexpr int kLatents = 2;
  static constexpr forms::Field kForm = {.blocks = 0};  // registers: the compiler's choice
  static SampleInfo describe(const Params& params) {
    SampleInfo info;
    info.name = "reaction";
    info.version = 1;
    info.summary = "Density of a in a + b -> nothing; class: the more frequent substance";
    info.classes = {"b", "a"};
    info.latents = {{"amount", "mean initial density of a", "", 0.3f, 0.7f},
                    {"time", "steps since the start", "steps", 0,
                     static_cast<float>((params.frames - 1) * params.stride)}};
    // draw() takes one block. A sample may start two evolutions: its own and the next one of its lane.
    info.draws = {.scene = 1 + 2 * (1 + std::int64_t{params.cells} * params.cells), .cached = true};
    return info;
  }

  struct Scene {
    std::int32_t side;
  };

  explicit Reaction(const Params& params) : params_(params) {}

  using Field = ReactionField;
  WS_INLINE Field field() const { return {params_.rate}; }
  WS_INLINE ChainSchedule schedule() const { return {16, params_.frames, 0, params_.stride}; }
  WS_INLINE int field_side() const { return params_.cells; }

  WS_INLINE Scene draw(const SampleKey& chain, const ChainSchedule::Position& at,
                       Truth<kLatents>& truth) const {
    const float amount = field().chain(chain.rng).amount;
    truth.label = amount > 0.5f ? 1 : 0;
    truth.latents[0] = amount;
    truth.latents[1] = static_cast<float>(schedule().steps_of(at.frame));
    return {params_.cells};
  }

  template <int N>
  WS_INLINE void shade(const Scene& scene, const float* frame, const PixelRun<N>& run,
                       ColourRun<N>& colour) const {
    for (int i = 0; i < N; ++i) {
      const std::int32_t x = wrap(run.x[i], scene.side), y = wrap(run.y[i], scene.side);
      const float grey = math::min(1, frame[y * scene.side + x]);
      colour.set(i, {grey, grey, grey});
    }
  }

 private:
  // A cell per pixel; the lattice repeats.
  WS_INLINE static std::int32_t wrap(float at, std::int32_t side) {
    const std::int32_t cell = static_cast<std::int32_t>(math::floor(at)) % side;
    return cell < 0 ? cell + side : cell;
  }

  Params params_;
};

}  // namespace wellspring
