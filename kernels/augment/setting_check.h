// Checks of a configured operation that involve more than one table row. Called by the code that
// reads and plans lists of augmentations; host only.
#pragma once

#include "core/error.h"
#include "core/text/plural.h"
#include "kernels/augment/augmentation_config.h"

#include <fmt/format.h>

#include <string>
#include <vector>

namespace wellspring {

/// Rejects values of one operation with config errors. They begin with the operation's location in
/// the file, if known, and "augment.NAME".
class SettingCheck {
 public:
  explicit SettingCheck(const AugmentSetting& setting) : where_(setting.where()) {}

  void range(const char* name, const std::vector<double>& range) const {
    if (range.size() != 2) {
      fail(ErrorKind::config,
           {fmt::format("{}.{} has {}", where_, name, counted(range.size(), "value")),
            "it is a range", "give [from, to]"});
    }
    if (range[0] > range[1]) {
      fail(ErrorKind::config, {fmt::format("{}.{}: the range begins at {} and ends at {}", where_,
                                           name, range[0], range[1]),
                               "the lower limit exceeds the upper one", "swap the two"});
    }
  }
  void per_axis(const char* name, const std::vector<double>& values) const {
    if (values.size() == 2) return;
    fail(ErrorKind::config,
         {fmt::format("{}.{} has {}", where_, name, counted(values.size(), "value")),
          "it needs one value per axis", "give [x, y]"});
  }
  /// Formats `values` into the problem and into the advice.
  template <class... Values>
  [[noreturn]] void refuse(const char* problem, const char* why, const char* advice,
                           Values... values) const {
    fail(ErrorKind::config, {where_ + fmt::format(fmt::runtime(problem), values...), why,
                             fmt::format(fmt::runtime(advice), values...)});
  }

 private:
  std::string where_;
};

}  // namespace wellspring
