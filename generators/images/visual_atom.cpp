#include "generators/images/visual_atom.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace wellspring {

const ParamTable<VisualAtom::Params>& VisualAtom::table() {
  static constexpr const char* kPaper = "Takashima et al., CVPR 2023: ";
  const auto paper = [](const char* values) { return std::string(kPaper) + values; };
  static const auto rows =
      ParamTable<Params>("visual_atom")
          .integer("classes", &Params::classes, {1, 100000}, "",
                   "number of classes; class k does not depend on it", paper("1000, and 21,000"))
          .integer("class_seed", &Params::class_seed, {0}, "",
                   "of the classes; the same ones under every seed of samples")
          .integer("vertices_low", &Params::vertices_low, {3, contour::kMostVertices}, "",
                   "fewest vertices of a contour", paper("200"))
          .integer("vertices_high", &Params::vertices_high, {3, contour::kMostVertices}, "",
                   "most vertices", paper("1000"))
          .integer("orbits_low", &Params::orbits_low, {1, contour::kMostOrbits}, "",
                   "fewest contours of a picture", paper("1"))
          .integer("orbits_high", &Params::orbits_high, {1, contour::kMostOrbits}, "",
                   "most contours of a picture", paper("200"))
          .real("noise_low", &Params::noise_low, {0, 8}, "image side / 512",
                "least coefficient of the noise, which is also the growth of the radius an orbit",
                paper("0; the program without its script 2"))
          .real("noise_high", &Params::noise_high, {0, 8}, "image side / 512",
                "largest coefficient", paper("4; the program without its script 6"))
          .real("line_width", &Params::line_width, {0, 1}, "image side / 512",
                "most that the radius grows more, in each orbit",
                paper("0.1; the program without its script 0.01"))
          .integer("radius_low", &Params::radius_low, {0, 512}, "image side / 512",
                   "least radius before the first orbit",
                   paper("10; the program without its script 0"))
          .integer("radius_high", &Params::radius_high, {0, 512}, "image side / 512",
                   "largest radius before the first orbit",
                   paper("60; the program without its script 50"))
          .integer("waves_low", &Params::waves_low, {0, 200}, "",
                   "fewest periods of either sine around a contour", paper("0"))
          .integer("waves_high", &Params::waves_high, {0, 200}, "", "most periods of either sine",
                   paper("20"))
          .real("oval", &Params::oval, {1, 4}, "",
                "most that the first radius is stretched along each axis", paper("2"))
          .integer("spread", &Params::spread, {0, 1024}, "image side / 1024",
                   "farthest that a centre lies from that of the image, along each axis",
                   paper("512"))
          .preset("visualatom-1k", {{"classes", "1000"}},
                  "ranges of the published script; Takashima et al., CVPR 2023")
          .preset("visualatom-21k", {{"classes", "21000"}},
                  "the same with 21,000 classes; Takashima et al., CVPR 2023");
  return rows;
}

VisualAtom::VisualAtom(const Params& params)
    : ContourPainter(params.vertices_high, 0),
      params_(params),
      class_key_(named_key(static_cast<std::uint64_t>(params.class_seed), "visual_atom classes")) {
  expect_ordered("visual_atom", "vertices", params.vertices_low, params.vertices_high);
  expect_ordered("visual_atom", "orbits", params.orbits_low, params.orbits_high);
  expect_ordered("visual_atom", "noise", params.noise_low, params.noise_high);
  expect_ordered("visual_atom", "radius", params.radius_low, params.radius_high);
  expect_ordered("visual_atom", "waves", params.waves_low, params.waves_high);
}

SampleInfo VisualAtom::describe(const Params& params) {
  SampleInfo info;
  info.name = "visual_atom";
  info.summary = "Contours with waves around them, growing orbit by orbit; the class is how";
  info.reference = "Takashima et al., Visual atoms, CVPR 2023";
  const VisualAtom functor(params);
  std::vector<Class> classes;
  for (int k = 0; k < params.classes; ++k) {
    classes.push_back(functor.class_of(static_cast<std::uint32_t>(k)));
    info.draws.part =
        std::max(info.draws.part, paint_draws(classes.back().vertices, classes.back().orbits));
  }
  info.classes = class_names(params.classes);
  info.latents = centre_latents(params.spread);
  const auto add = [&](const char* name, const char* help, const char* unit,
                       std::pair<float, float> ends, LatentRole role = LatentRole::fixed) {
    info.latents.push_back({name, help, unit, ends.first, ends.second, role});
  };
  const float side = contour::kPublishedSide;
  add("radius", "before the first orbit and without stretching", "image side",
      range_over(classes, &Class::radius, side), LatentRole::length);
  add("oval_x", "by which the radius is stretched along x", "",
      range_over(classes, &Class::oval_x, 1), LatentRole::unmapped);
  add("oval_y", "along y", "", range_over(classes, &Class::oval_y, 1), LatentRole::unmapped);
  add("vertices", "of a contour", "", range_over(classes, &Class::vertices, 1));
  add("orbits", "contours, each over those before it", "", range_over(classes, &Class::orbits, 1));
  add("noise", "coefficient of the noise", "image side", range_over(classes, &Class::noise, side),
      LatentRole::length);
  add("line_width", "growth of the radius an orbit besides the noise's coefficient", "image side",
      range_over(classes, &Class::line_width, side), LatentRole::length);
  add("wave_1", "periods of the first sine around a contour", "",
      range_over(classes, &Class::wave_1, 1));
  add("wave_2", "of the second", "", range_over(classes, &Class::wave_2, 1));
  info.draws.scene = 1 + 3 + 1;  // label, class, centre
  return info;
}

}  // namespace wellspring
