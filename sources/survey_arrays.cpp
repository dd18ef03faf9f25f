// Files of arrays: finds the array of rows, the array of labels or regression targets, and the
// arrays that are held out.
#include "core/error.h"
#include "core/signals.h"
#include "core/text/plural.h"
#include "core/text/text.h"
#include "sources/files/array_images.h"
#include "sources/files/array_input.h"
#include "sources/files/data_name.h"
#include "sources/files/shard_names.h"
#include "sources/survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <span>

namespace wellspring::detail {
namespace {

namespace fs = std::filesystem;

/// Arrays that the format finds by their names.
constexpr const char* kKnownRows[] = {"x", "showers", "particle_features", "first_pulse_index"};

struct FoundArray {
  NumberArray array;
  DataName words;
};

class ArraySurvey {
 public:
  ArraySurvey(DataSurvey& survey, const std::string& format, const WorkWatch& watch)
      : survey_(survey), watch_(watch), npy_(format == "npy") {
    if (npy_) {
      file_ = open_npy_input(survey.path);
    } else if (format == "hdf5") {
      file_ = open_hdf5_input(shard_files(survey.path, &is_hdf5_name).front());
    } else {
      file_ = open_npz_input(shard_files(survey.path, &is_npz_name).front());
    }
    for (const std::string& name : npy_ ? neighbours() : file_->names()) {
      try {
        arrays_.push_back({file_->array(name), words_of(name)});
      } catch (const Error&) {  // strings or an empty array: not rows
        unreadable_.push_back(name);
      }
    }
  }

  void run() {
    const FoundArray* const rows = find_rows();
    if (rows == nullptr) return;  // another program's layout, or an error that opening reports
    add_range(*rows);
    const auto [count, images] = open_rows();
    const bool given = survey_.find("labels") != nullptr || survey_.find("latents") != nullptr ||
                       survey_.find("label") != nullptr;
    const FoundArray* truth = given_truth();
    if (!given && (npy_ || !file_->has("label"))) {
      truth = find_truth(*rows, count);
      if (truth != nullptr) add_truth(*truth, count, images);
      if (truth == nullptr) expect_readable_truth(*rows);
    }
    expect_finite(rows->array);
    if (truth != nullptr) expect_finite(truth->array);
    add_held_out(*rows, truth);
    add_classes();
  }

 private:
  /// The .npy files in the folder.
  std::vector<std::string> neighbours() const {
    std::vector<std::string> names;
    const fs::path folder = survey_.path.has_parent_path() ? survey_.path.parent_path() : ".";
    for (const fs::directory_entry& entry : fs::directory_iterator(folder))
      if (entry.path().extension() == ".npy") names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    return names;
  }

  DataName words_of(const std::string& name) const {
    return DataName::of(npy_ ? fs::path(name).stem().string() : name);
  }

  const FoundArray* named(const std::string& name) const {
    for (const FoundArray& found : arrays_)
      if (found.array.name() == name) return &found;
    return nullptr;
  }

  /// The array of rows: as given, known to the format, or the largest suitable array.
  const FoundArray* find_rows() {
    if (npy_) return named(survey_.path.filename().string());
    if (const SourceKey* const given = survey_.find("array")) return named(given->value);
    if (survey_.find("layout") != nullptr) return nullptr;
    for (const char* const known : kKnownRows)
      if (file_->has(known)) return named(known);
    const auto size = [](const FoundArray& found) {
      double elements = found.words.role == DataName::Role::rows ? 1e30 : 1;
      for (const std::int64_t extent : found.array.shape()) elements *= static_cast<double>(extent);
      return elements;
    };
    const FoundArray* best = nullptr;
    for (const FoundArray& found : arrays_) {
      if (found.array.shape().size() < 2 || found.words.part == DataName::Part::held_out) continue;
      if (best == nullptr || size(found) > size(*best)) best = &found;
    }
    if (best != nullptr)
      survey_.keys.push_back(
          {"array", best->array.name(), "the array of rows, " + best->array.text()});
    return best;
  }

  struct Rows {
    std::int64_t count;
    bool images;
  };
  /// Opens the data set without labels, unless the user has named them.
  Rows open_rows() const {
    DataSurvey rows = survey_;
    if (rows.find("labels") == nullptr) rows.keys.push_back({"labels", "", ""});
    const auto data = rows.open();
    return {data->size(), data->layout().type == ElementType::u8};
  }

  /// The array of labels, or the only array of targets, that the user has named.
  const FoundArray* given_truth() const {
    const SourceKey* const labels = survey_.find("labels");
    if (labels != nullptr) return named(labels->value);
    const SourceKey* const latents = survey_.find("latents");
    const auto names = latents == nullptr ? std::nullopt : split_yaml_list(latents->value);
    return names && names->size() == 1 ? named(names->front()) : nullptr;
  }

  /// Rereads labels that could not be read, so that the error says why.
  void expect_readable_truth(const FoundArray& rows) const {
    for (const std::string& name : unreadable_) {
      const DataName words = words_of(name);
      if (words.role == DataName::Role::labels && words.part == rows.words.part &&
          words.rest == rows.words.rest)
        file_->array(name);
    }
  }

  void expect_rows(const FoundArray& truth, const FoundArray& rows, std::int64_t count) const {
    if (truth.array.shape()[0] == count) return;
    file_->refuse(truth.array,
                  fmt::format("it has {}, but {} has {}", counted(truth.array.shape()[0], "row"),
                              rows.array.name(), count),
                  "store one label or target per row, or rename the array");
  }

  /// Refuses NaN and infinity now, rather than in training. Masked items of JetNet are not read.
  void expect_finite(const NumberArray& array) const {
    constexpr std::size_t kBlock = std::size_t{1} << 20;  // numbers
    if (array.is_whole() || array.rows() == 0 || array.name() == "particle_features") return;
    std::size_t width = 1;
    for (const std::int64_t extent : std::span(array.shape()).subspan(1))
      width *= static_cast<std::size_t>(extent);
    const auto rows = static_cast<std::int64_t>(
        std::max<std::size_t>(1, kBlock / std::max<std::size_t>(1, width)));
    std::vector<float> values;
    std::int64_t first = -1, count = 0;
    for (std::int64_t begin = 0; begin < array.rows(); begin += rows) {
      stop_if_interrupted();
      const std::int64_t size = std::min(rows, array.rows() - begin);
      values.resize(static_cast<std::size_t>(size) * width);
      array.read(begin, size, values.data());
      for (std::int64_t i = 0; i < size; ++i) {
        const auto row = std::span(values).subspan(static_cast<std::size_t>(i) * width, width);
        if (std::ranges::all_of(row, [](float value) { return std::isfinite(value); })) continue;
        if (count++ == 0) first = begin + i;
      }
      if (watch_)
        watch_("reading " + array.name(), static_cast<std::uint64_t>(begin + size),
               static_cast<std::uint64_t>(array.rows()));
    }
    if (count == 0) return;
    file_->refuse(
        array.name(),
        fmt::format("is NaN or infinite (as f32) in {} of {} rows, first in row {}", count,
                    array.rows(), first),
        "a single non-finite value ruins the training",
        fmt::format("remove these rows from all arrays: keep = "
                    "np.isfinite({0}).reshape(len({0}), -1).all(1); or replace the values",
                    words_of(array.name()).role == DataName::Role::labels ? "y" : "x"));
  }

  /// Sets `range` for images of real numbers that are not all in [0, 1].
  void add_range(const FoundArray& rows) {
    const std::vector<std::int64_t>& shape = rows.array.shape();
    constexpr std::int64_t kLeastSide = 8, kMostRows = 64;
    const bool square = shape.size() == 3 && shape[1] == shape[2] && shape[1] >= kLeastSide;
    if (rows.array.is_whole() || (shape.size() != 4 && !square) || shape[0] == 0 ||
        survey_.find("range") != nullptr)
      return;
    std::size_t width = 1;
    for (const std::int64_t extent : std::span(shape).subspan(1))
      width *= static_cast<std::size_t>(extent);
    const std::int64_t count = std::min(shape[0], kMostRows);
    std::vector<double> values(width);
    double low = 0, high = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      rows.array.read(i * shape[0] / count, 1, values.data());
      low = std::min(low, *std::ranges::min_element(values));
      high = std::max(high, *std::ranges::max_element(values));
    }
    if (low < -1 || (low < 0 && high > 1) || high > 255)
      file_->refuse(rows.array,
                    fmt::format("the values of {} are from {:g} to {:g}, but images are from 0 to "
                                "1, -1 to 1 or 0 to 255",
                                counted(count, "row"), low, high),
                    kRangeAdvice);
    const char* const range = low >= 0 && high <= 1    ? "0..1"
                              : low >= -1 && high <= 1 ? "-1..1"
                                                       : "0..255";
    if (shape.size() == 4 && low >= 0 && high <= 1) return;  // the default
    survey_.keys.push_back(
        {"range", range,
         fmt::format("values of {} are from {:g} to {:g}", counted(count, "row"), low, high)});
  }

  /// Labels or regression targets of `count` rows: by name, or the only array that fits.
  const FoundArray* find_truth(const FoundArray& rows, std::int64_t count) const {
    const FoundArray* only = nullptr;
    int fitting = 0;
    for (const FoundArray& found : arrays_) {
      const auto& shape = found.array.shape();
      if (&found == &rows || shape.size() > 2 || found.words.part != rows.words.part) continue;
      if (found.words.role == DataName::Role::labels && found.words.rest == rows.words.rest) {
        expect_rows(found, rows, count);
        return &found;
      }
      if (shape[0] != count) continue;
      ++fitting;
      only = &found;
    }
    return fitting == 1 && !npy_ ? only : nullptr;
  }

  /// True if all are whole numbers with few distinct values. Refuses integers that may be targets.
  bool are_classes(const NumberArray& array, bool images) const {
    constexpr std::size_t kRowsPerClass = 10;  // on average, for real numbers to be classes
    std::vector<double> values(static_cast<std::size_t>(array.rows()));
    array.read(0, array.rows(), values.data());
    const bool whole = std::ranges::all_of(
        values, [](double value) { return value >= 0 && std::floor(value) == value; });
    std::ranges::sort(values);
    const std::size_t rows = values.size();
    const auto repeated = std::ranges::unique(values);
    const std::size_t distinct = rows - repeated.size();
    if (images) return array.is_whole() || whole;  // images have no targets
    if (!array.is_whole()) return whole && distinct * kRowsPerClass <= rows;
    if (distinct == 1 || 2 * distinct <= rows) return true;
    file_->refuse(array.name(), fmt::format("has {} different integers in {} rows", distinct, rows),
                  "they may be classes or targets of a regression",
                  fmt::format("say which: labels={0}, or latents=[{0}]", array.name()));
  }

  /// Whole numbers and one-hot rows are classes; other numbers are regression targets.
  void add_truth(const FoundArray& truth, std::int64_t count, bool images) {
    const NumberArray& array = truth.array;
    const bool wide = array.shape().size() == 2 && array.shape()[1] > 1;
    bool classes = wide ? array.is_whole() : are_classes(array, images);
    if (!classes && wide) {
      try {
        read_class_labels(*file_, array, count, "");
        classes = true;
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::data) throw;  // not one-hot
      }
    }
    if (classes) {
      std::string reason = "one class per row, " + array.text();
      if (!array.is_whole() && !wide && !images)
        reason += fmt::format("; for a regression: init with latents=[{}]", array.name());
      survey_.keys.push_back({"labels", array.name(), reason});
      return;
    }
    if (images)
      file_->refuse(array, "regression targets are read for events and sets only",
                    "store class indices, integers [rows]");
    const std::string names[] = {array.name()};
    survey_.keys.push_back(
        {"latents", yaml_list(names), "real numbers: regression targets, " + array.text()});
  }

  /// Adds the held-out rows, if their truth can also be found.
  void add_held_out(const FoundArray& rows, const FoundArray* truth) {
    if (!npy_ && rows.words.part == DataName::Part::whole) {
      const auto files = held_out_siblings(survey_.path);
      if (!files.empty())
        survey_.held_out = {{"path", files.front().string(), "the same data by its name"}};
      return;
    }
    const auto held_out = [&](const FoundArray& of) -> const FoundArray* {
      const FoundArray* best = nullptr;
      for (const FoundArray& found : arrays_) {
        if (found.words.part != DataName::Part::held_out || !found.words.same_data(of.words))
          continue;
        const bool test = found.array.name().find("test") != std::string::npos;
        if (best == nullptr || !test) best = &found;
      }
      return best;
    };
    const FoundArray* const other = held_out(rows);
    const FoundArray* const other_truth = truth == nullptr ? nullptr : held_out(*truth);
    if (other == nullptr) return;
    if (other_truth == nullptr) {
      expect_readable_truth(*other);
      return;  // unlabelled rows
    }
    expect_rows(*other_truth, *other, other->array.rows());
    const std::string& name = other->array.name();
    survey_.held_out = {{npy_ ? "path" : "array",
                         npy_ ? (survey_.path.parent_path() / name).string() : name,
                         "held-out rows, " + other->array.text()}};
    expect_finite(other->array);
    expect_finite(other_truth->array);
    const bool classes = survey_.find("labels") != nullptr;
    const std::string& truth_name = other_truth->array.name();
    // A head finds targets by name, so held-out columns are named like training columns.
    const std::string own = truth->array.name();
    const std::string names[] = {(npy_ ? fs::path(own).stem().string() : own) + "=" + truth_name};
    survey_.held_out.push_back({classes ? "labels" : "latents",
                                classes ? truth_name : yaml_list(names),
                                other_truth->array.text()});
  }

  /// Sets `classes` if held-out and training rows have different classes.
  void add_classes() {
    if (survey_.held_out.empty() || survey_.find("classes") != nullptr) return;
    DataSurvey other = survey_;
    for (const SourceKey& key : survey_.held_out) {
      if (key.name == "path") {
        other.path = key.value;
        continue;
      }
      std::erase_if(other.keys, [&](const SourceKey& own) { return own.name == key.name; });
      other.keys.push_back(key);
    }
    const auto held_out = other.open()->classes().size();
    const auto trained = survey_.open()->classes().size();
    if (held_out == trained) return;
    survey_.keys.push_back({"classes", fmt::format("{}", std::max(held_out, trained)),
                            "held-out and training rows have different classes"});
  }

  DataSurvey& survey_;
  const WorkWatch& watch_;
  bool npy_;
  std::unique_ptr<ArrayInput> file_;
  std::vector<FoundArray> arrays_;
  std::vector<std::string> unreadable_;
};

}  // namespace

void survey_arrays(DataSurvey& survey, const std::string& format, const WorkWatch& watch) {
  survey.size_reason = "the size of the images";
  ArraySurvey(survey, format, watch).run();
}

}  // namespace wellspring::detail
