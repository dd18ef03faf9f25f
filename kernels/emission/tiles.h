// Images whose pixels share preparatory work, such as a list of the objects in a tile. A functor of
// pixels.h whose form sets `.tiles = true` adds:
//
//     struct Prepared;
//     TileNeeds tile_needs() const;
//     template <class Team>                              called by all members of the team
//     Prepared prepare(Team&, const Scene&, const Augmentation&, PixelTile) const;
//     template <int N>
//     void shade(const Scene&, const Prepared&, const PixelRun<N>&, ColourRun<N>&) const;
//
// With `.host_tiles = true` it also has tiles for a host, where a single thread may prefer larger
// tiles:
//
//     TileNeeds host_tile_needs() const;
//
// Results must not depend on how the image is cut into tiles. Called by pixels.h; host and device.
#pragma once

#include <cstddef>

namespace wellspring {

/// Per-tile requirements of a configured functor.
struct TileNeeds {
  int side = 32;                  ///< side of the square tile that one team makes, pixels
  std::size_t scratch_bytes = 0;  ///< upper bound of the scratch for prepare(), including padding
};

template <class F>
TileNeeds tile_needs_of(const F& image, bool on_host) {
  if constexpr (F::kForm.host_tiles) {
    if (on_host) return image.host_tile_needs();
  }
  return image.tile_needs();
}

}  // namespace wellspring
