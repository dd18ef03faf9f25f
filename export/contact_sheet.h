// A grid of images. Called by previews; host only.
#pragma once

#include "export/picture.h"
#include "export/preview.h"

#include <cstdint>
#include <vector>

namespace wellspring {

/// Draws a contact sheet.
class ContactSheet {
 public:
  /// For `count` images of this layout, each next to its dense labels, if any. Throws a config
  /// error if the picture would be too large for viewers.
  ContactSheet(const SampleHeading& heading, const std::vector<SampleOrigin>& origins,
               const SampleLayout& layout, std::uint64_t count);
  void draw(const HostSamples& samples);
  Preview take();

 private:
  struct Sheet {
    int columns, rows, factor, tile_width, tile_height;  ///< a tile: an image and its dense labels

    Sheet(std::uint64_t count, const SampleLayout& layout);
    int width() const;
    int height(int heading) const;
  };
  int left(std::uint64_t index) const;
  int top(std::uint64_t index) const;
  void draw_image(const float* x, const AugmentationPlan& plan);
  void draw_plane(const float* plane, PlaneInfo::Kind kind);
  /// Draws pixel (column, row) of an image at offset `from_left` pixels in its tile.
  void draw_pixel(int from_left, int column, int row, RgbColour colour);
  std::uint8_t byte_of(float intensity);

  const std::vector<SampleOrigin>& origins_;
  PictureNames names_;
  SampleLayout layout_;
  Sheet sheet_;
  HeadingBlock heading_;
  Painter painter_;
  std::uint64_t drawn_ = 0;
  Preview result_;
};

}  // namespace wellspring
