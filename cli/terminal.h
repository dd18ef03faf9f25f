// Colour where the terminal shows it. Called by the subcommands; host only.
#pragma once

#include "core/progress.h"

#include <string>
#include <string_view>
#include <unistd.h>

namespace wellspring::cli {

/// SGR codes of ECMA-48.
enum class Colour : int { bold = 1, red = 31, green = 32 };

/// `text` in a colour, where `descriptor` can show one.
inline std::string paint(Colour colour, std::string_view text, int descriptor = STDOUT_FILENO) {
  if (!wants_colour(descriptor)) return std::string(text);
  return "\x1b[" + std::to_string(static_cast<int>(colour)) + "m" + std::string(text) + "\x1b[0m";
}

}  // namespace wellspring::cli
