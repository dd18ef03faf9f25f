// XY lattices for one team: planar spins, updated by checkerboard sweeps of heat bath and
// over-relaxation. Called by generator `xy`; host and device.
//
//   E = - sum over horizontal bonds cos(a_i - a_j) - coupling * sum over vertical bonds,
//   periodic, side x side
//
// Heat bath: given its neighbours, a spin's angle to their sum h has a von Mises distribution with
// kappa = |h| / T. It is drawn by rejection from a wrapped Cauchy distribution (D. Best, N. Fisher,
// "Efficient simulation of the von Mises distribution", Appl. Stat. 28 (1979) 152). Over-relaxation
// reflects a spin about h, which conserves energy (M. Creutz, PRD 36 (1987) 515). All neighbours of
// a spin have the other colour, so team members update one colour at a time in any order.
#pragma once

#include "kernels/random/math.h"
#include "kernels/random/philox.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/simd.h"

#include <bit>
#include <cstdint>

namespace wellspring {

namespace xy {

/// Tries per spin for a new angle. If all fail (at most once in 72), the spin is unchanged. Failure
/// does not depend on the spin's own angle, so the Boltzmann distribution is preserved.
inline constexpr std::uint32_t kTries = 4;
/// Random blocks per spin: two words per try.
inline constexpr std::uint32_t kBlocks = kTries / 2;

WS_INLINE float load(const std::uint32_t* cell) {
  return std::bit_cast<float>(*cell);
}
WS_INLINE void store(std::uint32_t* cell, float value) {
  *cell = std::bit_cast<std::uint32_t>(value);
}

/// An angle in units of 2^-32 turns, rounded to 2^-24 turns, so that differences wrap by overflow.
WS_INLINE std::uint32_t angle_of(float x, float y) {
  const float turns = math::atan2(y, x) * (1 / math::kTau);
  const auto whole = static_cast<std::int32_t>(math::round(turns * 0x1p+24f));
  return static_cast<std::uint32_t>(whole) << 8;
}
/// The exact angle in turns, in [-1/2, 1/2).
WS_INLINE float turns_of(std::uint32_t angle) {
  return static_cast<float>(static_cast<std::int32_t>(angle)) * 0x1p-32f;
}

/// A direction as a unit vector.
struct Direction {
  float cosine, sine;
};

/// Von Mises distribution, density exp(kappa cos a) / (2 pi I_0(kappa)). The envelope is the image
/// of a uniform direction under the map of the circle with Best and Fisher's rho. The form used
/// here avoids their differences of nearly equal numbers, so it is valid for all kappa >= 0:
///   rho = 2 kappa / q,  q = tau + sqrt(2 tau),  tau = 1 + sqrt(1 + 4 kappa^2).
struct VonMises {
  float twice, sum, difference;  ///< 2 rho, 1 + rho^2, 1 - rho^2
  float scale;                   ///< (1 - rho^2)^2 q / 4

  WS_INLINE explicit VonMises(float kappa) {
    const float tau = 1 + math::sqrt(math::fma(4 * kappa, kappa, 1.f));
    const float q = tau + math::sqrt(2 * tau);
    const float rho = 2 * kappa / q;
    twice = 2 * rho;
    sum = math::fma(rho, rho, 1.f);
    difference = math::fma(-rho, rho, 1.f);
    scale = difference * difference * (0.25f * q);
  }

  /// Proposal from two uniform words. Returns true if it is accepted; the probability is c exp(1 -
  /// c), the ratio of the densities divided by its maximum.
  WS_INLINE bool propose(std::uint32_t word0, std::uint32_t word1, Direction& result) const {
    const math::SinCos even = math::sincos_turns(unit_float(word0));
    const float inverse = 1 / math::fma(twice, even.cosine, sum);
    result = {math::fma(sum, even.cosine, twice) * inverse, difference * even.sine * inverse};
    const float c = scale * inverse;
    return unit_float(word1) < c * math::exp(1 - c);
  }
};

}  // namespace xy

/// Layout of the spins. A site's colour on the checkerboard is 0 if row + column is even; sites of
/// one colour are numbered row by row, `half` per row.
struct XyShape {
  std::int32_t side = 4;  ///< even, at least 4

  WS_INLINE constexpr std::int32_t half() const { return side / 2; }
  WS_INLINE constexpr std::int32_t sites() const { return side * side; }
  WS_INLINE constexpr std::int32_t of_a_colour() const { return side * half(); }
  /// Index of a site's angle, after angles have replaced the first components.
  WS_INLINE constexpr std::int32_t place(std::int32_t x, std::int32_t y) const {
    return ((x + y) & 1) * sites() + y * half() + x / 2;
  }
};

/// Sums over a lattice; sines and cosines in units of 2^-30, so that the order does not matter.
struct XySums {
  std::int64_t cosine_x, cosine_y, sine_x, sine_y;  ///< differences along the bonds
  std::int64_t total_x, total_y;                    ///< components of the spins
  std::int64_t vortices;                            ///< windings of positive plaquettes
  static constexpr float kUnit = 0x1p+30f;
};

/// Working memory that a team shares.
struct XyWork {
  std::uint32_t* words;  ///< [2 colours][x and y][sites of a colour]
  XySums* sums;

  static WS_INLINE constexpr std::int64_t words_of(XyShape shape) {
    return std::int64_t{2} * shape.sites() + 1 +
           static_cast<std::int64_t>(sizeof(XySums) / sizeof(std::uint32_t));
  }
  static WS_INLINE XyWork in(XyShape shape, std::uint32_t* words) {
    std::uint32_t* end = words + 2 * shape.sites();
    if (reinterpret_cast<std::uintptr_t>(end) % alignof(XySums) != 0) ++end;
    return {words, reinterpret_cast<XySums*>(end)};
  }
};

struct XyLattice {
  XyShape shape;
  float inverse_t;  ///< 1 / T
  float coupling;   ///< coupling of vertical bonds
  SampleRng rng;

  WS_INLINE std::uint32_t* xs(const XyWork& work, std::int32_t colour) const {
    return work.words + colour * shape.sites();
  }
  WS_INLINE std::uint32_t* ys(const XyWork& work, std::int32_t colour) const {
    return xs(work, colour) + shape.of_a_colour();
  }

  /// Sets all spins to `turns`, or to random angles: site i, counting colour 0 first, uses word i
  /// mod 4 of block i / 4.
  template <class Team>
  WS_INLINE void begin(Team& team, const XyWork& work, bool hot, float turns) const {
    for (std::int32_t i = 4 * team.rank(); i < shape.sites(); i += 4 * team.size()) {
      Philox4 random{};
      if (hot) random = rng.block(Purpose::init, static_cast<std::uint32_t>(i / 4));
      WS_UNROLL(4)
      for (std::int32_t k = 0; k < 4; ++k) {
        const math::SinCos at = math::sincos_turns(hot ? unit_float(random.word[k]) : turns);
        const std::int32_t colour = i + k < shape.of_a_colour() ? 0 : 1;
        const std::int32_t site = i + k - colour * shape.of_a_colour();
        xy::store(xs(work, colour) + site, at.cosine);
        xy::store(ys(work, colour) + site, at.sine);
      }
    }
    team.sync();
  }

  /// Redraws every spin given its neighbours; colour 0 first.
  template <class Team>
  WS_INLINE void heat_bath(Team& team, const XyWork& work, std::uint32_t number) const {
    for (std::int32_t colour = 0; colour < 2; ++colour) {
      const std::uint32_t first = number * static_cast<std::uint32_t>(shape.sites()) +
                                  static_cast<std::uint32_t>(colour * shape.of_a_colour());
#if WS_DEVICE_CODE
      for (std::int32_t i = team.rank(); i < shape.of_a_colour(); i += team.size()) {
        const std::int32_t row = i / shape.half();
        draw<1>(work, colour, row, i - row * shape.half(), first);
      }
#else
      constexpr std::int32_t kLanes = 8;
      for (std::int32_t row = team.rank(); row < shape.side; row += team.size()) {
        std::int32_t j = 0;
        for (; j + kLanes <= shape.half(); j += kLanes) draw<kLanes>(work, colour, row, j, first);
        for (; j < shape.half(); ++j) draw<1>(work, colour, row, j, first);
      }
#endif
      team.sync();
    }
  }

  /// Reflects every spin about the sum of its neighbours; colour 0 first.
  template <class Team>
  WS_INLINE void over_relax(Team& team, const XyWork& work) const {
    for (std::int32_t colour = 0; colour < 2; ++colour) {
#if WS_DEVICE_CODE
      for (std::int32_t i = team.rank(); i < shape.of_a_colour(); i += team.size()) {
        const std::int32_t row = i / shape.half(), j = i - row * shape.half();
        const Around at = around(work, colour, row);
        mirror(at, j, at.beside(j));
      }
#else
      for (std::int32_t row = team.rank(); row < shape.side; row += team.size()) {
        const Around at = around(work, colour, row);
        const std::int32_t last = shape.half() - 1;
        mirror(at, 0, at.beside(0));
        const std::int32_t step = at.step;
#pragma omp simd
        for (std::int32_t j = 1; j < last; ++j) mirror(at, j, j + step);
        mirror(at, last, at.beside(last));
      }
#endif
      team.sync();
    }
  }

  /// Replaces the spins' first components with angles, then sums over the lattice.
  template <class Team>
  WS_INLINE void measure(Team& team, const XyWork& work) const {
    for (std::int32_t colour = 0; colour < 2; ++colour) {
      std::uint32_t* const x = xs(work, colour);
      const std::uint32_t* const y = ys(work, colour);
      for (std::int32_t i = team.rank(); i < shape.of_a_colour(); i += team.size()) {
        x[i] = xy::angle_of(xy::load(x + i), xy::load(y + i));
      }
    }
    if (team.rank() == 0) *work.sums = {};
    team.sync();
    XySums own{};
    for (std::int32_t i = team.rank(); i < shape.sites(); i += team.size()) {
      const std::int32_t y = i / shape.side, x = i - y * shape.side;
      add_site(work.words, x, y, own);
    }
    team.atomic_add(&work.sums->cosine_x, own.cosine_x);
    team.atomic_add(&work.sums->cosine_y, own.cosine_y);
    team.atomic_add(&work.sums->sine_x, own.sine_x);
    team.atomic_add(&work.sums->sine_y, own.sine_y);
    team.atomic_add(&work.sums->total_x, own.total_x);
    team.atomic_add(&work.sums->total_y, own.total_y);
    team.atomic_add(&work.sums->vortices, own.vortices);
    team.sync();
  }

  /// Winding number of the plaquette to the lower right of (x, y), computed from the shortest
  /// differences along its edges. The two plaquettes next to a bond use the same difference, so all
  /// windings add up to 0.
  WS_INLINE std::int32_t winding(const std::uint32_t* angles, std::int32_t x,
                                 std::int32_t y) const {
    const std::int32_t right = x + 1 == shape.side ? 0 : x + 1;
    const std::int32_t below = y + 1 == shape.side ? 0 : y + 1;
    const std::uint32_t a = angles[shape.place(x, y)], b = angles[shape.place(right, y)];
    const std::uint32_t c = angles[shape.place(x, below)], d = angles[shape.place(right, below)];
    const std::int64_t round =
        (short_way(a, b) + short_way(b, d)) - (short_way(c, d) + short_way(a, c));
    return static_cast<std::int32_t>(round / (std::int64_t{1} << 32));
  }

 private:
  /// Spins of one colour in a row, and their neighbours in this and the adjacent rows. The pointers
  /// give first components; second components are `plane` words later.
  struct Around {
    std::uint32_t* own;
    const std::uint32_t *row, *up, *down;
    std::int32_t plane, half, step;  ///< the second neighbour within the row is at j + step
    float coupling;

    WS_INLINE std::int32_t beside(std::int32_t j) const {
      const std::int32_t k = j + step;
      return k < 0 ? half - 1 : (k == half ? 0 : k);
    }
    /// One component of the sum of the neighbours: first (`c` = 0) or second (`c` = plane).
    WS_INLINE float field(std::int32_t c, std::int32_t j, std::int32_t k) const {
      return math::fma(coupling, xy::load(up + c + j) + xy::load(down + c + j),
                       xy::load(row + c + j) + xy::load(row + c + k));
    }
  };
  WS_INLINE Around around(const XyWork& work, std::int32_t colour, std::int32_t row) const {
    const std::int32_t half = shape.half(), at = row * half;
    const std::int32_t up = (row == 0 ? shape.side - 1 : row - 1) * half;
    const std::int32_t down = (row == shape.side - 1 ? 0 : row + 1) * half;
    const std::uint32_t* const other = xs(work, 1 - colour);
    // Spin j is in column 2 j + (row + colour) mod 2.
    const std::int32_t step = (row + colour) % 2 == 0 ? -1 : 1;
    return {xs(work, colour) + at, other + at, other + up, other + down,
            shape.of_a_colour(),   half,       step,       coupling};
  }

  WS_INLINE static void mirror(const Around& at, std::int32_t j, std::int32_t k) {
    const float hx = at.field(0, j, k), hy = at.field(at.plane, j, k);
    const float x = xy::load(at.own + j), y = xy::load(at.own + at.plane + j);
    const float square = math::fma(hx, hx, hy * hy);
    // If the sum is 0, any rotation conserves energy.
    const float twice = square > 0 ? 2 * math::fma(x, hx, y * hy) / square : 0.f;
    xy::store(at.own + j, math::fma(twice, hx, -x));
    xy::store(at.own + at.plane + j, math::fma(twice, hy, -y));
  }

  /// New angles of kLanes spins, starting at column j.
  template <std::int32_t kLanes>
  WS_INLINE void draw(const XyWork& work, std::int32_t colour, std::int32_t row, std::int32_t j,
                      std::uint32_t first) const {
    const Around at = around(work, colour, row);
    float hx[kLanes], hy[kLanes], length[kLanes], cosine[kLanes], sine[kLanes];
    std::uint32_t others[kLanes][2];
    std::int32_t taken[kLanes];
    for (std::int32_t i = 0; i < kLanes; ++i) {
      const std::int32_t k = at.beside(j + i);
      hx[i] = at.field(0, j + i, k);
      hy[i] = at.field(at.plane, j + i, k);
    }
    const std::uint32_t block =
        xy::kBlocks * (first + static_cast<std::uint32_t>(row * shape.half() + j));
    WS_LANES
    for (std::int32_t i = 0; i < kLanes; ++i) {
      length[i] = math::sqrt(math::fma(hx[i], hx[i], hy[i] * hy[i]));
      const Philox4 random =
          rng.block(Purpose::noise, block + xy::kBlocks * static_cast<std::uint32_t>(i));
      xy::Direction to{};
      taken[i] =
          xy::VonMises(length[i] * inverse_t).propose(random.word[0], random.word[1], to) ? 1 : 0;
      cosine[i] = to.cosine;
      sine[i] = to.sine;
      others[i][0] = random.word[2];
      others[i][1] = random.word[3];
    }
    for (std::int32_t i = 0; i < kLanes; ++i) {
      xy::Direction to = {cosine[i], sine[i]};
      if (taken[i] == 0) {
        const xy::VonMises law(length[i] * inverse_t);
        bool found = law.propose(others[i][0], others[i][1], to);
        if (!found) {
          const Philox4 random =
              rng.block(Purpose::noise, block + xy::kBlocks * static_cast<std::uint32_t>(i) + 1);
          found = law.propose(random.word[0], random.word[1], to) ||
                  law.propose(random.word[2], random.word[3], to);
        }
        if (!found) continue;
      }
      const bool any = length[i] > 0;
      const float ux = any ? hx[i] / length[i] : 1.f, uy = any ? hy[i] / length[i] : 0.f;
      xy::store(at.own + j + i, math::fma(to.cosine, ux, -(to.sine * uy)));
      xy::store(at.own + at.plane + j + i, math::fma(to.cosine, uy, to.sine * ux));
    }
  }

  /// Shortest rotation from a to b, in [-2^31, 2^31), in units of 2^-32 turns.
  WS_INLINE static std::int64_t short_way(std::uint32_t a, std::uint32_t b) {
    return static_cast<std::int32_t>(b - a);
  }
  WS_INLINE static std::int64_t units(float value) {
    return static_cast<std::int64_t>(math::round(value * XySums::kUnit));
  }
  WS_INLINE void add_site(const std::uint32_t* angles, std::int32_t x, std::int32_t y,
                          XySums& sums) const {
    const std::int32_t right = x + 1 == shape.side ? 0 : x + 1;
    const std::int32_t below = y + 1 == shape.side ? 0 : y + 1;
    const std::uint32_t here = angles[shape.place(x, y)];
    const math::SinCos spin = math::sincos_turns(xy::turns_of(here));
    const math::SinCos across =
        math::sincos_turns(xy::turns_of(angles[shape.place(right, y)] - here));
    const math::SinCos down =
        math::sincos_turns(xy::turns_of(angles[shape.place(x, below)] - here));
    sums.total_x += units(spin.cosine);
    sums.total_y += units(spin.sine);
    sums.cosine_x += units(across.cosine);
    sums.sine_x += units(across.sine);
    sums.cosine_y += units(down.cosine);
    sums.sine_y += units(down.sine);
    const std::int32_t vortex = winding(angles, x, y);
    if (vortex > 0) sums.vortices += vortex;
  }
};

}  // namespace wellspring
