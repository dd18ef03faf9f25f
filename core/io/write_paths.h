// What writers of files and folders share: names of temporaries, what lies behind a name, and the
// words for what fails. Used by core/io/files.cpp and core/io/atomic_folder.cpp; host only.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace wellspring::detail {

/// Names of temporaries begin with it.
inline constexpr std::string_view kTemporaryPrefix = ".tmp-";

/// Error (runtime): "PATH: cannot VERB (the system's reason)", with advice where there is some.
[[noreturn]] void fail_write(const std::filesystem::path& path, const char* verb, int error);

/// The folder that a name is in.
std::filesystem::path folder_of(const std::filesystem::path& path);
/// Without a slash at the end, so that its last part is its name.
std::filesystem::path without_slash(const std::filesystem::path& path);
/// ".tmp-NAME-", with which the names of temporaries of NAME begin.
std::string temporary_prefix_of(const std::filesystem::path& path);
/// A name in the folder of `path`, unique among the processes and threads of this machine:
/// ".tmp-model.safetensors-4711-0".
std::filesystem::path temporary_beside(const std::filesystem::path& path);

/// Where what is given this name is written: behind symbolic links, which stay, and need not lead
/// to anything yet. Errors (runtime): links that lead round, and a device, pipe or socket, which no
/// file takes the place of.
std::filesystem::path behind_links(const std::filesystem::path& path);

/// Tells the caller in its own words what would fail under a temporary's name.
void require_writable_folder_of(const std::filesystem::path& path);

/// Makes a rename or a new name in this folder survive a power failure.
void sync_folder(const std::filesystem::path& folder);

}  // namespace wellspring::detail
