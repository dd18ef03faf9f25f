#include "generators/events/track_ways.h"

#include "generators/events/helix.h"
#include "generators/events/tracks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace wellspring {
namespace {

constexpr SampleRng kRandom{7, 1};

/// Propagates one particle as the documentation describes, surface by surface, without skipping
/// any.
std::vector<TrackHit> surface_by_surface(const TrackLaws& laws, const Tracker& tracker, int number,
                                         const TrackParticle& particle) {
  const double norm = std::sqrt(double{particle.cosine} * double{particle.cosine} +
                                double{particle.sine} * double{particle.sine});
  const double cot = double{particle.sinh_eta};
  const double bend = -double{particle.charge} * helix::kBend * laws.field / double{particle.p};
  helix::State at{particle.x,
                  particle.y,
                  particle.z,
                  double{particle.cosine} / norm,
                  double{particle.sine} / norm,
                  cot,
                  bend * std::sqrt(1 + cot * cot)};
  const int side = cot < 0 ? 0 : 1;
  const float mass = laws.mass / particle.p, beta = 1 / std::sqrt(std::fma(mass, mass, 1.0f));
  const auto length = [&](double mm) { return static_cast<float>(mm * laws.per_unit); };
  std::vector<TrackHit> hits;
  int cylinder = 0, disc = 0;
  while (true) {
    helix::Chord out{}, along{};
    if (cylinder < tracker.cylinders)
      out = helix::to_cylinder(at, tracker.cylinder[cylinder].place);
    if (disc < tracker.discs)
      along = helix::to_plane(at, (side == 0 ? -1 : 1) * tracker.disc[disc].place);
    if (!out.reached && !along.reached) return hits;
    const bool is_out = out.reached && !(along.reached && along.arc < out.arc);
    const int place = is_out ? cylinder : kMostCylinders + disc;
    const TrackerSurface& surface = is_out ? tracker.cylinder[cylinder++] : tracker.disc[disc++];
    const helix::State there = helix::moved(at, is_out ? out : along);
    const double r = std::sqrt(there.x * there.x + there.y * there.y);
    const double outwards = (there.x * there.ux + there.y * there.uy) / r;
    if (!(outwards > 0)) return hits;
    const double reach = is_out ? std::abs(there.z) : r;
    if (reach < surface.low || reach > surface.high) continue;
    at = there;
    while (!is_out && disc < tracker.discs && tracker.disc[disc].place == surface.place) ++disc;
    const auto block = static_cast<std::uint32_t>(2 * (kTrackerSurfaces * number + place));
    const Philox4 words = kRandom.block(Purpose::noise, block + 1);
    if (surface.volume[side] != 0 && unit_float(words.word[2]) < laws.efficiency) {
      const math::NormalPair error = math::box_muller(words.word[0], words.word[1]);
      const double turn = double{surface.along * error.first} / r;
      const double across = double{surface.across * error.second};
      const double shrunk = std::sqrt(1 + turn * turn), grown = 1 + across / r;
      const double p = double{particle.p} * helix::sine_to_axis(at);
      hits.push_back({length(is_out ? (at.x - turn * at.y) / shrunk : grown * at.x - turn * at.y),
                      length(is_out ? (at.y + turn * at.x) / shrunk : grown * at.y + turn * at.x),
                      length(is_out ? at.z + across : at.z), length(at.x), length(at.y),
                      length(at.z), static_cast<float>(p * at.ux), static_cast<float>(p * at.uy),
                      static_cast<float>(p * at.cot), surface.volume[side], surface.layer[side]});
    }
    if (!laws.scatters) continue;
    const Philox4 kick = kRandom.block(Purpose::noise, block);
    const math::NormalPair normal = math::box_muller(kick.word[0], kick.word[1]);
    const double s = helix::sine_to_axis(at);
    const double cosine = is_out ? s * outwards : s * std::abs(at.cot);
    const auto thickness =
        static_cast<float>(double{surface.thickness} / (cosine > 0.05 ? cosine : 0.05));
    const float width = helix::highland(particle.p, beta, thickness);
    at = helix::scattered(at, bend, double{width * normal.first}, double{width * normal.second});
    if (!(at.x * at.ux + at.y * at.uy > 0)) return hits;
  }
}

template <int N>
std::vector<std::vector<TrackHit>> side_by_side(const TrackLaws& laws, const Tracker& tracker,
                                                const std::vector<TrackParticle>& particles) {
  const int count = static_cast<int>(particles.size());
  std::vector<std::vector<TrackHit>> hits(particles.size());
  for (int first = 0; first < count; first += N) {
    TrackParticles<N> some{};
    for (int i = 0; i < N; ++i) {
      const int number = first + i < count ? first + i : 0;
      some.put(i, particles[static_cast<std::size_t>(number)]);
    }
    TrackWays<N>(laws, tracker, kRandom, some, first, count)
        .follow([&](int lane, const TrackHit& hit) {
          hits[static_cast<std::size_t>(first + lane)].push_back(hit);
        });
  }
  return hits;
}

void expect_equal(const TrackHit& a, const TrackHit& b) {
  ASSERT_EQ(a.x, b.x);
  ASSERT_EQ(a.y, b.y);
  ASSERT_EQ(a.z, b.z);
  ASSERT_EQ(a.true_x, b.true_x);
  ASSERT_EQ(a.true_y, b.true_y);
  ASSERT_EQ(a.true_z, b.true_z);
  ASSERT_EQ(a.px, b.px);
  ASSERT_EQ(a.py, b.py);
  ASSERT_EQ(a.pz, b.pz);
  ASSERT_EQ(a.volume, b.volume);
  ASSERT_EQ(a.layer, b.layer);
}

struct Beams {
  const char* what;
  TrackLaws laws;
  double thickness, pt_low, pt_high, eta_max, vertex_z;
};

/// Momenta are log-uniform; vertices are uniform up to vertex_z.
std::vector<TrackParticle> particles_of(const Beams& beams, std::uint32_t count) {
  std::vector<TrackParticle> particles;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Philox4 a = kRandom.block(Purpose::scene, 2 * i);
    const Philox4 b = kRandom.block(Purpose::scene, 2 * i + 1);
    const auto even = [](std::uint32_t word) { return 2 * double{unit_float(word)} - 1; };
    const double pt =
        beams.pt_low * std::pow(beams.pt_high / beams.pt_low, double{unit_float(a.word[0])});
    const double eta = beams.eta_max * even(a.word[1]), phi = 3.14159265 * even(a.word[2]);
    const auto f = [](double x) { return static_cast<float>(x); };
    particles.push_back({f(pt), f(eta), a.word[3] % 2 == 0 ? 1.0f : -1.0f, f(std::cos(phi)),
                         f(std::sin(phi)), f(std::sinh(eta)), f(pt * std::cosh(eta)),
                         f(6 * even(b.word[0])), f(6 * even(b.word[1])),
                         f(beams.vertex_z * even(b.word[2]))});
  }
  return particles;
}

// missed_surfaces.h assumes this bound; normal numbers here reach at most 5.78.
TEST(TrackWays, StartInsideTheFirstRing) {
  for (const ParamRow& row : Tracks::table().rows()) {
    if (row.name != "vertex_z") continue;
    EXPECT_LT(5.78 * row.high, Tracks::tracker_of({}).disc[0].place);
    return;
  }
  FAIL() << "there is no parameter vertex_z";
}

// Results must be bit-identical in all cases: the defaults; kicks that turn particles back along
// the axis, towards skipped surfaces; neither field nor kicks; curling tracks; far forward
// tracks.
TEST(TrackWays, MatchPropagationSurfaceBySurface) {
  const Beams all[] = {
      {"defaults", {2, 1, 0.13957f, 0.98f, true}, 0.012, 0.5, 10, 2.5, 100},
      {"kicks", {0, 0.5, 0.9f, 1, true}, 0.2, 0.05, 0.3, 1.5, 599},
      {"straight", {0, 1, 0, 1, false}, 0, 0.5, 10, 3, 300},
      {"curling", {4, 1, 0, 0.5f, false}, 0, 0.1, 2, 2, 300},
      {"forward", {2, 1, 0.9f, 1, true}, 0.05, 0.05, 2, 4, 300},
  };
  for (const Beams& beams : all) {
    SCOPED_TRACE(beams.what);
    const Tracker tracker = generic_tracker(
        {0.0144, 0.0162, 0.0231, 0.346, 0.0346, 3.12, beams.thickness, beams.thickness});
    const std::vector<TrackParticle> particles = particles_of(beams, 5003);
    const auto one = side_by_side<1>(beams.laws, tracker, particles);
    const auto eight = side_by_side<8>(beams.laws, tracker, particles);
    std::size_t hits = 0;
    for (std::size_t i = 0; i < particles.size(); ++i) {
      SCOPED_TRACE(i);
      const auto expected =
          surface_by_surface(beams.laws, tracker, static_cast<int>(i), particles[i]);
      ASSERT_EQ(one[i].size(), expected.size());
      ASSERT_EQ(eight[i].size(), expected.size());
      for (std::size_t h = 0; h < expected.size(); ++h) {
        expect_equal(one[i][h], expected[h]);
        expect_equal(eight[i][h], expected[h]);
      }
      hits += expected.size();
    }
    EXPECT_GT(hits, 3 * particles.size());
  }
}

}  // namespace
}  // namespace wellspring
