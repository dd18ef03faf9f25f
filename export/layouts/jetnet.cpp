// Layout `jetnet`: jets as sets of particles.
#include "core/error.h"
#include "core/io/bytes.h"
#include "export/layouts/layouts.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace wellspring::layouts {
namespace {

constexpr const char* kJetNet = "jetnet";

struct Momentum {
  double e, x, y, z;
  double transverse() const { return std::hypot(x, y); }
  /// Large but finite for momenta along the beam.
  double eta() const { return std::asinh(z / std::max(transverse(), 1e-30)); }
  double phi() const { return std::atan2(y, x); }
  double mass() const { return std::sqrt(std::max(0.0, e * e - x * x - y * y - z * z)); }
};

/// R. Kansal et al., Particle Cloud Generation with Message Passing Generative Adversarial Networks
/// (2021), and the package `jetnet`: particle_features [N, items, 4], by decreasing pT: eta and phi
/// relative to the jet, pT divided by the jet's pT, mask (1 or 0); jet_features [N, 4]: pT (GeV),
/// eta, mass (GeV), number of particles. Computed in f64.
class JetNetArrays final : public ValueArrays {
 public:
  explicit JetNetArrays(const SampleReader& feed) : layout_(feed.layout()), rows_(rows_of(feed)) {
    const SampleInfo* const info = only_info(feed);
    const auto are = [](const std::vector<ValueInfo>& columns, std::vector<std::string> names) {
      return std::ranges::equal(columns, names, {}, &ValueInfo::name);
    };
    if (info == nullptr || layout_.kind != SampleKind::set ||
        !are(info->features, {"E", "px", "py", "pz"}) ||
        !are(info->globals, {"jet_E", "jet_px", "jet_py", "jet_pz"})) {
      refuse(kJetNet,
             "it needs jets: sets from one source with items E, px, py, pz and the momentum of the "
             "jet in the globals");
    }
    const auto gev = gev_in(info->globals.front().unit);
    if (!gev)
      refuse(kJetNet,
             "momenta must be in GeV, but they are in '" + info->globals.front().unit + "'");
    gev_ = *gev;
    const nlohmann::ordered_json parameters = parameters_of(feed);
    if (!parameters.is_null() && parameters.value("frame", "lab") != "lab")
      refuse(kJetNet, "it needs momenta in the lab frame; generate with frame=lab");
  }
  void open(ArrayFile& file) override {
    particles_ = file.open("particle_features", {ElementType::f32, {rows_, layout_.items, 4}},
                           {{"eta_rel", "phi_rel", "pt_rel", "mask"}, {}});
    jets_ = file.open("jet_features", {ElementType::f32, {rows_, 4}},
                      {{"pt", "eta", "mass", "num_particles"}, {"GeV", "1", "GeV", "1"}});
  }
  void append(ArrayFile& file, const HostSamples& samples) override {
    std::vector<float> particles, jets;
    const auto width = static_cast<std::size_t>(layout_.elements());
    for (std::size_t row = 0; row < static_cast<std::size_t>(samples.count()); ++row) {
      const auto count = static_cast<std::size_t>(samples.items()[row]);
      const Momentum jet = momentum(samples.globals().subspan(row * 4, 4));
      if (!(jet.transverse() > 0)) {
        fail(ErrorKind::runtime, {fmt::format("sample {}: the jet has no transverse momentum",
                                              samples.slots[row].sample),
                                  "particles are stored relative to it",
                                  "raise momentum_low, or export with --layout columns"});
      }
      const std::size_t begin = particles.size();
      append_particles(samples.x().subspan(row * width, count * 4), jet, particles);
      particles.resize(begin + width, 0.0f);
      for (const double value :
           {jet.transverse() * gev_, jet.eta(), jet.mass() * gev_, static_cast<double>(count)})
        jets.push_back(static_cast<float>(value));
    }
    file.append(particles_, bytes_of(particles));
    file.append(jets_, bytes_of(jets));
  }

 private:
  static Momentum momentum(std::span<const float> values) {
    return {values[0], values[1], values[2], values[3]};
  }

  static void append_particles(std::span<const float> items, const Momentum& jet,
                               std::vector<float>& out) {
    std::vector<Momentum> parts;
    for (std::size_t i = 0; i < items.size(); i += 4)
      parts.push_back(momentum(items.subspan(i, 4)));
    std::ranges::stable_sort(parts, std::ranges::greater(), &Momentum::transverse);
    for (const Momentum& part : parts) {
      const double phi = std::remainder(part.phi() - jet.phi(), 2 * std::acos(-1.0));
      for (const double value :
           {part.eta() - jet.eta(), phi, part.transverse() / jet.transverse(), 1.0})
        out.push_back(static_cast<float>(value));
    }
  }

  SampleLayout layout_;
  std::int64_t rows_;
  double gev_ = 1;
  ArrayFile::Array particles_ = 0, jets_ = 0;
};

}  // namespace

ExportLayout jetnet() {
  return {kJetNet,
          "particle_features (relative to the jet) and jet_features",
          &make_arrays<JetNetArrays>,
          {"ginkgo", "lund_shower"},
          [](const SampleInfo& info) {
            return info.layout.kind == SampleKind::set &&
                   !place_of("log_inverse_angle", info.features).has_value();
          }};
}

}  // namespace wellspring::layouts
