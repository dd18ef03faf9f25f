// The parameters by which a generator of jets chooses what it shows, and what is known of that.
// For ginkgo and lund_shower; host only.
#pragma once

#include "core/params.h"
#include "generators/events/jet_views.h"
#include "generators/sample_info.h"

#include <algorithm>
#include <string>

namespace wellspring::jets {

/// The rows of `Params` members output, pixels, pixel and norm.
template <class Params>
ParamTable<Params>& add_view_rows(ParamTable<Params>& table) {
  constexpr auto kImage = [](const Params& p) { return p.output == Output::image; };
  return table
      .choice("output", &Params::output,
              {{"constituents", Output::constituents},
               {"image", Output::image},
               {"features", Output::features}},
              "what a sample is: a set of constituents, a picture of them in the plane of eta and "
              "phi, or 16 numbers of the jet's substructure")
      .integer("pixels", &Params::pixels, {5, 65}, "pixels", "side of an image",
               "25 and 33 are in use")
      .only_where(kImage, "output: image")
      .real("pixel", &Params::pixel, {1e-3, 1}, "", "side of a pixel in eta and phi")
      .only_where(kImage, "output: image")
      .choice("norm", &Params::norm,
              {{"sum", Norm::sum}, {"square", Norm::square}, {"none", Norm::none}},
              "of an image. sum: a pixel is a share of the jet's transverse momentum; square: "
              "squares of pixels add up to 1; none: transverse momentum")
      .only_where(kImage, "output: image");
}

/// Layout of a sample; items, features and globals are those of a set.
template <class Params>
SampleLayout view_layout(const Params& params, int items, int features, int globals) {
  if (params.output == Output::image) return SampleLayout::image(params.pixels, params.pixels, 1);
  if (params.output == Output::features) return SampleLayout::event(kNumbers);
  SampleLayout layout = SampleLayout::set(items, features);
  layout.globals = globals;
  return layout;
}

template <class Params>
Picture picture_of(const Params& params) {
  return {params.pixels, static_cast<float>(params.pixel), params.norm,
          static_cast<float>(1 / params.unit)};
}

/// Puts what an image or numbers are in place of what a set is. `unit`: its name; `largest`: of all
/// transverse momenta together, in that unit.
template <class Params>
void describe_view(const Params& params, const std::string& unit, double largest,
                   SampleInfo& info) {
  if (params.output == Output::constituents) return;
  info.features.clear();
  info.globals.clear();
  info.low = 0;
  if (params.output == Output::image) {
    // With the roundings of a sum.
    info.high = params.norm == Norm::none ? static_cast<float>(1.001 * largest) : 1;
    info.latents.push_back(
        {"outside", "share of the transverse momentum beyond the image", "", 0, 1});
    return;
  }
  info.features = {{"multiplicity", ""}, {"pt", unit},   {"mass", unit}, {"width", ""},
                   {"lha", ""},          {"thrust", ""}, {"pt_d", ""},   {"tau1", ""},
                   {"tau2", ""},         {"tau3", ""},   {"tau21", ""},  {"tau32", ""},
                   {"e2", ""},           {"e3", ""},     {"c2", ""},     {"d2", ""}};
  // Distances reach some 20 where a constituent lies along the beam.
  info.high = static_cast<float>(std::max({1.001 * largest, double{kMostQuotient}, 1000.0}));
}

}  // namespace wellspring::jets
