// Materials of calorimeters and what GFLASH needs of them, alone or as a sandwich. Called by
// generator `calo_gflash`; host only.
#pragma once

#include "generators/events/gflash.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace wellspring::gflash {

enum class Material : std::uint8_t { tungsten, lead, iron, copper, pbwo4, silicon, argon, plastic };

/// Particle Data Group, "Atomic and nuclear properties of materials". Of PbWO4 and polystyrene Z
/// and A are means by mass; A of polystyrene gives its Z / A.
struct MaterialConstants {
  double z, a;                ///< charge number, g / mol
  double density;             ///< g / cm^3
  double radiation_length;    ///< g / cm^2
  double interaction_length;  ///< g / cm^2

  /// MeV: 2.66 (X0 Z / A)^1.1 (hep-ex/0001020).
  double critical_energy() const;
};
MaterialConstants constants_of(Material material);
/// Names and values, as a parameter lists them.
const std::vector<std::pair<std::string, Material>>& materials();

/// The Moliere radius is X0 Es / Ec with this, in MeV.
inline constexpr double kScatteringEnergy = 21.2;

Medium homogeneous(Material material);
/// A sandwich of periods of `passive_mm` of one and `active_mm` of the other. Means over the shares
/// of mass w: Z = sum w Z, 1 / X0 = sum w / X0, Ec / X0 = sum w Ec / X0, with lengths in g / cm^2.
Medium sandwich(Material passive, double passive_mm, Material active, double active_mm);

}  // namespace wellspring::gflash
