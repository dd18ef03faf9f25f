// A tracking detector of cylinders and discs about the z axis, in the shape of the ACTS generic
// detector, on which the TrackML challenge was made. Used by generator `tracks` and its tests; the
// structs by the device as well.
#pragma once

#include <cstdint>

namespace wellspring {

inline constexpr int kMostCylinders = 12, kMostDiscs = 19;

/// A cylinder, or two discs at +-z. Lengths in mm.
struct TrackerSurface {
  double place = 0;          ///< radius of a cylinder, |z| of a disc
  double low = 0, high = 0;  ///< |z| of a cylinder, radius of a disc: from, to
  float thickness = 0;       ///< x / X0, crossed at right angles
  float along = 0,
        across = 0;  ///< width of a measurement: in r phi; in z of a cylinder, r of a disc
  std::int32_t volume[2] = {};  ///< as TrackML numbers them, at -z and +z; 0: measures nothing
  std::int32_t layer[2] = {};
};

struct Tracker {
  std::int32_t cylinders = 0, discs = 0;
  /// By rising radius, and by rising |z|; behind the last ones endless ones at infinity.
  TrackerSurface cylinder[kMostCylinders + 1] = {};
  TrackerSurface disc[kMostDiscs + 1] = {};
};

/// What a person may set of it; radians, mm, shares of a radiation length.
struct TrackerSpec {
  double pixel_along, pixel_across, short_along, short_across, long_along, long_across;
  double pixel_thickness, strip_thickness;
};

/// The ACTS generic detector: radii, discs and half sizes of modules, whose overlap of 5 mm gives
/// the half lengths.
Tracker generic_tracker(const TrackerSpec& spec);

}  // namespace wellspring
