#include "kernels/view_params.h"

#include "core/error.h"

#include <fmt/format.h>

#include <cstddef>

namespace wellspring {

const ParamTable<ViewParams>& view_table() {
  static const auto table =
      ParamTable<ViewParams>("view")
          .real("flip_x", &ViewParams::flip_x, {0, 1}, "", "probability of a horizontal mirror")
          .real("flip_y", &ViewParams::flip_y, {0, 1}, "", "probability of a vertical mirror")
          .real("shift", &ViewParams::shift, {0, 0.99}, "image side",
                "largest translation per axis, in whole pixels")
          .real("zoom_low", &ViewParams::zoom_low, {0.05, 20}, "",
                "smallest scale of the content; drawn log-uniform between zoom_low and zoom_high")
          .real("zoom_high", &ViewParams::zoom_high, {0.05, 20}, "",
                "largest scale of the content; 2 shows half as much, twice as large")
          .real("rotate", &ViewParams::rotate, {0, 180}, "degree", "largest rotation, either way")
          .real("brightness", &ViewParams::brightness, {0, 1}, "",
                "largest additive change of intensities in [0, 1]")
          .real("contrast", &ViewParams::contrast, {0, 0.99}, "",
                "largest relative change of contrast about 0.5")
          .real("saturation", &ViewParams::saturation, {0, 1}, "",
                "largest relative change of saturation")
          .integer("erase", &ViewParams::erase, {0, 16384}, "pixel",
                   "side of a square set to the mean; 0: none",
                   "cutout: DeVries and Taylor, arXiv:1708.04552")
          .choice("padding", &ViewParams::padding,
                  {{"zero", Padding::zero}, {"edge", Padding::edge}},
                  "what stored images show beyond their border")
          .real_list("mean", &ViewParams::mean, {-10, 10}, "",
                     "subtracted from intensities in [0, 1]; one value or one per channel")
          .real_list("std", &ViewParams::std, {1e-6, 1e6}, "",
                     "divided by after that; one value or one per channel");
  return table;
}

namespace {

/// Value of channel `c` in a list of one or three.
double channel(const std::vector<double>& values, std::size_t c, const char* name,
               const Place& place) {
  if (values.size() == 1) return values[0];
  if (values.size() == 3) return values[c];
  const std::string where = place.prefix() + "view";
  fail(ErrorKind::config, {fmt::format("{}.{} has {} values", where, name, values.size()),
                           "images have one or three channels", "give one value, or three"});
}

}  // namespace

ViewSpec to_view_spec(const ViewParams& params, const Place& place) {
  if (params.zoom_low > params.zoom_high) {
    const std::string where = place.prefix() + "view";
    fail(ErrorKind::config, {fmt::format("{}.zoom_low = {} is larger than zoom_high = {}", where,
                                         params.zoom_low, params.zoom_high),
                             "the scale is drawn between the two", "give zoom_low <= zoom_high"});
  }
  ViewSpec spec;
  spec.flip_x = static_cast<float>(params.flip_x);
  spec.flip_y = static_cast<float>(params.flip_y);
  spec.shift = static_cast<float>(params.shift);
  spec.zoom_low = static_cast<float>(params.zoom_low);
  spec.zoom_high = static_cast<float>(params.zoom_high);
  spec.rotate = static_cast<float>(params.rotate * 3.14159265358979323846 / 180);
  spec.brightness = static_cast<float>(params.brightness);
  spec.contrast = static_cast<float>(params.contrast);
  spec.saturation = static_cast<float>(params.saturation);
  spec.erase = params.erase;
  spec.padding = params.padding;
  for (std::size_t c = 0; c < 3; ++c) {
    spec.mean[c] = static_cast<float>(channel(params.mean, c, "mean", place));
    spec.inv_std[c] = static_cast<float>(1 / channel(params.std, c, "std", place));
  }
  return spec;
}

}  // namespace wellspring
