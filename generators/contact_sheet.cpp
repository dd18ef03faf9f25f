#include "generators/contact_sheet.h"

#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace wellspring {
namespace {

// Pixels.
constexpr int kGap = 8;
constexpr int kLabelHeight = 14;
constexpr int kLeastTile = 96;    // smaller images are enlarged to at least this
constexpr int kLeastWidth = 400;  // room for a heading over a single image

/// `shape`, unless a picture of so many would be larger than viewers take.
SampleShape drawable(SampleShape shape, std::uint64_t count) {
  constexpr double kMostPixels = 1 << 28;
  const auto side = static_cast<double>(std::max(shape.width, kLeastTile));
  if (static_cast<double>(count) * side * side <= kMostPixels) return shape;
  fail(ErrorKind::config, {fmt::format("a preview of {} images of {}x{} pixels is too large", count,
                                       shape.width, shape.height),
                           "it would have more than 2^28 pixels",
                           "lower --count or the size; export writes any number of samples"});
}

}  // namespace

ContactSheet::Sheet::Sheet(std::uint64_t count, SampleShape shape)
    : columns(static_cast<int>(std::ceil(std::sqrt(static_cast<double>(count))))),
      rows(static_cast<int>((count + columns - 1) / columns)),
      factor((kLeastTile + shape.width - 1) / shape.width),
      tile_width(shape.width * factor),
      tile_height(shape.height * factor) {}

int ContactSheet::Sheet::width() const {
  return std::max(kLeastWidth, 2 * kMargin + columns * (tile_width + kGap) - kGap);
}

int ContactSheet::Sheet::height(int heading) const {
  return heading + rows * (tile_height + kLabelHeight) + kMargin;
}

ContactSheet::ContactSheet(const SampleHeading& heading, const std::vector<SampleOrigin>& origins,
                           SampleShape shape, std::uint64_t count)
    : origins_(origins),
      names_(origins),
      shape_(drawable(shape, count)),
      sheet_(count, shape),
      heading_(heading, sheet_.width()),
      painter_(sheet_.width(), sheet_.height(heading_.height())) {
  heading_.draw(painter_);
}

int ContactSheet::left(std::uint64_t index) const {
  return kMargin + static_cast<int>(index % sheet_.columns) * (sheet_.tile_width + kGap);
}

int ContactSheet::top(std::uint64_t index) const {
  return heading_.height() +
         static_cast<int>(index / sheet_.columns) * (sheet_.tile_height + kLabelHeight);
}

void ContactSheet::draw(const HostSamples& samples) {
  for (std::int64_t i = 0; i < samples.count(); ++i, ++drawn_) {
    const auto row = static_cast<std::size_t>(i);
    const std::size_t origin = samples.slots[row].source;
    draw_image(samples.x().data() + i * shape_.elements(), origins_.at(origin).augmentation);
    const std::string name = names_.of(origin, samples.label()[row]);
    const int y = top(drawn_) + sheet_.tile_height + 3;
    if (sheet_.columns == 1) {  // the rest of the row is free
      painter_.text(left(drawn_), y, fit(name, sheet_.width() - 2 * kMargin), kInk);
    } else {
      painter_.text_centred(left(drawn_) + sheet_.tile_width / 2, y, fit(name, sheet_.tile_width),
                            kInk);
    }
  }
}

Preview ContactSheet::take() {
  result_.image = painter_.take();
  result_.legend = names_.legend();
  return std::move(result_);
}

void ContactSheet::draw_image(const float* x, const AugmentationPlan& plan) {
  const int first_x = left(drawn_), first_y = top(drawn_);
  for (int row = 0; row < shape_.height; ++row) {
    for (int column = 0; column < shape_.width; ++column, x += shape_.channels) {
      RgbColour colour{};
      for (int c = 0; c < std::min(3, shape_.channels); ++c)
        colour[static_cast<std::size_t>(c)] = byte_of(x[c] / plan.inv_std[c] + plan.mean[c]);
      if (shape_.channels < 3) colour[1] = colour[2] = colour[0];
      painter_.fill(first_x + column * sheet_.factor, first_y + row * sheet_.factor, sheet_.factor,
                    sheet_.factor, colour);
    }
  }
}

std::uint8_t ContactSheet::byte_of(float intensity) {
  const float value = 255 * intensity;
  ++result_.values;
  if (!(value >= -0.5f && value <= 255.5f)) ++result_.clamped;  // what is no number, too
  return static_cast<std::uint8_t>(value > 0 ? std::lround(std::min(value, 255.f)) : 0);
}

}  // namespace wellspring
