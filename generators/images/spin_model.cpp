// Validation and class names that the generators of spins share. Host only.
#include "generators/images/spin_model.h"

#include "core/error.h"
#include "core/text/text.h"

#include <cmath>

namespace wellspring::spins {

std::string critical_text(float critical) {
  return shortest(std::round(1e4 * static_cast<double>(critical)) / 1e4);
}

void expect_spins(const std::string& generator, const SpinParams& params, float critical) {
  if (params.side != 0 && (params.side < 4 || params.side % 2 != 0)) {
    const int nearest = params.side < 4 ? 4 : params.side + 1;
    fail(ErrorKind::config, {generator + ": side = " + std::to_string(params.side),
                             "the periodic checkerboard needs an even side of at least 4",
                             "use " + std::to_string(nearest) + ", or 0 for the image's side"});
  }
  const bool phase = params.label == SpinParams::Label::phase;
  if (params.t_low > params.t_high) {
    fail(ErrorKind::config, {generator + ": t_low is above t_high",
                             "temperatures are uniform between the two", "swap them"});
  }
  if (!phase && params.t_low == params.t_high && params.bins > 1) {
    fail(ErrorKind::config,
         {generator + ": one temperature cannot have " + std::to_string(params.bins) + " classes",
          "t_low equals t_high", "set bins: 1, or move the temperatures apart"});
  }
  if (phase && !(params.t_low < critical && critical < params.t_high)) {
    fail(ErrorKind::config,
         {generator + ": temperatures from " + shortest(params.t_low) + " to " +
              shortest(params.t_high) + " are in one phase",
          "the classes are below and above " + critical_text(critical),
          std::string(params.t_low < critical ? "raise t_high above " : "lower t_low below ") +
              critical_text(critical) + ", or set label: temperature"});
  }
}

std::vector<std::string> range_names(const SpinParams& params) {
  std::vector<std::string> names;
  if (params.t_low == params.t_high) return {"T " + shortest(params.t_low)};
  for (int i = 0; i < params.bins; ++i) {
    names.push_back("T " + shortest(lower_edge(params, i)) + " to " +
                    shortest(lower_edge(params, i + 1)));
  }
  return names;
}

void expect_lattice(const std::string& generator, SampleShape shape, std::int32_t side) {
  if (side <= kMostSide) return;
  fail(ErrorKind::config,
       {generator + ": images of " + std::to_string(shape.width) + " pixels per side are too large",
        "with side = 0 its lattice has one spin per pixel; the maximum is 1024 per side",
        "use a smaller image, or set side"});
}

}  // namespace wellspring::spins
