// Published lists of augmentations, by name. Called by the reader of lists and by `describe`; host
// only.
#pragma once

#include <string>
#include <vector>

namespace wellspring {

struct AugmentPreset {
  std::string name;
  std::string summary;  ///< one line
  std::string source;
  std::string list;  ///< elements of `augment`, as YAML
};

const std::vector<AugmentPreset>& augment_presets();

}  // namespace wellspring
