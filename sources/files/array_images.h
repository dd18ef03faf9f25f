// Images in arrays of numbers, as other programs store them: channels first or last, bytes or real
// numbers. Used by the formats of array files; host only.
#pragma once

#include "sources/datasets/dataset.h"
#include "sources/files/array_input.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace wellspring {

/// Advice in errors about pixels outside the range.
inline constexpr const char* kRangeAdvice =
    "set range: -1..1 or 0..255 if that is the range of all values; standardised images have no "
    "such range: undo it, x * std + mean, or scale, (x - x.min()) / (x.max() - x.min()); runs "
    "standardise pixels themselves (data.normalise)";

inline constexpr std::int64_t kMostPixels = std::int64_t{1} << 14;  ///< per side

/// Position of the channels in the shape of an image.
enum class ChannelPlace : std::uint8_t { automatic, first, last };
/// Values of black and white: 0 and 1, -1 and 1, 0 and 255. automatic: 0 and 255 for integers, 0
/// and 1 for real numbers.
enum class PixelRange : std::uint8_t { automatic, unit, symmetric, bytes };

class ArrayImages {
 public:
  /// For an array [rows, height, width], [rows, height, width, 1 or 3] or [rows, 1 or 3, height,
  /// width]; empty for any other number of dimensions. Errors (data): other extents; a shape that
  /// fits both orders; or, without settings, real numbers in three dimensions.
  static std::optional<ArrayImages> of(const ArrayInput& file, const NumberArray& array,
                                       ChannelPlace channels, PixelRange range);

  RowLayout layout() const { return {sample_, ElementType::u8}; }
  /// True if the array holds a row's bytes unchanged.
  bool is_verbatim() const { return range_ == PixelRange::bytes && bytes_ && !planar_; }
  /// Writes the 8-bit image of a row to `out`. Error (data), at `location`: a value out of range.
  void read(const NumberArray& array, std::int64_t row, const std::string& location,
            std::uint8_t* out) const;

 private:
  SampleLayout sample_;
  PixelRange range_ = PixelRange::bytes;
  bool bytes_ = true;    ///< the array has 8-bit numbers
  bool planar_ = false;  ///< channels first
};

/// Class indices of the rows of an array: integers [rows] or [rows, 1], or one-hot [rows, classes].
struct ClassLabels {
  std::vector<std::int64_t> label;
  std::int64_t classes = 0;  ///< one-hot: number of columns; else 0
};
/// `what` names the array with `rows` rows: "'x' has 20 rows". Errors (data).
ClassLabels read_class_labels(const ArrayInput& file, const NumberArray& array, std::int64_t rows,
                              const std::string& what);

}  // namespace wellspring
