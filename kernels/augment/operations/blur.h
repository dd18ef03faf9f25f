// blur: a Gaussian blur. Its two passes over the image are in blur_passes.h. Listed in
// operations.h; host and device.
#pragma once

#include "kernels/augment/operation.h"

namespace wellspring::augment {

struct Blur {
  static constexpr auto kInfo = OperationInfo(32, AugmentStage::neighbours, "blur", "sigma",
                                              "Gaussian blur; the image is mirrored at its border",
                                              "torchvision.transforms.GaussianBlur");
  static constexpr int kMostRadius = 96;

  template <class Reals>
  struct Params {
    double probability = 0.5;
    Reals sigma = {0.1, 2};
    int kernel = 0;

    static void describe(ParamTable<Params>& table) {
      table
          .real_list("sigma", &Params::sigma, {0.01, 32}, "pixel",
                     "standard deviation, uniform in the range")
          .integer(
              "kernel", &Params::kernel, {0, 2 * kMostRadius + 1}, "pixel",
              "side of the kernel (odd); 0: it reaches 3 times the largest sigma on each side");
    }
    template <class Check>
    void check(const Check& check) const {
      check.range("sigma", sigma);
      if (kernel != 0 && kernel % 2 == 0) {
        check.refuse(".kernel = {} is even", "a kernel needs a central pixel",
                     "give an odd number, or 0", kernel);
      }
    }
    StepValues plan(FrameSize) const { return {sigma[0], sigma[1]}; }
    template <class Check>
    int radius(FrameSize out, const Check& check) const {
      const double three = 3 * sigma[1];
      const int whole = static_cast<int>(three);
      const int radius = kernel != 0 ? kernel / 2 : whole + (whole < three ? 1 : 0);
      const int least = out.width < out.height ? out.width : out.height;
      if (radius >= least) {
        check.refuse(" reaches {0} pixels, but the shorter side of the image has {1}",
                     "the image is mirrored only once at its border",
                     "reduce sigma, or set kernel: {2} or less", radius, least, 2 * least - 1);
      }
      return radius;
    }
  };

  WS_HD static void draw(const AugmentStep& step, FrameSize, AugmentRng& words, Augmentation& a) {
    a.blur_sigma = words.uniform(step.value[0], step.value[1]);
  }
  /// The weights of the kernel from the centre outwards: the Gaussian density at integer distances,
  /// normalised to sum 1, as in torchvision. A sample without blur has a single weight.
  WS_HD static void make_weights(float sigma, int radius, float* weight) {
    float sum = 1;
    weight[0] = 1;
    for (int k = 1; k <= radius; ++k) {
      const float distance = static_cast<float>(k) / (sigma > 0 ? sigma : 1.f);
      weight[k] = sigma > 0 ? math::exp(-0.5f * distance * distance) : 0.f;
      sum += 2 * weight[k];
    }
    for (int k = 0; k <= radius; ++k) weight[k] /= sum;
  }
};

}  // namespace wellspring::augment
