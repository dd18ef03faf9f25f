// The signal classes of ROC curves and background rejections. Called by the evaluation; host only.
#pragma once

#include "train/heads/heads.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace wellspring {

/// The signal class of two-class heads that eval.signal does not name.
inline constexpr std::size_t kUsualSignal = 1;

/// True for a head that chooses between two classes.
bool has_signal(const HeadSpec& head);

/// The signal class of each head; meaningless without one. `wanted`: eval.signal, a list of
/// CLASS or HEAD/CLASS, by name or index. Errors (config): no head has that class (the error
/// suggests the nearest name); two entries for one head.
std::vector<std::size_t> signal_classes(std::span<const std::string> wanted,
                                        std::span<const HeadSpec> heads);

}  // namespace wellspring
