// Formats `folder`, `tar` and `zip`: image files, one folder per class, on disk or in an archive.
// Formats `webdataset` and `tfrecord`: shards of samples, each with an image and a label.
#include "core/error.h"
#include "core/text/plural.h"
#include "export/shard_folder.h"
#include "sources/files/format.h"
#include "sources/files/image_loader.h"
#include "sources/files/image_set.h"
#include "sources/files/shard_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace wellspring {
namespace {

/// Treatment of images that are not 8-bit RGB.
enum class OnConvert : std::uint8_t {
  refuse,   ///< an error
  convert,  ///< greyscale is repeated, alpha dropped, 16 bits scaled to 8, CMYK multiplied
};

struct ImageSettings {
  std::string split;
  std::string image, label, classes;  ///< (webdataset, tfrecord)
  Subfolders subfolders = Subfolders::refuse;
  ImageSize resize;
  std::int64_t canvas = 0;
  ExifRotation exif = ExifRotation::apply;
  OnConvert on_convert = OnConvert::refuse;
  OnError on_error = OnError::fail;
  std::int64_t max_pixels = ImageRules{}.max_pixels;
};

/// Adds the keys of all formats of images.
ParamTable<ImageSettings> with_decoding(ParamTable<ImageSettings> table) {
  return std::move(
      table
          .size("resize", &ImageSettings::resize, {0, 16384},
                "size of the images: they are shrunk or enlarged until they just cover it, then "
                "cropped in the centre, as by torchvision's Resize and CenterCrop; 0: no resizing")
          .integer("canvas", &ImageSettings::canvas, {0, 16384}, "pixels",
                   "keep images at their own sizes, so that augment: crops and resizes the whole "
                   "image; those with a longer side are shrunk to it first; 0: off")
          .choice("exif", &ImageSettings::exif,
                  {{"rotate", ExifRotation::apply}, {"ignore", ExifRotation::ignore}},
                  "JPEG images with an orientation: rotate them upright, as viewers do, or read "
                  "them as stored, as torchvision does")
          .choice("on_convert", &ImageSettings::on_convert,
                  {{"refuse", OnConvert::refuse}, {"convert", OnConvert::convert}},
                  "images that are not 8-bit RGB: greyscale, transparency, 16 bits, CMYK")
          .choice("on_error", &ImageSettings::on_error,
                  {{"fail", OnError::fail}, {"skip", OnError::skip}},
                  "unreadable entries: damaged images, broken links, folders without permission, "
                  "pipes, samples without an image or a label; skip decodes every file once at the "
                  "start")
          .integer("max_pixels", &ImageSettings::max_pixels, {1, 1e9}, "pixels",
                   "larger images are refused before memory is allocated"));
}

const ParamTable<ImageSettings>& image_table() {
  static const auto table = with_decoding(std::move(
      ParamTable<ImageSettings>("images")
          .text("split", &ImageSettings::split, "subfolder of path that holds the class folders")
          .choice("subfolders", &ImageSettings::subfolders,
                  {{"refuse", Subfolders::refuse}, {"include", Subfolders::include}},
                  "images in subfolders of a class folder: an error, or images of that class as in "
                  "torchvision's ImageFolder")));
  return table;
}

/// The keys of shards, with the meaning of `image` and `label` in a format.
ParamTable<ImageSettings> shard_keys(const char* image, const char* label) {
  return with_decoding(std::move(
      ParamTable<ImageSettings>("images")
          .text("image", &ImageSettings::image, image)
          .text("label", &ImageSettings::label, label)
          .text("classes", &ImageSettings::classes,
                "text file next to the shards with the names of the classes, one per line in the "
                "order "
                "of the labels; empty: labels that are numbers name themselves, and other "
                "labels are sorted")));
}

const ParamTable<ImageSettings>& shard_table() {
  static const auto table =
      shard_keys("extension of the image, such as left.jpg; empty: that of a sample's only image",
                 "extension of the label's file, by default cls; json.KEY: a value in the sample's "
                 ".json");
  return table;
}

const ParamTable<ImageSettings>& record_table() {
  static const auto table =
      shard_keys("feature with the image file's bytes; empty: image/encoded or image",
                 "feature with the label, a whole number or a string; empty: image/class/label or "
                 "label");
  return table;
}

class ImageRows final : public Dataset {
 public:
  /// Reads the first header; with on_error: skip, decodes the files once and applies the limit.
  ImageRows(ImageSet set, const DatasetRequest& request, const ImageSettings& settings)
      : set_(std::move(set)),
        limit_(request.limit_per_class),
        labelled_(request.labelled),
        skipped_(set_.skipped()),
        first_skipped_(set_.first_skipped()) {
    rules_.labelled = labelled_;
    rules_.max_pixels = settings.max_pixels;
    rules_.rotation = settings.exif;
    rules_.convert = settings.on_convert == OnConvert::convert;
    rules_.resize = settings.resize;
    rules_.canvas = static_cast<int>(settings.canvas);
    if ((rules_.resize.height == 0) != (rules_.resize.width == 0))
      fail(ErrorKind::config,
           {fmt::format("{}: resize: {}", request.path.string(), rules_.resize.to_string()),
            "no side can be 0", "give both sides, or one number"});
    if (rules_.resize.given() && rules_.canvas > 0)
      fail(ErrorKind::config,
           {fmt::format("{}: resize: {} and canvas: {}", request.path.string(),
                        rules_.resize.to_string(), rules_.canvas),
            "on a canvas, augment: or centre_crop: resizes", "remove one of the two"});
    rules_.shape.channels = request.channels == 1 ? 1 : 3;
    if (settings.on_error == OnError::skip) skip_damaged(request);
    rules_.shape = ImageLoader(set_, rules_).measure(0);
  }

  const ImageSet& set() const { return set_; }

  std::int64_t size() const override { return set_.size(); }
  RowLayout layout() const override {
    return {SampleLayout::image(rules_.shape), ElementType::u8, rules_.canvas > 0};
  }
  const std::vector<std::string>& classes() const override { return set_.classes(); }
  std::int32_t label(std::int64_t row) const override { return set_.label(row); }
  std::string location(std::int64_t row) const override { return set_.location(row); }
  std::string place(std::int64_t row) const override { return set_.place(row); }
  std::string summary() const override {
    std::string text = counted(set_.size(), "image");
    if (labelled_) text += " of " + summary_of_classes(*this);
    text += fmt::format(", {}{}x{}, from {}", rules_.canvas > 0 ? "up to " : "", rules_.shape.width,
                        rules_.shape.height, set_.root().string());
    if (set_.archives() > 1) text += fmt::format(" ({} shards)", set_.archives());
    if (rules_.resize.given()) text += ", resized to " + rules_.resize.to_string();
    if (rules_.canvas > 0) text += ", each with its own size";
    if (rules_.shape.channels == 1) text += ", grey";
    if (limit_ > 0) text += fmt::format(", first {} of each class", limit_);
    if (skipped_ > 0) text += fmt::format("; {} skipped, first {}", skipped_, first_skipped_);
    if (set_.hidden_files() + set_.other_files() > 0) {
      text += fmt::format("; ignored {} and {}", counted(set_.hidden_files(), "hidden file"),
                          counted(set_.other_files(), "other file"));
    }
    return text;
  }
  std::string size_advice(ImageSize size) const override {
    return rules_.advice("resize", size.to_string()) + " (with a centre crop)";
  }
  bool encoded() const override { return true; }
  bool is_verbatim() const override {
    return !rules_.resize.given() && rules_.canvas == 0 && !rules_.convert &&
           rules_.rotation == ExifRotation::apply && rules_.shape.channels == 3;
  }
  std::uint64_t encoded_bytes(std::int64_t row) const override { return set_.encoded_bytes(row); }
  std::unique_ptr<RowReader> reader() const override {
    return std::make_unique<ImageLoader>(set_, rules_);
  }

 private:
  enum class Fate : std::uint8_t { unknown, readable, damaged };

  // Rows must keep their numbers during a run, so damaged files are found before it starts.
  void skip_damaged(const DatasetRequest& request) {
    std::vector<Fate> fates(static_cast<std::size_t>(set_.size()), Fate::unknown);
    // Classes that lack readable images are decoded twice as far each time.
    std::vector<std::int64_t> rows;
    for (std::int64_t most = limit_; !(rows = rows_to_decode(fates, most)).empty(); most *= 2)
      decode(request, rows, fates);
    std::vector<bool> drop(fates.size(), true);
    std::vector<std::int64_t> kept(set_.classes().size());
    for (std::size_t i = 0; i < fates.size(); ++i) {
      const auto row = static_cast<std::int64_t>(i);
      std::int64_t& of_class = kept[static_cast<std::size_t>(set_.label(row))];
      if (limit_ > 0 && of_class == limit_) continue;
      drop[i] = fates[i] == Fate::damaged;
      if (!drop[i]) {
        ++of_class;
      } else if (skipped_++ == 0) {
        first_skipped_ = set_.location(row);
      }
    }
    set_.remove(drop);
  }

  /// The untested images among the first `most` (0: all) of each class that still needs some.
  std::vector<std::int64_t> rows_to_decode(const std::vector<Fate>& fates,
                                           std::int64_t most) const {
    std::vector<std::int64_t> readable(set_.classes().size()), passed(readable), rows;
    const auto label = [&](std::size_t i) {
      return static_cast<std::size_t>(set_.label(static_cast<std::int64_t>(i)));
    };
    for (std::size_t i = 0; i < fates.size(); ++i)
      if (fates[i] == Fate::readable) ++readable[label(i)];
    for (std::size_t i = 0; i < fates.size(); ++i) {
      const std::size_t of = label(i);
      const bool wanted = most == 0 || (passed[of]++ < most && readable[of] < limit_);
      if (wanted && fates[i] == Fate::unknown) rows.push_back(static_cast<std::int64_t>(i));
    }
    return rows;
  }

  void decode(const DatasetRequest& request, const std::vector<std::int64_t>& rows,
              std::vector<Fate>& fates) const {
    const auto verify = [&](RowReader& reader, std::int64_t i) {
      const std::int64_t row = rows[static_cast<std::size_t>(i)];
      Fate& fate = fates[static_cast<std::size_t>(row)];
      try {
        static_cast<ImageLoader&>(reader).verify(row);
        fate = Fate::readable;
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::data) throw;
        fate = Fate::damaged;
      }
    };
    const auto all = static_cast<std::int64_t>(rows.size());
    for_each_row(*this, request.threads, 0, all, verify, [&](std::int64_t done) {
      if (request.watch)
        request.watch("decoding", static_cast<std::uint64_t>(done),
                      static_cast<std::uint64_t>(all));
    });
  }

  ImageSet set_;
  ImageRules rules_;
  std::int64_t limit_ = 0;
  bool labelled_ = true;
  std::int64_t skipped_ = 0;
  std::string first_skipped_;
};

std::function<void(std::int64_t)> listing_of(const DatasetRequest& request) {
  return [&request](std::int64_t entries) {
    if (request.watch) request.watch("listing", static_cast<std::uint64_t>(entries), 0);
  };
}

/// The limit that applies before images are decoded; with on_error: skip, damaged ones do not count.
std::int64_t limit_of_listing(const DatasetRequest& request, const ImageSettings& settings) {
  return settings.on_error == OnError::skip ? 0 : request.limit_per_class;
}

std::unique_ptr<Dataset> open_images(const DatasetRequest& request) {
  const ImageSettings settings = image_table().read(request.settings, request.place);
  auto rows = std::make_unique<ImageRows>(
      ImageSet::open({request.path, settings.split, limit_of_listing(request, settings),
                      settings.on_error, settings.subfolders, request.labelled,
                      listing_of(request)}),
      request, settings);
  const std::string found = !rows->set().is_archive() ? "folder"
                            : rows->set().is_zip()    ? "zip"
                                                      : "tar";
  if (!request.format.empty() && request.format != found) {
    fail(ErrorKind::data,
         {fmt::format("{}: found {}", request.path.string(), rows->set().root().string()),
          fmt::format("that is format {}, but format: is {}", found, request.format),
          "correct path: or format:, or remove format:"});
  }
  return rows;
}

ShardOptions shard_options(const DatasetRequest& request, const ImageSettings& settings) {
  std::error_code missing;  // reported when the shards are opened
  const std::filesystem::path folder = std::filesystem::is_directory(request.path, missing)
                                           ? request.path
                                           : request.path.parent_path();
  return {request.path,
          settings.image,
          settings.label,
          settings.classes.empty() ? "" : folder / settings.classes,
          limit_of_listing(request, settings),
          settings.on_error,
          request.labelled,
          listing_of(request)};
}

std::unique_ptr<Dataset> open_shards(const DatasetRequest& request) {
  ImageSettings settings = shard_table().read(request.settings, request.place);
  if (settings.label.empty()) settings.label = ShardOptions{}.label;
  return std::make_unique<ImageRows>(ImageSet::open_shards(shard_options(request, settings)),
                                     request, settings);
}

std::unique_ptr<Dataset> open_records(const DatasetRequest& request) {
  const ImageSettings settings = record_table().read(request.settings, request.place);
  return std::make_unique<ImageRows>(ImageSet::open_records(shard_options(request, settings)),
                                     request, settings);
}

constexpr const char* kImageFiles =
    "PATH/[SPLIT/]CLASS/NAME.jpg (or .jpeg, .png, .webp, .ppm, .pgm). Classes and images are "
    "sorted "
    "by the bytes of their names. A missing archive is replaced by the folder that it unpacks to, "
    "and a missing "
    "folder by its archive.";

/// "train-{0000..0127}.tar"
bool is_shard_pattern(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  return name.find('{') != std::string::npos && name.ends_with(".tar");
}

/// Compressed archives are refused when opened; the error names the command to decompress them.
bool is_tar(const std::filesystem::path& path) {
  if (is_shard_pattern(path)) return false;
  const std::string extension = path.extension().string();
  return extension == ".tar" || path.stem().extension() == ".tar" || extension == ".tgz" ||
         extension == ".7z" || extension == ".rar";
}

}  // namespace

DatasetFormat folder_format() {
  return {"folder",
          "image folder: one folder per class, JPEG, PNG, WebP or PPM",
          kImageFiles,
          image_table().rows(),
          [](const std::filesystem::path&) { return false; },  // the default format
          open_images};
}

DatasetFormat tar_format() {
  return {"tar",       "an image folder inside a tar file",
          kImageFiles, image_table().rows(),
          is_tar,      open_images};
}

DatasetFormat webdataset_format() {
  return {
      "webdataset",
      "tar shards of samples: an image and a label with the same name",
      "PATH is train-{0000..0127}.tar (also {a,b}), a folder of shards, or one shard. The files "
      "of a sample follow each other and have the same name up to the first dot: 0007.jpg, "
      "0007.cls (or .json). Samples keep their order. A folder that `wellspring pack` has written "
      "needs no format: key.",
      shard_table().rows(),
      [](const std::filesystem::path& path) {
        return is_shard_pattern(path) || is_shard_folder(path, ".tar");
      },
      open_shards};
}

DatasetFormat tfrecord_format() {
  return {"tfrecord",
          "TensorFlow records of tf.train.Example: an image and a label in each",
          "PATH is NAME.tfrecord, train-{00000..00127}-of-00128, or a folder of such files. Each "
          "record has the bytes of an image file, and a label. Every record is read and checked at "
          "the start. Samples keep their order.",
          record_table().rows(),
          [](const std::filesystem::path& path) {
            const std::string name = path.filename().string();
            const bool pattern = name.find('{') != std::string::npos;
            return is_tfrecord_name(name) || (pattern && name.find("-of-") != std::string::npos);
          },
          open_records};
}

DatasetFormat zip_format() {
  return {"zip",
          "an image folder inside a zip file",
          kImageFiles,
          image_table().rows(),
          [](const std::filesystem::path& path) { return path.extension() == ".zip"; },
          open_images};
}

}  // namespace wellspring
