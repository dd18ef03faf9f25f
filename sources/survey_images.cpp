// Folders and archives of images: splits, nested classes, sizes, colours and damage.
#include "core/error.h"
#include "core/signals.h"
#include "core/text/plural.h"
#include "sources/files/data_name.h"
#include "sources/files/image_codec.h"
#include "sources/files/image_loader.h"
#include "sources/files/image_set.h"
#include "sources/survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

namespace wellspring::detail {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostDecoded = 1000;  ///< images
constexpr const char* kHeldOutNames[] = {"val", "valid", "validation", "test", "testing"};

struct ImagePlace {
  fs::path path;
  std::string split;
};

std::function<void(std::int64_t)> listing(const WorkWatch& watch) {
  return [&watch](std::int64_t entries) {
    if (watch) watch("listing", static_cast<std::uint64_t>(entries), 0);
  };
}

ImageSet open(const ImagePlace& place, Subfolders subfolders, const WorkWatch& watch) {
  ImageSetOptions options{.path = place.path, .split = place.split, .subfolders = subfolders};
  options.watch = listing(watch);
  return ImageSet::open(options);
}

/// Names of the folders, or else of the archives, that may be classes or splits.
std::set<std::string> top_names(const fs::path& path, const WorkWatch& watch) {
  std::set<std::string> folders, archives;
  if (!fs::is_directory(path)) {
    if (!fs::exists(path)) return {};
    ImageSetOptions options{.path = path, .on_error = OnError::skip};
    options.subfolders = Subfolders::include;
    options.watch = listing(watch);
    const ImageSet set = ImageSet::open(options);
    return {set.classes().begin(), set.classes().end()};
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with('.') || name == "__MACOSX") continue;
    if (entry.is_directory()) folders.insert(name);
    const std::string stem = entry.path().stem().string();
    if (entry.path().extension() == ".tar") archives.insert(stem.substr(stem.rfind('-') + 1));
  }
  return folders.empty() ? archives : folders;
}

/// The split to train on, if every name denotes a part of the data, such as train or test.
std::string training_split(const std::set<std::string>& names) {
  std::string split;
  for (const std::string& name : names) {
    const DataName words = DataName::of(name);
    if (words.part == DataName::Part::whole || !words.rest.empty()) return "";
    if (words.part == DataName::Part::train) split = name;
  }
  return split;
}

/// Statistics of the decoded images.
struct ImageScan {
  std::vector<int> short_sides;
  int width = 0, height = 0;  ///< size of the first image
  bool same_size = true;
  std::int64_t images = 0, decoded = 0, converted = 0, damaged = 0;
  std::string first_converted, first_damaged;

  void add(const ImageHeader& header) {
    if (short_sides.empty()) {
      width = header.width;
      height = header.height;
    }
    same_size = same_size && header.width == width && header.height == height;
    short_sides.push_back(std::min(header.width, header.height));
  }
  int median_side() {
    const auto middle = short_sides.begin() + static_cast<std::ptrdiff_t>(short_sides.size() / 2);
    std::ranges::nth_element(short_sides, middle);
    return *middle;
  }
};

/// Decodes evenly spread images of a set.
void scan_images(const ImageSet& set, const WorkWatch& watch, ImageScan& scan) {
  ImageDecoder decoder;
  std::vector<std::uint8_t> encoded, rgb;
  const std::int64_t count = std::min(set.size(), kMostDecoded);
  scan.images += set.size();
  for (std::int64_t i = 0; i < count; ++i) {
    stop_if_interrupted();
    if (watch) watch("decoding", static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(count));
    const std::int64_t image = i * set.size() / count;
    const auto damaged = [&] {
      if (scan.damaged++ == 0) scan.first_damaged = set.location(image);
    };
    ++scan.decoded;
    try {
      set.read(image, encoded);
      const ImageHeader header = decoder.header(encoded);
      const std::int64_t pixels = std::int64_t{header.width} * header.height;
      if (pixels > ImageRules{}.max_pixels) {
        damaged();
        continue;
      }
      rgb.resize(static_cast<std::size_t>(3 * pixels));
      decoder.decode(encoded, header, rgb.data());
      scan.add(header);
      if (!header.is_rgb8() && scan.converted++ == 0) scan.first_converted = set.location(image);
    } catch (const ImageError&) {
      damaged();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::data) throw;
      damaged();
    }
  }
}

/// "2 of 60 images are damaged, such as a/1.jpg".
std::string some_of(const ImageScan& scan, std::int64_t number, const std::string& what,
                    const std::string& first) {
  return fmt::format("{} of {} {} {}, such as {}", number, counted(scan.decoded, "image"),
                     number == 1 ? "is" : "are", what, first);
}

/// A side for images of about `side` pixels: at most 224, as usual for ImageNet, and with enough
/// factors of two for pooling.
int usual_side(int side) {
  constexpr int kMost = 224, kSmall = 64;
  if (side >= kMost) return kMost;
  const int unit = side >= kSmall ? 32 : 8;
  return std::max(unit, side / unit * unit);
}

void choose_size(DataSurvey& survey, ImageScan& scan) {
  if (const SourceKey* const given = survey.find("resize")) {
    survey.size_reason = given->reason;
    return;
  }
  if (scan.same_size && scan.width == scan.height && scan.width <= 224) {
    survey.size_reason = "the size of the images";
    return;
  }
  const int median = scan.median_side(), side = usual_side(median);
  survey.size_reason = fmt::format("the median shorter side is {} pixels", median);
  survey.keys.push_back({"resize", fmt::format("{}", side),
                         scan.same_size ? fmt::format("from {}x{}: shorter side, then centre crop",
                                                      scan.width, scan.height)
                                        : "sizes differ: shorter side, then centre crop"});
}

/// An array file in the folder, for messages; "" if it has no such file.
std::string array_file_in(const fs::path& path) {
  std::string first;
  std::error_code unreadable;  // the folder's own error is reported
  fs::directory_iterator entry(path, unreadable);
  for (; !unreadable && entry != fs::directory_iterator(); entry.increment(unreadable)) {
    const std::string name = entry->path().string();
    for (const char* const known : {".npy", ".npz", ".h5", ".hdf5"})
      if (name.ends_with(known) && (first.empty() || name < first)) first = name;
  }
  return first;
}

/// The set with images in class folders, or below them; sets `nested`.
ImageSet open_training(const DataSurvey& survey, const ImagePlace& place, bool& nested,
                       const WorkWatch& watch) {
  try {
    nested = false;
    return open(place, Subfolders::refuse, watch);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::data) throw;
  }
  try {
    nested = true;
    return open(place, Subfolders::include, watch);
  } catch (const Error& error) {
    const std::string arrays = array_file_in(survey.path);
    if (error.kind() != ErrorKind::data || arrays.empty()) throw;
    fail(ErrorKind::data, {survey.path.string() + ": a folder of arrays, without class folders", "",
                           "name the file: wellspring init " + arrays});
  }
}

/// Held-out files with the same classes as training: a split next to the training split, or an
/// archive next to the training archive.
std::optional<ImageSet> find_held_out(DataSurvey& survey, const ImageSet& trained,
                                      const std::set<std::string>& names, Subfolders subfolders,
                                      const WorkWatch& watch) {
  std::vector<ImagePlace> places;
  for (const char* const name : kHeldOutNames) {
    if (names.contains(name)) places.push_back({survey.path, name});
    for (const fs::path& sibling : held_out_siblings(survey.path))
      places.push_back({sibling, name});
  }
  for (const fs::path& sibling : held_out_siblings(survey.path)) places.push_back({sibling, ""});
  for (const ImagePlace& place : places) {
    try {
      ImageSet set = open(place, subfolders, watch);
      if (set.classes() != trained.classes()) continue;
      const std::string reason = "it has the same classes";
      if (place.path != survey.path)
        survey.held_out.push_back({"path", place.path.string(), reason});
      const bool inherited = place.split.empty() && survey.find("split") == nullptr;
      if (!inherited) survey.held_out.push_back({"split", place.split, reason});
      return set;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::data) throw;  // such a set cannot be held out
    }
  }
  return std::nullopt;
}

}  // namespace

void survey_images(DataSurvey& survey, const WorkWatch& watch) {
  std::set<std::string> names;
  ImagePlace place{survey.path, ""};
  if (const SourceKey* const split = survey.find("split")) {
    place.split = split->value;
  } else {
    names = top_names(survey.path, watch);
    place.split = training_split(names);
    if (!place.split.empty())
      survey.keys.push_back({"split", place.split, "it contains the class folders"});
  }
  bool nested = false;
  const ImageSet set = open_training(survey, place, nested, watch);
  if (nested && survey.find("subfolders") == nullptr)
    survey.keys.push_back({"subfolders", "include", "images are in subfolders of the classes"});
  const auto held_out =
      find_held_out(survey, set, names, nested ? Subfolders::include : Subfolders::refuse, watch);

  ImageScan scan;
  scan_images(set, watch, scan);
  if (held_out) scan_images(*held_out, watch, scan);
  if (!scan.short_sides.empty()) choose_size(survey, scan);
  if (scan.converted > 0 && survey.find("on_convert") == nullptr)
    survey.keys.push_back({"on_convert", "convert",
                           some_of(scan, scan.converted, "not 8-bit RGB", scan.first_converted)});
  if (scan.damaged > 0 && survey.find("on_error") == nullptr)
    survey.keys.push_back(
        {"on_error", "skip", some_of(scan, scan.damaged, "damaged", scan.first_damaged)});
}

}  // namespace wellspring::detail
