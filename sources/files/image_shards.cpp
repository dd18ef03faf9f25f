// The samples of a WebDataset: members of tar shards, grouped by name.
#include "core/error.h"
#include "core/io/files.h"
#include "core/text/parse.h"
#include "core/text/plural.h"
#include "core/text/text.h"
#include "export/shard_folder.h"
#include "sources/datasets/dataset.h"
#include "sources/files/class_names.h"
#include "sources/files/exported_run.h"
#include "sources/files/image_set.h"
#include "sources/files/shard_names.h"
#include "sources/files/tar.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace wellspring {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kLongestLabel = std::uint64_t{1} << 20;  ///< bytes, also for a .json
constexpr std::size_t kLongestName = 1024;
constexpr std::int64_t kMostClasses = std::int64_t{1} << 20;

/// "dir/0007.left.jpg" -> "dir/0007" and "left.jpg", in lower case. Empty for other names.
std::optional<std::pair<std::string, std::string>> split_name(const std::string& path) {
  const std::size_t name = path.rfind('/') + 1, dot = path.find('.', name);
  if (dot == std::string::npos || dot == name) return std::nullopt;
  std::string extension = path.substr(dot + 1);
  std::ranges::transform(extension, extension.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::pair(path.substr(0, dot), std::move(extension));
}

bool is_image(std::string_view extension) {
  const std::size_t dot = extension.rfind('.');
  const std::string_view last =
      dot == std::string_view::npos ? extension : extension.substr(dot + 1);
  for (const std::string_view known : {"jpg", "jpeg", "png", "webp", "ppm", "pgm"})
    if (last == known) return true;
  return false;
}

}  // namespace

/// Collects the samples of all shards with their labels as text.
struct ImageSet::ShardReader {
  const ShardOptions& options;
  ImageSet& set;
  std::vector<std::string> labels = {};  ///< by image, as stored

  struct Sample {
    std::string name;
    std::map<std::string, TarMember> members = {};  ///< by extension
  };

  void read(const std::filesystem::path& path) {
    const auto archive = static_cast<std::uint32_t>(set.archives_.size());
    set.archives_.emplace_back(path);
    set.canonical_.push_back(std::filesystem::weakly_canonical(path));
    const auto before = static_cast<std::int64_t>(set.images_.size());
    Sample sample;
    const auto watch = [&](std::int64_t members) {
      if (options.watch) options.watch(before + members);
    };
    for (TarMember& member : read_tar_index(set.archives_.back(), watch)) {
      if (member.kind != TarMemberKind::file) continue;
      auto name = split_name(member.path);
      if (!name) {
        ++(member.path.substr(member.path.rfind('/') + 1).starts_with(".") ? set.hidden_
                                                                           : set.others_);
        continue;
      }
      if (name->first != sample.name) add(std::exchange(sample, {name->first}), archive);
      const std::string path_of_member = member.path;
      if (!sample.members.emplace(std::move(name->second), std::move(member)).second)
        refuse(fmt::format("{}: duplicate entry {}", path.string(), path_of_member),
               "a sample has one file per extension", "create the shard again");
    }
    add(sample, archive);
  }

 private:
  void add(const Sample& sample, std::uint32_t archive) {
    if (sample.members.empty()) return;
    try {
      const TarMember& image = image_of(sample, archive);
      std::string label = options.labelled ? label_of(sample, archive) : "";
      set.images_.push_back(
          {.path = image.path, .offset = image.offset, .bytes = image.bytes, .archive = archive});
      labels.push_back(std::move(label));
    } catch (const Error& error) {
      set.skip_sample(error, options);
    }
  }

  std::string place(const Sample& sample, std::uint32_t archive) const {
    return set.archives_[archive].path().string() + ": " + sample.name;
  }
  static std::string extensions(const Sample& sample) {
    std::vector<std::string> names;
    for (const auto& entry : sample.members) names.push_back(entry.first);
    return join(names);
  }

  const TarMember& image_of(const Sample& sample, std::uint32_t archive) const {
    const TarMember* found = nullptr;
    for (const auto& [extension, member] : sample.members) {
      if (options.image.empty() ? !is_image(extension) : extension != options.image) continue;
      if (found)
        refuse(place(sample, archive) + ": several images", "it has " + extensions(sample),
               "set image: to the extension of one of them");
      found = &member;
    }
    if (!found)
      refuse(place(sample, archive) + ": no image", "it has " + extensions(sample),
             options.image.empty() ? "JPEG, PNG, WebP, PPM and PGM can be read; leave out samples "
                                     "without an image with on_error: skip"
                                   : "correct image:, or set on_error: skip");
    return *found;
  }

  std::string label_of(const Sample& sample, std::uint32_t archive) const {
    const bool in_json = options.label.starts_with("json.");
    const auto found = sample.members.find(in_json ? "json" : options.label);
    const std::string advice = "set label: to an extension, or to json.KEY, or on_error: skip";
    if (found == sample.members.end())
      refuse(fmt::format("{}: no {} file with the label", place(sample, archive),
                         in_json ? "json" : options.label),
             "it has " + extensions(sample), advice);
    const TarMember& member = found->second;
    if (member.bytes > kLongestLabel)
      refuse(set.archives_[archive].path().string() + ": " + member.path,
             fmt::format("a label of {}", counted(member.bytes, "byte")), advice);
    std::string text(member.bytes, '\0');
    set.archives_[archive].read(member.offset, std::as_writable_bytes(std::span(text)));
    if (in_json) return json_value(text, options.label.substr(5), place(sample, archive));
    std::string label(trim(text));
    if (label.empty() || label.find('\n') != std::string::npos || label.size() > kLongestName)
      refuse(set.archives_[archive].path().string() + ": " + member.path + ": not a label",
             "it should hold one number or name", advice);
    return label;
  }

  static std::string json_value(const std::string& text, const std::string& key,
                                const std::string& where) {
    const Json object = Json::parse(text, nullptr, false);
    if (!object.is_object())
      refuse(where + ".json: not a JSON object", "", "create the shard again");
    const auto found = object.find(key);
    if (found == object.end()) {
      std::vector<std::string> keys;
      for (const auto& entry : object.items()) keys.push_back(entry.key());
      refuse(fmt::format("{}.json has no key '{}'", where, key), "", name_advice(key, keys));
    }
    if (found->is_number_integer()) return found->dump();
    if (found->is_string() && !found->get_ref<const std::string&>().empty())
      return found->get<std::string>();
    refuse(fmt::format("{}.json: '{}' is neither a whole number nor a string", where, key), "",
           "set label: to another key");
  }
};

namespace {

/// Refuses the labels of mixed samples, which the index of their export describes.
void expect_own_labels(const std::filesystem::path& shards) {
  std::error_code missing;  // reported when the shards are opened
  const std::filesystem::path folder =
      std::filesystem::is_directory(shards, missing) ? shards : shards.parent_path();
  if (!is_shard_folder(folder, ".tar")) return;
  const Json index = Json::parse(read_text(folder / kShardIndex), nullptr, false);
  if (index.is_object() && is_mixed_export(index.value("settings", Json())))
    refuse_mixed_labels(folder.string());
}

}  // namespace

ImageSet ImageSet::open_shards(const ShardOptions& options) {
  if (options.label == "json" || options.label == "json.")
    refuse("label: " + options.label, "it needs the key of a value", "write label: json.KEY");
  if (options.labelled) expect_own_labels(options.path);
  ImageSet set;
  set.root_ = options.path;
  ShardReader reader{options, set};
  for (const std::filesystem::path& shard : shard_files(options.path, &is_tar_name))
    reader.read(shard);
  set.choose_images(reader.labels, options);
  return set;
}

void ImageSet::skip_sample(const Error& error, const ShardOptions& options) {
  if (error.kind() != ErrorKind::data || options.on_error == OnError::fail) throw;
  const std::string_view text = error.what();  // its first line names the sample
  if (skipped_++ == 0) first_skipped_ = text.substr(0, text.find('\n'));
}

void ImageSet::choose_images(const std::vector<std::string>& texts, const ShardOptions& options) {
  if (images_.empty())
    refuse(options.path.string() + ": no samples",
           skipped_ > 0 ? fmt::format("{} skipped, first {}", skipped_, first_skipped_)
                        : "the shards have no files with an extension, or no records",
           "see `wellspring list formats` for what a shard holds");
  const std::vector<std::int32_t> labels = name_classes(texts, options);
  std::vector<Image> kept;
  for (const std::int64_t i : first_of_each_class(labels, options.limit_per_class)) {
    kept.push_back(std::move(images_[static_cast<std::size_t>(i)]));
    kept.back().label = labels[static_cast<std::size_t>(i)];
  }
  images_ = std::move(kept);
}

/// Sets the names of the classes, and returns the labels of the images.
std::vector<std::int32_t> ImageSet::name_classes(const std::vector<std::string>& texts,
                                                 const ShardOptions& options) {
  if (!options.labelled) {
    classes_ = {"unlabelled"};
    return std::vector<std::int32_t>(texts.size(), 0);
  }
  std::vector<std::optional<std::int64_t>> numbers;
  std::int64_t largest = -1;
  for (const std::string& text : texts) {
    numbers.push_back(parse_number<std::int64_t>(text));
    if (numbers.back()) largest = std::max(largest, *numbers.back());
  }
  const auto is_number = [](const auto& number) { return number.has_value(); };
  const bool numbered = std::ranges::all_of(numbers, is_number);
  if (!numbered && options.classes.empty() && std::ranges::any_of(numbers, is_number)) {
    const auto other = std::ranges::find_if_not(numbers, is_number) - numbers.begin();
    refuse(fmt::format("{}: label '{}'", location(other),
                       printable(texts[static_cast<std::size_t>(other)])),
           "other labels are whole numbers",
           "correct label:, or list the names of all classes with classes: FILE");
  }
  if (!options.classes.empty()) {
    classes_ = read_class_names(options.classes);
  } else if (numbered) {
    for (std::int64_t i = 0; i <= std::min(largest, kMostClasses - 1); ++i)
      classes_.push_back(std::to_string(i));
  } else {
    classes_ = texts;
    std::ranges::sort(classes_);
    classes_.erase(std::unique(classes_.begin(), classes_.end()), classes_.end());
  }
  std::map<std::string_view, std::int32_t> by_name;
  for (std::size_t i = 0; i < classes_.size(); ++i)
    by_name[classes_[i]] = static_cast<std::int32_t>(i);
  std::vector<std::int32_t> labels;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto named = by_name.find(texts[i]);
    const auto count = static_cast<std::int64_t>(classes_.size());
    if (numbered ? *numbers[i] < 0 || *numbers[i] >= count : named == by_name.end())
      refuse(fmt::format("{}: label '{}'", location(static_cast<std::int64_t>(i)),
                         printable(texts[i])),
             options.classes.empty() ? fmt::format("class indices are 0 to {}", kMostClasses - 1)
                                     : fmt::format("{} has {}", options.classes.string(),
                                                   counted(classes_.size(), "class", "classes")),
             "correct label: or classes:");
    labels.push_back(numbered ? static_cast<std::int32_t>(*numbers[i]) : named->second);
  }
  return labels;
}

}  // namespace wellspring
