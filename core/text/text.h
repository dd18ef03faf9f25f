// Text for messages: nearest names, lists, and sizes, counts and times with units. Called by all
// code that writes a message; host only.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace wellspring {

/// Number of insertions, deletions, replacements and swaps of neighbouring characters from a to b,
/// editing no character twice (optimal string alignment, the restricted Damerau-Levenshtein
/// distance: Boytsov 2011, ACM JEA 16, 1.1). Works on bytes and ignores case.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The known name nearest to `name`; empty if there is no near one. Ties go to the earlier name.
std::optional<std::string> nearest_name(std::string_view name, std::span<const std::string> known);

/// Advice for an unknown name: "did you mean 'lr'? known: lr, momentum".
std::string name_advice(std::string_view name, std::span<const std::string> known);

/// True if these bytes are UTF-8 (RFC 3629: neither overlong forms nor surrogates).
bool is_utf8(std::string_view text);
/// Makes external text (file names, arguments, configuration values) safe for a terminal: control
/// characters except line feeds and tabs, changes of the writing direction and bytes that are not
/// UTF-8 become escapes, "\\x1b" or "\\u202e". All printed text goes through it.
std::string printable(std::string_view text);

/// "a, b, c".
std::string join(std::span<const std::string> parts, std::string_view separator = ", ");
/// The text without leading and trailing whitespace.
std::string_view trim(std::string_view text);

/// A YAML scalar that reads back as exactly this text. It is quoted only if necessary.
std::string yaml_scalar(std::string_view text);
/// A one-line YAML list with elements that read back as exactly these texts: "[a, \"b, c\"]".
std::string yaml_list(std::span<const std::string> texts);
/// The elements of such a list, or of a list of numbers without brackets, "1, 2". Empty if
/// brackets, quotes or commas do not match.
std::optional<std::vector<std::string>> split_yaml_list(std::string_view text);
/// The shortest decimal text that reads back as this value: "0.1", "1e-05".
std::string shortest(double value);
std::string shortest(float value);

/// "512 B", "1.5 KiB", "3.2 GiB": powers of 1024.
std::string human_bytes(std::uint64_t bytes);
/// "950", "12.3 k", "4.56 M": three significant digits, powers of 1000.
std::string human_count(double count);
/// "8 ms", "4.2 s", "3:07", "1:02:03", "2 d 04:00:00".
std::string human_duration(double seconds);
/// The seconds of a positive number with a unit, s, m (or min), h or d: "30 s", "90m", "1.5 h".
/// Empty for any other text.
std::optional<double> parse_duration(std::string_view text);

}  // namespace wellspring
