// Parts that generators of spins on a lattice share: temperatures and their classes, the side of
// the visible lattice, and the cell under a pixel. Called by `ising` and `xy`; host and device.
#pragma once

#include "core/config/params.h"
#include "kernels/batch/sample.h"
#include "kernels/random/math.h"
#include "kernels/random/philox.h"
#include "kernels/runtime/macros.h"

#include <cstdint>
#include <string>
#include <vector>

namespace wellspring {

/// First members of both models' parameters.
struct SpinParams {
  enum class Label : std::uint8_t { phase, temperature };
  enum class Start : std::uint8_t { cold, hot };

  int side = 0;
  float t_low = 0, t_high = 0;
  Label label = Label::phase;
  int bins = 8;
  Start start = Start::cold;
};

namespace spins {

inline constexpr int kMostSide = 1024;

/// A critical temperature, in J / k, to four decimals.
std::string critical_text(float critical);

/// Adds the rows side, t_low and t_high. `coldest`: lower limit of t_low, in J / k.
template <class Params>
ParamTable<Params>& add_lattice_rows(ParamTable<Params>& table, double coldest) {
  return table
      .integer("side", static_cast<int Params::*>(&Params::side), {0, kMostSide}, "spins",
               "side of the periodic lattice, even; one spin per pixel, so a smaller image is a "
               "window and a larger one repeats the lattice; 0: the image's side, rounded up to an "
               "even number of at least 4")
      .real("t_low", static_cast<float Params::*>(&Params::t_low), {coldest, 20}, "J / k",
            "lowest temperature")
      .real(
          "t_high", static_cast<float Params::*>(&Params::t_high), {coldest, 20}, "J / k",
          "highest temperature; equal to t_low: one fixed temperature, with label: temperature and "
          "bins: 1");
}

/// Adds the rows label and bins. `critical` separates the classes of label: phase.
template <class Params>
ParamTable<Params>& add_class_rows(ParamTable<Params>& table, float critical,
                                   const std::string& source) {
  using Label = SpinParams::Label;
  return table
      .choice("label", static_cast<Label Params::*>(&Params::label),
              {{"phase", Label::phase}, {"temperature", Label::temperature}},
              "class. phase: below or above " + critical_text(critical) +
                  ", equally likely, T uniform in each; temperature: the temperature range, T "
                  "uniform overall",
              source)
      .integer("bins", static_cast<int Params::*>(&Params::bins), {1, 64}, "",
               "number of equal temperature ranges, the classes of label: temperature")
      .only_where([](const Params& p) { return p.label == Label::temperature; },
                  "label: temperature");
}

/// Throws config errors, which name the generator, for an odd side, an invalid temperature
/// range, or a range within a single phase.
void expect_spins(const std::string& generator, const SpinParams& params, float critical);
/// Class names of label: temperature.
std::vector<std::string> range_names(const SpinParams& params);
/// Throws a config error if the image needs a lattice that is too large.
void expect_lattice(const std::string& generator, SampleShape shape, std::int32_t side);

/// Lower end of a temperature range.
WS_INLINE float lower_edge(const SpinParams& params, int bin) {
  const float width = (params.t_high - params.t_low) / static_cast<float>(params.bins);
  return math::fma(static_cast<float>(bin), width, params.t_low);
}

struct Draw {
  std::int32_t label;
  float temperature;
};

/// Draws the class from the first word, with equal probabilities, and then the temperature within
/// the class from the second.
WS_INLINE Draw draw(const SpinParams& params, float critical, const Philox4& random) {
  const bool phase = params.label == SpinParams::Label::phase;
  const auto classes = static_cast<std::uint32_t>(phase ? 2 : params.bins);
  const auto label = static_cast<std::int32_t>(below(random.word[0], classes));
  float low = params.t_low, high = params.t_high;
  if (phase) {
    (label == 0 ? high : low) = critical;
  } else {
    low = lower_edge(params, label);
    high = lower_edge(params, label + 1);
  }
  return {label, math::min(math::fma(unit_float(random.word[1]), high - low, low), params.t_high)};
}

/// Side of the lattice for an image of this shape.
WS_INLINE std::int32_t side_for(const SpinParams& params, SampleShape shape) {
  if (params.side > 0) return params.side;
  const std::int32_t longer = shape.width > shape.height ? shape.width : shape.height;
  return longer < 4 ? 4 : (longer + 1) / 2 * 2;
}

}  // namespace spins
}  // namespace wellspring
