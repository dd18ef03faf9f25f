// A tracking detector of cylinders and discs about the z axis, modelled on the ACTS generic
// detector of the TrackML challenge. Used by generator `tracks` and its tests. The structs are for
// host and device, the functions for the host only.
#pragma once

#include <cstdint>

namespace wellspring {

inline constexpr int kMostCylinders = 12, kMostDiscs = 19;

/// A cylinder, or two discs at +-z; lengths in mm.
struct TrackerSurface {
  double place = 0;          ///< radius of a cylinder, |z| of a disc
  double low = 0, high = 0;  ///< extent: |z| of a cylinder, radius of a disc
  float thickness = 0;       ///< x / X0 at normal incidence
  float along = 0,
        across = 0;  ///< measurement errors: `along` in r phi; `across` in z (cylinder) or r (disc)
  std::int32_t volume[2] = {};  ///< TrackML's volume numbers at -z and +z; 0: dead material
  std::int32_t layer[2] = {};
};

struct Tracker {
  std::int32_t cylinders = 0, discs = 0;
  /// In order of radius or |z|; a sentinel at infinity ends each list.
  TrackerSurface cylinder[kMostCylinders + 1] = {};
  TrackerSurface disc[kMostDiscs + 1] = {};
};

/// Settings: measurement errors in mm, thicknesses in radiation lengths.
struct TrackerSpec {
  double pixel_along, pixel_across, short_along, short_across, long_along, long_across;
  double pixel_thickness, strip_thickness;
};

/// The ACTS generic detector. The half lengths follow from the module sizes and their 5 mm overlap.
Tracker generic_tracker(const TrackerSpec& spec);

}  // namespace wellspring
