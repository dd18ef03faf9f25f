// Rows and labels in arrays of numbers: the common part of all array formats. Host only.
#pragma once

#include "sources/datasets/dataset.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace wellspring {

inline constexpr std::int64_t kMostFeatures = std::int64_t{1} << 17;  ///< per event
/// Layout of the rows of an array [rows, features] of numbers; empty for any other shape.
std::optional<RowLayout> event_layout_of(const std::vector<std::int64_t>& shape);

/// Describes a stored number that is not finite as f32, for messages.
struct BadNumber {
  std::string text, why;
};
BadNumber bad_number(double stored);

/// Number and names of the classes.
struct ClassNaming {
  std::int64_t classes = 0;          ///< 0: number of names, or the largest label + 1
  std::filesystem::path names = {};  ///< text file of class names; "": no file
};

/// A data set of arrays; derived classes supply the readers.
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
  std::string size_advice(ImageSize size) const override;
  bool normalised() const override { return normalised_; }

 protected:
  /// `labelled`: false if there are no true labels, so that all labels are 0.
  ArrayRows(const std::filesystem::path& path, std::int64_t limit_per_class, bool labelled);

  void set_normalised(bool normalised) { normalised_ = normalised; }
  void set_layout(const RowLayout& layout) { layout_ = layout; }
  void set_finite(bool finite) { finite_ = finite; }
  /// Takes the labels of all stored rows; `source` names their array. Class names come from
  /// `naming`'s file, else from `known`; if both are empty, they are numbers. Errors (data): a
  /// label out of range.
  void set_labels(const std::vector<std::int64_t>& labels, const std::string& source,
                  const ClassNaming& naming, const std::vector<std::string>& known = {});
  const std::filesystem::path& path() const { return path_; }
  /// Index, in the stored array, of row `row` of this data set.
  std::int64_t stored(std::int64_t row) const { return rows_[static_cast<std::size_t>(row)]; }
  /// Throws an error (data) with row and feature if a value is not finite, unless set_finite(false).
  void require_finite(std::int64_t row, const float* values) const;

 private:
  /// Number `i` of a row as stored; `value` is its f32 conversion.
  virtual double stored_number(std::int64_t row, std::int64_t i, float value) const;
  void name_classes(const ClassNaming& naming, const std::vector<std::string>& known,
                    const std::string& source, std::int64_t largest);

  std::filesystem::path path_, canonical_;
  std::int64_t limit_;
  bool labelled_, normalised_ = false, finite_ = true;
  RowLayout layout_;
  std::vector<std::string> classes_;
  std::vector<std::int32_t> labels_;  ///< labels of all stored rows
  std::vector<std::int64_t> rows_;    ///< indices of the rows kept
};

}  // namespace wellspring
