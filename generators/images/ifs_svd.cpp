#include "generators/images/ifs_svd.h"

#include "core/error.h"
#include "generators/class_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace wellspring::ifs {

namespace {

/// Index of the random numbers for the system of mode one_parameter, above all category indices.
constexpr std::uint64_t kOneSystem = std::uint64_t{1} << 62;
/// Maximum number of attempts for a class or for the one system; then the search gives up.
constexpr int kMostTries = 1000;
/// Number of attempts per jitter, as published.
constexpr int kJitterTries = 4;

double unit(RngStream& draw) {
  return draw.next() * 0x1p-32;
}
double between(RngStream& draw, double low, double high) {
  return low + (high - low) * unit(draw);
}

Map scaled(const Map& map, float factor) {
  return {map.a * factor, map.b * factor, map.c * factor,
          map.d * factor, map.e * factor, map.f * factor};
}

Window window_of(const Box& box) {
  return {static_cast<float>(box.x0),     static_cast<float>(box.x1),
          static_cast<float>(box.y0),     static_cast<float>(box.y1),
          static_cast<float>(box.last_x), static_cast<float>(box.last_y)};
}

[[noreturn]] void give_up(const char* what, const char* advice) {
  fail(ErrorKind::config, {fmt::format("ifs: {} draws anything visible", what),
                           fmt::format("{} candidates were tried", kMostTries), advice});
}

CategoryTable empty_table(std::int64_t count) {
  CategoryTable table;
  table.categories.resize(static_cast<std::size_t>(count));
  table.windows.resize(static_cast<std::size_t>(count) * kVariations);
  return table;
}

void make_svd_class(const SvdSpec& spec, std::int64_t k, Category& category, Window* windows,
                    Jitter* jitters) {
  const SampleRng rng = {static_cast<std::uint64_t>(spec.seed), static_cast<std::uint64_t>(k)};
  RngStream draw(rng, Purpose::scene);
  SvdSystem made;
  for (std::uint32_t attempt = 0;; ++attempt) {
    if (attempt == kMostTries) give_up("no system of a class", "use another `category_seed`");
    const int maps = spec.maps_low + static_cast<int>(draw.integer(static_cast<std::uint32_t>(
                                         spec.maps_high - spec.maps_low + 1)));
    made = draw_svd_system(draw, maps, (5 + maps) / 2.0, (6 + maps) / 2.0);
    category.attempt = attempt;
    const Box box = box_of(made.system, rng);
    if (!box.has_area()) continue;
    windows[0] = window_of(box);
    jitters[0] = {0, 1};
    break;
  }
  category.system = made.system;
  category.variation[category.usable++] = 0;
  for (int v = 1; v <= spec.jitters; ++v) {
    Jitter jitter = {0, 1};
    for (int attempt = 0; attempt < kJitterTries; ++attempt) {
      const auto map = static_cast<int>(draw.integer(static_cast<std::uint32_t>(made.system.maps)));
      const auto factor = static_cast<float>(between(draw, 0.8, 1.1));
      // The factor also applies to the map's singular values.
      if (made.s1[map] * factor > 1) continue;
      jitter = {map, factor};
      break;
    }
    System system = made.system;
    system.map[jitter.map] = scaled(system.map[jitter.map], jitter.factor);
    const Box box = box_of(system, rng);
    if (!box.has_area()) continue;
    windows[v] = window_of(box);
    jitters[v] = jitter;
    category.variation[category.usable++] = static_cast<std::uint8_t>(v);
  }
}

System perturbed(const System& system, RngStream& draw, double most) {
  System result = system;
  for (int i = 0; i < system.maps; ++i) {
    Map& m = result.map[i];
    for (float* const value : {&m.a, &m.b, &m.c, &m.d, &m.e, &m.f}) {
      *value = static_cast<float>(*value * (1 + most * (2 * unit(draw) - 1)));
    }
  }
  return result;
}

void make_perturbed_class(const OneParameterSpec& spec, const System& system, std::int64_t k,
                          Category& category, Window* windows) {
  const SampleRng rng = {static_cast<std::uint64_t>(spec.seed), static_cast<std::uint64_t>(k)};
  RngStream draw(rng, Purpose::scene);
  for (std::uint32_t attempt = 0;; ++attempt) {
    if (attempt == kMostTries)
      give_up("no perturbation of the system", "lower `perturbation` or raise `sigma`");
    category.system = perturbed(system, draw, spec.perturbation);
    category.attempt = attempt;
    const Box box = box_of(category.system, rng);
    if (!box.has_area()) continue;
    windows[0] = window_of(box);
    if (lit_share(category.system, windows[0], spec.seed) > kLeastLit) break;
  }
  category.variation[category.usable++] = 0;
}

}  // namespace

bool Box::has_area() const {
  return x1 > x0 && y1 > y0 && x0 > -kFar && x1 < kFar && y0 > -kFar && y1 < kFar &&
         std::abs(last_x) < kFar && std::abs(last_y) < kFar;
}

SvdSystem draw_svd_system(RngStream& draw, int maps, double low, double high) {
  SvdSystem made;
  made.system.maps = maps;
  made.alpha = between(draw, low, high);
  // p: the remainder of alpha; q: the minimum that this map must take if all later maps take their
  // maximum of 3.
  double p = made.alpha, q = made.alpha - 3 * maps + 3;
  for (int i = 0; i < maps - 1; ++i) {
    const double s1 = between(draw, std::max(0.0, q / 3), std::min(1.0, p));
    q -= s1;
    p -= s1;
    const double s2 = between(draw, std::max(0.0, q / 2), std::min(s1, p / 2));
    q = q - 2 * s2 + 3;
    p -= 2 * s2;
    made.s1[i] = s1;
    made.s2[i] = s2;
  }
  draw.next();  // the last map has one degree of freedom fewer, but uses as many words
  made.s2[maps - 1] = between(draw, std::max(0.0, (p - 1) / 2), p / 3);
  made.s1[maps - 1] = p - 2 * made.s2[maps - 1];

  for (int i = 0; i < maps; ++i) {
    // R(theta) D1 diag(s1, s2) R(phi) D2, with angles in turns.
    const math::SinCos theta = math::sincos_turns(unit_float(draw.next()) - 0.5f);
    const math::SinCos phi = math::sincos_turns(unit_float(draw.next()) - 0.5f);
    const std::uint32_t signs = draw.next();
    const auto sign = [&](int bit) { return (signs >> bit & 1u) != 0 ? 1.0 : -1.0; };
    const double first = sign(31) * made.s1[i], second = sign(30) * made.s2[i];
    const double u[2][2] = {{theta.cosine * first, -theta.sine * second},
                            {theta.sine * first, theta.cosine * second}};
    const double v[2][2] = {{phi.cosine * sign(29), -phi.sine * sign(28)},
                            {phi.sine * sign(29), phi.cosine * sign(28)}};
    Map& m = made.system.map[i];
    m.a = static_cast<float>(u[0][0] * v[0][0] + u[0][1] * v[1][0]);
    m.b = static_cast<float>(u[0][0] * v[0][1] + u[0][1] * v[1][1]);
    m.c = static_cast<float>(u[1][0] * v[0][0] + u[1][1] * v[1][0]);
    m.d = static_cast<float>(u[1][0] * v[0][1] + u[1][1] * v[1][1]);
    m.e = static_cast<float>(between(draw, -1, 1));
    m.f = static_cast<float>(between(draw, -1, 1));
  }
  set_selectors(made.system);
  return made;
}

Box box_of(const System& system, const SampleRng& rng) {
  constexpr int kLanes = 16, kBurnIn = 64, kSteps = kBurnIn + (1 << 15) / kLanes;
  static_assert(kSteps % 8 == 0);
  struct {
    double value[kCoefficients];
  } map[kMaxMaps];
  for (int i = 0; i < kMaxMaps; ++i) {
    const Map& m = system.map[i];
    map[i] = {{m.a, m.b, m.c, m.d, m.e, m.f}};
  }
  // Solves (I - A) x = b.
  const auto& m0 = map[0].value;
  const double det = (1 - m0[0]) * (1 - m0[3]) - m0[1] * m0[2];
  const double start_x = ((1 - m0[3]) * m0[4] + m0[1] * m0[5]) / det;
  const double start_y = ((1 - m0[0]) * m0[5] + m0[2] * m0[4]) / det;
  double x[kLanes], y[kLanes];
  std::fill(x, x + kLanes, start_x);
  std::fill(y, y + kLanes, start_y);
  Box box = {HUGE_VAL, -HUGE_VAL, HUGE_VAL, -HUGE_VAL, 0, 0};
  for (int step = 0; step < kSteps; step += 8) {
    for (int l = 0; l < kLanes; ++l) {
      // Eight steps per lane: first the lower, then the upper halves of the words of its block.
      const Philox4 words =
          rng.block(Purpose::texture, static_cast<std::uint32_t>(step / 8 * kLanes + l));
      for (int k = 0; k < 8; ++k) {
        const std::uint32_t selector = words.word[k % 4] >> (k < 4 ? 0 : 16) & 0xffffu;
        const auto& m = map[map_of(system.upto, selector)].value;
        const double next_x = std::fma(m[0], x[l], std::fma(m[1], y[l], m[4]));
        y[l] = std::fma(m[2], x[l], std::fma(m[3], y[l], m[5]));
        x[l] = next_x;
        if (step < kBurnIn) continue;
        box.x0 = std::min(box.x0, x[l]);
        box.x1 = std::max(box.x1, x[l]);
        box.y0 = std::min(box.y0, y[l]);
        box.y1 = std::max(box.y1, y[l]);
      }
    }
  }
  box.last_x = x[0];
  box.last_y = y[0];
  return box;
}

CategoryTable make_svd_categories(const SvdSpec& spec, std::int64_t count, int threads,
                                  Progress* progress) {
  CategoryTable table = empty_table(count);
  table.jitters.resize(table.windows.size());
  make_each(count, threads, progress, [&](std::int64_t k) {
    const auto at = static_cast<std::size_t>(k);
    make_svd_class(spec, k, table.categories[at], &table.windows[at * kVariations],
                   &table.jitters[at * kVariations]);
  });
  return table;
}

double lit_share(const System& system, const Window& window, std::int64_t seed) {
  constexpr int kSide = 512, kMargin = 6, kStride = kSide + 2;
  constexpr Walk kWalk = {256, 32, 100000, 0, 0};
  Walk walked = kWalk;
  walked.start_x = window.point_x;
  walked.start_y = window.point_y;
  const float sx = (kSide - 2 * kMargin) / (window.x1 - window.x0);
  const float sy = (kSide - 2 * kMargin) / (window.y1 - window.y0);
  const Placing placing = {sx, 1 + kMargin - sx * window.x0, sy, 1 + kMargin - sy * window.y0};
  std::vector<std::uint32_t> cells(kStride * kStride);
  walk(0, 1, system, walked, placing, kStride, kStride,
       SampleRng{static_cast<std::uint64_t>(seed), kDrawings},
       [&](std::int32_t cell, std::uint32_t value) {
         std::uint32_t& held = cells[static_cast<std::size_t>(cell)];
         held = std::max(held, value);
       });
  std::int64_t lit = 0;
  for (int row = 1; row <= kSide; ++row) {
    const std::uint32_t* const line = &cells[static_cast<std::size_t>(row * kStride + 1)];
    std::int32_t of_line = 0;
    WS_WALKER_LOOP
    for (int column = 0; column < kSide; ++column) {
      of_line += seen_patch(line + column, kStride) != 0 ? 1 : 0;
    }
    lit += of_line;
  }
  return static_cast<double>(lit) / (kSide * kSide);
}

System one_parameter_system(const OneParameterSpec& spec) {
  const SampleRng rng = {static_cast<std::uint64_t>(spec.seed), kOneSystem};
  RngStream draw(rng, Purpose::scene);
  for (int attempt = 0; attempt < kMostTries; ++attempt) {
    const System system = draw_svd_system(draw, 2, spec.sigma - 0.1, spec.sigma + 0.1).system;
    const Box box = box_of(system, rng);
    if (box.has_area() && lit_share(system, window_of(box), spec.seed) > kLeastLit) return system;
  }
  give_up("no system", "use another `category_seed` or raise `sigma`");
}

CategoryTable make_perturbed_categories(const OneParameterSpec& spec, std::int64_t count,
                                        int threads, Progress* progress) {
  CategoryTable table = empty_table(count);
  const System system = one_parameter_system(spec);
  make_each(count, threads, progress, [&](std::int64_t k) {
    const auto at = static_cast<std::size_t>(k);
    make_perturbed_class(spec, system, k, table.categories[at], &table.windows[at * kVariations]);
  });
  return table;
}

}  // namespace wellspring::ifs
