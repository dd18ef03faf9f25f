#include "sources/files/folder_listing.h"

#include "core/io/files.h"
#include "core/signals.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <dirent.h>
#include <memory>
#include <string_view>
#include <sys/stat.h>
#include <system_error>

namespace wellspring {
namespace {

namespace fs = std::filesystem;
using Trouble = FolderListing::Trouble;

/// Identity of a folder, independent of its name.
struct FolderId {
  dev_t device = 0;
  ino_t number = 0;
  friend bool operator==(const FolderId&, const FolderId&) = default;
};

struct Entry {
  std::string name;
  unsigned char type = DT_UNKNOWN;  ///< DT_REG and others; some file systems do not tell
};

/// Appends the entries of a folder, without "." and "..", and calls `watch` after each. Returns 0
/// or errno. Entries of std::filesystem would be slower, because each splits its whole path.
template <class Watch>
int read_entries(const fs::path& folder, std::vector<Entry>& entries, const Watch& watch) {
  const auto close = [](DIR* open) { ::closedir(open); };
  const std::unique_ptr<DIR, decltype(close)> open(::opendir(folder.c_str()), close);
  if (!open) return errno;
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(open.get());
    if (entry == nullptr) return errno;
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    entries.push_back({std::string(name), entry->d_type});
    watch();
  }
}

class Lister {
 public:
  Lister(const fs::path& root, const std::function<void(std::int64_t)>& watch, EntryTypes types)
      : root_(root), watch_(watch), types_(types) {}

  void list(const std::string& folder) {
    struct stat status {};
    if (::stat((root_ / folder).c_str(), &status) == 0)
      above_.push_back({status.st_dev, status.st_ino});
    else
      above_.push_back({});
    std::vector<Entry> entries;
    const int error = read_entries(root_ / folder, entries, [&] {
      stop_if_interrupted();
      if (++found_ % kEntriesPerReport == 0) report();
    });
    report();
    if (error != 0)
      add(folder, Trouble::folder, "the folder cannot be listed",
          std::generic_category().message(error));
    // Sorted, because the order of reports must not depend on the file system.
    std::ranges::sort(entries, {}, &Entry::name);
    const std::string prefix = folder.empty() ? "" : folder + "/";
    for (const Entry& entry : entries) {
      stop_if_interrupted();
      visit(types_ == EntryTypes::listed ? entry.type : static_cast<unsigned char>(DT_UNKNOWN),
            prefix + entry.name);
    }
    above_.pop_back();
  }

  FolderListing take() { return std::move(listing_); }

 private:
  static constexpr std::int64_t kEntriesPerReport = 1000;

  void visit(unsigned char listed, std::string path) {
    if (listed == DT_REG) return listing_.files.push_back(std::move(path));
    std::error_code error;
    const fs::path whole = root_ / path;
    fs::file_type type = listed == DT_DIR   ? fs::file_type::directory
                         : listed == DT_LNK ? fs::file_type::symlink
                                            : fs::symlink_status(whole, error).type();
    const bool link = type == fs::file_type::symlink;
    if (link) type = fs::status(whole, error).type();
    if (type == fs::file_type::directory) {
      if (link && leads_upwards(whole)) {
        add(path, Trouble::folder_loop, "a link to a folder that contains it",
            "following it would list the same files endlessly");
        return;
      }
      listing_.folders.push_back(path);
      list(path);
    } else if (type == fs::file_type::regular) {
      listing_.files.push_back(std::move(path));
    } else if (const std::string_view kind = special_file(type); !kind.empty()) {
      add(path, Trouble::special, std::string(kind), "an image must be a regular file");
    } else if (link) {
      std::error_code ignored;
      const std::string target = fs::read_symlink(whole, ignored).string();
      add(path, Trouble::broken_link, "a broken link",
          fmt::format("'{}': {}", target, error.message()));
    } else {
      add(path, Trouble::file, "cannot read its type", error.message());
    }
  }

  void report() const {
    if (watch_) watch_(found_);
  }

  bool leads_upwards(const fs::path& folder) const {
    struct stat status {};
    return ::stat(folder.c_str(), &status) == 0 &&
           std::find(above_.begin(), above_.end(), FolderId{status.st_dev, status.st_ino}) !=
               above_.end();
  }

  void add(const std::string& path, Trouble trouble, const std::string& problem,
           const std::string& why) {
    listing_.unusable.push_back({path, trouble, problem, why});
  }

  fs::path root_;
  const std::function<void(std::int64_t)>& watch_;
  EntryTypes types_;
  std::int64_t found_ = 0;
  FolderListing listing_;
  std::vector<FolderId> above_;  ///< ancestors of the current folder
};

}  // namespace

FolderListing list_folder(const fs::path& root, const std::string& part,
                          const std::function<void(std::int64_t)>& watch, EntryTypes types) {
  Lister lister(root, watch, types);
  lister.list(part);
  return lister.take();
}

}  // namespace wellspring
