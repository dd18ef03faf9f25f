// Calorimeter materials, pure or combined in a sandwich, with the constants that GFLASH needs. Used
// by generator `calo_gflash`; host only.
#pragma once

#include "generators/events/gflash.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace wellspring::gflash {

enum class Material : std::uint8_t { tungsten, lead, iron, copper, pbwo4, silicon, argon, plastic };

/// Particle Data Group, "Atomic and nuclear properties of materials". PbWO4 and polystyrene: Z and
/// A are mass-weighted means; A of polystyrene is set to reproduce its Z / A.
struct MaterialConstants {
  double z, a;                ///< atomic number, g / mol
  double density;             ///< g / cm^3
  double radiation_length;    ///< g / cm^2
  double interaction_length;  ///< g / cm^2

  /// MeV: 2.66 (X0 Z / A)^1.1 (hep-ex/0001020).
  double critical_energy() const;
};
MaterialConstants constants_of(Material material);
/// Names and values for a choice parameter.
const std::vector<std::pair<std::string, Material>>& materials();

/// MeV. The Moliere radius is X0 kScatteringEnergy / Ec.
inline constexpr double kScatteringEnergy = 21.2;

Medium homogeneous(Material material);
/// A sandwich with periods of `passive_mm` and `active_mm`. Weighted with the mass fractions w: Z =
/// sum w Z, 1 / X0 = sum w / X0, Ec / X0 = sum w Ec / X0, with lengths in g / cm^2.
Medium sandwich(Material passive, double passive_mm, Material active, double active_mm);

}  // namespace wellspring::gflash
