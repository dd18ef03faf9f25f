#include "generators/images/rcdb.h"

#include "core/error.h"
#include "generators/images/contour_params.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

namespace wellspring {

const ParamTable<Rcdb::Params>& Rcdb::table() {
  static const auto rows = [] {
    const contour::Published published("Kataoka et al., CVPR 2022",
                                       {{"classes", "1000, 10,000 and 21,000"},
                                        {"vertices_low", "3"},
                                        {"vertices_high", "200"},
                                        {"vertices_mean", "100"},
                                        {"orbits_low", "1"},
                                        {"orbits_high", "200"},
                                        {"noise_low", "0"},
                                        {"noise_high", "4"},
                                        {"line_width", "0.1"},
                                        {"radius_low", "0"},
                                        {"radius_high", "100"},
                                        {"oval", "2"},
                                        {"spread", "400"},
                                        {"render", "512"}});
    ParamTable<Params> table("rcdb");
    contour::add_class_rows(table, published)
        .real("vertices_mean", &Params::vertices_mean, {10, 10000}, "",
              "mean of the exponential distribution of the number of vertices, before truncation",
              published("vertices_mean"));
    contour::add_growth_rows(table, published);
    return contour::add_place_rows(table, published)
        .preset("rcdb-1k", {{"classes", "1000"}, {"render", "512"}},
                "published ranges; Kataoka et al., CVPR 2022")
        .preset("rcdb-21k", {{"classes", "21000"}, {"render", "512"}},
                "rcdb-1k with 21,000 classes; Kataoka et al., CVPR 2022");
  }();
  return rows;
}

Rcdb::Rcdb(const Params& params)
    : ContourPainter(params, 255),
      params_(params),
      class_key_(named_key(static_cast<std::uint64_t>(params.class_seed), "rcdb classes")),
      most_left_(math::exp(-(static_cast<float>(params.vertices_low) / params.vertices_mean))),
      least_left_(
          math::exp(-(static_cast<float>(params.vertices_high + 1) / params.vertices_mean))) {
  table().expect_ordered(params, {"vertices", "orbits", "noise", "radius"});
  // Beyond this value, single precision is too inaccurate for the exponential at the lower limit.
  constexpr float kFarthest = 80;
  if (static_cast<float>(params.vertices_low) > kFarthest * params.vertices_mean) {
    fail(ErrorKind::config,
         {fmt::format("rcdb: vertices_low = {} is too high for vertices_mean = {}",
                      params.vertices_low, params.vertices_mean),
          "this far above its mean, the distribution of the vertices underflows",
          fmt::format("use vertices_mean of at least {}, or vertices_low of at most {}",
                      static_cast<float>(params.vertices_low) / kFarthest,
                      std::floor(kFarthest * params.vertices_mean))});
  }
}

SampleInfo Rcdb::describe(const Params& params) {
  SampleInfo info;
  info.name = "rcdb";
  info.summary = "Radial contours that grow orbit by orbit; class: contour parameters";
  info.reference =
      "Kataoka et al., Replacing labeled real-image datasets with auto-generated contours, "
      "CVPR 2022";
  const std::vector<Class> classes = list_classes(Rcdb(params), params.classes, info);
  const Ends radius = {sides(static_cast<float>(params.radius_low)),
                       sides(static_cast<float>(params.radius_high))};
  const Ends oval = {1, params.oval};
  info.latents = latents_of(classes, params.spread, radius, oval, oval);
  info.canvas = params.render;
  info.draws.scene = 1 + 1 + 2;  // label, class, instance
  return info;
}

}  // namespace wellspring
