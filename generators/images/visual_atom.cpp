#include "generators/images/visual_atom.h"

#include "generators/images/contour_params.h"

#include <vector>

namespace wellspring {

const ParamTable<VisualAtom::Params>& VisualAtom::table() {
  static const auto rows = [] {
    const contour::Published published("Takashima et al., CVPR 2023",
                                       {{"classes", "1000, and 21,000"},
                                        {"vertices_low", "200"},
                                        {"vertices_high", "1000"},
                                        {"orbits_low", "1"},
                                        {"orbits_high", "200"},
                                        {"noise_low", "0; the program defaults to 2"},
                                        {"noise_high", "4; the program defaults to 6"},
                                        {"line_width", "0.1; the program defaults to 0.01"},
                                        {"radius_low", "10; the program defaults to 0"},
                                        {"radius_high", "60; the program defaults to 50"},
                                        {"waves_low", "0"},
                                        {"waves_high", "20"},
                                        {"oval", "2"},
                                        {"spread", "512"},
                                        {"render", "512"}});
    ParamTable<Params> table("visual_atom");
    contour::add_class_rows(table, published);
    contour::add_growth_rows(table, published)
        .integer("waves_low", &Params::waves_low, {0, 200}, "",
                 "fewest periods of a sine around a contour", published("waves_low"))
        .integer("waves_high", &Params::waves_high, {0, 200}, "", "most periods of a sine",
                 published("waves_high"));
    return contour::add_place_rows(table, published)
        .preset("visualatom-1k", {{"classes", "1000"}, {"render", "512"}},
                "ranges of the published script; Takashima et al., CVPR 2023")
        .preset("visualatom-21k", {{"classes", "21000"}, {"render", "512"}},
                "visualatom-1k with 21,000 classes; Takashima et al., CVPR 2023");
  }();
  return rows;
}

VisualAtom::VisualAtom(const Params& params)
    : ContourPainter(params, 0),
      params_(params),
      class_key_(named_key(static_cast<std::uint64_t>(params.class_seed), "visual_atom classes")) {
  table().expect_ordered(params, {"vertices", "orbits", "noise", "radius", "waves"});
}

SampleInfo VisualAtom::describe(const Params& params) {
  SampleInfo info;
  info.name = "visual_atom";
  info.summary = "Contours with two sine waves that grow orbit by orbit; class: contour parameters";
  info.reference = "Takashima et al., Visual atoms, CVPR 2023";
  const std::vector<Class> classes = list_classes(VisualAtom(params), params.classes, info);
  info.latents = latents_of(
      classes, params.spread, range_over(classes, &Class::radius, contour::kPublishedSide),
      range_over(classes, &Class::oval_x, 1), range_over(classes, &Class::oval_y, 1));
  const auto add_wave = [&](const char* name, const char* help, Ends ends) {
    info.latents.push_back({name, help, "", ends.first, ends.second});
  };
  add_wave("wave_1", "periods of the first sine around a contour",
           range_over(classes, &Class::wave_1, 1));
  add_wave("wave_2", "periods of the second sine", range_over(classes, &Class::wave_2, 1));
  info.canvas = params.render;
  info.draws.scene = 1 + 3 + 1;  // label, class, centre
  return info;
}

}  // namespace wellspring
