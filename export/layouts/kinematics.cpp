// Layout `kinematics`: transverse momentum, pseudorapidity, azimuth and mass of particles, in f64.
#include "core/io/bytes.h"
#include "export/layouts/layouts.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace wellspring::layouts {
namespace {

constexpr const char* kKinematics = "kinematics";

/// Adds `kinematics` [N, items, 4], padded with 0, to the arrays of the layout `columns`. In f32,
/// E^2 - p^2 loses the mass of fast particles, so the mass comes from the column m.
class KinematicsArrays final : public ValueArrays {
 public:
  explicit KinematicsArrays(const SampleReader& feed)
      : layout_(feed.layout()), rows_(rows_of(feed)), x_(columns().make(feed)) {
    const SampleInfo* const info = only_info(feed);
    const auto found = [&](const std::array<const char*, 4>& names) {
      for (std::size_t i = 0; i < names.size(); ++i) {
        const auto place = place_of(names[i], info->features);
        if (!place) return false;
        column_[i] = *place;
      }
      return true;
    };
    const bool set = info != nullptr && layout_.kind == SampleKind::set;
    polar_ = set && found({"pt", "eta", "phi", "m"});
    if (!polar_ && !(set && found({"px", "py", "pz", "m"})))
      refuse(kKinematics,
             "it needs the particles of one generator with their masses: rambo, ee_mumu or "
             "lund_shower with columns=record, or lund_shower with columns=kinematics");
    unit_ = info->features[column_[3]].unit;
  }
  bool grows() const override { return x_->grows(); }
  void open(ArrayFile& file) override {
    values_ = file.open(kKinematics, {ElementType::f64, {rows_, layout_.items, 4}},
                        {{"pt", "eta", "phi", "m"}, {unit_, "1", "rad", unit_}});
    x_->open(file);
  }
  void append(ArrayFile& file, const HostSamples& samples) override {
    const auto width = static_cast<std::size_t>(layout_.elements()),
               features = static_cast<std::size_t>(layout_.features),
               items = static_cast<std::size_t>(layout_.items);
    std::vector<double> values(4 * items * samples.items().size(), 0);
    double* out = values.data();
    for (std::size_t row = 0; row < samples.items().size(); ++row, out += 4 * items)
      for (std::size_t i = 0; i < static_cast<std::size_t>(samples.items()[row]); ++i)
        convert(samples.x().subspan(row * width + i * features, features), out + 4 * i);
    file.append(values_, bytes_of(values));
    x_->append(file, samples);
  }

 private:
  void convert(std::span<const float> item, double* out) const {
    for (std::size_t k = 0; k < 4; ++k) out[k] = item[column_[k]];
    if (polar_) return;
    const double x = out[0], y = out[1], z = out[2], pt = std::hypot(x, y);
    out[0] = pt;
    out[1] = pt > 0 ? std::asinh(z / pt)
                    : std::copysign(z == 0 ? 0 : std::numeric_limits<double>::infinity(), z);
    out[2] = std::atan2(y, x);
  }

  SampleLayout layout_;
  std::int64_t rows_;
  std::unique_ptr<ValueArrays> x_;
  std::array<std::size_t, 4> column_ = {};
  bool polar_ = false;  ///< true: the columns are pt, eta, phi, m
  std::string unit_;
  ArrayFile::Array values_ = 0;
};

}  // namespace

ExportLayout kinematics() {
  return {
      kKinematics,
      "kinematics [N, items, 4] in f64: pt, eta (infinite along the beam), phi, m; x and offsets",
      &make_arrays<KinematicsArrays>};
}

}  // namespace wellspring::layouts
