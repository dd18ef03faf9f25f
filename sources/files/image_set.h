// A set of labelled images: a folder with a folder a class, or a tar archive with the same inside.
// What formats folder and tar read; host only.
//
//     root/[split/]class/name.jpg
#pragma once

#include "core/io/files.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace wellspring {

/// What cannot be used as the image that its name says it is.
enum class OnError : std::uint8_t {
  fail,  ///< an error with its name
  skip,  ///< left out, and counted
};

struct ImageSetOptions {
  std::filesystem::path path;        ///< folder or tar archive; see open()
  std::string split;                 ///< "": the class folders lie at the top
  std::int64_t limit_per_class = 0;  ///< keeps the first ones of each class, in order; 0: all
  OnError on_error = OnError::fail;  ///< of entries of a folder; no image is read here
};

/// Classes are in the order of their names' bytes, images in the order of theirs within each class.
class ImageSet {
 public:
  /// Lists the files; reads no image. One folder around all class folders is passed over when no
  /// split is named. Where an archive `dir/a-b.tar` is missing but `dir/a-b` or `dir/b` is a
  /// folder, that is taken for the unpacked archive; where `path` is a folder without `split` in
  /// it, `split.tar` or the one `*-split.tar` beside is.
  /// Errors (data): nothing there, no classes, a class without images, a damaged archive, a name
  /// twice; with OnError::fail, links that lead nowhere or upwards, folders that cannot be listed
  /// and pipes, sockets and devices under an image's name.
  static ImageSet open(const ImageSetOptions& options);

  std::int64_t size() const { return static_cast<std::int64_t>(images_.size()); }
  const std::vector<std::string>& classes() const { return classes_; }
  std::int32_t label(std::int64_t image) const { return at(image).label; }
  /// For messages: "dir/train/cat/1.jpg", "dir/train.tar: train/cat/1.jpg".
  std::string location(std::int64_t image) const;
  /// The same with the root's own path, however it was written.
  std::string place(std::int64_t image) const;
  /// The encoded bytes, or the first `most` of them; `bytes` is reused. From any thread. Error
  /// (data) when they cannot be read.
  void read(std::int64_t image, std::vector<std::uint8_t>& bytes,
            std::uint64_t most = UINT64_MAX) const;

  /// Leaves out images; `drop[i]` for each. Error (data) when a class is left without any.
  void remove(const std::vector<bool>& drop);

  /// Where it was found, after the rules of open().
  const std::filesystem::path& root() const { return root_; }
  bool is_archive() const { return archive_ != nullptr; }
  /// Files passed over: hidden ones, and those that are no images by their names.
  std::int64_t hidden_files() const { return hidden_; }
  std::int64_t other_files() const { return others_; }
  /// Entries of a folder left out by OnError::skip, and the first of them with its trouble.
  std::int64_t skipped() const { return skipped_; }
  const std::string& first_skipped() const { return first_skipped_; }
  std::int64_t images_of_class(std::int32_t label) const;

 private:
  struct Image {
    std::string path;  ///< within the root
    std::int32_t label = 0;
    std::uint64_t offset = 0, bytes = 0;  ///< in the archive
  };
  const Image& at(std::int64_t image) const { return images_[static_cast<std::size_t>(image)]; }
  struct Listing;
  struct Candidate;
  Listing list_root(const std::string& split, OnError on_error);
  Listing list_archive();
  std::vector<Candidate> pick_images(std::vector<Image> files, const std::string& split);
  std::string folder_around_classes(const std::vector<Candidate>& candidates) const;
  void arrange(Listing listing, const ImageSetOptions& options);
  void add_class(const std::string& name, std::vector<Image> images, std::int64_t limit);

  std::filesystem::path root_, canonical_root_;
  std::unique_ptr<InputFile> archive_;
  std::vector<std::string> classes_;
  std::vector<Image> images_;
  std::int64_t hidden_ = 0, others_ = 0, skipped_ = 0;
  std::string first_skipped_;
};

}  // namespace wellspring
