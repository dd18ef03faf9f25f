// Emission of images of a lattice. One team, using barriers, brings the lattice into equilibrium in
// scratch memory or, if the lattice is too large, in planned memory. Pixels are then read from the
// lattice, and quantities measured on it become latents. Called by the emitters; host and device.
//
// A functor of this form has, in addition to the requirements of scene_buffer.h,
//
//     static constexpr forms::Lattice kForm;             states the optional hooks
//     static constexpr int kMeasured;                    the last kMeasured latents are measured;
//                                                        augmentation does not change them
//     std::int64_t lattice_words(SampleShape) const;     work memory, 32-bit words
//     int lattice_members(SampleShape) const;            threads per team
//     template <class Team>                              ends with a barrier
//     void relax(Team&, const Scene&, std::uint32_t* work, float (&measured)[kMeasured]) const;
//     template <int N>
//     void shade(const Scene&, const std::uint32_t* work, const PixelRun<N>&, ColourRun<N>&) const;
//
// All members call relax(); only `measured` of rank 0 is used. shade() reads the `work` that
// relax() leaves.
#pragma once

#include "kernels/emission/paint.h"
#include "kernels/emission/scene_buffer.h"
#include "kernels/emission/stored_cells.h"
#include "kernels/runtime/launch.h"
#include "kernels/runtime/launch_bound.h"
#include "kernels/runtime/memory_plan.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace wellspring {

namespace detail {

/// Called by rank 0: writes the measured latents after those that were drawn.
template <class F>
WS_INLINE void write_measured(const BatchView& batch, std::int64_t b,
                              const float (&measured)[F::kMeasured]) {
  if (batch.latents == nullptr) return;
  constexpr int kFirst = F::kLatents - F::kMeasured;
  const int width = batch.layout.latents;
  WS_UNROLL(16)
  for (int i = 0; i < F::kMeasured; ++i) {
    if (kFirst + i < width) batch.latents[b * width + kFirst + i] = measured[i];
  }
}

}  // namespace detail

/// Team functor for lattices in scratch memory: one team makes a sample.
template <class F, class T>
struct RelaxInScratch {
  F image;
  const Slot* slots;
  std::uint32_t source;
  const DrawnImage<F>* drawn;
  BatchView batch;
  std::int64_t words;

  static constexpr RunsOn kRunsOn = detail::kRunsOn<T>;
  static constexpr LaunchBound kLaunchBound = kSampleTeam;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t b) const {
    if (slots[b].source != source) return;
    const DrawnImage<F>& sample = detail::fetch<F>(team, drawn + b);
    auto* const work = team.template scratch<std::uint32_t>(static_cast<std::size_t>(words));
    float measured[F::kMeasured];
    image.relax(team, sample.scene, work, measured);
    if (team.rank() == 0) detail::write_measured<F>(batch, b, measured);
    const SampleShape shape = batch.layout.shape();
    const PixelTile whole = {0, 0, shape.width, shape.height};
    detail::paint_tile<T>(team, sample.view, whole, batch, b, [&](const auto& run, auto& colour) {
      image.shade(sample.scene, work, run, colour);
    });
  }
};

/// Team functor for lattices in planned memory.
template <class F>
struct RelaxInMemory {
  F image;
  const Slot* slots;
  std::uint32_t source;
  const DrawnImage<F>* drawn;
  BatchView batch;
  std::uint32_t* work;
  std::int64_t words;

  static constexpr LaunchBound kLaunchBound = kSampleTeam;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t b) const {
    if (slots[b].source != source) return;
    const DrawnImage<F>& sample = detail::fetch<F>(team, drawn + b);
    float measured[F::kMeasured];
    image.relax(team, sample.scene, work + b * words, measured);
    if (team.rank() == 0) detail::write_measured<F>(batch, b, measured);
  }
};

/// Planned memory and launches of lattice functors.
template <class F>
class LatticeEmitter {
  static_assert(0 < F::kMeasured && F::kMeasured <= F::kLatents);

 public:
  /// `most_scratch`: scratch limit per team, bytes; larger lattices use planned memory.
  void plan(MemoryPlan& memory, const std::string& group, std::int64_t rows, const F& image,
            SampleShape source_shape, std::size_t most_scratch, const LatentRoles& roles = {}) {
    drawn_.plan(memory, group, rows, roles);
    words_ = image.lattice_words(source_shape);
    in_scratch_ = scratch_bytes() <= most_scratch;
    work_ = {};
    if (!in_scratch_) {
      work_ =
          memory.reserve<std::uint32_t>(group, "lattices", static_cast<std::size_t>(rows * words_));
    }
  }

  template <class Launcher>
  void emit(const Launcher& launch, std::string_view name, const F& image, SampleShape source_shape,
            const EmitCall& call) const {
    const DrawnImage<F>* const drawn = drawn_.draw(launch, name, image, source_shape, call);
    const std::int64_t rows = call.batch.size;
    const int members = image.lattice_members(source_shape);
    if (in_scratch_) {
      detail::visit_x<F>(launch.device(), call.batch.dtype, [&]<class T>(T) {
        launch.league(
            name, rows, TeamShape{members, scratch_bytes()},
            RelaxInScratch<F, T>{image, call.slots, call.source, drawn, call.batch, words_});
      });
      return;
    }
    launch.league(
        name, rows, TeamShape{members, detail::drawn_scratch<F>()},
        RelaxInMemory<F>{image, call.slots, call.source, drawn, call.batch, work_.data(), words_});
    shade_stored<Launcher, F, std::uint32_t>(launch, name, image, drawn, call, work_.data(),
                                             words_);
  }

 private:
  std::size_t scratch_bytes() const {
    return static_cast<std::size_t>(words_) * sizeof(std::uint32_t) + sizeof(std::uint32_t) +
           detail::drawn_scratch<F>();
  }

  DrawnImages<F> drawn_;
  Planned<std::uint32_t> work_;
  std::int64_t words_ = 0;
  bool in_scratch_ = true;
};

}  // namespace wellspring
