#include "generators/images/spectrum.h"

#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace wellspring {

const ParamTable<Spectrum::Params>& Spectrum::table() {
  static const std::string kSource = "Baradad et al., NeurIPS 2021";
  static const auto rows =
      ParamTable<Params>("spectrum")
          .real("slope_low", &Params::slope_low, {0, 4}, "",
                "smallest exponent of the amplitude's decay with frequency", kSource)
          .real("slope_high", &Params::slope_high, {0, 4}, "", "largest exponent", kSource)
          .integer("slope_cells", &Params::slope_cells, {1, 64}, "classes",
                   "number of equal-width exponent classes")
          .real("tilt", &Params::tilt, {0, 0.5}, "",
                "standard deviation of d: the exponent is s + d along x and s - d along y", kSource)
          .integer("tilt_cells", &Params::tilt_cells, {1, 2}, "classes",
                   "2: the sign of d is part of the class")
          .choice("palette", &Params::palette,
                  {{"correlated", Palette::correlated},
                   {"independent", Palette::independent},
                   {"grey", Palette::grey}},
                  "correlated: channels with the mean and covariance of 3 to 22 random colours; "
                  "independent: independent channels; grey: one field",
                  kSource);
  return rows;
}

SampleInfo Spectrum::describe(const Params& params) {
  SampleInfo info;
  info.name = "spectrum";
  info.summary = "Noise with a power-law spectrum of amplitudes; class: the exponent";
  info.reference = "Baradad et al., Learning to see by looking at noise, NeurIPS 2021";
  const double low = params.slope_low, high = params.slope_high;
  const auto edge = [&](int i) { return low + (high - low) * i / params.slope_cells; };
  for (int s = 0; s < params.slope_cells; ++s) {
    const std::string slope = fmt::format("slope {:.3g}-{:.3g}", edge(s), edge(s + 1));
    if (params.tilt_cells == 1) {
      info.classes.push_back(slope);
    } else {
      info.classes.push_back(slope + ", steeper along y");
      info.classes.push_back(slope + ", steeper along x");
    }
  }
  const float widest = kFarthest * params.tilt;
  info.latents = {{"slope", "s: exponent of the amplitude's decay, mean of both axes", "",
                   params.slope_low, params.slope_high},
                  rarely_reached({"tilt", "d: the exponent is s + d along x, s - d along y", "",
                                  -widest, widest, LatentRole::unmapped})};
  // Blocks for the label, the scene and 66 words of colours. The smallest grid takes N + 2 blocks
  // plus half its cells. The grid has up to four times as many cells as the image has pixels.
  constexpr int kLeast = 1 << kLeastLogSide;
  info.draws = {.scene = 1 + 2 + 17 + kLeast * kLeast / 2 + kLeast + 2, .pixel = 2};
  return info;
}

Spectrum::Spectrum(const Params& params) : params_(params) {
  table().expect_ordered(params, {"slope"});
  if (kFarthest * params.tilt > params.slope_low && params.tilt > 0) {
    fail(ErrorKind::config,
         {fmt::format("spectrum: tilt = {} is too wide for slope_low = {}", params.tilt,
                      params.slope_low),
          fmt::format("d reaches {} standard deviations, so amplitudes could rise with frequency "
                      "along an axis",
                      kFarthest),
          fmt::format("use tilt: {:.3f} or less, or slope_low: {:.3f} or more",
                      0.999f * params.slope_low / kFarthest, 1.001f * kFarthest * params.tilt)});
  }
  if (params.slope_low == params.slope_high && params.slope_cells > 1) {
    fail(ErrorKind::config,
         {fmt::format("spectrum: slope_cells = {}, but all samples have the same slope, {}",
                      params.slope_cells, params.slope_low),
          "the classes would be identical", "use slope_cells: 1"});
  }
  if (params.tilt == 0 && params.tilt_cells > 1) {
    fail(ErrorKind::config, {"spectrum: tilt_cells = 2, but all samples have a tilt of 0",
                             "the classes would be identical", "use tilt_cells: 1"});
  }
}

std::vector<std::string> Spectrum::notes(SampleShape shape) const {
  constexpr int kMost = 1 << kMostLogSide;
  if (std::max(shape.width, shape.height) <= kMost) return {};
  return {fmt::format("spectrum: images larger than {0} pixels per side repeat a grid of {0} x {0}",
                      kMost)};
}

}  // namespace wellspring
