// Augmentations from configuration text, their plans, and their text. Tests only; host only.
#pragma once

#include "core/config/config.h"
#include "kernels/augment/augmentation_config.h"

#include <string>

namespace wellspring::test {

/// `yaml` may have the keys augment, normalise and padding.
inline Augmentations augmentations_of(const std::string& yaml) {
  const ConfigDocument document = ConfigDocument::parse(yaml, "test.yaml");
  Augmentations values;
  read_augmentations(document.root(), values);
  document.finish();
  return values;
}
inline std::string yaml_of(const Augmentations& values) {
  ConfigWriter writer;
  write_augmentations(writer, values);
  return config_yaml(writer.entries());
}
inline AugmentationPlan plan_of(const std::string& yaml, FrameSize source, FrameSize out) {
  return plan_augmentation(augmentations_of(yaml), source, out);
}
inline AugmentationPlan plan_of(const std::string& yaml, SampleShape shape) {
  return plan_of(yaml, frame_of(shape), frame_of(shape));
}

}  // namespace wellspring::test
