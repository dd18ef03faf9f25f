#include "generators/events/tracker.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace wellspring {
namespace {

/// Half the length of `n` modules with half size `half` that overlap by 5 mm.
constexpr double half_length(int n, double half) {
  return n * half - (n - 1) * 2.5;
}

struct Part {
  std::vector<double> radii;
  double half_z;
  std::vector<double> discs;
  double low, high;  ///< radii of the discs
  double along, across, thickness;
  int volume;  ///< volume number of the discs at -z; barrel and discs at +z have the next
               ///< two
};

}  // namespace

Tracker generic_tracker(const TrackerSpec& spec) {
  const std::vector<double> strip_discs = {1220, 1500, 1800, 2150, 2550, 2950};
  const Part parts[] = {
      {{32, 72, 116, 172},
       half_length(14, 36),
       {600, 700, 820, 960, 1100, 1300, 1500},
       30,
       176,
       spec.pixel_along,
       spec.pixel_across,
       spec.pixel_thickness,
       7},
      {{260, 360, 500, 660},
       half_length(21, 54),
       strip_discs,
       240,
       700,
       spec.short_along,
       spec.short_across,
       spec.strip_thickness,
       12},
      {{820, 1020},
       half_length(21, 54),
       strip_discs,
       750,
       1020,
       spec.long_along,
       spec.long_across,
       spec.strip_thickness,
       16},
  };
  constexpr double kBerylliumX0 = 352.8;  // mm
  std::vector<TrackerSurface> cylinders, discs;
  const auto dead = [&](double radius, double half_z, double mm) {
    TrackerSurface surface;
    surface.place = radius;
    surface.high = half_z;
    surface.thickness = static_cast<float>(mm / kBerylliumX0);
    cylinders.push_back(surface);
  };
  dead(19, 3000, 0.8);   // beam pipe
  dead(200, 2800, 1.8);  // pixel support tube
  for (const Part& part : parts) {
    TrackerSurface surface;
    surface.thickness = static_cast<float>(part.thickness);
    surface.along = static_cast<float>(part.along);
    surface.across = static_cast<float>(part.across);
    surface.high = part.half_z;
    for (std::size_t i = 0; i < part.radii.size(); ++i) {
      surface.place = part.radii[i];
      surface.volume[0] = surface.volume[1] = part.volume + 1;
      surface.layer[0] = surface.layer[1] = static_cast<std::int32_t>(2 * i + 2);
      cylinders.push_back(surface);
    }
    surface.low = part.low;
    surface.high = part.high;
    for (std::size_t i = 0; i < part.discs.size(); ++i) {
      surface.place = part.discs[i];
      surface.volume[0] = part.volume;
      surface.volume[1] = part.volume + 2;
      surface.layer[0] = static_cast<std::int32_t>(2 * (part.discs.size() - i));
      surface.layer[1] = static_cast<std::int32_t>(2 * i + 2);
      discs.push_back(surface);
    }
  }
  const auto nearer = [](const TrackerSurface& a, const TrackerSurface& b) {
    return a.place != b.place ? a.place < b.place : a.high < b.high;
  };
  std::sort(cylinders.begin(), cylinders.end(), nearer);
  std::sort(discs.begin(), discs.end(), nearer);
  Tracker tracker;
  tracker.cylinders = static_cast<std::int32_t>(cylinders.size());
  tracker.discs = static_cast<std::int32_t>(discs.size());
  std::copy(cylinders.begin(), cylinders.end(), tracker.cylinder);
  std::copy(discs.begin(), discs.end(), tracker.disc);
  for (TrackerSurface* behind : {&tracker.cylinder[cylinders.size()], &tracker.disc[discs.size()]})
    behind->place = behind->high = std::numeric_limits<double>::infinity();
  return tracker;
}

}  // namespace wellspring
