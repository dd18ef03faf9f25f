// Choice among cuDNN's plans for the convolutions of a stream; set it before planning them. Called
// by train/ and by the cuDNN back end; host only.
//
//     stream.library<ConvTuning>()->choice = ...
#pragma once

#include "kernels/runtime/stream.h"

#include <functional>
#include <string>

namespace wellspring::ops {

struct ConvTuning {
  explicit ConvTuning(const Stream&) {}

  /// Returns the name of the plan for one pass of a convolution. `question` describes pass, GPU and
  /// library; the answer to the same question must be the same in every run, so that runs are
  /// reproducible. `time_plans` times the plans and returns the name of the fastest. Empty: every
  /// pass uses the plan that cuDNN suggests first.
  using Choice = std::function<std::string(const std::string& question,
                                           const std::function<std::string()>& time_plans)>;
  Choice choice;
};

}  // namespace wellspring::ops
