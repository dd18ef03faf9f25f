// The forms of emission. One constant of a functor states its form and the optional hooks that it
// has. Read by the emitters; host and device.
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

/// A formula per pixel; see pixels.h.
struct Pixels {
  Draw draw = Draw::value;
  bool tiles = false;                 ///< tile_needs and prepare, before pixels are shaded: tiles.h
  bool host_tiles = false;            ///< host_tile_needs
  bool tells_cost = false;            ///< cost
  bool plane = false;                 ///< plane: plane.h
  int blocks = detail::kPixelBlocks;  ///< blocks per multiprocessor (LaunchBound)
  int band = detail::kDeviceBandPixels;  ///< maximum pixels per team in a large batch on a device
};

/// Points and strokes scattered into cells; see canvas.h.
struct Canvas {
  Draw draw = Draw::value;
  bool settles = false;  ///< settles and settle
  bool whole = false;    ///< one team paints a sample, with its own scratch: paint_scratch
  bool plane = false;
  int blocks = detail::kPixelBlocks;  ///< blocks per multiprocessor while stored cells are shaded
};

/// Strokes painted in order; see bands.h.
struct Bands {
  Draw draw = Draw::value;
  bool tells_cost = false;
  bool plane = false;
  int blocks = detail::kPixelBlocks;
};

/// Frames of a field that evolves; see field_emitter.h.
struct Field {
  bool plane = false;
  int blocks = detail::kPixelBlocks;
};

/// A lattice in equilibrium; see lattice.h.
struct Lattice {
  Draw draw = Draw::value;
  bool plane = false;
  int blocks = detail::kPixelBlocks;
};

/// Events or sets, each made by one thread; see events.h.
struct Events {
  LaunchBound bound = kUsualBound;
};

/// Events or sets, each made by one team; see events.h.
struct EventTeams {
  LaunchBound bound = kUsualBound;
  bool cells = false;         ///< EventCell and cells
  bool shares_warps = false;  ///< true: a team may be part of a warp
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

/// The hooks that the form of F declares.
template <class F>
concept PreparesTiles = requires {
  requires F::kForm.tiles;
};
template <class F>
concept SettlesCanvas = requires {
  requires F::kForm.settles;
};
template <class F>
concept PaintsWhole = requires {
  requires F::kForm.whole;
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

/// Launch bound of the kernels that shade the pixels of F.
template <class F>
constexpr LaunchBound pixel_bound() {
  return {kPixelMembers, F::kForm.blocks};
}

}  // namespace detail
}  // namespace wellspring
