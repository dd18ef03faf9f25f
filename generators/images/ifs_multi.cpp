#include "generators/images/ifs_multi.h"

#include <fmt/format.h>

namespace wellspring {

namespace {

Ifs::Params systems_of(const IfsMulti::Params& params) {
  Ifs::Params systems;
  systems.mode = Ifs::Mode::svd;
  systems.categories = params.categories;
  systems.category_seed = params.category_seed;
  systems.maps_low = params.maps_low;
  systems.maps_high = params.maps_high;
  systems.jitters = params.jitters;
  return systems;
}

}  // namespace

const ParamTable<IfsMulti::Params>& IfsMulti::table() {
  static const auto rows =
      ParamTable<Params>("ifs_multi")
          .integer("categories", &Params::categories, {1, 10000}, "",
                   "number of classes, shared with mode svd of ifs; class k does not depend on it",
                   "Anderson and Farrell: 1000")
          .integer("category_seed", &Params::category_seed, {0}, "",
                   "seed of the systems, independent of the seed of the samples")
          .integer("maps_low", &Params::maps_low, {2, ifs::kMaxMaps}, "", "smallest number of maps",
                   "Anderson and Farrell: 2")
          .integer("maps_high", &Params::maps_high, {2, ifs::kMaxMaps}, "",
                   "largest number of maps", "Anderson and Farrell: 4")
          .integer("jitters", &Params::jitters, {0, ifs::kVariations - 1}, "",
                   "variations of a class, in which one map is multiplied by 0.8 to 1.1",
                   "Anderson and Farrell: one coefficient of each map, by 0.2 to 1.8")
          .integer("instances_low", &Params::instances_low, {1, kMostInstances}, "",
                   "smallest number of fractals", "Anderson and Farrell: 1")
          .integer("instances_high", &Params::instances_high, {1, kMostInstances}, "",
                   "largest number of fractals", "Anderson and Farrell: 5")
          .real("size_low", &Params::size_low, {0.02, 1}, "image side",
                "smallest side of a fractal", "Anderson and Farrell: 0.15")
          .real("size_high", &Params::size_high, {0.02, 1}, "image side",
                "largest side of a fractal", "Anderson and Farrell: 0.6")
          .integer(
              "points", &Params::points, {0, ifs::kMostPoints}, "",
              "points per fractal; 0: the published density, 100,000 on a grid of 112x112 cells",
              "Anderson and Farrell: 100,000")
          .integer("walkers", &Params::walkers, {1, 65536}, "",
                   "number of concurrent walkers per fractal, at most a quarter of the points")
          .integer("burn_in", &Params::burn_in, {0, 4096}, "",
                   "number of initial steps of each walker that are not drawn")
          .choice("background", &Params::background,
                  {{"plasma", Ifs::Background::plasma}, {"black", Ifs::Background::black}},
                  "background of the fractals", "Anderson and Farrell: plasma")
          .preset(
              "fractal-multi-1k", {{"categories", "1000"}, {"points", "100000"}},
              "1 to 5 fractals of 1000 classes; Anderson and Farrell, WACV 2022; our own systems");
  return rows;
}

IfsMulti::IfsMulti(const Params& params) : params_(params) {
  table().expect_ordered(params, {"maps", "instances", "size"});
}

SampleInfo IfsMulti::describe(const Params& params) {
  SampleInfo info;
  info.name = "ifs_multi";
  info.summary = "Several fractals on a plasma; multi-hot labels: the classes of all of them";
  info.reference = "Anderson and Farrell, Improving fractal pre-training, WACV 2022";
  for (int k = 0; k < params.categories; ++k) info.classes.push_back(fmt::format("{:05d}", k));
  info.latents = {
      {"instances", "number of fractals, including hidden ones and repeated classes", "",
       static_cast<float>(params.instances_low), static_cast<float>(params.instances_high)},
      {"decay", "decay rate of the background's amplitudes per level", "", 0.4f, 0.8f}};
  const int most = params.instances_high;
  for (int i = 0; i < most; ++i) {
    const auto name = [i](const char* what) { return fmt::format("{}_{}", what, i + 1); };
    const std::string which =
        i == 0 ? "fractal 1, the rearmost" : fmt::format("fractal {}, 0 if absent", i + 1);
    const auto last = static_cast<float>(params.categories - 1);
    info.latents.push_back({name("class"), "class of " + which, "", 0, last});
    info.latents.push_back(
        {name("variation"), "jitter of its system", "", 0, static_cast<float>(params.jitters)});
    info.latents.push_back(rarely_reached({name("x"), "centre of its square, from the left",
                                           "image side", 0, 1, LatentRole::thing_x}));
    info.latents.push_back(rarely_reached({name("y"), "centre of its square, from the top",
                                           "image side", 0, 1, LatentRole::position_y}));
    const float smallest = i < params.instances_low ? params.size_low : 0;
    info.latents.push_back({name("size"), "side of its square, before rounding down to pixels",
                            "image side", smallest, params.size_high, LatentRole::length});
    info.latents.push_back({name("hue"),
                            "hue at zero coverage, in units of 2 degrees; at the largest coverage, "
                            "it is 255 units higher",
                            "", 0, 255, LatentRole::colour});
  }
  info.draws.scene = 2 + (1 + 6 * most + 3) / 4 + most;
  // One block serves four steps of a walker. Hosts always move 16 walkers at once.
  const std::int64_t walkers = (params.walkers + 15) / 16 * 16;
  const double moved = static_cast<double>(most * walkers) / params.walkers;
  info.draws.part = most * walkers * ((params.burn_in + 8) / 4);
  if (params.points > 0) {
    info.draws.part += 1 + static_cast<std::int64_t>(moved * params.points / 4);
  } else {
    // The grids have a quarter of the image's pixels.
    info.draws.pixel = 1 + static_cast<std::int64_t>(moved * static_cast<double>(kDensity) / 16);
  }
  if (params.background == Ifs::Background::plasma) {
    // One word per point of a grid whose side is up to twice the image's.
    info.draws.pixel += 1;
    info.draws.part += 16;
  }
  return info;
}

IfsMulti::Tables::Tables(const Params& params) : systems_(systems_of(params)) {}

std::int64_t IfsMulti::cells(SampleShape shape) const {
  const int side = side_of(shape.width, shape.height);
  const std::int64_t grid = grid_of(side) + 2 * kBorder;
  const std::int64_t of_instances = params_.instances_high * (grid * grid + 1);
  if (params_.background == Ifs::Background::black) return of_instances;
  const std::int64_t points =
      diamond_square::points_for(diamond_square::levels_for(longer_of(shape.width, shape.height)));
  return of_instances + points * points;
}

}  // namespace wellspring
