#include "sources/files/folder_listing.h"

#include "core/io/files.h"
#include "core/signals.h"

#include <fmt/format.h>

#include <algorithm>
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

/// Needs a system call for links only, if the file system lists types with names.
fs::file_type type_of(const fs::directory_entry& entry, std::error_code& error) {
  if (entry.is_regular_file(error)) return fs::file_type::regular;
  if (entry.is_directory(error)) return fs::file_type::directory;
  return entry.status(error).type();
}

class Lister {
 public:
  Lister(const fs::path& root, const std::function<void(std::int64_t)>& watch)
      : root_(root), watch_(watch) {}

  void list(const std::string& folder) {
    struct stat status {};
    if (::stat((root_ / folder).c_str(), &status) == 0)
      above_.push_back({status.st_dev, status.st_ino});
    else
      above_.push_back({});
    std::vector<fs::directory_entry> entries;
    std::error_code error;
    fs::directory_iterator entry(root_ / folder, error);
    for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
      entries.push_back(*entry);
      stop_if_interrupted();
      ++found_;
      if (watch_) watch_(found_);
    }
    if (error) add(folder, Trouble::folder, "the folder cannot be listed", error.message());
    // Sorted, because the order of reports must not depend on the file system.
    std::sort(entries.begin(), entries.end(),
              [](const auto& a, const auto& b) { return a.path().native() < b.path().native(); });
    for (const fs::directory_entry& found : entries) {
      stop_if_interrupted();
      const std::string& whole = found.path().native();
      const std::string name = whole.substr(whole.rfind('/') + 1);
      visit(found, folder.empty() ? name : folder + "/" + name);
    }
    above_.pop_back();
  }

  FolderListing take() { return std::move(listing_); }

 private:
  void visit(const fs::directory_entry& entry, const std::string& path) {
    std::error_code error;
    const bool link = entry.is_symlink(error);
    const fs::file_type type = type_of(entry, error);
    if (type == fs::file_type::directory) {
      if (link && leads_upwards(entry.path())) {
        add(path, Trouble::folder_loop, "a link to a folder that contains it",
            "following it would list the same files endlessly");
        return;
      }
      listing_.folders.push_back(path);
      list(path);
    } else if (type == fs::file_type::regular) {
      listing_.files.push_back(path);
    } else if (const std::string_view kind = special_file(type); !kind.empty()) {
      add(path, Trouble::special, std::string(kind), "an image must be a regular file");
    } else if (link) {
      std::error_code ignored;
      const std::string target = fs::read_symlink(entry.path(), ignored).string();
      add(path, Trouble::broken_link, "a broken link",
          fmt::format("'{}': {}", target, error.message()));
    } else {
      add(path, Trouble::file, "cannot read its type", error.message());
    }
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
  std::int64_t found_ = 0;
  FolderListing listing_;
  std::vector<FolderId> above_;  ///< ancestors of the current folder
};

}  // namespace

FolderListing list_folder(const fs::path& root, const std::string& part,
                          const std::function<void(std::int64_t)>& watch) {
  Lister lister(root, watch);
  lister.list(part);
  return lister.take();
}

}  // namespace wellspring
