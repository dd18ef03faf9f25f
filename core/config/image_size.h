// The size of images, as configurations and commands give it. Called by code that reads or makes
// images; host only.
#pragma once

#include <string>

namespace wellspring {

/// Height and width of an image in pixels. As in configurations, one number is the side of a square.
struct ImageSize {
  int height = 0, width = 0;  ///< 0: not given

  constexpr ImageSize() = default;
  constexpr ImageSize(int side) : height(side), width(side) {}
  constexpr ImageSize(int rows, int columns) : height(rows), width(columns) {}

  constexpr int shorter() const { return height < width ? height : width; }
  constexpr int longer() const { return height < width ? width : height; }
  constexpr bool given() const { return height > 0; }
  /// As in a configuration: "32" for a square, or "[32, 48]".
  std::string to_string() const;
  friend constexpr bool operator==(ImageSize, ImageSize) = default;
};

}  // namespace wellspring
