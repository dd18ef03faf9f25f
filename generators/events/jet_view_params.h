// Parameters that the jet generators share: what a sample contains (constituents, image or
// features). Used by ginkgo and lund_shower; host only.
#pragma once

#include "core/config/params.h"
#include "core/text/text.h"
#include "generators/events/jet_views.h"
#include "generators/sample_info.h"

#include <algorithm>
#include <string>

namespace wellspring::jets {

/// Marks rows that apply only to sets; use with "output: constituents".
template <class Params>
bool shows_constituents(const Params& params) {
  return params.output == Output::constituents;
}

/// The rows of ViewParams.
template <class Params>
ParamTable<Params>& add_view_rows(ParamTable<Params>& table) {
  constexpr auto kImage = [](const Params& p) { return p.output == Output::image; };
  return table
      .choice("output", static_cast<Output Params::*>(&Params::output),
              {{"constituents", Output::constituents},
               {"image", Output::image},
               {"features", Output::features}},
              "a sample is a set of constituents, a jet image in the eta-phi plane, or 16 "
              "substructure observables")
      .integer("pixels", static_cast<int Params::*>(&Params::pixels), {5, 65}, "pixels",
               "side of an image", "25 and 33 are common")
      .only_where(kImage, "output: image")
      .real("pixel", static_cast<double Params::*>(&Params::pixel), {1e-3, 1}, "",
            "side of a pixel in eta and phi")
      .only_where(kImage, "output: image")
      .choice("norm", static_cast<Norm Params::*>(&Params::norm),
              {{"sum", Norm::sum}, {"square", Norm::square}, {"none", Norm::none}},
              "normalisation of an image. sum: pixels are shares of the jet's transverse momentum; "
              "square: squares of pixels add up to 1; none: pixels are transverse momenta")
      .only_where(kImage, "output: image");
}

/// Layout of a sample. `items`, `features` and `globals` apply to sets.
inline SampleLayout view_layout(const ViewParams& view, int items, int features, int globals) {
  if (view.output == Output::image) return SampleLayout::image(view.pixels, view.pixels, 1);
  if (view.output == Output::features) return SampleLayout::event(kNumbers);
  SampleLayout layout = SampleLayout::set(items, features);
  layout.globals = globals;
  return layout;
}

/// `unit`: GeV per unit of x.
inline Picture picture_of(const ViewParams& view, double unit) {
  return {view.pixels, static_cast<float>(view.pixel), view.norm, static_cast<float>(1 / unit)};
}

/// Describes a sample's values and their range. The values of a set are the four-momenta of the
/// constituents and of the jet. `unit`: GeV per unit of x; `energy`: largest jet energy, GeV.
inline void describe_view(const ViewParams& view, double unit, double energy, SampleInfo& info) {
  const std::string gev = unit == 1 ? "GeV" : shortest(unit) + " GeV";
  info.high = static_cast<float>(energy / unit);
  if (view.output == Output::constituents) {
    info.features = {{"E", gev}, {"px", gev}, {"py", gev}, {"pz", gev}};
    info.globals = {{"jet_E", gev}, {"jet_px", gev}, {"jet_py", gev}, {"jet_pz", gev}};
    info.low = -info.high;
    return;
  }
  info.low = 0;
  const double largest = 1.001 * double{info.high};  // leaves room for the rounding of a sum
  if (view.output == Output::image) {
    info.high = view.norm == Norm::none ? static_cast<float>(largest) : 1;
    info.latents.push_back(
        {"outside", "share of the transverse momentum outside the image", "", 0, 1});
    return;
  }
  info.features = {{"multiplicity", ""}, {"pt", gev},    {"mass", gev}, {"width", ""},
                   {"lha", ""},          {"thrust", ""}, {"pt_d", ""},  {"tau1", ""},
                   {"tau2", ""},         {"tau3", ""},   {"tau21", ""}, {"tau32", ""},
                   {"e2", ""},           {"e3", ""},     {"c2", ""},    {"d2", ""}};
  // Distances reach about 20 if a constituent is parallel to the beam.
  info.high = static_cast<float>(std::max({largest, double{kMostQuotient}, 1000.0}));
}

}  // namespace wellspring::jets
