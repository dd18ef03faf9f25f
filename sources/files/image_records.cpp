// The samples of TFRecord files: an image and a label in each tf.train.Example.
#include "core/error.h"
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
  const ExampleFeature& find(const std::string& asked, std::span<const char* const> usual,
                             const std::string& key) const {
    if (!asked.empty()) {
      const auto found = features.find(asked);
      if (found == features.end()) refuse(fmt::format("no feature '{}'", asked), key);
      return found->second;
    }
    for (const char* name : usual)
      if (const auto found = features.find(name); found != features.end()) return found->second;
    refuse("no feature for " + key, key);
  }
};

}  // namespace

ImageSet ImageSet::open_records(const ShardOptions& options) {
  constexpr std::array kImages = {"image/encoded", "image"};  // TensorFlow's, TFDS's names
  constexpr std::array kLabels = {"image/class/label", "label"};
  ImageSet set;
  set.root_ = options.path;
  std::vector<std::string> labels;
  const auto add = [&](Bytes bytes, std::uint64_t offset, const std::string& place) {
    const std::string where = set.archives_.back().path().string() + ": " + place;
    const Features features = parse_example(bytes, where);
    const Record record{features, where};
    const ExampleFeature& image = record.find(options.image, kImages, "image");
    if (image.kind != Kind::bytes || image.count != 1)
      record.refuse(
          fmt::format("the image is not one byte string, but {}", counted(image.count, "value")),
          "image");
    std::string text;
    if (options.labelled) {
      const ExampleFeature& label = record.find(options.label, kLabels, "label");
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
                           .archive = static_cast<std::uint32_t>(set.archives_.size() - 1)});
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
  set.choose_images(labels, options);
  return set;
}

}  // namespace wellspring
