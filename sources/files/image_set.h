// A set of labelled images: a folder with one subfolder per class, a tar or zip archive of such a
// folder, the tar shards of a WebDataset, or TFRecord files. Used by formats folder, tar, zip,
// webdataset and tfrecord; host only.
//
//     root/[split/]class/name.jpg
#pragma once

#include "core/io/file_kind.h"
#include "core/io/zip_directory.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace wellspring {

class Error;

/// Treatment of entries that cannot be used.
enum class OnError : std::uint8_t {
  fail,  ///< error with the entry's name
  skip,  ///< left out and counted
};

/// Treatment of images in subfolders of a class folder.
enum class Subfolders : std::uint8_t {
  refuse,   ///< error with the image's name
  include,  ///< images of that class, as in torchvision's ImageFolder
};

struct ImageSetOptions {
  std::filesystem::path path;        ///< folder or archive; see open()
  std::string split = {};            ///< "": the class folders are at the top
  std::int64_t limit_per_class = 0;  ///< keeps the first N images of each class, in order; 0: all
  OnError on_error = OnError::fail;  ///< for entries of a folder; the set never reads images itself
  Subfolders subfolders = Subfolders::refuse;
  bool labelled = true;                          ///< false: images of one class, in any folder
  std::function<void(std::int64_t)> watch = {};  ///< progress: entries listed so far
};

/// Options of tar shards and of records.
struct ShardOptions {
  std::filesystem::path path = {};  ///< a shard, a folder of shards, or "train-{0000..0127}.tar"
  /// Extension (records: feature) of the image. "": any extension, if a sample has one image.
  std::string image = {};
  /// Extension (records: feature) of the label. "json.KEY": a value in a .json member.
  std::string label = "cls";
  std::filesystem::path classes = {};  ///< names of the classes, by label; empty: see open_shards
  std::int64_t limit_per_class = 0;
  OnError on_error = OnError::fail;  ///< for samples without an image or a label
  bool labelled = true;
  std::function<void(std::int64_t)> watch = {};
};

/// Folder images are sorted by class, folder and name (bytewise); shard images keep their order.
class ImageSet {
 public:
  /// Lists the files without reading images. Without a split, a single folder around all class
  /// folders is skipped (with Subfolders::refuse). If an archive `dir/a-b.tar` (or .zip) is missing
  /// but `dir/a-b` or `dir/b` is a folder, the folder is used instead. If `path` is a folder
  /// without a subfolder `split`, its `split.tar` or its only `*-split.tar` is used. Errors (data):
  /// nothing found, no classes, a class without images, a damaged archive, a duplicate name. With
  /// OnError::fail, also images in a format that is not read, broken links, links to a parent
  /// folder, folders that cannot be listed, and pipes, sockets and devices with an image's name.
  /// Throws Interrupted after a signal.
  static ImageSet open(const ImageSetOptions& options);

  /// Lists the samples of a WebDataset: consecutive members of a shard with the same name up to the
  /// first dot. If all labels are whole numbers, they are used, and class i is named "i"; otherwise
  /// the classes are the sorted texts. Source: WebDataset's tariterators.py. Errors (data): as for
  /// open(); a sample with no image or label, or with two; a label that `classes` does not have.
  static ImageSet open_shards(const ShardOptions& options);

  /// The same for TFRecord files, whose records (tf.train.Example) each hold an image file and a
  /// label. `image` and `label` name features; "" selects the names that TensorFlow and TFDS write.
  /// An image can also be raw: height * width * depth bytes, with these numbers in features; it is
  /// then read as a PGM (depth 1) or PPM (depth 3). Reads every record once. Errors (data): as for
  /// open_shards() and read_tfrecords(); raw pixels with a wrong number of bytes; empty files.
  static ImageSet open_records(const ShardOptions& options);

  std::int64_t size() const { return static_cast<std::int64_t>(images_.size()); }
  const std::vector<std::string>& classes() const { return classes_; }
  std::int32_t label(std::int64_t image) const { return at(image).label; }
  /// For messages: "dir/train/cat/1.jpg", "dir/train.tar: train/cat/1.jpg".
  std::string location(std::int64_t image) const { return location_of(at(image)); }
  /// location() with the canonical root.
  std::string place(std::int64_t image) const;
  /// Reads at most `most` encoded bytes; reuses `bytes`. Thread-safe. Error (data): unreadable, or
  /// larger than 1 GiB.
  void read(std::int64_t image, std::vector<std::uint8_t>& bytes,
            std::uint64_t most = UINT64_MAX) const;

  /// Size of an image as read() returns it. Error (data): its file cannot be opened.
  std::uint64_t encoded_bytes(std::int64_t image) const;

  /// Removes the images with `drop[i]`. Error (data) if a class that has images would lose all.
  void remove(const std::vector<bool>& drop);

  /// Folder or archive found by the rules of open().
  const std::filesystem::path& root() const { return root_; }
  bool is_archive() const { return !archives_.empty(); }
  std::size_t archives() const { return archives_.size(); }
  bool is_zip() const { return is_archive() && archive_kind_ == FileKind::zip; }
  /// Ignored files: hidden ones, and those without an image's name.
  std::int64_t hidden_files() const { return hidden_; }
  std::int64_t other_files() const { return others_; }
  /// Entries left out by OnError::skip, and the first of them with its problem.
  std::int64_t skipped() const { return skipped_; }
  const std::string& first_skipped() const { return first_skipped_; }
  std::int64_t images_of_class(std::int32_t label) const;

 private:
  struct Image {
    std::string path;  ///< relative to the root
    std::int32_t label = 0;
    std::uint64_t offset = 0, bytes = 0;  ///< position in a tar archive; offset: index in members_
    std::uint32_t archive = 0;            ///< index in archives_
    std::uint32_t head = 0;               ///< index in heads_
  };
  const Image& at(std::int64_t image) const { return images_[static_cast<std::size_t>(image)]; }
  std::string location_of(const Image& image) const;
  /// Throws an error (data).
  [[noreturn]] static void refuse(const std::string& problem, const std::string& why,
                                  const std::string& advice);
  /// `size`, at most `most`. Error (data): `size` exceeds 1 GiB.
  std::uint64_t bytes_to_read(const Image& image, std::uint64_t size, std::uint64_t most) const;
  struct Listing;
  Listing list_root(const ImageSetOptions& options);
  Listing list_archive(const ImageSetOptions& options);
  Listing list_tar(const ImageSetOptions& options);
  Listing list_zip();
  std::vector<Image> pick_images(Listing& listing, const ImageSetOptions& options);
  void skip(const std::string& where, const std::string& problem);
  std::string folder_around_classes(const std::vector<Image>& images) const;
  void arrange(Listing listing, const ImageSetOptions& options);
  void add_class(const std::string& name, std::vector<Image> images, std::int64_t limit);
  struct ShardReader;
  /// Counts a sample of a shard that `error` makes unusable, or throws the error.
  void skip_sample(const Error& error, const ShardOptions& options);
  /// Sets the classes and labels of the images of all shards. `texts`: their labels as stored.
  void choose_images(const std::vector<std::string>& texts, const ShardOptions& options);
  std::vector<std::int32_t> name_classes(const std::vector<std::string>& texts,
                                         const ShardOptions& options);

  std::filesystem::path root_;
  std::vector<std::filesystem::path> canonical_;  ///< the root, or the archives
  std::vector<InputFile> archives_;               ///< empty for a folder
  FileKind archive_kind_ = FileKind::unknown;
  std::vector<ZipEntry> members_;  ///< members of a zip archive
  /// Bytes before the stored ones in the result of read(): PPM and PGM headers of raw pixels.
  std::vector<std::string> heads_ = {""};
  std::vector<std::string> classes_;
  std::vector<Image> images_;
  std::int64_t hidden_ = 0, others_ = 0, skipped_ = 0;
  std::string first_skipped_;
};

}  // namespace wellspring
