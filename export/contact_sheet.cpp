#include "export/contact_sheet.h"

#include "core/error.h"
#include "generators/images/hues.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

namespace wellspring {
namespace {

// Pixels.
constexpr int kGap = 8;
constexpr int kLabelHeight = 14;
constexpr int kLeastTile = 96;    // smaller images are enlarged to at least this size
constexpr int kLeastWidth = 400;  // room for the heading above a single image

/// Returns `layout`. Throws a config error if a picture of `count` images is too large for viewers.
SampleLayout drawable(const SampleLayout& layout, std::uint64_t count) {
  constexpr double kMostPixels = 1 << 28;
  const SampleShape shape = layout.shape();
  const auto side = static_cast<double>(std::max(shape.width, kLeastTile));
  if (static_cast<double>(count) * side * side * (1 + layout.planes) <= kMostPixels) return layout;
  fail(ErrorKind::config, {fmt::format("a preview of {} images of {}x{} pixels is too large", count,
                                       shape.width, shape.height),
                           "it would have more than 2^28 pixels",
                           "use a smaller --count or size; export writes any number of samples"});
}

/// Black for 0; other numbers get colours that make neighbouring numbers easy to tell apart.
RgbColour colour_of_number(float number) {
  if (!(number > 0)) return {0, 0, 0};
  constexpr float kGolden = 0.61803399f;  // step from one hue to the next, in turns
  const float turns = number * kGolden;
  const Rgb colour = hue_colour(turns - std::floor(turns), 0.35f, 1);
  const auto byte = [](float share) { return static_cast<std::uint8_t>(std::lround(255 * share)); };
  return {byte(colour.r), byte(colour.g), byte(colour.b)};
}

/// Smallest and largest depth; 0 means no depth.
std::pair<float, float> depths_of(std::span<const float> plane) {
  float least = 0, most = 0;
  for (const float depth : plane) {
    if (!(depth > 0)) continue;
    least = least > 0 ? std::min(least, depth) : depth;
    most = std::max(most, depth);
  }
  return {least, most};
}

}  // namespace

ContactSheet::Sheet::Sheet(std::uint64_t count, const SampleLayout& layout)
    : columns(static_cast<int>(std::ceil(std::sqrt(static_cast<double>(count))))),
      rows(static_cast<int>((count + columns - 1) / columns)),
      factor((kLeastTile + layout.width - 1) / layout.width),
      tile_width(layout.width * factor * (1 + layout.planes)),
      tile_height(layout.height * factor) {}

int ContactSheet::Sheet::width() const {
  return std::max(kLeastWidth, 2 * kMargin + columns * (tile_width + kGap) - kGap);
}

int ContactSheet::Sheet::height(int heading) const {
  return heading + rows * (tile_height + kLabelHeight) + kMargin;
}

ContactSheet::ContactSheet(const SampleHeading& heading, const std::vector<SampleOrigin>& origins,
                           const SampleLayout& layout, std::uint64_t count)
    : origins_(origins),
      names_(origins),
      layout_(drawable(layout, count)),
      sheet_(count, layout),
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
    draw_image(samples.x().data() + i * layout_.elements(), origins_.at(origin).augmentation);
    if (const auto& plane = origins_[origin].info.plane; plane && layout_.planes > 0)
      draw_plane(samples.plane().data() + i * layout_.height * layout_.width, plane->kind);
    const std::string name = names_.of(origin, samples.label()[row]);
    const int y = top(drawn_) + sheet_.tile_height + 3;
    if (sheet_.columns == 1) {  // the label may use the rest of the row
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
  for (int row = 0; row < layout_.height; ++row) {
    for (int column = 0; column < layout_.width; ++column, x += layout_.channels) {
      RgbColour colour{};
      for (int c = 0; c < std::min(3, layout_.channels); ++c)
        colour[static_cast<std::size_t>(c)] = byte_of(x[c] / plan.inv_std[c] + plan.mean[c]);
      if (layout_.channels < 3) colour[1] = colour[2] = colour[0];
      draw_pixel(0, column, row, colour);
    }
  }
}

void ContactSheet::draw_plane(const float* plane, PlaneInfo::Kind kind) {
  const auto pixels =
      static_cast<std::size_t>(layout_.height) * static_cast<std::size_t>(layout_.width);
  const auto [near, far] = depths_of({plane, pixels});
  const auto colour_of_depth = [near = near, far = far](float depth) -> RgbColour {
    if (!(depth > 0)) return {0, 0, 0};
    const float share = far > near ? (depth - near) / (far - near) : 0;
    const auto grey = static_cast<std::uint8_t>(std::lround(255 - 215 * share));  // near is bright
    return {grey, grey, grey};
  };
  for (int row = 0; row < layout_.height; ++row) {
    for (int column = 0; column < layout_.width; ++column, ++plane) {
      draw_pixel(
          layout_.width, column, row,
          kind == PlaneInfo::Kind::depth ? colour_of_depth(*plane) : colour_of_number(*plane));
    }
  }
}

void ContactSheet::draw_pixel(int from_left, int column, int row, RgbColour colour) {
  painter_.fill(left(drawn_) + (from_left + column) * sheet_.factor,
                top(drawn_) + row * sheet_.factor, sheet_.factor, sheet_.factor, colour);
}

std::uint8_t ContactSheet::byte_of(float intensity) {
  const float value = 255 * intensity;
  ++result_.values;
  if (!(value >= -0.5f && value <= 255.5f)) ++result_.clamped;  // also counts NaN
  return static_cast<std::uint8_t>(value > 0 ? std::lround(std::min(value, 255.f)) : 0);
}

}  // namespace wellspring
