#include "core/measure/clocks.h"

#include "core/text/text.h"

#include <fmt/format.h>

#include <cmath>

namespace wellspring {

bool clocks_disagree(double ratio) {
  return std::abs(ratio - 1) > kClocksDisagree;
}

std::string clock_text(double rate, double ratio) {
  return human_count(rate) + (clocks_disagree(ratio) ? " !" : "");
}

std::string disagreement_text(double ratio) {
  return fmt::format("the host's clock and the marks on the stream disagree by {:.1f} %",
                     100 * std::abs(ratio - 1));
}

}  // namespace wellspring
