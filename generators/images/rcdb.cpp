#include "generators/images/rcdb.h"

#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace wellspring {

const ParamTable<Rcdb::Params>& Rcdb::table() {
  static constexpr const char* kPaper = "Kataoka et al., CVPR 2022: ";
  const auto paper = [](const char* values) { return std::string(kPaper) + values; };
  static const auto rows =
      ParamTable<Params>("rcdb")
          .integer("classes", &Params::classes, {1, 100000}, "",
                   "number of classes; class k does not depend on it",
                   paper("1000, 10,000 and 21,000"))
          .integer("class_seed", &Params::class_seed, {0}, "",
                   "of the classes; the same ones under every seed of samples")
          .integer("vertices_low", &Params::vertices_low, {3, contour::kMostVertices}, "",
                   "fewest vertices of a contour", paper("3"))
          .integer("vertices_high", &Params::vertices_high, {3, contour::kMostVertices}, "",
                   "most vertices", paper("200"))
          .real("vertices_mean", &Params::vertices_mean, {10, 10000}, "",
                "mean of the exponential law of the number of vertices, before the range cuts it",
                paper("100"))
          .integer("orbits_low", &Params::orbits_low, {1, contour::kMostOrbits}, "",
                   "fewest contours of a picture", paper("1"))
          .integer("orbits_high", &Params::orbits_high, {1, contour::kMostOrbits}, "",
                   "most contours of a picture", paper("200"))
          .real("noise_low", &Params::noise_low, {0, 8}, "image side / 512",
                "least coefficient of the noise, which is also the growth of the radius an orbit",
                paper("0"))
          .real("noise_high", &Params::noise_high, {0, 8}, "image side / 512",
                "largest coefficient", paper("4"))
          .real("line_width", &Params::line_width, {0, 1}, "image side / 512",
                "most that the radius grows more, in each orbit", paper("0.1"))
          .integer("radius_low", &Params::radius_low, {0, 512}, "image side / 512",
                   "least radius before the first orbit", paper("0"))
          .integer("radius_high", &Params::radius_high, {0, 512}, "image side / 512",
                   "largest radius before the first orbit", paper("100"))
          .real("oval", &Params::oval, {1, 4}, "",
                "most that the first radius is stretched along each axis", paper("2"))
          .integer("spread", &Params::spread, {0, 1024}, "image side / 1024",
                   "farthest that a centre lies from that of the image, along each axis",
                   paper("400"))
          .preset("rcdb-1k", {{"classes", "1000"}}, "published ranges; Kataoka et al., CVPR 2022")
          .preset("rcdb-21k", {{"classes", "21000"}},
                  "the same with 21,000 classes; Kataoka et al., CVPR 2022");
  return rows;
}

Rcdb::Rcdb(const Params& params)
    : ContourPainter(params.vertices_high, 255),
      params_(params),
      class_key_(named_key(static_cast<std::uint64_t>(params.class_seed), "rcdb classes")),
      most_left_(math::exp(-(static_cast<float>(params.vertices_low) / params.vertices_mean))),
      least_left_(
          math::exp(-(static_cast<float>(params.vertices_high + 1) / params.vertices_mean))) {
  expect_ordered("rcdb", "vertices", params.vertices_low, params.vertices_high);
  // Beyond, the exponential of the law's beginning has lost its digits in single precision.
  constexpr float kFarthest = 80;
  if (static_cast<float>(params.vertices_low) > kFarthest * params.vertices_mean) {
    fail(ErrorKind::config,
         {fmt::format("rcdb: vertices_low = {} with vertices_mean = {}", params.vertices_low,
                      params.vertices_mean),
          "the law of the vertices has no digits left so far above its mean",
          fmt::format("take at least {} as vertices_mean, or at most {} as vertices_low",
                      static_cast<float>(params.vertices_low) / kFarthest,
                      std::floor(kFarthest * params.vertices_mean))});
  }
  expect_ordered("rcdb", "orbits", params.orbits_low, params.orbits_high);
  expect_ordered("rcdb", "noise", params.noise_low, params.noise_high);
  expect_ordered("rcdb", "radius", params.radius_low, params.radius_high);
}

SampleInfo Rcdb::describe(const Params& params) {
  SampleInfo info;
  info.name = "rcdb";
  info.summary = "Radial contours that grow orbit by orbit; the class is how";
  info.reference =
      "Kataoka et al., Replacing labeled real-image datasets with auto-generated contours, "
      "CVPR 2022";
  const Rcdb functor(params);
  std::vector<Class> classes;
  for (int k = 0; k < params.classes; ++k) {
    classes.push_back(functor.class_of(static_cast<std::uint32_t>(k)));
    info.draws.part =
        std::max(info.draws.part, paint_draws(classes.back().vertices, classes.back().orbits));
  }
  info.classes = class_names(params.classes);
  const float side = contour::kPublishedSide;
  info.latents = centre_latents(params.spread);
  const auto add = [&](const char* name, const char* help, const char* unit,
                       std::pair<float, float> ends, LatentRole role = LatentRole::fixed) {
    info.latents.push_back({name, help, unit, ends.first, ends.second, role});
  };
  add("radius", "before the first orbit and without stretching", "image side",
      {static_cast<float>(params.radius_low) / side, static_cast<float>(params.radius_high) / side},
      LatentRole::length);
  add("oval_x", "by which the radius is stretched along x", "", {1, params.oval},
      LatentRole::unmapped);
  add("oval_y", "along y", "", {1, params.oval}, LatentRole::unmapped);
  add("vertices", "of a contour", "", range_over(classes, &Class::vertices, 1));
  add("orbits", "contours, each over those before it", "", range_over(classes, &Class::orbits, 1));
  add("noise", "coefficient of the noise", "image side", range_over(classes, &Class::noise, side),
      LatentRole::length);
  add("line_width", "growth of the radius an orbit besides the noise's coefficient", "image side",
      range_over(classes, &Class::line_width, side), LatentRole::length);
  info.draws.scene = 1 + 1 + 2;  // label, class, instance
  return info;
}

}  // namespace wellspring
