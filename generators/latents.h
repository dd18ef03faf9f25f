// Declaration of latents, the numbers with which a sample was drawn. Used by generators and by all
// that read their samples; host only.
#pragma once

#include "kernels/augment/latent_map.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace wellspring {

/// How close samples come to both ends of a latent's range. Under a uniform law they reach them;
/// under others the ends may be bounds that few samples approach.
enum class LatentEnds : std::uint8_t { reached, rare };

/// A number with which a sample was drawn, exported with the sample.
struct LatentInfo {
  std::string name;
  std::string help;                     ///< its meaning, with its zero and its sense
  std::string unit;                     ///< "" where dimensionless
  float low = 0, high = 1;              ///< its range, ends included
  LatentRole role = LatentRole::fixed;  ///< how augmentation maps it; a position_y follows its
                                        ///< position_x, a thing's length both, a wave's angle and
                                        ///< phase its period; "image side": a unit of fractions
  LatentEnds ends = LatentEnds::reached;

  LatentInfo();
  LatentInfo(std::string_view name, std::string_view help, std::string_view unit, float low = 0,
             float high = 1, LatentRole role = LatentRole::fixed,
             LatentEnds ends = LatentEnds::reached);
  LatentInfo(const LatentInfo& other);
  LatentInfo(LatentInfo&& other) noexcept;
  LatentInfo& operator=(const LatentInfo& other);
  LatentInfo& operator=(LatentInfo&& other) noexcept;
  ~LatentInfo();
};
inline LatentInfo rarely_reached(LatentInfo latent) {
  latent.ends = LatentEnds::rare;
  return latent;
}

}  // namespace wellspring
