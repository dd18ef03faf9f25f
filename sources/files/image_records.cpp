// The samples of TFRecord files: an image, encoded or raw, and a label in each tf.train.Example.
#include "core/error.h"
#include "core/io/file_kind.h"
#include "core/text/plural.h"
#include "core/text/text.h"
#include "sources/files/image_set.h"
#include "sources/files/shard_names.h"
#include "sources/files/tfrecord.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <string>
#include <vector>

namespace wellspring {
namespace {

using Features = std::map<std::string, ExampleFeature>;
using Kind = ExampleFeature::Kind;

constexpr std::size_t kLongestRecordLabel = 1024;  ///< bytes

/// Finds features of a record.
struct Record {
  const Features& features;
  const std::string& where;

  [[noreturn]] void refuse(const std::string& problem, const std::string& key) const {
    std::vector<std::string> names;
    for (const auto& entry : features) names.push_back(printable(entry.first));
    fail(ErrorKind::data,
         {where + ": " + problem, "it has the features " + join(names),
          fmt::format("set {}: to one of them, or leave such records out with on_error: skip",
                      key)});
  }

  /// The feature named `asked`; "": the first one of `usual`.
  const Features::value_type& find(const std::string& asked, std::span<const char* const> usual,
                                   const std::string& key) const {
    if (!asked.empty()) {
      const auto found = features.find(asked);
      if (found == features.end()) refuse(fmt::format("no feature '{}'", asked), key);
      return *found;
    }
    for (const char* name : usual)
      if (const auto found = features.find(name); found != features.end()) return *found;
    refuse("no feature for " + key, key);
  }

  /// A number of pixels or channels: the first of these features that exists; otherwise 0.
  std::int64_t extent(std::span<const char* const> names) const {
    constexpr std::int64_t kMost = 1'000'000;  // longest side in image_codec.cpp
    for (const char* name : names) {
      const auto found = features.find(name);
      if (found == features.end()) continue;
      const ExampleFeature& number = found->second;
      if (number.kind != Kind::whole || number.count != 1 || number.whole < 1 ||
          number.whole > kMost)
        refuse(fmt::format("'{}' is not a whole number from 1 to {}", name, kMost), "image");
      return number.whole;
    }
    return 0;
  }
};

/// The header of a PGM or PPM whose pixels are `bytes`, if they are raw; "" for an image file.
/// TensorFlow's converters of MNIST, CIFAR and ImageNet use these feature names. For names that end
/// in "raw", the number of bytes decides, because `image_raw` holds image files in TensorFlow's own
/// tutorial; other features hold raw pixels only if they do not begin like an image file.
std::string raw_head(const Record& record, const std::string& name, Bytes bytes) {
  constexpr std::array kHeights = {"height", "image/height"}, kWidths = {"width", "image/width"};
  constexpr std::array kDepths = {"depth", "image/depth", "channels", "image/channels"};
  const FileKind kind =
      file_kind({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
  const bool raw_name = name.ends_with("raw");
  if (kind != FileKind::unknown && !raw_name) return "";
  const std::int64_t height = record.extent(kHeights), width = record.extent(kWidths),
                     depth = record.extent(kDepths), area = height * width;
  const auto size = static_cast<std::int64_t>(bytes.size());
  for (const std::int64_t channels : {1, 3})
    if (area > 0 && size == area * channels && (depth == 0 || depth == channels))
      return fmt::format("P{}\n{} {}\n255\n", channels == 1 ? 5 : 6, width, height);
  if (kind != FileKind::unknown || (area == 0 && !raw_name)) return "";
  record.refuse(
      area == 0
          ? fmt::format("'{}' is not an image file, and there are no features height and width",
                        name)
          : fmt::format("'{}' has {}, but height {}, width {} and depth {} ask for {} (raw pixels "
                        "have 1 or 3 channels of one byte)",
                        name, counted(size, "byte"), height, width,
                        depth == 0 ? "1 or 3" : std::to_string(depth),
                        area * std::max<std::int64_t>(depth, 1)),
      "image");
}

}  // namespace

ImageSet ImageSet::open_records(const ShardOptions& options) {
  // Names used by TensorFlow and TFDS, and names of raw pixels.
  constexpr std::array kImages = {"image/encoded", "image", "image_raw", "image/raw"};
  constexpr std::array kLabels = {"image/class/label", "label"};
  ImageSet set;
  set.root_ = options.path;
  std::vector<std::string> labels;
  std::map<std::string, std::uint32_t> heads = {{"", 0}};  ///< indices in heads_
  const auto index_of = [&](const std::string& head) {
    const auto [found, added] = heads.emplace(head, static_cast<std::uint32_t>(heads.size()));
    if (added) set.heads_.push_back(head);
    return found->second;
  };
  const auto add = [&](Bytes bytes, std::uint64_t offset, const std::string& place) {
    const std::string where = set.archives_.back().path().string() + ": " + place;
    const Features features = parse_example(bytes, where);
    const Record record{features, where};
    const auto& [name, image] = record.find(options.image, kImages, "image");
    if (image.kind != Kind::bytes || image.count != 1)
      record.refuse(
          fmt::format("the image is not one byte string, but {}", counted(image.count, "value")),
          "image");
    const std::string head = raw_head(record, name, bytes.subspan(image.begin, image.bytes));
    std::string text;
    if (options.labelled) {
      const ExampleFeature& label = record.find(options.label, kLabels, "label").second;
      const bool is_text = label.kind == Kind::bytes && label.bytes <= kLongestRecordLabel;
      if (label.count != 1 || (label.kind != Kind::whole && !is_text))
        record.refuse("the label is neither one whole number nor one short string", "label");
      text = is_text ? std::string(text_of(bytes.subspan(label.begin, label.bytes)))
                     : std::to_string(label.whole);
      if (text.empty() || text.find_first_of("\n\0", 0, 2) != std::string::npos)
        record.refuse("the label is empty or has several lines", "label");
    }
    set.images_.push_back({.path = place,
                           .offset = offset + image.begin,
                           .bytes = image.bytes,
                           .archive = static_cast<std::uint32_t>(set.archives_.size() - 1),
                           .head = index_of(head)});
    labels.push_back(std::move(text));
  };
  for (const std::filesystem::path& file : shard_files(options.path, &is_tfrecord_name)) {
    set.archives_.emplace_back(file);
    set.canonical_.push_back(std::filesystem::weakly_canonical(file));
    std::int64_t number = 0;
    read_tfrecords(set.archives_.back(), [&](Bytes record, std::uint64_t offset) {
      try {
        add(record, offset, fmt::format("record {}", number++));
      } catch (const Error& error) {
        set.skip_sample(error, options);
      }
      if (options.watch) options.watch(set.size() + set.skipped_);
    });
  }
  if (set.size() + set.skipped_ == 0)
    fail(ErrorKind::data, {set.archives_.front().path().string() + ": the file is empty",
                           "it has no records", "create the file again or copy it again"});
  set.choose_images(labels, options);
  return set;
}

}  // namespace wellspring
