// The `view` section of a configuration: what users write, as a parameter table, and the ViewSpec
// made of it. Called by configuration readers and the command line; host only.
#pragma once

#include "core/params.h"
#include "kernels/view.h"

#include <vector>

namespace wellspring {

/// ViewSpec in users' units: degrees, and the standard deviation rather than its inverse.
struct ViewParams {
  double flip_x = 0;
  double flip_y = 0;
  double shift = 0;
  double zoom_low = 1;
  double zoom_high = 1;
  double rotate = 0;
  double brightness = 0;
  double contrast = 0;
  double saturation = 0;
  int erase = 0;
  Padding padding = Padding::zero;
  std::vector<double> mean = {0};
  std::vector<double> std = {1};
};

const ParamTable<ViewParams>& view_table();

/// Errors (config): zoom_low above zoom_high; mean or std of neither 1 nor 3 values, or std of 0.
ViewSpec to_view_spec(const ViewParams& params, const Place& place = {});

}  // namespace wellspring
