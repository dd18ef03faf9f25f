// This program as a process: its name, standard streams and out-of-memory handling. Called by main
// and by messages that suggest commands; host only.
#pragma once

#include <string>

namespace wellspring::cli {

/// Exit code after a signal: EX_TEMPFAIL of sysexits.h, after which batch systems requeue the job.
inline constexpr int kInterruptedExitCode = 75;

/// "wellspring" if PATH leads to this executable, otherwise its path, relative if it is below the
/// working directory.
std::string program_name();

/// The word quoted for a shell, if it contains anything but letters, digits and _@%+=:,./-.
std::string shell_word(const std::string& word);

/// Opens the null device for each standard stream that the parent process closed. Otherwise the
/// first files opened would get those descriptors, and terminal output would end up in them. Call
/// it before anything else.
void open_standard_streams();

/// Raises the limit on open files as far as the system allows without privileges, because each
/// shard of a data set stays open and the usual limit is 1024.
void allow_many_files();

/// Discards output that cannot be delivered. Otherwise the program would retry at exit and be
/// killed by a signal.
void forget_undelivered();

/// Makes the program end with a message and ErrorKind::runtime when it runs out of memory, even in
/// noexcept code that would abort, such as directory iterators and JSON values.
void say_when_memory_ends();
/// Prints that message; allocates nothing.
void tell_no_memory() noexcept;

}  // namespace wellspring::cli
