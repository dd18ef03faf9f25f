#include "generators/events/calo_media.h"

#include "core/expect.h"

#include <cmath>

namespace wellspring::gflash {

double MaterialConstants::critical_energy() const {
  return 2.66 * std::pow(radiation_length * z / a, 1.1);
}

MaterialConstants constants_of(Material material) {
  switch (material) {
    case Material::tungsten:
      return {74, 183.84, 19.30, 6.76, 191.9};
    case Material::lead:
      return {82, 207.2, 11.35, 6.37, 199.6};
    case Material::iron:
      return {26, 55.845, 7.874, 13.84, 132.1};
    case Material::copper:
      return {29, 63.546, 8.960, 12.86, 137.3};
    case Material::pbwo4:
      return {68.36, 170.87, 8.300, 7.39, 168.3};
    case Material::silicon:
      return {14, 28.0855, 2.329, 21.82, 108.4};
    case Material::argon:
      return {18, 39.948, 1.396, 19.55, 119.7};
    case Material::plastic:
      return {5.61, 10.434, 1.060, 43.79, 81.7};
  }
  WS_EXPECT(false);
  return {};
}

const std::vector<std::pair<std::string, Material>>& materials() {
  static const std::vector<std::pair<std::string, Material>> names = {
      {"W", Material::tungsten},  {"Pb", Material::lead},
      {"Fe", Material::iron},     {"Cu", Material::copper},
      {"PbWO4", Material::pbwo4}, {"Si", Material::silicon},
      {"LAr", Material::argon},   {"polystyrene", Material::plastic}};
  return names;
}

Medium homogeneous(Material material) {
  const MaterialConstants c = constants_of(material);
  const double mm = 10 / c.density;  // mm per g / cm^2
  Medium medium;
  medium.z = static_cast<float>(c.z);
  medium.critical_energy = static_cast<float>(c.critical_energy() / 1000);
  medium.radiation_length = static_cast<float>(c.radiation_length * mm);
  medium.moliere_radius =
      static_cast<float>(c.radiation_length * mm * kScatteringEnergy / c.critical_energy());
  medium.interaction_length = static_cast<float>(c.interaction_length * mm);
  return medium;
}

Medium sandwich(Material passive, double passive_mm, Material active, double active_mm) {
  const MaterialConstants part[2] = {constants_of(passive), constants_of(active)};
  const double thickness[2] = {passive_mm, active_mm};
  const double period = passive_mm + active_mm;
  const double mass = part[0].density * passive_mm + part[1].density * active_mm;
  const double mm = 10 * period / mass;  // mm per g / cm^2
  double z = 0, per_radiation = 0, per_interaction = 0, loss = 0;
  for (int i = 0; i < 2; ++i) {
    const double share = part[i].density * thickness[i] / mass;
    z += share * part[i].z;
    per_radiation += share / part[i].radiation_length;
    per_interaction += share / part[i].interaction_length;
    loss += share * part[i].critical_energy() / part[i].radiation_length;
  }
  Medium medium;
  medium.z = static_cast<float>(z);
  medium.critical_energy = static_cast<float>(loss / per_radiation / 1000);
  medium.radiation_length = static_cast<float>(mm / per_radiation);
  medium.moliere_radius = static_cast<float>(mm * kScatteringEnergy / loss);
  medium.interaction_length = static_cast<float>(mm / per_interaction);
  medium.sampling = true;
  medium.inverse_frequency = static_cast<float>(period * per_radiation / mm);
  medium.e_mip = static_cast<float>(1 - 1 / (1 + 0.007 * (part[0].z - part[1].z)));
  return medium;
}

}  // namespace wellspring::gflash
