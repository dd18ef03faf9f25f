#include "generators/images/dead_leaves.h"

#include "core/error.h"
#include "core/text/plural.h"

#include <fmt/format.h>

#include <cmath>

namespace wellspring {

const ParamTable<DeadLeaves::Params>& DeadLeaves::table() {
  constexpr auto kFilled = [](const Params& p) { return !p.fill.empty(); };
  static const auto rows =
      ParamTable<Params>("dead_leaves")
          .choice("kind", &Params::kind,
                  {{"any", Kind::any},
                   {"circle", Kind::circle},
                   {"square", Kind::square},
                   {"oriented_square", Kind::oriented_square},
                   {"rectangle", Kind::rectangle},
                   {"triangle", Kind::triangle},
                   {"quadrilateral", Kind::quadrilateral},
                   {"mixed", Kind::mixed}},
                  "shape of the leaves; any: drawn per sample")
          .choice("law", &Params::law, {{"stationary", Law::stationary}, {"paper", Law::paper}},
                  "region of the leaf centres. stationary: the whole plane, so that the image has "
                  "no border effects and augmentation sees more leaves outside it; paper: the "
                  "image alone, with fewer large leaves and a repeated border",
                  "paper: Baradad et al., NeurIPS 2021; stationary: Lee et al., IJCV 2001")
          .real("r_min", &Params::r_min, {0.005, 1}, "image side",
                "smallest circumradius of a leaf", "Baradad et al., NeurIPS 2021: 0.03")
          .real("r_max", &Params::r_max, {0.005, 2}, "image side", "largest circumradius of a leaf",
                "Baradad et al., NeurIPS 2021: 1")
          .real("spread", &Params::spread, {1, 4}, "",
                "a sample's smallest radius is log-uniform in [r_min / spread, r_min * spread]")
          .integer("max_leaves", &Params::max_leaves, {1, kMostLeaves}, "",
                   "maximum number of leaves on the image; pixels that remain uncovered show "
                   "one background leaf",
                   "Baradad et al., NeurIPS 2021: 5000")
          .choice("dense", &Params::dense, {{"leaf", Dense::leaf}, {"shape", Dense::shape}},
                  "dense labels. leaf: number of the leaf; shape: its shape as a class, which a "
                  "network can learn per pixel")
          .text_list(
              "fill", &Params::fill,
              "image generator that textures the leaves, with its parameters as on the command "
              "line: textures, or [textures, kind=perlin]; empty: one colour per leaf")
          .integer("fills", &Params::fills, {1, 65536}, "",
                   "number of fills, which are the first samples of that generator")
          .only_where(kFilled, "a fill")
          .integer("fill_side", &Params::fill_side, {2, 1024}, "pixels",
                   "side of a fill; fills are mirrored at their borders")
          .only_where(kFilled, "a fill")
          .integer("fill_seed", &Params::fill_seed, {0}, "",
                   "seed of the fills, independent of the seed of the samples")
          .only_where(kFilled, "a fill")
          .real("fill_scale_low", &Params::fill_scale_low, {0.125, 64}, "pixels",
                "smallest side of a fill pixel in the image")
          .only_where(kFilled, "a fill")
          .real("fill_scale_high", &Params::fill_scale_high, {0.125, 64}, "pixels",
                "largest side of a fill pixel; log-uniform between the two")
          .only_where(kFilled, "a fill");
  return rows;
}

DeadLeaves::DeadLeaves(const Params& params)
    : rules_{params.kind,   params.law,        params.r_min, params.r_max,
             params.spread, params.max_leaves, params.dense} {
  if (params.r_min * params.spread > params.r_max) {
    fail(ErrorKind::config,
         {"dead_leaves: r_min * spread is larger than r_max",
          "the smallest radius would exceed the largest", "lower r_min or spread, or raise r_max"});
  }
}

SampleInfo DeadLeaves::describe(const Params& params) {
  SampleInfo info;
  info.name = "dead_leaves";
  info.version = 3;
  info.summary = "Opaque overlapping leaves of all sizes; class: shape of the leaves";
  info.reference = "Baradad et al., NeurIPS 2021; Lee, Mumford, Huang, IJCV 41 (2001) 35";
  info.classes = {"circle",        "square", "oriented_square", "rectangle", "triangle",
                  "quadrilateral", "mixed"};
  info.latents = {{"r_min", "smallest circumradius of the sample's leaves", "image side",
                   params.r_min / params.spread, params.r_min * params.spread, LatentRole::length},
                  {"r_max", "largest circumradius of a leaf; the density of radii is r^-3",
                   "image side", params.r_max, params.r_max, LatentRole::length}};
  info.plane =
      params.dense == Dense::shape
          ? PlaneInfo{"shape", "class of the leaf's shape, plus 1 (1 to 6); 0: between leaves", "",
                      PlaneInfo::Kind::class_number}
          : PlaneInfo{"leaf",
                      "number of the leaf, front to back, from 1; 4194305 and above: leaves "
                      "that are entirely outside the image; 0: between leaves",
                      "", PlaneInfo::Kind::number};
  // Two blocks per leaf (position and outline) in a tile that is never fully covered. With the
  // defaults there are typically hundreds to thousands of leaves.
  info.draws = {.scene = 1, .part = 2 * std::int64_t{params.max_leaves}, .pixel = 1, .side = kTile};
  return info;
}

// A leaf covers a given pixel with probability E area / E (w + 2r)(h + 2r). If centres are confined
// to the image, the probability is at least a quarter of E area / w h, its value at a corner. The
// probability that n leaves leave a pixel open is the nth power of the complement.
double DeadLeaves::expected_open(SampleShape shape) const {
  const double width = shape.width, height = shape.height, side = std::fmin(width, height);
  const double low = static_cast<double>(rules_.r_min) / rules_.spread * side;
  const double high = static_cast<double>(rules_.r_max) * side;
  // E r and E r^2 for the density r^-3.
  const double taper = 1 - low * low / (high * high);
  const double mean = taper > 0 ? 2 * low * (1 - low / high) / taper : low;
  const double square = taper > 0 ? 2 * low * low * std::log(high / low) / taper : low * low;
  const Kind kind = rules_.kind == Kind::any ? Kind::triangle : rules_.kind;  // smallest area
  const double area = Leaf::mean_area(kind) * square;
  const bool paper = rules_.law == Law::paper;
  const double chance = paper ? 0.25 * area / (width * height)
                              : area / (width * height + 2 * (width + height) * mean + 4 * square);
  return width * height * std::exp(rules_.max_leaves * std::log1p(-std::fmin(chance, 0.999)));
}

std::vector<std::string> DeadLeaves::notes(SampleShape shape) const {
  const double open = expected_open(shape);
  if (open < 1e-3) return {};
  return {
      fmt::format("dead_leaves: {} may leave pixels uncovered (on average at most {:.2g} of {}), "
                  "which show one colour; raise max_leaves",
                  counted(rules_.max_leaves, "leaf", "leaves"), open,
                  std::int64_t{shape.width} * shape.height)};
}

}  // namespace wellspring
