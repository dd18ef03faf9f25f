// This program as a process: how the user can name it, and what it starts with. Host only.
#pragma once

#include <string>

namespace wellspring::cli {

/// "wellspring" where PATH leads to this executable, otherwise its path, relative when below the
/// working directory.
std::string program_name();

/// A word as a shell takes it back: in quotes where it has anything but letters, digits and
/// _@%+=:,./-.
std::string shell_word(const std::string& word);

/// Opens the null device as standard input, output and error where whoever started the program had
/// closed them: otherwise the first files that are opened get those numbers, and what is meant for
/// the terminal ends up in them. To be called before anything else.
void open_standard_streams();

/// What is printed and cannot be delivered is forgotten, instead of being tried again, with a
/// signal, when the program ends.
void forget_undelivered();

/// Where memory ends the program ends with words and ErrorKind::runtime, wherever that was: also in
/// code that promises to throw nothing and would abort, as iterators of folders and JSON's values
/// do.
void say_when_memory_ends();
/// Those words, which take no memory.
void tell_no_memory() noexcept;

}  // namespace wellspring::cli
