// Layout `calochallenge`: calorimeter showers.
#include "core/io/bytes.h"
#include "export/layouts/layouts.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace wellspring::layouts {
namespace {

constexpr const char* kCaloChallenge = "calochallenge";

/// "Fast Calorimeter Simulation Challenge 2022", https://calochallenge.github.io/homepage:
/// incident_energies [N, 1] and showers [N, voxels], both in MeV. Energies are f64, so that values
/// in GeV convert back exactly. Showers are f32, so their products with 1000 are rounded.
class CaloChallengeArrays final : public ValueArrays {
 public:
  explicit CaloChallengeArrays(const SampleReader& feed)
      : layout_(feed.layout()), rows_(rows_of(feed)) {
    const SampleInfo* const info = only_info(feed);
    if (info == nullptr || layout_.kind != SampleKind::event || info->features.empty())
      refuse(kCaloChallenge, "it needs showers: events from one source, one feature per voxel");
    for (const ValueInfo& voxel : info->features) {
      if (!mev_in(voxel.unit) || voxel.unit != info->features.front().unit)
        refuse(kCaloChallenge,
               fmt::format("voxel energies must be in MeV or GeV, and feature '{}' is in '{}'",
                           voxel.name, voxel.unit));
    }
    if (info->low < 0)
      refuse(kCaloChallenge,
             "voxel energies must not be negative, but noise makes some negative; set a "
             "`threshold` to remove them");
    x_mev_ = *mev_in(info->features.front().unit);
    const auto energy = place_of("energy", info->latents);
    const auto energy_mev = energy ? mev_in(info->latents[*energy].unit) : std::nullopt;
    if (!energy_mev)
      refuse(kCaloChallenge, "it needs incident energies: a latent 'energy' in MeV or GeV");
    column_ = *energy;
    energy_mev_ = *energy_mev;
  }
  void open(ArrayFile& file) override {
    energies_ = file.open("incident_energies", {ElementType::f64, {rows_, 1}}, {{}, {"MeV"}});
    showers_ = file.open("showers", {ElementType::f32, {rows_, layout_.features}}, {{}, {"MeV"}});
  }
  void append(ArrayFile& file, const HostSamples& samples) override {
    const auto width = static_cast<std::size_t>(samples.rows.layout.latents);
    std::vector<double> energies;
    for (std::size_t row = 0; row < static_cast<std::size_t>(samples.count()); ++row)
      energies.push_back(double{samples.latents()[row * width + column_]} * energy_mev_);
    file.append(energies_, bytes_of(energies));
    if (x_mev_ == 1) return file.append(showers_, bytes_of(samples.x()));
    std::vector<float> showers(samples.x().begin(), samples.x().end());
    for (float& energy : showers) energy = static_cast<float>(double{energy} * x_mev_);
    file.append(showers_, bytes_of(showers));
  }

 private:
  SampleLayout layout_;
  std::int64_t rows_;
  double x_mev_ = 1, energy_mev_ = 1;
  std::size_t column_ = 0;  ///< column of the incident energy in the latents
  ArrayFile::Array energies_ = 0, showers_ = 0;
};

}  // namespace

ExportLayout calochallenge() {
  return {kCaloChallenge,
          "incident_energies and showers, MeV",
          &make_arrays<CaloChallengeArrays>,
          {"calo_gflash"},
          [](const SampleInfo& info) {
            return info.layout.kind == SampleKind::event && info.low >= 0;
          }};
}

}  // namespace wellspring::layouts
