// Format `npy`: rows and labels as two NumPy arrays.
#include "core/npy.h"

#include "core/counted.h"
#include "core/error.h"
#include "sources/files/class_names.h"
#include "sources/files/format.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace wellspring {
namespace {

namespace fs = std::filesystem;

struct NpySettings {
  std::string labels;
  std::int64_t classes = 0;
  std::string class_names;
};

const ParamTable<NpySettings>& npy_table() {
  static const auto table =
      ParamTable<NpySettings>("npy")
          .text("labels", &NpySettings::labels,
                "array of class indices, one a row; a relative path begins where path lies")
          .required()
          .integer("classes", &NpySettings::classes, {0, std::numeric_limits<std::int32_t>::max()},
                   "",
                   "how many there are; 0: as many as class_names has, or the largest label + 1")
          .text("class_names", &NpySettings::class_names,
                "text file of class names, one a line; empty: 0, 1, 2...");
  return table;
}

[[noreturn]] void refuse(const fs::path& path, const std::string& problem, const std::string& why,
                         const std::string& advice) {
  fail(ErrorKind::data, {path.string() + ": " + problem, why, advice});
}

std::string shape_text(const ArraySpec& spec) {
  return fmt::format("{} [{}]", element_name(spec.type), fmt::join(spec.shape, ", "));
}

/// What one row of the array of values is. Rows are the first dimension.
RowLayout layout_of(const ArraySpec& spec, const fs::path& path) {
  const std::vector<std::int64_t>& shape = spec.shape;
  constexpr std::int64_t kMost = std::int64_t{1} << 14;
  if (shape.empty() || shape[0] == 0) {
    refuse(path, "array of " + shape_text(spec), "it has no rows", "store [rows, ...]");
  }
  const bool fits = std::all_of(shape.begin() + 1, shape.end(),
                                [](std::int64_t n) { return n > 0 && n <= kMost; });
  if (fits && spec.type == ElementType::u8 && (shape.size() == 3 || shape.size() == 4)) {
    const std::int64_t channels = shape.size() == 4 ? shape[3] : 1;
    if (channels == 1 || channels == 3) {
      return {SampleLayout::image(static_cast<int>(shape[1]), static_cast<int>(shape[2]),
                                  static_cast<int>(channels)),
              ElementType::u8};
    }
  }
  if (fits && spec.type == ElementType::f32 && shape.size() == 2) {
    return {SampleLayout::event(static_cast<int>(shape[1])), ElementType::f32};
  }
  refuse(path, "array of " + shape_text(spec),
         fmt::format("rows are images, U8 [rows, height, width, 1 or 3] (or without the last), or "
                     "events, F32 [rows, features], extents up to {}",
                     kMost),
         "convert it in NumPy: x.transpose(0, 2, 3, 1), x.astype('uint8'), x.astype('float32')");
}

/// Class indices as they are stored: any integer type.
std::vector<std::int64_t> read_labels(const fs::path& path, const ArraySpec& rows,
                                      const fs::path& rows_path) {
  const NpyArray array = read_npy(path);
  if (array.spec.shape != std::vector<std::int64_t>{rows.shape[0]}) {
    refuse(path, "array of " + shape_text(array.spec),
           fmt::format("{} has {}, each with one label", rows_path.string(),
                       counted(rows.shape[0], "row")),
           "correct path: or labels:, or store the labels of these rows");
  }
  const auto widened = [&]<class T>(std::span<const T> values) {
    return std::vector<std::int64_t>(values.begin(), values.end());
  };
  if (array.spec.type == ElementType::u8) return widened(array.as<std::uint8_t>());
  if (array.spec.type == ElementType::i32) return widened(array.as<std::int32_t>());
  if (array.spec.type == ElementType::i64) return widened(array.as<std::int64_t>());
  refuse(path, "array of " + shape_text(array.spec), "labels are whole numbers",
         "convert it in NumPy: y.astype('int64')");
}

class NpyRows final : public Dataset {
 public:
  NpyRows(const DatasetRequest& request, const NpySettings& settings)
      : file_(request.path),
        canonical_(fs::weakly_canonical(request.path)),
        limit_(request.limit_per_class) {
    const NpyHeader header = read_npy_header(file_);
    data_offset_ = header.data_offset;
    layout_ = layout_of(header.spec, request.path);
    const fs::path folder = request.path.parent_path();
    const fs::path labels_path = folder / settings.labels;
    const std::vector<std::int64_t> labels = read_labels(labels_path, header.spec, request.path);
    if (!settings.class_names.empty()) {
      classes_ = read_class_names(folder / settings.class_names);
    }
    name_classes(settings, folder / settings.class_names,
                 *std::max_element(labels.begin(), labels.end()));
    labels_.reserve(labels.size());
    const auto count = static_cast<std::int64_t>(classes_.size());
    for (std::size_t i = 0; i < labels.size(); ++i) {
      if (labels[i] < 0 || labels[i] >= count) {
        refuse(labels_path, fmt::format("row {} has label {}", i, labels[i]),
               count == 1 ? "there is one class, 0"
                          : fmt::format("there are {} classes, 0 to {}", count, count - 1),
               "correct the labels, or classes: or class_names:");
      }
      labels_.push_back(static_cast<std::int32_t>(labels[i]));
    }
    rows_ = first_of_each_class(labels_, limit_);
  }

  std::int64_t size() const override { return static_cast<std::int64_t>(rows_.size()); }
  RowLayout layout() const override { return layout_; }
  const std::vector<std::string>& classes() const override { return classes_; }
  std::int32_t label(std::int64_t row) const override {
    return labels_[static_cast<std::size_t>(stored(row))];
  }
  std::string location(std::int64_t row) const override {
    return fmt::format("{}: row {}", file_.path().string(), stored(row));
  }
  std::string place(std::int64_t row) const override {
    return fmt::format("{}: row {}", canonical_.string(), stored(row));
  }
  std::string summary() const override {
    const bool images = layout_.type == ElementType::u8;
    const std::string what = images
                                 ? fmt::format("{}x{}", layout_.sample.width, layout_.sample.height)
                                 : counted(layout_.sample.features, "feature");
    std::string text =
        fmt::format("{} of {}, {}, from {}", counted(size(), images ? "image" : "event"),
                    counted(classes_.size(), "class", "classes"), what, file_.path().string());
    if (limit_ > 0) text += fmt::format(", first {} a class", limit_);
    return text;
  }
  std::string size_advice(int /*size*/) const override {
    return "resize the images before they are stored";
  }
  std::unique_ptr<RowReader> reader() const override { return std::make_unique<Reader>(*this); }

 private:
  class Reader final : public RowReader {
   public:
    explicit Reader(const NpyRows& data) : data_(data) {}
    /// Pixels may be any bytes; features must be numbers.
    void check(std::int64_t row) override {
      if (data_.layout_.type != ElementType::f32) return;
      buffer_.resize(static_cast<std::size_t>(data_.layout_.sample.elements()));
      read(row, reinterpret_cast<std::uint8_t*>(buffer_.data()));
    }
    void read(std::int64_t row, std::uint8_t* out) override {
      const auto bytes = static_cast<std::uint64_t>(data_.layout_.bytes());
      data_.file_.read(data_.data_offset_ + static_cast<std::uint64_t>(data_.stored(row)) * bytes,
                       std::as_writable_bytes(std::span(out, bytes)));
      if (data_.layout_.type == ElementType::f32) require_finite(row, out);
    }

   private:
    void require_finite(std::int64_t row, const std::uint8_t* out) const {
      const auto* const values = reinterpret_cast<const float*>(out);
      for (std::int64_t i = 0; i < data_.layout_.sample.elements(); ++i) {
        if (std::isfinite(values[i])) continue;
        fail(ErrorKind::data,
             {fmt::format("{}: feature {} is {}", data_.location(row), i, values[i]),
              "a network that has seen it never recovers",
              "leave the row out, or replace the value"});
      }
    }
    const NpyRows& data_;
    std::vector<float> buffer_;
  };

  std::int64_t stored(std::int64_t row) const { return rows_[static_cast<std::size_t>(row)]; }

  void name_classes(const NpySettings& settings, const fs::path& names, std::int64_t largest) {
    const auto named = static_cast<std::int64_t>(classes_.size());
    if (!settings.class_names.empty()) {
      if (settings.classes == 0 || settings.classes == named) return;
      refuse(names, "names " + counted(named, "class", "classes"),
             fmt::format("classes: says {}", settings.classes), "correct one of the two");
    }
    constexpr std::int64_t kMostByLabel = std::int64_t{1} << 20;
    const std::int64_t count =
        settings.classes > 0 ? settings.classes : std::max<std::int64_t>(largest, 0) + 1;
    if (settings.classes == 0 && count > kMostByLabel) {
      fail(ErrorKind::data,
           {fmt::format("{}: the largest label is {}", settings.labels, largest),
            fmt::format("more than {} classes are surely a mistake", kMostByLabel),
            "correct the labels, or say how many classes there are with classes:"});
    }
    for (std::int64_t i = 0; i < count; ++i) classes_.push_back(fmt::format("{}", i));
  }

  InputFile file_;
  fs::path canonical_;
  std::uint64_t data_offset_ = 0;
  RowLayout layout_;
  std::vector<std::string> classes_;
  std::vector<std::int32_t> labels_;  ///< of all rows stored
  std::vector<std::int64_t> rows_;    ///< the ones that are kept
  std::int64_t limit_ = 0;
};

}  // namespace

DatasetFormat npy_format() {
  return {
      "npy",
      "NumPy arrays: images (uint8) or events (float32), and their labels",
      "PATH is an array of rows as numpy.save writes it, C order: uint8 [rows, height, width, 1 "
      "or 3] (images, values 0 to 255), uint8 [rows, height, width] or float32 [rows, "
      "features] (events). labels: is an array of integers [rows].",
      npy_table().rows(),
      [](const fs::path& path) { return path.extension() == ".npy"; },
      [](const DatasetRequest& request) -> std::unique_ptr<Dataset> {
        return std::make_unique<NpyRows>(request,
                                         npy_table().read(request.settings, request.place));
      }};
}

}  // namespace wellspring
