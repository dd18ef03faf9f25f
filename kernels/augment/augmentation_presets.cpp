#include "kernels/augment/augmentation_presets.h"

namespace wellspring {
namespace {

/// ColorJitter of torchvision, whose contrast is about the mean.
std::string jitter(const std::string& strength, const std::string& saturation,
                   const std::string& hue) {
  const std::string list = "[brightness: " + strength + ", contrast: {strength: " + strength +
                           ", about: mean}, saturation: " + saturation;
  return "random_order: " + list + (hue.empty() ? "]" : ", hue: " + hue + "]");
}

std::string dino(const std::string& scale, const std::string& rest) {
  return "- crop_resize: {scale: " + scale + "}\n- flip_x: 0.5\n- apply: 0.8\n  of: [" +
         jitter("0.4", "0.2", "0.1") + "]\n- grey: 0.2\n" + rest;
}

constexpr const char* kDino =
    "Caron et al., ICCV 2021; main_dino.py, DataAugmentationDINO (interpolation: bicubic)";

}  // namespace

const std::vector<AugmentPreset>& augment_presets() {
  static const std::vector<AugmentPreset> presets = {
      {"simclr", "crops, colours of strength 1 and blur, for contrastive learning",
       "Chen et al., ICML 2020, appendix A",
       "- crop_resize\n- flip_x: 0.5\n- apply: 0.8\n  of: [" + jitter("0.8", "0.8", "0.2") +
           "]\n- grey: 0.2\n- blur: {probability: 0.5, sigma: [0.1, 2]}\n"},
      {"dino_global_1", "the first global view", kDino,
       dino("[0.4, 1]", "- blur: {probability: 1, sigma: [0.1, 2]}\n")},
      {"dino_global_2", "the second global view", kDino,
       dino("[0.4, 1]",
            "- blur: {probability: 0.1, sigma: [0.1, 2]}\n"
            "- solarise: {probability: 0.2, threshold: 0.502}\n")},
      {"dino_local", "a local view", kDino,
       dino("[0.05, 0.4]", "- blur: {probability: 0.5, sigma: [0.1, 2]}\n")},
      {"three_augment",
       "3-Augment of DeiT III: grey, solarised or blurred, and colours (interpolation: bicubic)",
       "Touvron et al., ECCV 2022; augment.py, new_data_aug_generator",
       "- crop_resize\n- flip_x: 0.5\n"
       "- one_of:\n  - grey: 1\n  - solarise: {probability: 1, threshold: 0.502}\n"
       "  - blur: {probability: 1, sigma: [0.1, 2]}\n- " +
           jitter("0.3", "0.3", "") + "\n"},
  };
  return presets;
}

}  // namespace wellspring
