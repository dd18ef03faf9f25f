#include "sources/files/image_set.h"

#include "core/error.h"
#include "core/text/plural.h"
#include "core/text/text.h"
#include "sources/files/folder_listing.h"
#include "sources/files/tar.h"
#include "sources/files/zip_member.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>

namespace wellspring {
namespace {

namespace fs = std::filesystem;

/// The parts of a path, as views of it.
using PathParts = std::vector<std::string_view>;

void split_path(std::string_view path, PathParts& parts) {
  parts.clear();
  std::size_t begin = 0;
  while (begin <= path.size()) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    if (end > begin) parts.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
}

PathParts parts_of(std::string_view path) {
  PathParts parts;
  split_path(path, parts);
  return parts;
}

/// True for files that file systems and archivers leave in folders.
bool is_hidden(const PathParts& parts) {
  return std::ranges::any_of(
      parts, [](std::string_view part) { return part.starts_with('.') || part == "__MACOSX"; });
}

/// Kind of an image by its extension; unknown for other files.
FileKind kind_by_name(std::string_view path) {
  static const std::map<std::string_view, FileKind> kinds = {
      {".jpg", FileKind::jpeg},     {".jpeg", FileKind::jpeg},   {".png", FileKind::png},
      {".webp", FileKind::webp},    {".ppm", FileKind::netpbm},  {".pgm", FileKind::netpbm},
      {".bmp", FileKind::bmp},      {".gif", FileKind::gif},     {".tif", FileKind::tiff},
      {".tiff", FileKind::tiff},    {".avif", FileKind::avif},   {".heic", FileKind::heif},
      {".jp2", FileKind::jpeg2000}, {".jxl", FileKind::jpeg_xl},
  };
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const std::size_t dot = name.rfind('.');
  if (dot == 0 || dot == std::string_view::npos) return FileKind::unknown;
  std::string extension(name.substr(dot));
  std::ranges::transform(extension, extension.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto found = kinds.find(extension);
  return found == kinds.end() ? FileKind::unknown : found->second;
}

bool is_image_name(std::string_view name) {
  return kind_by_name(name) != FileKind::unknown;
}

bool is_readable(FileKind kind) {
  return kind == FileKind::jpeg || kind == FileKind::png || kind == FileKind::webp ||
         kind == FileKind::netpbm;
}

bool is_archive_name(const fs::path& path) {
  return path.extension() == ".tar" || path.extension() == ".zip";
}

constexpr const char* kLayout =
    "arrange the images as FOLDER/[SPLIT/]CLASS/NAME.jpg (or .png, .webp, .ppm)";

/// Folder or archive of `options`, and the split to look for inside it.
struct Place {
  fs::path root;
  std::string split;
};

Place find_folder_split(const ImageSetOptions& options) {
  std::error_code error;
  if (options.split.empty() || fs::is_directory(options.path / options.split, error)) {
    return {options.path, options.split};
  }
  std::vector<fs::path> archives;
  fs::directory_iterator entry(options.path, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const std::string archive = options.split + ".tar";
    if (name == archive || name.ends_with("-" + archive)) archives.push_back(entry->path());
  }
  if (error) {
    fail(ErrorKind::data, {options.path.string() + ": the folder cannot be listed", error.message(),
                           "check its permissions"});
  }
  std::sort(archives.begin(), archives.end());
  if (archives.size() == 1) return {archives.front(), options.split};
  std::vector<std::string> names;
  for (const fs::path& archive : archives) names.push_back(archive.filename().string());
  fail(ErrorKind::data,
       {fmt::format("{}: no split '{}'", options.path.string(), options.split),
        archives.empty()
            ? fmt::format("there is neither a folder {0} nor an archive {0}.tar or *-{0}.tar",
                          options.split)
            : fmt::format("several archives match: {}", fmt::join(names, ", ")),
        "correct path: or split:"});
}

Place find_place(const ImageSetOptions& options) {
  std::error_code error;
  if (fs::is_directory(options.path, error)) return find_folder_split(options);
  if (fs::exists(options.path, error)) return {options.path, options.split};
  if (is_archive_name(options.path)) {
    const fs::path unpacked = fs::path(options.path).replace_extension();
    if (fs::is_directory(unpacked, error)) {
      ImageSetOptions there = options;
      there.path = unpacked;
      return find_folder_split(there);
    }
    const std::string stem = unpacked.filename().string();
    if (const std::size_t dash = stem.rfind('-'); dash != std::string::npos) {
      const fs::path folder = unpacked.parent_path() / stem.substr(dash + 1);
      // The folder is the split itself.
      if (fs::is_directory(folder, error)) return {folder, ""};
    }
  }
  require_file(options.path);  // names the missing part of the path
  return {options.path, options.split};
}

}  // namespace

void ImageSet::refuse(const std::string& problem, const std::string& why,
                      const std::string& advice) {
  fail(ErrorKind::data, {problem, why, advice});
}

/// Contents of a folder or archive before class folders are identified.
struct ImageSet::Listing {
  std::vector<Image> files;
  std::vector<std::string> folders;
};

ImageSet::Listing ImageSet::list_root(const ImageSetOptions& options) {
  using Trouble = FolderListing::Trouble;
  FolderListing found = list_folder(root_, options.split, options.watch);
  Listing listing;
  for (std::string& file : found.files) listing.files.push_back({.path = std::move(file)});
  listing.folders = std::move(found.folders);
  for (const FolderListing::Unusable& entry : found.unusable) {
    const std::string where = (entry.path.empty() ? root_ : root_ / entry.path).string();
    if (entry.path == options.split) {
      refuse(where + ": " + entry.problem, entry.why, "check its permissions");
    } else if (is_hidden(parts_of(entry.path))) {
      ++hidden_;
    } else if (entry.trouble == Trouble::special && !is_image_name(entry.path)) {
      ++others_;
    } else if (options.on_error == OnError::fail) {
      refuse(where + ": " + entry.problem, entry.why,
             "repair or remove it, or set on_error: skip to leave out unreadable entries");
    } else {
      skip(where, entry.problem);
      // It may have been a class folder; dropping it would shift the labels of later classes.
      // Listed as an empty class, it is refused.
      if (entry.trouble == Trouble::broken_link && !fs::path(entry.path).has_extension())
        listing.folders.push_back(entry.path);
    }
  }
  return listing;
}

void ImageSet::skip(const std::string& where, const std::string& problem) {
  if (skipped_++ == 0) first_skipped_ = fmt::format("{} ({})", where, problem);
}

ImageSet::Listing ImageSet::list_archive(const ImageSetOptions& options) {
  archives_.emplace_back(root_);
  archive_kind_ = file_kind(archives_.front());
  return is_zip() ? list_zip() : list_tar(options);
}

ImageSet::Listing ImageSet::list_zip() {
  Listing listing;
  members_ = read_zip_directory(archives_.front());
  for (std::uint64_t i = 0; i < members_.size(); ++i) {
    const std::string& name = members_[i].name;
    if (name.find('\0') != std::string::npos) {
      refuse(root_.string() + ": damaged zip archive", "a name contains a zero byte",
             "recreate the archive or copy it again");
    }
    if (name.ends_with("/")) {
      listing.folders.push_back(name);
    } else {
      listing.files.push_back({.path = name, .offset = i, .bytes = members_[i].size});
    }
  }
  return listing;
}

ImageSet::Listing ImageSet::list_tar(const ImageSetOptions& options) {
  Listing listing;
  for (TarMember& member : read_tar_index(archives_.front(), options.watch)) {
    if (member.kind == TarMemberKind::folder) {
      listing.folders.push_back(std::move(member.path));
    } else if (member.kind == TarMemberKind::file) {
      listing.files.push_back(
          {.path = std::move(member.path), .offset = member.offset, .bytes = member.bytes});
    } else {
      ++others_;
    }
  }
  return listing;
}

ImageSet ImageSet::open(const ImageSetOptions& options) {
  const Place place = find_place(options);
  ImageSet set;
  set.root_ = place.root;
  set.canonical_ = {fs::weakly_canonical(place.root)};
  ImageSetOptions resolved = options;
  resolved.split = place.split;
  set.arrange(fs::is_directory(place.root) ? set.list_root(resolved) : set.list_archive(resolved),
              resolved);
  return set;
}

/// The images among the files (of the split, if any); counts other files. Adds the folders of
/// skipped images to the listing, because an archive may not list them.
std::vector<ImageSet::Image> ImageSet::pick_images(Listing& listing,
                                                   const ImageSetOptions& options) {
  const std::string& split = options.split;
  std::vector<Image> images;
  images.reserve(listing.files.size());
  PathParts parts;
  for (Image& file : listing.files) {
    split_path(file.path, parts);
    if (!split.empty() && (parts.empty() || parts.front() != split)) continue;
    if (is_hidden(parts)) {
      ++hidden_;
    } else if (const FileKind kind = kind_by_name(file.path); kind == FileKind::unknown) {
      ++others_;
    } else if (!is_readable(kind)) {
      const std::string where = location_of(file), problem(kind_name(kind));
      if (options.on_error == OnError::fail) {
        refuse(where + ": " + problem, "JPEG, PNG, WebP, PPM and PGM can be read",
               std::string(kind_advice(kind)) + ", or set on_error: skip");
      }
      skip(where, problem);
      listing.folders.push_back(fs::path(file.path).parent_path().string());
    } else {
      images.push_back(std::move(file));
    }
  }
  if (images.empty()) {
    refuse(fmt::format("{}: no images{}", root_.string(),
                       split.empty() ? "" : " in split '" + split + "'"),
           hidden_ + others_ + skipped_ == 0
               ? "it has no files"
               : fmt::format("it has {} but no .jpg, .png, .webp or .ppm",
                             counted(hidden_ + others_ + skipped_, "other file")),
           options.labelled ? kLayout : "name a folder or an archive with images");
  }
  return images;
}

/// The single folder around all class folders; "" if there is no such folder.
std::string ImageSet::folder_around_classes(const std::vector<Image>& images) const {
  std::set<std::string, std::less<>> tops;
  PathParts parts;
  for (const Image& image : images) {
    split_path(image.path, parts);
    if (parts.size() != 3) return "";
    if (!tops.contains(parts.front())) tops.emplace(parts.front());
  }
  if (tops.size() > 1) {
    refuse(fmt::format("{}: images are two folders deep, e.g. {}", root_.string(),
                       images.front().path),
           fmt::format("the folders {} could be classes or splits", fmt::join(tops, ", ")),
           "set split: to one of them, or subfolders: include if they are the classes");
  }
  return *tops.begin();
}

/// Finds the level of the class folders and labels every image.
void ImageSet::arrange(Listing listing, const ImageSetOptions& options) {
  std::vector<Image> images = pick_images(listing, options);
  if (!options.labelled) return add_class("unlabelled", std::move(images), options.limit_per_class);
  const bool include = options.subfolders == Subfolders::include;
  const std::string passed_over =
      options.split.empty() && !include ? folder_around_classes(images) : options.split;
  const std::size_t level = passed_over.empty() ? 0 : 1;

  std::map<std::string, std::vector<Image>, std::less<>> by_class;
  PathParts parts;
  for (const std::string& folder : listing.folders) {
    split_path(folder, parts);
    const bool below = level == 0 || (!parts.empty() && parts.front() == passed_over);
    if (below && parts.size() > level && !is_hidden(parts)) by_class[std::string(parts[level])];
  }
  for (Image& image : images) {
    split_path(image.path, parts);
    const bool inside = include && parts.size() > level + 2;
    if (parts.size() != level + 2 && !inside) {
      refuse(fmt::format("{}: {} is not in a class folder", root_.string(), image.path),
             fmt::format("its path has {}, expected {}", counted(parts.size() - 1, "folder"),
                         level + 1),
             parts.size() > level + 2
                 ? std::string(kLayout) + ", or set subfolders: include (they belong to the class)"
             : is_archive()
                 ? std::string(kLayout) + "; for WebDataset shards, set format: webdataset"
                 : kLayout);
    }
    auto found = by_class.find(parts[level]);
    if (found == by_class.end()) found = by_class.emplace(parts[level], std::vector<Image>()).first;
    found->second.push_back(std::move(image));
  }
  for (auto& [name, members] : by_class)
    add_class(name, std::move(members), options.limit_per_class);
}

/// Adds a class with the first `limit` of its images; 0: all.
void ImageSet::add_class(const std::string& name, std::vector<Image> images, std::int64_t limit) {
  if (images.empty()) {
    refuse(
        fmt::format("{}: class folder '{}' has no images", root_.string(), name),
        "every class needs at least one image" +
            (skipped_ > 0 ? fmt::format("; {} skipped, first {}", skipped_, first_skipped_) : ""),
        "fill the folder or remove it");
  }
  const auto folder_and_name = [](const Image& image) {
    const std::size_t slash = image.path.rfind('/') + 1;
    return std::pair(std::string_view(image.path).substr(0, slash),
                     std::string_view(image.path).substr(slash));
  };
  if (!std::ranges::is_sorted(images, {}, folder_and_name))
    std::ranges::sort(images, {}, folder_and_name);
  const auto twice = std::ranges::adjacent_find(images, {}, &Image::path);
  if (twice != images.end()) {
    refuse(fmt::format("{}: duplicate entry {}", root_.string(), twice->path),
           "names must be unique", "create the archive again");
  }
  if (limit > 0 && images.size() > static_cast<std::size_t>(limit))
    images.resize(static_cast<std::size_t>(limit));
  for (Image& image : images) {
    image.label = static_cast<std::int32_t>(classes_.size());
    images_.push_back(std::move(image));
  }
  classes_.push_back(name);
}

std::string ImageSet::location_of(const Image& image) const {
  return is_archive() ? archives_[image.archive].path().string() + ": " + image.path
                      : (root_ / image.path).string();
}

std::string ImageSet::place(std::int64_t image) const {
  return (canonical_[at(image).archive] / at(image).path).string();
}

std::uint64_t ImageSet::bytes_to_read(const Image& image, std::uint64_t size,
                                      std::uint64_t most) const {
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;
  if (size > kMostBytes) {
    refuse(
        fmt::format("{}: a file of {}", location_of(image), human_bytes(size)),
        fmt::format("an image file is read whole and may have at most {}", human_bytes(kMostBytes)),
        "convert or remove it, or set on_error: skip");
  }
  return std::min(size, most);
}

void ImageSet::read(std::int64_t image, std::vector<std::uint8_t>& bytes,
                    std::uint64_t most) const {
  const Image& entry = at(image);
  if (is_zip()) {
    const ZipEntry& member = members_[entry.offset];
    read_zip_member(archives_.front(), member, location(image), bytes,
                    bytes_to_read(entry, member.size, most));
    return;
  }
  if (is_archive()) {
    const std::string& head = heads_[entry.head];
    bytes.assign(head.begin(), head.end());
    bytes.resize(bytes_to_read(entry, head.size() + entry.bytes, most));
    if (bytes.size() > head.size())
      archives_[entry.archive].read(entry.offset,
                                    std::as_writable_bytes(std::span(bytes).subspan(head.size())));
    return;
  }
  const InputFile file(root_ / entry.path);
  bytes.resize(bytes_to_read(entry, file.size(), most));
  file.read(0, std::as_writable_bytes(std::span(bytes)));
}

std::uint64_t ImageSet::encoded_bytes(std::int64_t image) const {
  const Image& entry = at(image);
  if (is_zip()) return members_[entry.offset].size;
  return is_archive() ? heads_[entry.head].size() + entry.bytes
                      : InputFile(root_ / entry.path).size();
}

std::int64_t ImageSet::images_of_class(std::int32_t label) const {
  return std::count_if(images_.begin(), images_.end(),
                       [&](const Image& image) { return image.label == label; });
}

void ImageSet::remove(const std::vector<bool>& drop) {
  std::vector<bool> had(classes_.size()), has(classes_.size());
  std::vector<Image> kept;
  for (std::size_t i = 0; i < images_.size(); ++i) {
    const auto label = static_cast<std::size_t>(images_[i].label);
    had[label] = true;
    if (drop[i]) continue;
    has[label] = true;
    kept.push_back(std::move(images_[i]));
  }
  images_ = std::move(kept);
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    if (had[c] && !has[c]) {
      refuse(fmt::format("{}: class '{}' has no readable image", root_.string(), classes_[c]),
             "all of its files were skipped", "replace the files or remove the class");
    }
  }
}

}  // namespace wellspring
