// Emission of fields that evolve (fields.h): plans memory for the resident chains and a batch's
// frames, and launches drawing, evolution and shading. Called by the emitters; host and device.
//
// A functor of this form has, in addition to the requirements of scene_buffer.h,
//
//     static constexpr forms::Field kForm;
//     using Field = ...;                                a field functor, see fields.h, and
//     Field field() const;  ChainSchedule schedule() const;  int field_side() const;
//     Scene draw(const SampleKey& chain, ChainSchedule::Position, TruthOf<F>&) const;
//     template <int N>
//     void shade(const Scene&, const float* frame, const PixelRun<N>&, ColourRun<N>&) const;
//
// The key passed to `draw` contains the number of the chain as its sample number. `frame` [side,
// side] is the plane of the field that is shown. Schedule and side are parameters of the generator;
// they map samples to frames.
#pragma once

#include "kernels/emission/fields.h"
#include "kernels/emission/scene_buffer.h"
#include "kernels/emission/stored_cells.h"
#include "kernels/runtime/memory_plan.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace wellspring {

template <class F>
class FieldEmitter {
  using Field = typename F::Field;

 public:
  void plan(MemoryPlan& memory, const std::string& group, std::int64_t rows, const F& image,
            const LatentRoles& roles = {}) {
    side_ = image.field_side();
    const auto places = 2 * static_cast<std::size_t>(image.schedule().lanes);
    const auto cells = static_cast<std::size_t>(side_) * static_cast<std::size_t>(side_);
    drawn_.plan(memory, group, rows, roles);
    heads_ = memory.reserve<FieldHead>(group, "resident chains", places);
    cells_ = memory.reserve<float>(group, "resident fields",
                                   places * 2 * static_cast<std::size_t>(Field::kPlanes) * cells);
    frames_ = memory.reserve<float>(group, "frames", static_cast<std::size_t>(rows) * cells);
  }

  /// `source_shape`: shape of the image that the functor describes.
  template <class Launcher>
  void emit(const Launcher& launch, std::string_view name, const F& image, SampleShape source_shape,
            const EmitCall& call) const {
    const DrawnImage<F>* const drawn = drawn_.draw(launch, name, image, source_shape, call);
    const ChainSchedule schedule = image.schedule();
    const FieldCache cache = {heads_.data(), cells_.data(), frames_.data(), side_};
    launch.league(name, std::int64_t{2} * schedule.lanes,
                  TeamShape{kSampleTeam.threads, EvolveFields<Field>::scratch_bytes()},
                  EvolveFields<Field>{image.field(), schedule, cache, call.slots, call.batch.size,
                                      call.source, call.seed});
    shade_stored(launch, name, image, drawn, call, frames_.data(), std::int64_t{side_} * side_);
  }

 private:
  DrawnImages<F> drawn_;
  Planned<FieldHead> heads_;
  Planned<float> cells_, frames_;
  std::int32_t side_ = 0;
};

}  // namespace wellspring
