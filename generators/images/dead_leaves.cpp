#include "generators/images/dead_leaves.h"

#include "core/counted.h"

#include <fmt/format.h>

#include <cmath>

namespace wellspring {

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
  const double low = static_cast<double>(params_.r_min) / params_.spread * side;
  const double high = static_cast<double>(params_.r_max) * side;
  // E r and E r^2 by the density r^-3.
  const double taper = 1 - low * low / (high * high);
  const double mean = taper > 0 ? 2 * low * (1 - low / high) / taper : low;
  const double square = taper > 0 ? 2 * low * low * std::log(high / low) / taper : low * low;
  const Kind kind = params_.kind == Kind::any ? Kind::triangle : params_.kind;  // the smallest
  const double area = Leaf::mean_area(kind) * square;
  const bool paper = params_.law == Law::paper;
  const double chance = paper ? 0.25 * area / (width * height)
                              : area / (width * height + 2 * (width + height) * mean + 4 * square);
  return width * height * std::exp(params_.max_leaves * std::log1p(-std::fmin(chance, 0.999)));
}

std::vector<std::string> DeadLeaves::notes(SampleShape shape) const {
  const double open = expected_open(shape);
  if (open < 1e-3) return {};
  return {
      fmt::format("dead_leaves: {} may leave pixels open, {:.2g} of {} in the mean at "
                  "most, which show one colour; raise max_leaves",
                  counted(params_.max_leaves, "leaf", "leaves"), open,
                  std::int64_t{shape.width} * shape.height)};
}

}  // namespace wellspring
