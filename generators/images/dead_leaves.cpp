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
                  "where centres lie. stationary: on the whole plane, so that all places are "
                  "alike and augmentation sees on beyond the border; paper: on the image alone, "
                  "which shows fewer large leaves and repeats its border beyond",
                  "paper: Baradad et al., NeurIPS 2021; stationary: Lee et al., IJCV 2001")
          .real("r_min", &Params::r_min, {0.005, 1}, "image side",
                "smallest circumradius of a leaf", "Baradad et al., NeurIPS 2021: 0.03")
          .real("r_max", &Params::r_max, {0.005, 2}, "image side", "largest circumradius of a leaf",
                "Baradad et al., NeurIPS 2021: 1")
          .real("spread", &Params::spread, {1, 4}, "",
                "each sample's smallest radius is log-uniform in [r_min / spread, r_min * spread]")
          .integer("max_leaves", &Params::max_leaves, {1, kMostLeaves}, "",
                   "leaves on the image are drawn until it is covered, but no more than these; "
                   "what they leave open shows one background leaf",
                   "Baradad et al., NeurIPS 2021: 5000")
          .text_list("fill", &Params::fill,
                     "what the leaves show in place of colours: a generator of images, and its "
                     "parameters as on the command line: textures, or [textures, kind=perlin]; "
                     "empty: each leaf has a colour")
          .integer("fills", &Params::fills, {1, 65536}, "",
                   "how many fills there are: the first samples of that generator")
          .only_where(kFilled, "a fill")
          .integer("fill_side", &Params::fill_side, {2, 1024}, "pixels",
                   "side of a fill, which is mirrored beyond its borders")
          .only_where(kFilled, "a fill")
          .integer("fill_seed", &Params::fill_seed, {0}, "",
                   "of the fills; the same ones under every seed of samples")
          .only_where(kFilled, "a fill")
          .real("fill_scale_low", &Params::fill_scale_low, {0.125, 64}, "pixels",
                "least side of a fill's pixel in the image")
          .only_where(kFilled, "a fill")
          .real("fill_scale_high", &Params::fill_scale_high, {0.125, 64}, "pixels",
                "greatest; between the two the logarithm is uniform")
          .only_where(kFilled, "a fill");
  return rows;
}

DeadLeaves::DeadLeaves(const Params& params)
    : rules_{params.kind,  params.law,    params.r_min,
             params.r_max, params.spread, params.max_leaves} {
  if (params.r_min * params.spread > params.r_max) {
    fail(ErrorKind::config, {"dead_leaves: r_min * spread is larger than r_max",
                             "radii are drawn between the smallest and the largest",
                             "lower r_min or spread, or raise r_max"});
  }
}

SampleInfo DeadLeaves::describe(const Params& params) {
  SampleInfo info;
  info.name = "dead_leaves";
  info.version = 3;
  info.summary = "Opaque leaves of all sizes that hide one another; the class is their shape";
  info.reference = "Baradad et al., NeurIPS 2021; Lee, Mumford, Huang, IJCV 41 (2001) 35";
  info.classes = {"circle",        "square", "oriented_square", "rectangle", "triangle",
                  "quadrilateral", "mixed"};
  info.latents = {{"r_min", "smallest circumradius of a leaf of this sample", "image side",
                   params.r_min / params.spread, params.r_min * params.spread, LatentRole::length},
                  {"r_max", "largest circumradius of a leaf; its density falls as r^-3",
                   "image side", params.r_max, params.r_max, LatentRole::length}};
  info.plane = {"leaf",
                "the number of the leaf, 1 the frontmost of all; from 4194305 on those that only "
                "meet what lies beyond the border; 0 between leaves",
                "", PlaneInfo::Kind::number};
  // The place and the outline of each leaf, where a tile is never covered; some hundreds to
  // thousands with the defaults.
  info.draws = {.scene = 1, .part = 2 * std::int64_t{params.max_leaves}, .pixel = 1, .side = kTile};
  return info;
}

// A leaf covers a given pixel with the chance E area / E (w + 2r)(h + 2r); with centres on the
// image alone with a quarter of E area / w h at least, as in a corner. A pixel is open after n
// leaves with the n-th power of the rest.
double DeadLeaves::expected_open(SampleShape shape) const {
  const double width = shape.width, height = shape.height, side = std::fmin(width, height);
  const double low = static_cast<double>(rules_.r_min) / rules_.spread * side;
  const double high = static_cast<double>(rules_.r_max) * side;
  // E r and E r^2 by the density r^-3.
  const double taper = 1 - low * low / (high * high);
  const double mean = taper > 0 ? 2 * low * (1 - low / high) / taper : low;
  const double square = taper > 0 ? 2 * low * low * std::log(high / low) / taper : low * low;
  const Kind kind = rules_.kind == Kind::any ? Kind::triangle : rules_.kind;  // the smallest
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
      fmt::format("dead_leaves: {} may leave pixels open, {:.2g} of {} in the mean at "
                  "most, which show one colour; raise max_leaves",
                  counted(rules_.max_leaves, "leaf", "leaves"), open,
                  std::int64_t{shape.width} * shape.height)};
}

}  // namespace wellspring
