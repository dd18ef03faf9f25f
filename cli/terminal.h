// Colour where the terminal shows it. Called by the subcommands; host only.
#pragma once

#include "core/progress.h"
#include "core/text.h"

#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>

namespace wellspring::cli {

/// SGR codes of ECMA-48.
enum class Colour : int { bold = 1, red = 31, green = 32 };

/// `text`, made printable, in a colour where `descriptor` can show one.
inline std::string paint(Colour colour, std::string_view text, int descriptor = STDOUT_FILENO) {
  std::string shown = printable(text);
  if (!wants_colour(descriptor)) return shown;
  return "\x1b[" + std::to_string(static_cast<int>(colour)) + "m" + std::move(shown) + "\x1b[0m";
}

}  // namespace wellspring::cli
