// Text for people: nearest names for error messages, lists, and sizes, counts and times with units.
// Called by everything that writes a message; host only.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace wellspring {

/// How many insertions, deletions, replacements and swaps of neighbours lead from a to b, no
/// character being edited twice (optimal string alignment, the restricted Damerau-Levenshtein
/// distance: Boytsov 2011, ACM JEA 16, 1.1). Bytes, letter case ignored.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The known name that `name` was most likely meant to be; none when nothing is near. A tie goes to
/// the earlier one.
std::optional<std::string> nearest_name(std::string_view name, std::span<const std::string> known);

/// The advice after an unknown name: "did you mean 'lr'? known: lr, momentum".
std::string name_advice(std::string_view name, std::span<const std::string> known);

/// Whether these bytes are UTF-8 (RFC 3629: neither overlong forms nor surrogates).
bool is_utf8(std::string_view text);
/// Text from outside (names of files, arguments, what a configuration says) as a terminal may have
/// it: control characters but line feeds and tabs, changes of the writing direction and bytes that
/// are not UTF-8 become escapes, "\\x1b" or "\\u202e". All that is printed goes through it.
std::string printable(std::string_view text);

/// "a, b, c".
std::string join(std::span<const std::string> parts, std::string_view separator = ", ");
/// Without blanks at both ends.
std::string_view trim(std::string_view text);

/// A YAML scalar that reads back as exactly this text: quoted only where plain text would not be.
std::string yaml_scalar(std::string_view text);
/// A YAML list on one line whose elements read back as exactly these texts: "[a, \"b, c\"]".
std::string yaml_list(std::span<const std::string> texts);
/// The elements of such a list, or of one without brackets and of numbers: "1, 2". None where
/// brackets, quotes or commas do not fit together.
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

}  // namespace wellspring
