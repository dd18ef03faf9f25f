// Generator `ginkgo`: jets of the Ginkgo toy parton shower, W against QCD, as sets of constituents,
// images or substructure observables (jet_views.h). Created through the registry; host and device.
//
// The two classes differ only in the rate of the first branching, so the exact likelihood ratio of
// a shower is known. A sample contains the constituents without the tree. Latents:
//
//   log_w, log_qcd   log density of the shower (its tree, masses and directions) under either
//                    hypothesis, given the jet's momentum; see ginkgo_shower.h. The density has the
//                    unit GeV^-4 per branching
//   log_ratio        their difference; exact, because all branchings but the first cancel. It is
//                    the ratio at a given mass; if the masses differ, they alone identify the class
//
// `log_ratio` is the optimal classifier for an observer of the tree. An observer of the set alone
// can at best know p(set | W) / p(set | QCD), both summed over all trees that give this set, and
// reaches a smaller area under the curve. For the few constituents of configs/ginkgo.yaml this sum
// is exact too (tests/generators/events/ginkgo_reference.h).
#pragma once

#include "core/config/params.h"
#include "core/error.h"
#include "core/text/text.h"
#include "generators/events/ginkgo_shower.h"
#include "generators/events/jet_view_params.h"
#include "generators/events/jet_views.h"
#include "generators/sample_info.h"
#include "kernels/batch/sample.h"
#include "kernels/emission/forms.h"
#include "kernels/random/math.h"
#include "kernels/random/philox.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <utility>

namespace wellspring {

struct Ginkgo {
  static constexpr int kFeatures = 4, kGlobals = 4, kLatents = 8;
  static constexpr forms::Events kForm = {};
  enum class Frame : std::uint8_t { lab, rest };

  struct Params : jets::ViewParams {
    double w_mass = 80, qcd_mass = 80;
    double w_root_rate = 3, qcd_root_rate = 1.5, rate = 1.5;
    double t_cut = 16;
    double momentum_low = 400, momentum_high = 400;
    Frame frame = Frame::lab;
    double unit = 1;
    int items = 40;
  };
  static const ParamTable<Params>& table() {
    static const auto rows = [] {
      auto table = own_rows();
      jets::add_view_rows(table);
      return table;
    }();
    return rows;
  }
  static SampleInfo describe(const Params& params) {
    SampleInfo info;
    info.name = "ginkgo";
    info.summary = "Jets of a toy parton shower, W or QCD, with the exact likelihood ratio";
    info.reference =
        "K. Cranmer, S. Macaluso, D. Pappadopulo, Toy Generative Model for Jets (2019)";
    info.classes = {"W", "QCD"};
    const double mass = std::max(params.w_mass, params.qcd_mass);
    const auto [lowest, highest] = log_density_range(params);
    const double w = ginkgo::log_norm(params.w_root_rate);
    const double qcd = ginkgo::log_norm(params.qcd_root_rate);
    const double tilt = 2 * (params.qcd_root_rate - params.w_root_rate);  // a + b < 2
    info.latents = {
        rarely_reached({"log_w",
                        "log density of the shower, given its tree, under W; GeV^-4 per branching",
                        "", lowest, highest}),
        rarely_reached({"log_qcd", "log density of the shower, given its tree, under QCD", "",
                        lowest, highest}),
        rarely_reached({"log_ratio",
                        "log_w - log_qcd: the exact log likelihood ratio given the jet's mass", "",
                        static_cast<float>(2 * (w - qcd) + std::min(tilt, 0.0) - kSlack),
                        static_cast<float>(2 * (w - qcd) + std::max(tilt, 0.0) + kSlack)}),
        {"first_fraction", "a of the first branching: t1 = a t, with t the mass squared", "", 0,
         ginkgo::kLargestFraction},
        {"second_fraction", "b of the first branching: t2 = b (sqrt t - sqrt t1)^2", "", 0,
         ginkgo::kLargestFraction},
        rarely_reached({"constituents", "constituents of the shower, including those not kept", "",
                        2, ginkgo::kMostFinals}),
        {"momentum", "momentum of the jet along (1, 1, 1)", "GeV",
         static_cast<float>(params.momentum_low), static_cast<float>(params.momentum_high)},
    };
    const double momentum = params.frame == Frame::rest ? 0 : params.momentum_high;
    jets::describe_view(params, params.unit, std::hypot(mass, momentum), info);
    info.draws = {.scene = ginkgo::kMostFinals};  // one per jet and one per branching
    return info;
  }

  explicit Ginkgo(const Params& params)
      : w_(ginkgo::Rate::of(params.w_root_rate)),
        qcd_(ginkgo::Rate::of(params.qcd_root_rate)),
        rate_(ginkgo::Rate::of(params.rate)),
        w_mass_(static_cast<float>(params.w_mass)),
        qcd_mass_(static_cast<float>(params.qcd_mass)),
        t_cut_(static_cast<float>(params.t_cut)),
        momentum_low_(static_cast<float>(params.momentum_low)),
        momentum_range_(static_cast<float>(params.momentum_high - params.momentum_low)),
        per_unit_(static_cast<float>(1 / params.unit)),
        frame_(params.frame),
        output_(params.output),
        items_(params.output == jets::Output::constituents ? params.items : ginkgo::kMostFinals),
        picture_(jets::picture_of(params, params.unit)),
        layout_(jets::view_layout(params, params.items, kFeatures, kGlobals)) {
    expect_span("w_mass", params.w_mass, params.t_cut);
    expect_span("qcd_mass", params.qcd_mass, params.t_cut);
    table().expect_ordered(params, {"momentum"});
    expect_axis(params);
  }

  SampleLayout layout() const { return layout_; }

  /// Constituents in order of decreasing energy.
  template <class Run>
  WS_HD void make(Run& run) const {
    constexpr int N = Run::kEvents;
    float mass[N], momentum[N], t0[N];
    std::int32_t label[N];
    const auto scene = run.blocks(Purpose::scene, 0);
    in_lanes<N>([&](int i) WS_INLINED {
      const Philox4 random = scene.of(i);
      label[i] = below(random.word[0], 2) == 0 ? kW : kQcd;
      mass[i] = label[i] == kW ? w_mass_ : qcd_mass_;
      momentum[i] = math::fma(unit_float(random.word[1]), momentum_range_, momentum_low_);
      t0[i] = mass[i] * mass[i];
    });

    Constituents parts[N];
    ginkgo::Rate law[N];
    for (int i = 0; i < N; ++i) law[i] = label[i] == kW ? w_ : qcd_;
    ginkgo::ShowerCount count[N];
    ginkgo::ExactSum log_rest[N];
    float root_w[N] = {}, root_qcd[N] = {}, first[N] = {}, second[N] = {};
    ginkgo::shower<N>([&](std::uint32_t draw) { return run.blocks(Purpose::scene, draw); }, 1, t0,
                      t_cut_, law, rate_,
                      [&](const ginkgo::Branchings<N>& now, bool at_root) {
                        if (at_root) {
                          in_lanes<N>([&](int i) WS_INLINED {
                            const ginkgo::Branching b = now.of(i);
                            root_w[i] = w_.log_density(b);
                            root_qcd[i] = qcd_.log_density(b);
                            first[i] = b.a;
                            second[i] = b.b;
                          });
                        } else {
                          in_lanes<N>([&](int i) WS_INLINED {
                            const float log_density = rate_.log_density(now.of(i));
                            log_rest[i].add(now.done[i] != 0 ? 0.0f : log_density);
                          });
                        }
                      },
                      [&](int i, const ginkgo::Parton& part) { parts[i].add(part); }, count);

    run.each([&](int i, auto& row, auto& truth) WS_INLINED {
      const ginkgo::Parton jet = in_lab(t0[i], momentum[i]);
      to_frame(jet, mass[i], parts[i]);
      if (output_ == jets::Output::constituents) {
        jets::in_falling_order<N>(parts[i].e, parts[i].count, [&](int k, int place) {
          if (place >= items_) return;
          row.set_item(place, {parts[i].e[k] * per_unit_, parts[i].x[k] * per_unit_,
                               parts[i].y[k] * per_unit_, parts[i].z[k] * per_unit_});
        });
        // An unfinished part would have branched, so it counts as two constituents.
        row.set_count(count[i].finals + count[i].unfinished);
        row.set_global(0, jet.energy() * per_unit_);
        for (int k = 1; k < kGlobals; ++k) row.set_global(k, jet.p.x * per_unit_);
      } else {
        show<N>(parts[i], row, truth);
      }
      truth.label = label[i];
      truth.latents[0] = root_w[i] + log_rest[i].value();
      truth.latents[1] = root_qcd[i] + log_rest[i].value();
      truth.latents[2] = root_w[i] - root_qcd[i];
      truth.latents[3] = first[i];
      truth.latents[4] = second[i];
      truth.latents[5] = static_cast<float>(count[i].finals);
      truth.latents[6] = momentum[i];
    });
  }

 private:
  static constexpr const char* kRunner = "value used in the authors' program";

  static ParamTable<Params> own_rows() {
    return ParamTable<Params>("ginkgo")
        .real("w_mass", &Params::w_mass, {1, 1000}, "GeV", "mass of a W jet", kRunner)
        .real("qcd_mass", &Params::qcd_mass, {1, 1000}, "GeV",
              "mass of a QCD jet; if it differs from w_mass, the mass alone separates the classes",
              "published: 30; here equal to w_mass, as after a mass cut")
        .real("w_root_rate", &Params::w_root_rate, {0.1, 100}, "",
              "rate of the first branching of a W; a larger rate gives lighter partons", kRunner)
        .real("qcd_root_rate", &Params::qcd_root_rate, {0.1, 100}, "",
              "rate of the first branching of a QCD jet", kRunner)
        .real("rate", &Params::rate, {0.1, 100}, "", "rate of all further branchings", kRunner)
        .real("t_cut", &Params::t_cut, {1e-3, 1e5}, "GeV^2",
              "partons with at most this mass squared are constituents", kRunner)
        .real("momentum_low", &Params::momentum_low, {0, 1e4}, "GeV",
              "lowest momentum of a jet, along (1, 1, 1)", kRunner)
        .real("momentum_high", &Params::momentum_high, {0, 1e4}, "GeV",
              "highest momentum; uniform between the two", kRunner)
        .choice("frame", &Params::frame, {{"lab", Frame::lab}, {"rest", Frame::rest}},
                "frame of the constituents: lab, or rest frame of the jet")
        .real("unit", &Params::unit, {1e-3, 1e4}, "GeV", "unit of x and globals")
        .integer("items", &Params::items, {2, ginkgo::kMostFinals}, "",
                 "maximum number of constituents; the most energetic ones are kept")
        .only_where(jets::shows_constituents<Params>, "output: constituents");
  }

  static constexpr std::int32_t kW = 0, kQcd = 1;  ///< labels
  static constexpr float kAxis = 0x1.279a74p-1f;   ///< 1 / sqrt 3
  static constexpr double kSlack = 1e-3;           ///< for rounding errors of log densities

  /// A jet in the direction (1, 1, 1).
  WS_INLINE static ginkgo::Parton in_lab(float t, float momentum) {
    const float along = momentum * kAxis;
    return {t, {along, along, along}};
  }

  struct Constituents {
    float e[ginkgo::kMostFinals], x[ginkgo::kMostFinals], y[ginkgo::kMostFinals],
        z[ginkgo::kMostFinals];
    int count = 0;

    /// Stores the mass squared in e; to_frame later replaces it with the energy.
    WS_INLINE void add(const ginkgo::Parton& part) {
      e[count] = part.t;
      x[count] = part.p.x;
      y[count] = part.p.y;
      z[count] = part.p.z;
      ++count;
    }
    WS_INLINE ginkgo::Parton parton(int k) const { return {e[k], {x[k], y[k], z[k]}}; }
  };

  /// Boosts the parts of `jet` to the lab if frame_ is lab, and sets their energies.
  WS_INLINE void to_frame(const ginkgo::Parton& jet, float mass, Constituents& parts) const {
    const bool moves = frame_ == Frame::lab;
    in_lanes(parts.count, [&](int k) WS_INLINED {
      const ginkgo::Parton at_rest = parts.parton(k), in_lab = boosted(at_rest, jet, mass);
      parts.e[k] = moves ? in_lab.energy() : at_rest.energy();
      parts.x[k] = moves ? in_lab.p.x : at_rest.p.x;
      parts.y[k] = moves ? in_lab.p.y : at_rest.p.y;
      parts.z[k] = moves ? in_lab.p.z : at_rest.p.z;
    });
  }

  /// Writes an image or observables of all constituents in order of decreasing energy; replaces the
  /// momenta with the plane coordinates.
  template <int N, class Row, class Truth>
  WS_INLINE void show(Constituents& parts, Row& row, Truth& truth) const {
    static_assert(ginkgo::kMostFinals <= jets::kMostConstituents);
    Constituents all;
    all.count = parts.count;
    jets::in_falling_order<N>(parts.e, parts.count, [&](int k, int place) {
      all.e[place] = parts.e[k];
      all.x[place] = parts.x[k];
      all.y[place] = parts.y[k];
      all.z[place] = parts.z[k];
    });
    jets::Sum sum;
    for (int i = 0; i < all.count; ++i) sum.add(all.e[i], all.x[i], all.y[i], all.z[i]);
    float more[2][ginkgo::kMostFinals];  // scratch for draw_image and measure
    jets::Cloud cloud{all.x, all.z, all.y, all.e, more[0], more[1], all.count};
    const float phi = 0.25f * math::kPi;  // azimuth of (1, 1, 1)
    for (int i = 0; i < all.count; ++i) jets::place(cloud, i, all.x[i], all.y[i], all.z[i], phi);
    if (output_ == jets::Output::image) {
      truth.latents[7] = jets::draw_image(cloud, picture_, row);
    } else {
      float numbers[jets::kNumbers];
      jets::measure(cloud, sum, per_unit_, numbers);
      row.set_features(0, numbers);
    }
  }

  /// Smallest and largest log density of a shower.
  static std::pair<float, float> log_density_range(const Params& params) {
    const double mass = std::max(params.w_mass, params.qcd_mass);
    double low = 0, high = 0;
    for (const double rate : {params.w_root_rate, params.qcd_root_rate, params.rate}) {
      // log p = 2 log_norm - log(8 pi t) - r (a + b) - 2 log(sqrt t - sqrt t1), for one drawing
      // order or the sum of both. Bounds: a + b < 2 and 1 - sqrt .999 <= (sqrt t - sqrt t1) / sqrt
      // t <= 1.
      const double norm = 2 * ginkgo::log_norm(rate) - std::log(8 * std::numbers::pi);
      low = std::min(low, norm - 4 * std::log(mass) - 2 * rate);
      high = std::max(high, norm - 2 * std::log(params.t_cut) + std::log(2) -
                                2 * std::log(1 - std::sqrt(0.999)));
    }
    constexpr int kMost = ginkgo::kMostFinals - 1;
    return {static_cast<float>(kMost * low - kSlack), static_cast<float>(kMost * high + kSlack)};
  }

  static void expect_axis(const Params& params) {
    if (params.output == jets::Output::constituents) return;
    if (params.frame == Frame::lab && params.momentum_low > 0) return;
    fail(ErrorKind::config, {"ginkgo: output=image and output=features need a moving jet",
                             "they use pseudorapidity and azimuth about the jet's axis",
                             "give frame=lab and momentum_low > 0, or output=constituents"});
  }

  static void expect_span(const char* name, double mass, double t_cut) {
    const double span = mass * mass / t_cut;
    if (span > 1 && span <= ginkgo::kLargestSpan) return;
    fail(ErrorKind::config,
         {"ginkgo: " + std::string(name) + " squared is " + shortest(span) + " times t_cut",
          span > 1 ? "the maximum is 8192, about 45 constituents" : "such a jet would not branch",
          "choose t_cut between " + std::string(name) + "^2 / 8192 and " + name + "^2"});
  }

  ginkgo::Rate w_, qcd_, rate_;
  float w_mass_, qcd_mass_, t_cut_, momentum_low_, momentum_range_, per_unit_;
  Frame frame_;
  jets::Output output_;
  int items_;
  jets::Picture picture_;
  SampleLayout layout_;
};

}  // namespace wellspring
