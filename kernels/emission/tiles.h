// Images whose pixels need common work first, a list of the objects that a tile shows, say. What a
// functor of pixels.h adds for it, where its form says `.tiles = true`:
//
//     struct Prepared;
//     TileNeeds tile_needs() const;
//     template <class Team>                                              all members of the team
//     Prepared prepare(Team&, const Scene&, const Augmentation&, PixelTile) const;
//     template <int N>
//     void shade(const Scene&, const Prepared&, const PixelRun<N>&, ColourRun<N>&) const;
//
// and, with `.host_tiles = true`, where a thread alone does better with larger tiles than a team
//
//     TileNeeds host_tile_needs() const;
//
// Results must not depend on how the image is cut into tiles. Host and device.
#pragma once

#include <cstddef>

namespace wellspring {

/// Values of the functor as it is configured.
struct TileNeeds {
  int side = 32;                  ///< of the square tile that one team makes, pixels
  std::size_t scratch_bytes = 0;  ///< an upper bound of what prepare() takes, padding included
};

template <class F>
TileNeeds tile_needs_of(const F& image, bool on_host) {
  if constexpr (F::kForm.host_tiles) {
    if (on_host) return image.host_tile_needs();
  }
  return image.tile_needs();
}

}  // namespace wellspring
