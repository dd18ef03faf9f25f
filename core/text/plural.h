// Counts with singular and plural: "1 sample", "2 samples". Called by all code that writes a
// message; host only.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace wellspring {

/// "1 step", "0 steps", "20 steps"; `many` for irregular plurals: counted(2, "class", "classes").
template <std::integral Whole>
std::string counted(Whole count, std::string_view one, std::string_view many = {}) {
  std::string text = std::to_string(count) + " ";
  if (count == 1) return text.append(one);
  return many.empty() ? text.append(one) + "s" : text.append(many);
}

}  // namespace wellspring
