#include "generators/images/contour.h"

#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace wellspring {

namespace contour {

const float* noise_knots() {
  static const std::vector<float> knots = [] {
    // The low four bits of Perlin's permutation; noise in one dimension uses no more.
    constexpr std::string_view kHashes =
        "709baf3d9f052971c47e5e83505a7e6478ab0a5eecbb53b09118d587e4d8b84f"
        "a576b0b6d2e73f5ac356c9c97e5846f619f118091c4b092984724cf644d6da30"
        "492acb5a636ef254feb3f0a16dcaf7a57882ca36d95b7bc9167d32cef1082908"
        "a614b221e20cf321131b9efb106f57ad84c0392df46eacdde23d883d03e27dc4";
    static_assert(kHashes.size() == 256);
    const auto gradient = [&](std::size_t cell) {
      const char digit = kHashes[cell % kHashes.size()];
      const int hash = digit <= '9' ? digit - '0' : digit - 'a' + 10;
      return hash < 8 ? hash + 1.0 : -1.0;
    };
    std::vector<double> values;
    values.reserve(kHashes.size() * kPlaces);
    for (std::size_t cell = 0; cell < kHashes.size(); ++cell) {
      for (int place = 0; place < kPlaces; ++place) {
        const double x = (place + 0.5) / kPlaces;
        const double fade = x * x * x * (x * (x * 6 - 15) + 10);
        const double from = gradient(cell) * x, to = gradient(cell + 1) * (x - 1);
        values.push_back(0.4 * (from + fade * (to - from)));
      }
    }
    std::sort(values.begin(), values.end());
    std::vector<float> table;
    const std::size_t apart = values.size() / (kKnots - 1);
    for (std::size_t knot = 0; knot < kKnots; ++knot) {
      const std::size_t above = knot * apart;
      const double low = values[above == 0 ? 0 : above - 1];
      const double high = values[std::min(above, values.size() - 1)];
      table.push_back(static_cast<float>(std::rint(0.5 * (low + high) * 0x1p+16) * 0x1p-16));
    }
    return table;
  }();
  return knots.data();
}

}  // namespace contour

void ContourPainter::Tables::plan(MemoryPlan& memory) {
  knots_ = memory.reserve<float>("contours", "noise distribution", contour::kKnots);
}

void ContourPainter::Tables::load(Stream& stream) {
  stream.copy(knots_.data(), contour::noise_knots(), knots_.bytes(), CopyDirection::host_to_device,
              "noise distribution");
  stream.synchronize();
}

std::size_t ContourPainter::band_scratch(SampleShape shape) const {
  constexpr int kLargest = contour::kMostSide;
  if (shape.height > kLargest || shape.width > kLargest) {
    fail(ErrorKind::config,
         {fmt::format("contours: images of {}x{} pixels are too large", shape.width, shape.height),
          "the coordinates of their vertices do not fit into 16 bits",
          fmt::format("use sides of at most {} pixels", kLargest)});
  }
  const auto vertices = static_cast<std::size_t>(contour::padded(most_vertices_));
  return (6 + contour::kTogether) * sizeof(float) * vertices + sizeof(float) * contour::kKnots +
         contour::kMostOrbits + 64;  // 64 bytes for aligning the blocks
}

std::string ContourPainter::class_name(int k) {
  return fmt::format("{:05d}", k);
}

std::vector<LatentInfo> ContourPainter::list_latents(int spread, Ends radius, Ends oval_x,
                                                     Ends oval_y, Ends vertices, Ends orbits,
                                                     Ends noise, Ends line_width) {
  const Ends centre = {centre_latent(static_cast<float>(-spread)),
                       centre_latent(static_cast<float>(spread))};
  const auto latent = [](const char* name, const char* help, const char* unit, Ends ends,
                         LatentRole role) {
    return LatentInfo{name, help, unit, ends.first, ends.second, role};
  };
  constexpr const char* kSides = "image side";
  return {latent("centre_x", "centre of all orbits, from the left of the largest central square",
                 kSides, centre, LatentRole::position_x),
          latent("centre_y", "centre of all orbits, from the top of that square", kSides, centre,
                 LatentRole::position_y),
          latent("radius", "radius before the first orbit and before stretching", kSides, radius,
                 LatentRole::length),
          latent("oval_x", "stretch of the radius along x", "", oval_x, LatentRole::unmapped),
          latent("oval_y", "stretch of the radius along y", "", oval_y, LatentRole::unmapped),
          latent("vertices", "vertices per contour", "", vertices, LatentRole::fixed),
          latent("orbits", "number of contours; each is drawn over the earlier ones", "", orbits,
                 LatentRole::fixed),
          latent("noise", "coefficient of the noise", kSides, noise, LatentRole::length),
          latent("line_width", "radius growth per orbit in addition to the noise coefficient",
                 kSides, line_width, LatentRole::length)};
}

}  // namespace wellspring
