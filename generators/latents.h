// Declaration of latents, the numbers from which a sample was drawn. Used by generators and by all
// code that reads their samples; host only.
#pragma once

#include "kernels/augment/latent_map.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace wellspring {

/// How close samples come to both ends of a latent's range. Under a uniform law, samples reach the
/// ends; under other laws, the ends may be bounds that few samples approach.
enum class LatentEnds : std::uint8_t { reached, rare };

/// A number from which a sample was drawn, exported with the sample.
struct LatentInfo {
  std::string name;
  std::string help;                     ///< meaning, with its zero and its direction
  std::string unit;                     ///< "" if dimensionless
  float low = 0, high = 1;              ///< range, including both ends
  LatentRole role = LatentRole::fixed;  ///< how augmentation transforms it. List a position_y after
                                        ///< its position_x, an object's length after both, and a
                                        ///< wave's angle and phase after its period. The unit
                                        ///< "image side" marks fractions
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
