#include "generators/own/object_cache.h"

#include "core/error.h"
#include "core/io/files.h"
#include "core/io/sha256.h"
#include "core/version.h"
#include "generators/own/own_generator.h"
#include "generators/table_cache.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <sstream>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace wellspring::own {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "wellspring compiled generator 1";

std::string hash_of(const fs::path& file) {
  return Sha256().update(read_bytes(file)).hex();
}

/// Waits for the lock on a file and holds it. Has no effect on file systems without locks.
class FileLock {
 public:
  explicit FileLock(const fs::path& file)
      : descriptor_(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    if (descriptor_ < 0) return;
    while (::flock(descriptor_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  FileLock(const FileLock&) = delete;
  ~FileLock() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

 private:
  int descriptor_;
};

/// Refuses a file or folder that another user could have changed.
void expect_private(const fs::path& path, mode_t forbidden, const std::string& advice) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return;  // reading it will report why
  const bool foreign = status.st_uid != ::geteuid() && status.st_uid != 0;
  if (!foreign && (status.st_mode & forbidden) == 0) return;
  fail(ErrorKind::config,
       {fmt::format("{}: {}", path.string(),
                    foreign ? "belongs to another user" : "other users can write to it"),
        "its code would run as yours", advice});
}

/// An included file: a path below one of the folders, or an absolute path.
struct IncludedFile {
  std::size_t folder = 0;  ///< index into the search folders; their number means none
  std::string path;
  std::string hash;
};

struct Description {
  std::string object, header, compiler;
  bool checked = false;
  std::vector<IncludedFile> files;
};

/// The header's folder and the folders of Wellspring's headers.
std::vector<fs::path> search_folders(const fs::path& header) {
  std::vector<fs::path> folders = {header.parent_path()};
  for (fs::path& folder : header_folders()) folders.push_back(std::move(folder));
  return folders;
}

IncludedFile locate(const fs::path& file, const std::vector<fs::path>& folders) {
  const fs::path full = fs::absolute(file).lexically_normal();
  for (std::size_t i = folders.size(); i-- > 0;) {
    const fs::path below = full.lexically_relative(folders[i]);
    if (!below.empty() && *below.begin() != "..") return {i, below.string(), hash_of(full)};
  }
  return {folders.size(), full.string(), hash_of(full)};
}

fs::path path_of(const IncludedFile& file, const std::vector<fs::path>& folders) {
  return file.folder < folders.size() ? folders[file.folder] / file.path : fs::path(file.path);
}

/// True for the header and the user's files that it includes. `folders`: number of search
/// folders.
bool is_users(const IncludedFile& file, std::size_t folders) {
  return file.folder == 0 || file.folder == folders;
}

std::string hash_of_header(const std::vector<IncludedFile>& files, std::size_t folders) {
  std::vector<std::string> hashes;
  for (const IncludedFile& file : files)
    if (is_users(file, folders)) hashes.push_back(file.hash);
  return hash_of_sources(hashes);
}

std::string text_of(const Description& entry) {
  std::string text = fmt::format("{}\nobject {}\nheader {}\nchecked {:d}\ncompiler {}\n", kMagic,
                                 entry.object, entry.header, entry.checked, entry.compiler);
  for (const IncludedFile& file : entry.files)
    text += fmt::format("file {} {} {}\n", file.folder, file.hash, file.path);
  return text + "end\n";
}

/// Empty if the text is damaged or incomplete.
std::optional<Description> parse(const std::string& text) {
  Description entry;
  std::istringstream lines(text);
  std::string line;
  if (!std::getline(lines, line) || line != kMagic) return std::nullopt;
  while (std::getline(lines, line)) {
    if (line == "end") return entry;
    std::istringstream words(line);
    std::string key, value;
    words >> key;
    if (key == "file") {
      IncludedFile file;
      if (!(words >> file.folder >> file.hash)) return std::nullopt;
      words.get();
      std::getline(words, file.path);
      entry.files.push_back(std::move(file));
      continue;
    }
    words.get();
    std::getline(words, value);
    if (key == "object") entry.object = value;
    if (key == "header") entry.header = value;
    if (key == "compiler") entry.compiler = value;
    if (key == "checked") entry.checked = value == "1";
  }
  return std::nullopt;
}

fs::path description_of(const fs::path& object) {
  return fs::path(object).replace_extension(".entry");
}

std::optional<Description> read_description(const fs::path& object) {
  std::error_code missing;
  if (!fs::exists(description_of(object), missing)) return std::nullopt;
  return parse(read_text(description_of(object)));
}

/// True if the object is complete and none of its inputs has changed.
bool is_valid(const Description& entry, const fs::path& object, const fs::path& header,
              const Toolchain* toolchain) {
  if (toolchain != nullptr && entry.compiler != toolchain->version()) return false;
  try {
    const std::vector<fs::path> folders = search_folders(header);
    const auto unchanged = [&](const IncludedFile& file) {
      return hash_of(path_of(file, folders)) == file.hash;
    };
    return std::ranges::all_of(entry.files, unchanged) && hash_of(object) == entry.object;
  } catch (const Error&) {
    return false;  // a missing or unreadable file: the compiler reports it
  }
}

CompiledObject as_object(const Description& entry, const fs::path& object, const fs::path& header) {
  CompiledObject result{object, {}, entry.header, entry.checked, true};
  const std::vector<fs::path> folders = search_folders(header);
  for (const IncludedFile& file : entry.files)
    if (is_users(file, folders.size())) result.sources.push_back(path_of(file, folders));
  return result;
}

/// Folder of the entries that come with the program; it may be missing.
fs::path prepared_folder() {
  return (this_binary().parent_path() / "../share/wellspring/generators").lexically_normal();
}

/// The valid entry that comes with the program, if there is one.
std::optional<CompiledObject> find_prepared(const fs::path& name, const fs::path& header) {
  const fs::path object = prepared_folder() / name;
  const std::optional<Description> entry = read_description(object);
  if (!entry || !is_valid(*entry, object, header, nullptr)) return std::nullopt;
  for (const fs::path& path : {prepared_folder(), object, description_of(object)})
    expect_private(path, S_IWGRP | S_IWOTH, fmt::format("chmod go-w {}", path.string()));
  return as_object(*entry, object, header);
}

std::string key_of(const fs::path& header, const Target& target) {
  const std::string inputs =
      fmt::format("{}\n{}\n{}\n{}\n{}\n", fmt::join(compile_flags(target), " "), target.arch,
                  kVersion, kCommit, own_functor_name(header));
  const std::string hash =
      Sha256().update(bytes_of(inputs)).update(read_bytes(header)).hex().substr(0, 32);
  return header.stem().string() + "-" + hash;
}

}  // namespace

std::string hash_of_sources(const std::vector<std::string>& hashes) {
  Sha256 hash;
  for (const std::string& of_file : hashes) hash.update(bytes_of(of_file));
  return hash.hex();
}

ObjectCache::ObjectCache() : ObjectCache(TableCache().folder()) {}

ObjectCache::ObjectCache(fs::path folder, std::uintmax_t most_bytes)
    : folder_(std::move(folder)), most_bytes_(most_bytes) {
  open_folder();
}

void ObjectCache::open_folder() {
  std::error_code failed;
  if (!folder_.empty()) {
    folder_ /= "generators";
    fs::create_directories(folder_.parent_path(), failed);
    ::mkdir(folder_.c_str(), 0700);
    expect_private(folder_, S_IWGRP | S_IWOTH,
                   fmt::format("chmod 700 {}, after checking what is in it", folder_.string()));
    // A read-only folder can contain prepared entries.
    if (fs::is_directory(folder_, failed)) return;
  }
  temporary_.emplace(fs::temp_directory_path() / "wellspring-", refuse_cache);
  folder_ = temporary_->path();
}

std::optional<CompiledObject> ObjectCache::get(const fs::path& header, const Target& target,
                                               MayCompile may,
                                               const std::function<void()>& announce) {
  expect_private(header, S_IWOTH, fmt::format("chmod o-w {}", header.string()));
  expect_functor(header);
  const fs::path object = folder_ / (key_of(header, target) + ".so");
  std::optional<Toolchain> toolchain;
  try {
    toolchain = find_toolchain(target);
  } catch (const Error&) {  // a prepared entry needs no compiler
    if (!read_description(object) && !read_description(prepared_folder() / object.filename()))
      throw;
  }
  const FileLock lock(fs::path(object).replace_extension(".lock"));
  const std::optional<Description> entry = read_description(object);
  if (entry && is_valid(*entry, object, header, toolchain ? &*toolchain : nullptr)) {
    std::error_code read_only;
    fs::last_write_time(object, fs::file_time_type::clock::now(), read_only);
    return as_object(*entry, object, header);
  }
  if (std::optional<CompiledObject> prepared = find_prepared(object.filename(), header))
    return prepared;
  if (may == MayCompile::no) return std::nullopt;
  if (!toolchain) toolchain = find_toolchain(target);  // throws
  if (announce) announce();
  if (!temporary_ && ::access(folder_.c_str(), W_OK) != 0) {
    folder_.clear();
    open_folder();
    return compile(header, *toolchain, folder_ / object.filename());
  }
  return compile(header, *toolchain, object);
}

CompiledObject ObjectCache::compile(const fs::path& header, const Toolchain& toolchain,
                                    const fs::path& object) {
  const std::vector<fs::path> folders = search_folders(header);
  const ScratchFolder scratch(folder_ / "compile-", refuse_cache);  // or evict() removes it later
  Description entry;
  entry.compiler = toolchain.version();
  const auto add = [&](const fs::path& file) {
    entry.files.push_back(locate(file, folders));
    if (entry.files.back().folder == 0 || entry.files.back().folder == folders.size())
      expect_private(file, S_IWOTH, fmt::format("chmod o-w {}", file.string()));
  };
  const IncludedFiles files = compile_header(header, toolchain, scratch.path());
  std::ranges::for_each(files.host, add);
  entry.header = hash_of_header(entry.files, folders.size());
  for (const fs::path& file : files.device)
    if (std::ranges::find(files.host, file) == files.host.end()) add(file);
  const fs::path made = scratch.path() / "generator.so";
  entry.object = hash_of(made);
  write_to_cache(description_of(made), text_of(entry));
  std::error_code failed;
  fs::remove(description_of(object), failed);  // a description must exist only with its own object
  fs::rename(made, object, failed);
  if (!failed) fs::rename(description_of(made), description_of(object), failed);
  if (failed) refuse_cache(object, failed.message());
  evict(object);
  CompiledObject result = as_object(entry, object, header);
  result.from_cache = false;
  result.promotions = files.promotions;
  return result;
}

void ObjectCache::mark_checked(const CompiledObject& object) {
  std::optional<Description> entry = read_description(object.file);
  if (!entry || ::access(object.file.parent_path().c_str(), W_OK) != 0) return;
  const FileLock lock(fs::path(object.file).replace_extension(".lock"));
  entry->checked = true;
  write_to_cache(description_of(object.file), text_of(*entry));
}

CompiledObject copy_entry(const CompiledObject& object, const fs::path& folder) {
  make_folders(folder);
  CompiledObject copy = object;
  copy.file = folder / object.file.filename();
  write_file(copy.file, read_bytes(object.file));
  write_file(description_of(copy.file), read_text(description_of(object.file)));
  return copy;
}

void ObjectCache::evict(const fs::path& kept) const {
  struct Item {
    fs::file_time_type used;
    fs::path path;
    std::uintmax_t bytes = 0;
  };
  std::vector<Item> items;
  std::uintmax_t bytes = 0;
  std::error_code gone;  // another process may remove the same files
  for (const fs::directory_entry& file : fs::directory_iterator(folder_, gone)) {
    const auto used = file.last_write_time(gone);
    const bool stale = fs::file_time_type::clock::now() - used > std::chrono::hours(1);
    if (file.path().filename().string().starts_with("compile-")) {
      if (stale) fs::remove_all(file.path(), gone);  // left by a killed process
    } else if (file.path().extension() == ".so") {
      items.push_back({used, file.path(), file.file_size(gone)});
      bytes += items.back().bytes;
    }
  }
  std::ranges::sort(items, {}, &Item::used);
  for (const Item& item : items) {
    if (bytes <= most_bytes_) return;
    if (item.path == kept) continue;
    fs::remove(description_of(item.path), gone);
    fs::remove(item.path, gone);
    fs::remove(fs::path(item.path).replace_extension(".lock"), gone);
    bytes -= item.bytes;
  }
}

}  // namespace wellspring::own
