// Rows and labels that lie in arrays of numbers: what the formats of array files share. Host only.
#pragma once

#include "sources/datasets/dataset.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace wellspring {

/// What a row of an array [rows, ...] is: an image of bytes [rows, height, width, 1 or 3] (or
/// without the last), or an event of real numbers [rows, features]. Nothing where it is neither.
inline constexpr std::int64_t kMostPixels = std::int64_t{1} << 14;    ///< of a side
inline constexpr std::int64_t kMostFeatures = std::int64_t{1} << 17;  ///< of an event
std::optional<RowLayout> row_layout_of(ElementType type, const std::vector<std::int64_t>& shape);

/// What is wrong with a stored number that is not finite as f32, and why: for messages.
struct BadNumber {
  std::string text, why;
};
BadNumber bad_number(double stored);

/// How the classes of an array of labels are called.
struct ClassNaming {
  std::int64_t classes = 0;          ///< 0: as many as there are names, or the largest label + 1
  std::filesystem::path names = {};  ///< a file of class names; "": none
};

/// Everything of a data set of arrays but its readers.
class ArrayRows : public Dataset {
 public:
  std::int64_t size() const override { return static_cast<std::int64_t>(rows_.size()); }
  RowLayout layout() const override { return layout_; }
  const std::vector<std::string>& classes() const override { return classes_; }
  std::int32_t label(std::int64_t row) const override {
    return labels_[static_cast<std::size_t>(stored(row))];
  }
  std::string location(std::int64_t row) const override;
  std::string place(std::int64_t row) const override;
  std::string summary() const override;
  std::string size_advice(int size) const override;

 protected:
  ArrayRows(const std::filesystem::path& path, std::int64_t limit_per_class);

  void set_layout(const RowLayout& layout) { layout_ = layout; }
  /// Takes the labels of all rows stored, which lie in `source`. Classes are named by the file of
  /// `naming`, by `known` where that is not empty, or by their numbers. Errors (data): a label that
  /// is no class.
  void set_labels(const std::vector<std::int64_t>& labels, const std::string& source,
                  const ClassNaming& naming, const std::vector<std::string>& known = {});
  const std::filesystem::path& path() const { return path_; }
  /// The row of the array that row `row` of the set is.
  std::int64_t stored(std::int64_t row) const { return rows_[static_cast<std::size_t>(row)]; }
  /// Error (data) with row and feature where a number of the row is none, or too large.
  void require_finite(std::int64_t row, const float* values) const;

 private:
  /// Number `i` of a row as it is stored, where `value` is what f32 makes of it.
  virtual double stored_number(std::int64_t row, std::int64_t i, float value) const;
  void name_classes(const ClassNaming& naming, const std::vector<std::string>& known,
                    const std::string& source, std::int64_t largest);

  std::filesystem::path path_, canonical_;
  std::int64_t limit_;
  RowLayout layout_;
  std::vector<std::string> classes_;
  std::vector<std::int32_t> labels_;  ///< of all rows stored
  std::vector<std::int64_t> rows_;    ///< the ones that are kept
};

}  // namespace wellspring
