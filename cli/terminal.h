// Text and colour for the terminal. Called by the subcommands; host only.
#pragma once

#include "core/text/progress.h"
#include "core/text/text.h"

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>

namespace wellspring::cli {

/// SGR codes of ECMA-48.
enum class Colour : int { bold = 1, red = 31, green = 32 };

/// `text`, made printable, in colour if `descriptor` supports it.
inline std::string paint(Colour colour, std::string_view text, int descriptor = STDOUT_FILENO) {
  std::string shown = printable(text);
  if (!wants_colour(descriptor)) return shown;
  return "\x1b[" + std::to_string(static_cast<int>(colour)) + "m" + std::move(shown) + "\x1b[0m";
}

/// If `descriptor` is a terminal, the text with lines broken at spaces to fit; continuation lines
/// begin with `indent` spaces. A longer word, such as a path, stays whole.
inline std::string fit(std::string_view text, int descriptor, std::size_t indent) {
  return is_terminal(descriptor) ? wrapped(text, terminal_columns(descriptor), indent)
                                 : std::string(text);
}

/// fmt::print that does not throw if writing fails: a closed pipe or a full disk must not end a
/// run.
template <class... Arguments>
void tell(std::FILE* where, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  const std::string text = fmt::format(format, std::forward<Arguments>(arguments)...);
  std::fwrite(text.data(), 1, text.size(), where);
}

}  // namespace wellspring::cli
