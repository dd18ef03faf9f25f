// The condition of `diagnose --fail-if`, such as 'share_of_ceiling < 0.9' or 'wait > 5%'. Called by
// the command line; host only.
#pragma once

#include "measure/diagnosis.h"

#include <string>

namespace wellspring {

class Gate {
 public:
  /// NAME OPERATOR NUMBER[%]; the operators are <, <=, > and >=. Error (config): anything else, with
  /// the known names.
  static Gate parse(const std::string& text);

  /// The measured value, for the configuration as it is.
  double value(const Ladder& ladder, const Diagnosis& diagnosis) const;
  /// True if the condition holds: the gate fails.
  bool fails(const Ladder& ladder, const Diagnosis& diagnosis) const;
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::size_t figure_ = 0;  ///< index in the table of figures
  bool below_ = true, or_equal_ = false;
  double limit_ = 0;
};

/// "share_of_ceiling, lost, ...", for the help.
std::string gate_names();

}  // namespace wellspring
