// Reads and writes the list `augment` with its groups. Called by augmentation_config.cpp; host only.
#pragma once

#include "kernels/augment/augmentation_config.h"

namespace wellspring::detail {

/// Replaces the operations and groups with those in the key `augment` of `node`.
void read_list(const ConfigNode& node, Augmentations& values);
/// Writes the elements of the list.
void write_list(ConfigWriter& writer, const Augmentations& values);

}  // namespace wellspring::detail
