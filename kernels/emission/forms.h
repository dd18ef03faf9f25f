// The forms of emission. A functor states its form, and with it the optional hooks that it has, in one
// constant. Read by the emitters; host and device.
//
//     static constexpr forms::Canvas kForm = {.settles = true};
//
// A hook must be both in the functor and in its form. The emitter checks this and all required
// members at compile time (form_checks.h); the error names the member.
#pragma once

#include "kernels/batch/tiling.h"
#include "kernels/runtime/launch_bound.h"

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace wellspring {

namespace forms {

/// Variants of an image functor's draw (scene_buffer.h).
enum class Draw : std::uint8_t {
  value,     ///< Scene draw(key, truth)
  seen,      ///< Scene draw(key, augmentation, truth)
  in_place,  ///< void draw(key, scene, truth)
};

/// A formula per pixel: pixels.h.
struct Pixels {
  Draw draw = Draw::value;
  bool tiles = false;                 ///< tile_needs and prepare, before pixels are shaded: tiles.h
  bool host_tiles = false;            ///< host_tile_needs
  bool tells_cost = false;            ///< cost
  bool plane = false;                 ///< plane: plane.h
  int blocks = detail::kPixelBlocks;  ///< blocks per multiprocessor (LaunchBound)
};

/// Points and strokes that are scattered into cells: canvas.h.
struct Canvas {
  Draw draw = Draw::value;
  bool settles = false;  ///< settles and settle
  bool plane = false;
  int blocks = detail::kPixelBlocks;  ///< while stored cells are shaded
};

/// Strokes that are painted in order: bands.h.
struct Bands {
  Draw draw = Draw::value;
  bool tells_cost = false;
  bool plane = false;
  int blocks = detail::kPixelBlocks;
};

/// Frames of a field that evolves: field_emitter.h.
struct Field {
  bool plane = false;
  int blocks = detail::kPixelBlocks;
};

/// A lattice in equilibrium: lattice.h.
struct Lattice {
  Draw draw = Draw::value;
  bool plane = false;
  int blocks = detail::kPixelBlocks;
};

/// Events or sets, made by one thread each: events.h.
struct Events {
  LaunchBound bound = kUsualBound;
};

/// Events or sets, made by one team each: events.h.
struct EventTeams {
  LaunchBound bound = kUsualBound;
  bool cells = false;         ///< EventCell and cells
  bool shares_warps = false;  ///< a team may be a part of a warp
};

}  // namespace forms

template <class F>
using FormOf = std::remove_cvref_t<decltype(F::kForm)>;

template <class F>
concept PaintsCanvas = std::same_as<FormOf<F>, forms::Canvas>;
template <class F>
concept PaintsBands = std::same_as<FormOf<F>, forms::Bands>;
template <class F>
concept EvolvesField = std::same_as<FormOf<F>, forms::Field>;
template <class F>
concept RelaxesLattice = std::same_as<FormOf<F>, forms::Lattice>;
template <class F>
concept MakesEventsInTeams = std::same_as<FormOf<F>, forms::EventTeams>;
template <class F>
concept MakesEvents = std::same_as<FormOf<F>, forms::Events> || MakesEventsInTeams<F>;

/// Hooks in the form of F.
template <class F>
concept PreparesTiles = requires {
  requires F::kForm.tiles;
};
template <class F>
concept SettlesCanvas = requires {
  requires F::kForm.settles;
};
template <class F>
concept TellsCost = requires {
  requires F::kForm.tells_cost;
};
template <class F>
concept ScattersEvents = requires {
  requires F::kForm.cells;
};
template <class F>
concept HasPlane = requires {
  requires F::kForm.plane;
};
template <class F>
concept DrawsAugmented = requires {
  requires F::kForm.draw == forms::Draw::seen;
};
template <class F>
concept DrawsInPlace = requires {
  requires F::kForm.draw == forms::Draw::in_place;
};

namespace detail {

/// Launch bound of kernels that shade the pixels of F.
template <class F>
constexpr LaunchBound pixel_bound() {
  return {kPixelMembers, F::kForm.blocks};
}

}  // namespace detail
}  // namespace wellspring
