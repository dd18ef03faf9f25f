// Format `npy`: rows and labels as two NumPy arrays.
#include "core/io/npy.h"

#include "core/error.h"
#include "core/text/plural.h"
#include "sources/files/array_rows.h"
#include "sources/files/format.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

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
                "array of class indices, one per row; relative to the folder of path")
          .required()
          .integer("classes", &NpySettings::classes, {0, std::numeric_limits<std::int32_t>::max()},
                   "", "number of classes; 0: number of class_names, or the largest label + 1")
          .text("class_names", &NpySettings::class_names,
                "text file of class names, one per line; empty: 0, 1, 2...");
  return table;
}

[[noreturn]] void refuse(const fs::path& path, const std::string& problem, const std::string& why,
                         const std::string& advice) {
  fail(ErrorKind::data, {path.string() + ": " + problem, why, advice});
}

std::string shape_text(const ArraySpec& spec) {
  return fmt::format("{} [{}]", element_name(spec.type), fmt::join(spec.shape, ", "));
}

RowLayout layout_of(const ArraySpec& spec, const fs::path& path) {
  if (spec.shape.empty() || spec.shape[0] == 0)
    refuse(path, "array of " + shape_text(spec), "it has no rows", "store [rows, ...]");
  if (const auto layout = row_layout_of(spec.type, spec.shape)) return *layout;
  refuse(path, "array of " + shape_text(spec),
         fmt::format(
             "rows are images, U8 [rows, height, width, 1 or 3] (or without the last dimension), "
             "up to {} pixels wide and high, or events, F32 [rows, features], up to {}",
             kMostPixels, kMostFeatures),
         "convert it in NumPy: x.transpose(0, 2, 3, 1), x.astype('uint8'), x.astype('float32')");
}

/// Class indices of any integer type.
std::vector<std::int64_t> read_labels(const fs::path& path, const ArraySpec& rows,
                                      const fs::path& rows_path) {
  const NpyArray array = read_npy(path);
  if (array.spec.shape != std::vector<std::int64_t>{rows.shape[0]}) {
    refuse(path, "array of " + shape_text(array.spec),
           fmt::format("{} has {}, and each needs one label", rows_path.string(),
                       counted(rows.shape[0], "row")),
           "correct path: or labels:, or store the labels of these rows");
  }
  const auto widened = [&]<class T>(std::span<const T> values) {
    return std::vector<std::int64_t>(values.begin(), values.end());
  };
  if (array.spec.type == ElementType::u8) return widened(array.as<std::uint8_t>());
  if (array.spec.type == ElementType::i32) return widened(array.as<std::int32_t>());
  if (array.spec.type == ElementType::i64) return widened(array.as<std::int64_t>());
  refuse(path, "array of " + shape_text(array.spec), "labels must be integers",
         "convert it in NumPy: y.astype('int64')");
}

class NpyRows final : public ArrayRows {
 public:
  NpyRows(const DatasetRequest& request, const NpySettings& settings)
      : ArrayRows(request.path, request.limit_per_class), file_(request.path) {
    const NpyHeader header = read_npy_header(file_);
    data_offset_ = header.data_offset;
    set_layout(layout_of(header.spec, request.path));
    const fs::path folder = request.path.parent_path();
    const fs::path labels_path = folder / settings.labels;
    ClassNaming naming{settings.classes};
    if (!settings.class_names.empty()) naming.names = folder / settings.class_names;
    set_labels(read_labels(labels_path, header.spec, request.path), labels_path.string(), naming);
  }

  std::unique_ptr<RowReader> reader() const override { return std::make_unique<Reader>(*this); }

 private:
  class Reader final : public RowReader {
   public:
    explicit Reader(const NpyRows& data) : data_(data) {}
    /// Pixels may have any value; features must be finite.
    void check(std::int64_t row) override {
      if (data_.layout().type != ElementType::f32) return;
      buffer_.resize(static_cast<std::size_t>(data_.layout().sample.elements()));
      read(row, reinterpret_cast<std::uint8_t*>(buffer_.data()));
    }
    void read(std::int64_t row, std::uint8_t* out) override {
      const auto bytes = static_cast<std::uint64_t>(data_.layout().bytes());
      data_.file_.read(data_.data_offset_ + static_cast<std::uint64_t>(data_.stored(row)) * bytes,
                       std::as_writable_bytes(std::span(out, bytes)));
      if (data_.layout().type == ElementType::f32)
        data_.require_finite(row, reinterpret_cast<const float*>(out));
    }

   private:
    const NpyRows& data_;
    std::vector<float> buffer_;
  };

  InputFile file_;
  std::uint64_t data_offset_ = 0;
};

}  // namespace

DatasetFormat npy_format() {
  return {"npy",
          "NumPy arrays: images (uint8) or events (float32), and their labels",
          "PATH is an array of rows, written by numpy.save in C order: uint8 [rows, height, width, "
          "1 or 3] (images, values 0 to 255), uint8 [rows, height, width] or float32 [rows, "
          "features] (events). labels: is an array of integers [rows].",
          npy_table().rows(),
          [](const fs::path& path) { return path.extension() == ".npy"; },
          [](const DatasetRequest& request) -> std::unique_ptr<Dataset> {
            return std::make_unique<NpyRows>(request,
                                             npy_table().read(request.settings, request.place));
          }};
}

}  // namespace wellspring
