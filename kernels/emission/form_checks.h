// Compile-time checks that a functor has the members that its form requires. An error names the
// member. Called by the emitters; host only.
#pragma once

#include "kernels/augment/augmentation.h"
#include "kernels/batch/pixel_run.h"
#include "kernels/batch/sample.h"
#include "kernels/emission/bands.h"
#include "kernels/emission/canvas.h"
#include "kernels/emission/event_run.h"
#include "kernels/emission/fields.h"
#include "kernels/emission/forms.h"
#include "kernels/emission/plane.h"
#include "kernels/emission/tiles.h"
#include "kernels/runtime/solo_team.h"

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace wellspring::detail {

/// Requires a member.
#define WS_NEEDS(member, ...) \
  static_assert(requires __VA_ARGS__, "a functor of this form needs the member " member)
/// Requires a hook if the form has it, and rejects it otherwise.
#define WS_HOOK(named, member, ...)              \
  static_assert((named) == requires __VA_ARGS__, \
                "the hook " member " must be both in the functor and in kForm")

template <class F>
constexpr void check_truth() {
  WS_NEEDS("kLatents", { F::kLatents; });
}

template <class F, class... Context>
constexpr bool can_shade() {
  return requires(const F& f, const typename F::Scene& scene, const Context&... context,
                  const PixelRun<32>& run, ColourRun<32>& colour) {
    f.shade(scene, context..., run, colour);
  };
}
template <class F, class... Context>
constexpr bool can_tell_plane() {
  return requires(const F& f, const typename F::Scene& scene, const Context&... context,
                  const PixelRun<32>& run, float(&value)[32]) {
    f.plane(scene, context..., run, value);
  };
}

/// Checks for all images. `Context`: arguments of shade after the scene.
template <class F, class... Context>
constexpr void check_image() {
  check_truth<F>();
  WS_NEEDS("Scene", { typename F::Scene; });
  if constexpr (EvolvesField<F>) {
    WS_NEEDS(
        "draw(const SampleKey&, ChainSchedule::Position, TruthOf<F>&)",
        (const F& f, const SampleKey& key, const ChainSchedule::Position& at, TruthOf<F>& truth) {
          { f.draw(key, at, truth) } -> std::same_as<typename F::Scene>;
        });
  } else if constexpr (DrawsAugmented<F>) {
    WS_NEEDS(
        "draw(const SampleKey&, const Augmentation&, TruthOf<F>&)",
        (const F& f, const SampleKey& key, const Augmentation& view, TruthOf<F>& truth) {
          { f.draw(key, view, truth) } -> std::same_as<typename F::Scene>;
        });
  } else if constexpr (DrawsInPlace<F>) {
    WS_NEEDS(
        "draw(const SampleKey&, Scene&, TruthOf<F>&)",
        (const F& f, const SampleKey& key, typename F::Scene& scene, TruthOf<F>& truth) {
          f.draw(key, scene, truth);
        });
  } else {
    WS_NEEDS(
        "draw(const SampleKey&, TruthOf<F>&)",
        (const F& f, const SampleKey& key, TruthOf<F>& truth) {
          { f.draw(key, truth) } -> std::same_as<typename F::Scene>;
        });
  }
  if constexpr (!kIsPlane<F>) {
    static_assert(HasPlane<F> == can_tell_plane<F, Context...>(),
                  "the hook plane must be both in the functor and in kForm");
  }
}

template <class F>
constexpr bool check_form(forms::Pixels) {
  WS_HOOK(
      F::kForm.tiles, "tile_needs()", (const F& f) { f.tile_needs(); });
  WS_HOOK(
      F::kForm.host_tiles, "host_tile_needs()", (const F& f) { f.host_tile_needs(); });
  WS_HOOK(
      F::kForm.tells_cost, "cost(const Scene&)",
      (const F& f, const typename F::Scene& scene) { f.cost(scene); });
  if constexpr (PreparesTiles<F>) {
    WS_NEEDS("Prepared", { typename F::Prepared; });
    check_image<F, typename F::Prepared>();
    WS_NEEDS(
        "prepare(Team&, const Scene&, const Augmentation&, PixelTile)",
        (const F& f, SoloTeam& team, const typename F::Scene& scene, const Augmentation& view,
         const PixelTile& tile) {
          { f.prepare(team, scene, view, tile) } -> std::same_as<typename F::Prepared>;
        });
    static_assert(can_shade<F, typename F::Prepared>(),
                  "a functor of this form needs the member shade(const Scene&, const Prepared&, "
                  "const PixelRun<N>&, ColourRun<N>&)");
  } else {
    check_image<F>();
    constexpr bool kAt =
        requires(const F& f, const typename F::Scene& scene, const PixelCoordinate& place) {
      { f.at(scene, place) } -> std::same_as<Rgb>;
    };
    static_assert(kAt != can_shade<F>(),
                  "a functor of this form needs the member at(const Scene&, PixelCoordinate), or "
                  "shade(const Scene&, const PixelRun<N>&, ColourRun<N>&)");
  }
  return true;
}

template <class F>
constexpr bool check_form(forms::Canvas) {
  WS_NEEDS("Cell", { typename F::Cell; });
  using Cell = typename F::Cell;
  check_image<F, Cell*>();
  WS_NEEDS(
      "cells(SampleShape)", (const F& f, SampleShape shape) {
        { f.cells(shape) } -> std::convertible_to<std::int64_t>;
      });
  WS_HOOK(
      F::kForm.whole, "paint_scratch(SampleShape)", (const F& f, SampleShape shape) {
        { f.paint_scratch(shape) } -> std::same_as<std::size_t>;
      });
  if constexpr (PaintsWhole<F>) {
    WS_NEEDS(
        "paint(Team&, const Scene&, std::size_t, Cell*)",
        (const F& f, SoloTeam& team, const typename F::Scene& scene, Cell* cells) {
          f.paint(team, scene, std::size_t{0}, cells);
        });
  } else {
    WS_NEEDS(
        "painters()", (const F& f) {
          { f.painters() } -> std::convertible_to<int>;
        });
    WS_NEEDS(
        "paint(Team&, const Scene&, ScatterWork, Cell*)",
        (const F& f, SoloTeam& team, const typename F::Scene& scene, ScatterWork work,
         Cell* cells) { f.paint(team, scene, work, cells); });
  }
  WS_HOOK(
      F::kForm.settles, "settles()", (const F& f) {
        { f.settles() } -> std::same_as<bool>;
      });
  WS_HOOK(
      F::kForm.settles, "settle(Team&, const Scene&, Cell*)",
      (const F& f, SoloTeam& team, const typename F::Scene& scene, Cell* cells) {
        f.settle(team, scene, cells);
      });
  static_assert(can_shade<F, const Cell*>(),
                "a functor of this form needs the member shade(const Scene&, const Cell*, const "
                "PixelRun<N>&, ColourRun<N>&)");
  return true;
}

template <class F>
constexpr bool check_form(forms::Bands) {
  WS_NEEDS("Texel", { typename F::Texel; });
  using Texel = typename F::Texel;
  check_image<F, const Texel*>();
  WS_NEEDS(
      "background()", (const F& f) {
        { f.background() } -> std::convertible_to<Texel>;
      });
  WS_NEEDS(
      "band_scratch(SampleShape)", (const F& f, SampleShape shape) {
        { f.band_scratch(shape) } -> std::convertible_to<std::size_t>;
      });
  WS_NEEDS(
      "paint_band(Team&, const Scene&, const Band&, Texel*)",
      (const F& f, SoloTeam& team, const typename F::Scene& scene, const Band& band,
       Texel* texels) { f.paint_band(team, scene, band, texels); });
  WS_HOOK(
      F::kForm.tells_cost, "cost(const Scene&)",
      (const F& f, const typename F::Scene& scene) { f.cost(scene); });
  static_assert(can_shade<F, const Texel*>(),
                "a functor of this form needs the member shade(const Scene&, const Texel*, const "
                "PixelRun<N>&, ColourRun<N>&)");
  return true;
}

template <class F>
constexpr bool check_form(forms::Field) {
  check_image<F, const float*>();
  WS_NEEDS("Field", { typename F::Field; });
  WS_NEEDS(
      "field()", (const F& f) {
        { f.field() } -> std::same_as<typename F::Field>;
      });
  WS_NEEDS(
      "schedule()", (const F& f) {
        { f.schedule() } -> std::convertible_to<ChainSchedule>;
      });
  WS_NEEDS(
      "field_side()", (const F& f) {
        { f.field_side() } -> std::convertible_to<int>;
      });
  static_assert(can_shade<F, const float*>(),
                "a functor of this form needs the member shade(const Scene&, const float*, const "
                "PixelRun<N>&, ColourRun<N>&)");
  return true;
}

template <class F>
constexpr bool check_form(forms::Lattice) {
  using Word = std::uint32_t;
  check_image<F, const Word*>();
  WS_NEEDS("kMeasured", { F::kMeasured; });
  WS_NEEDS(
      "lattice_words(SampleShape)", (const F& f, SampleShape shape) {
        { f.lattice_words(shape) } -> std::convertible_to<std::int64_t>;
      });
  WS_NEEDS(
      "lattice_members(SampleShape)", (const F& f, SampleShape shape) {
        { f.lattice_members(shape) } -> std::convertible_to<int>;
      });
  WS_NEEDS(
      "relax(Team&, const Scene&, std::uint32_t*, float (&)[kMeasured])",
      (const F& f, SoloTeam& team, const typename F::Scene& scene, Word* work,
       float(&measured)[F::kMeasured]) { f.relax(team, scene, work, measured); });
  static_assert(can_shade<F, const Word*>(),
                "a functor of this form needs the member shade(const Scene&, const std::uint32_t*, "
                "const PixelRun<N>&, ColourRun<N>&)");
  return true;
}

template <class F>
constexpr void check_event() {
  check_truth<F>();
  WS_NEEDS(
      "layout()", (const F& f) {
        { f.layout() } -> std::same_as<SampleLayout>;
      });
}

template <class F>
constexpr bool check_form(forms::Events) {
  check_event<F>();
  WS_NEEDS(
      "make(Run&)", (const F& f, EventRun<F, HostFloat, 1>& run) { f.make(run); });
  return true;
}

template <class F>
constexpr bool check_form(forms::EventTeams) {
  check_event<F>();
  using Row = RowWriter<HostFloat>;
  WS_NEEDS(
      "members()", (const F& f) {
        { f.members() } -> std::convertible_to<int>;
      });
  WS_NEEDS(
      "scratch_bytes()", (const F& f) {
        { f.scratch_bytes() } -> std::convertible_to<std::size_t>;
      });
  WS_HOOK(F::kForm.cells, "EventCell", { typename F::EventCell; });
  WS_HOOK(
      F::kForm.cells, "cells()", (const F& f) { f.cells(); });
  if constexpr (ScattersEvents<F>) {
    WS_NEEDS(
        "make(Team&, const SampleKey&, Row&, TruthOf<F>&, EventCell*)",
        (const F& f, SoloTeam& team, const SampleKey& key, Row& row, TruthOf<F>& truth,
         typename F::EventCell* cells) { f.make(team, key, row, truth, cells); });
  } else {
    WS_NEEDS(
        "make(Team&, const SampleKey&, Row&, TruthOf<F>&)",
        (const F& f, SoloTeam& team, const SampleKey& key, Row& row, TruthOf<F>& truth) {
          f.make(team, key, row, truth);
        });
  }
  return true;
}

#undef WS_NEEDS
#undef WS_HOOK

/// Checks that F states a form and has the form's members.
template <class F>
constexpr bool check_functor() {
  static_assert(
      requires { F::kForm; },
      "a functor must state its form: static constexpr forms::Pixels kForm = {} (forms.h)");
  if constexpr (requires { F::kForm; }) return check_form<F>(F::kForm);
  return true;
}

}  // namespace wellspring::detail
