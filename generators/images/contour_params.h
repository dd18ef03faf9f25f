// Parameters that the contour generators share. Called by rcdb and visual_atom; host only.
#pragma once

#include "core/config/params.h"
#include "generators/images/contour.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace wellspring::contour {

/// The values that a paper gives for its parameters, by name.
class Published {
 public:
  Published(std::string paper, std::map<std::string, std::string> values)
      : paper_(std::move(paper)), values_(std::move(values)) {}
  /// Source text for a row.
  std::string operator()(const std::string& name) const { return paper_ + ": " + values_.at(name); }

 private:
  std::string paper_;
  std::map<std::string, std::string> values_;
};

/// Adds the rows classes, class_seed and vertices.
template <class Params>
ParamTable<Params>& add_class_rows(ParamTable<Params>& table, const Published& published) {
  return table
      .integer("classes", static_cast<int Params::*>(&Params::classes), {1, 100000}, "",
               "number of classes; class k does not depend on it", published("classes"))
      .integer("class_seed", static_cast<std::int64_t Params::*>(&Params::class_seed), {0}, "",
               "seed of the classes, independent of the seed of the samples")
      .integer("vertices_low", static_cast<int Params::*>(&Params::vertices_low),
               {3, kMostVertices}, "", "fewest vertices of a contour", published("vertices_low"))
      .integer("vertices_high", static_cast<int Params::*>(&Params::vertices_high),
               {3, kMostVertices}, "", "most vertices of a contour", published("vertices_high"));
}

/// Adds the rows orbits, noise, line_width and radius.
template <class Params>
ParamTable<Params>& add_growth_rows(ParamTable<Params>& table, const Published& published) {
  return table
      .integer("orbits_low", static_cast<int Params::*>(&Params::orbits_low), {1, kMostOrbits}, "",
               "fewest contours per image", published("orbits_low"))
      .integer("orbits_high", static_cast<int Params::*>(&Params::orbits_high), {1, kMostOrbits},
               "", "most contours per image", published("orbits_high"))
      .real("noise_low", static_cast<float Params::*>(&Params::noise_low), {0, 8},
            "image side / 512",
            "smallest noise coefficient; it also adds to the radius growth per orbit",
            published("noise_low"))
      .real("noise_high", static_cast<float Params::*>(&Params::noise_high), {0, 8},
            "image side / 512", "largest noise coefficient", published("noise_high"))
      .real("line_width", static_cast<float Params::*>(&Params::line_width), {0, 1},
            "image side / 512", "largest additional radius growth per orbit",
            published("line_width"))
      .integer("radius_low", static_cast<int Params::*>(&Params::radius_low), {0, 512},
               "image side / 512", "smallest radius before the first orbit",
               published("radius_low"))
      .integer("radius_high", static_cast<int Params::*>(&Params::radius_high), {0, 512},
               "image side / 512", "largest radius before the first orbit",
               published("radius_high"));
}

/// Adds the rows oval, spread and render.
template <class Params>
ParamTable<Params>& add_place_rows(ParamTable<Params>& table, const Published& published) {
  return table
      .real("oval", static_cast<float Params::*>(&Params::oval), {1, 4}, "",
            "largest stretch of the initial radius along each axis", published("oval"))
      .integer("spread", static_cast<int Params::*>(&Params::spread), {0, 1024},
               "image side / 1024",
               "largest offset of the centre from the image's centre, along each axis",
               published("spread"))
      .integer("render", static_cast<int Params::*>(&Params::render), {0, kMostSide}, "pixels",
               kRenderHelp, published("render"));
}

}  // namespace wellspring::contour
