// Shared by writers of files and folders: temporary names, symbolic links, error messages. Called
// by core/io/files.cpp and core/io/atomic_folder.cpp; host only.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace wellspring::detail {

/// Prefix of temporary names.
inline constexpr std::string_view kTemporaryPrefix = ".tmp-";

/// Throws a runtime error, "PATH: cannot VERB (the system's reason)", with advice if known.
[[noreturn]] void fail_write(const std::filesystem::path& path, const char* verb, int error);

/// The folder of a path.
std::filesystem::path folder_of(const std::filesystem::path& path);
/// The path without a trailing slash, so that its last part is its name.
std::filesystem::path without_slash(const std::filesystem::path& path);
/// ".tmp-NAME-", the prefix of temporary names for NAME.
std::string temporary_prefix_of(const std::filesystem::path& path);
/// A temporary name in the folder of `path`, unique among the processes and threads of this
/// machine: ".tmp-model.safetensors-4711-0".
std::filesystem::path temporary_name(const std::filesystem::path& path);

/// The path after following symbolic links; the target need not exist. Writers replace the target
/// and keep the links. Throws a runtime error for cyclic links or a device, pipe or socket.
std::filesystem::path resolve_links(const std::filesystem::path& path);

/// Throws a runtime error if the folder of `path` is not writable. The message names `path`;
/// without this check, the error would name a temporary file.
void require_writable_folder_of(const std::filesystem::path& path);

/// Makes renames and new entries in this folder durable across a power failure.
void sync_folder(const std::filesystem::path& folder);

}  // namespace wellspring::detail
