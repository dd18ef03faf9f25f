#include "generators/images/ifs_official.h"

#include "core/error.h"
#include "core/text/progress.h"
#include "generators/class_tables.h"
#include "generators/images/ifs_categories.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace wellspring::ifs {

namespace {

/// Number of candidates evaluated at once.
constexpr int kBatch = 32;
/// Points this far from the origin cannot be seen in a picture that contains it; no overflow yet.
constexpr double kOverflow = 1e300;
/// Number of consecutive rejections before the search gives up; see kMostAttempts.
constexpr std::uint32_t kMostRefused = kMostAttempts;

/// Computes xs - min(xs), then its extent, as published. The origin is one of the points, so the
/// minimum is never above 0.
struct Axis {
  double low, extent;
};
Axis axis_of(const std::vector<double>& values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return {*low, *high - *low};
}
std::int32_t pixel_of(double value, const Axis& axis) {
  constexpr double kInner = kSurveySide - 2 * kSurveyMargin;
  return static_cast<std::int32_t>((value - axis.low) / axis.extent * kInner + kSurveyMargin);
}

}  // namespace

System OfficialSystem::rounded() const {
  System system{};
  system.maps = maps;
  for (int i = 0; i < maps; ++i) {
    const Line& m = line[i];
    system.map[i] = {static_cast<float>(m.a), static_cast<float>(m.b), static_cast<float>(m.c),
                     static_cast<float>(m.d), static_cast<float>(m.e), static_cast<float>(m.f)};
  }
  set_selectors(system);
  return system;
}

OfficialSystem draw_official(NumpyRandom& random) {
  OfficialSystem system;
  system.maps = random.randint(2, 8);
  double sum = 0;
  for (int i = 0; i < system.maps; ++i) {
    OfficialSystem::Line& m = system.line[i];
    for (double* const value : {&m.a, &m.b, &m.c, &m.d, &m.e, &m.f}) *value = random.uniform(-1, 1);
    m.chance = std::abs(m.a * m.d - m.b * m.c);
    sum += m.chance;
  }
  for (int i = 0; i < system.maps; ++i) system.line[i].chance /= sum;
  return system;
}

double official_fill(const OfficialSystem& system, std::span<const double> points) {
  double upto[kMaxMaps], sum = 0;
  for (int i = 0; i < system.maps; ++i) upto[i] = sum += system.line[i].chance;
  thread_local std::vector<double> xs, ys;
  xs.assign(points.size(), 0);
  ys.assign(points.size(), 0);
  for (std::size_t i = 1; i < points.size(); ++i) {
    int j = 0;
    while (j < system.maps && !(points[i - 1] <= upto[j])) ++j;
    const double x = xs[i - 1], y = ys[i - 1];
    // Rounding may leave the last sum below 1. If the random number exceeds it, the point stays.
    if (j == system.maps) {
      xs[i] = x;
      ys[i] = y;
      continue;
    }
    const OfficialSystem::Line& m = system.line[j];
    xs[i] = x * m.a + y * m.b + m.e;
    ys[i] = x * m.c + y * m.d + m.f;
    if (!(std::abs(xs[i]) + std::abs(ys[i]) < kOverflow)) return 0;
  }
  const Axis across = axis_of(xs), up = axis_of(ys);
  if (!(across.extent > 0 && up.extent > 0)) return 0;
  std::vector<bool> hit(static_cast<std::size_t>(kSurveySide) * kSurveySide);
  for (std::size_t i = 0; i < xs.size(); ++i) {
    const std::int32_t pixel = pixel_of(ys[i], up) * kSurveySide + pixel_of(xs[i], across);
    hit[static_cast<std::size_t>(pixel)] = true;
  }
  return static_cast<double>(std::count(hit.begin(), hit.end(), true)) /
         static_cast<double>(hit.size());
}

std::vector<OfficialSystem> search_official(std::uint32_t seed, double rate, std::int64_t count,
                                            std::span<const std::uint16_t> known, int threads,
                                            Progress* progress) {
  NumpyRandom random(seed);
  std::vector<OfficialSystem> found;
  const auto tell = [&] {
    if (progress != nullptr) progress->update(found.size());
  };
  const auto wanted = static_cast<std::size_t>(count);
  for (std::size_t k = 0; k < std::min(known.size(), wanted); ++k) {
    for (int left = known[k]; left >= 0; --left) {
      const OfficialSystem system = draw_official(random);
      random.skip(kSurveyPoints);
      if (left == 0) found.push_back(system);
    }
    found.back().refused = known[k];
    tell();
  }

  struct Candidate {
    OfficialSystem system;
    std::vector<double> points = std::vector<double>(kSurveyPoints);
    double fill = 0;
  };
  std::vector<Candidate> batch(found.size() < wanted ? kBatch : 0);
  std::uint32_t refused = 0;
  while (found.size() < wanted) {
    for (Candidate& candidate : batch) {
      candidate.system = draw_official(random);
      for (double& point : candidate.points) point = random.random();
    }
    make_each(kBatch, threads, nullptr, [&](std::int64_t i) {
      Candidate& candidate = batch[static_cast<std::size_t>(i)];
      candidate.fill = official_fill(candidate.system, candidate.points);
    });
    for (Candidate& candidate : batch) {
      if (candidate.fill < rate || found.size() == wanted) {
        ++refused;
        continue;
      }
      candidate.system.refused = refused;
      refused = 0;
      found.push_back(candidate.system);
      tell();
    }
    if (refused < kMostRefused) continue;
    fail(ErrorKind::config,
         {fmt::format("ifs: no system of category {} fills {} of the picture", found.size(), rate),
          fmt::format("{} candidates were tried", refused),
          "use a lower `rate`; the published one is 0.2"});
  }
  return found;
}

}  // namespace wellspring::ifs
