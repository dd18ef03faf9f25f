// One XY lattice on the host; spins are read and set as angles. For the tests of `xy`; host only.
#pragma once

#include "generators/images/xy.h"
#include "kernels/runtime/solo_team.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <vector>

namespace wellspring::test {

inline constexpr double kWholeTurn = 2 * std::numbers::pi;

/// One lattice on the host, updated by a team of one.
class XySpins {
 public:
  explicit XySpins(int side)
      : shape{side},
        words_(static_cast<std::size_t>(XyWork::words_of(shape)) + 1),
        work(XyWork::in(shape, words_.data())) {}

  std::size_t at(int x, int y) const {
    const int side = shape.side;
    x = (x + side) % side, y = (y + side) % side;
    const int colour = (x + y) % 2;
    return static_cast<std::size_t>(colour * shape.sites() + y * shape.half() + x / 2);
  }
  double x(int column, int row) const { return double{xy::load(&words_[at(column, row)])}; }
  double y(int column, int row) const {
    return double{
        xy::load(&words_[at(column, row) + static_cast<std::size_t>(shape.of_a_colour())])};
  }
  double angle(int column, int row) const { return std::atan2(y(column, row), x(column, row)); }
  void turn(int column, int row, double angle) {
    xy::store(&words_[at(column, row)], static_cast<float>(std::cos(angle)));
    xy::store(&words_[at(column, row) + static_cast<std::size_t>(shape.of_a_colour())],
              static_cast<float>(std::sin(angle)));
  }
  std::vector<double> angles() const {
    std::vector<double> all;
    for (int row = 0; row < shape.side; ++row)
      for (int column = 0; column < shape.side; ++column) all.push_back(angle(column, row));
    return all;
  }
  double energy(double coupling = 1) const {
    double sum = 0;
    for (int row = 0; row < shape.side; ++row) {
      for (int column = 0; column < shape.side; ++column) {
        sum -= std::cos(angle(column, row) - angle(column + 1, row)) +
               coupling * std::cos(angle(column, row) - angle(column, row + 1));
      }
    }
    return sum;
  }
  /// Starts chain `sample` and runs the rounds of the generator.
  XyLattice relax(double t, std::uint64_t sample, int rounds, bool hot = false,
                  double coupling = 1) {
    const XyLattice lattice = {
        shape, static_cast<float>(1 / t), static_cast<float>(coupling), {2026, sample}};
    lattice.begin(team, work, hot, 0.3f);
    const Xy generator{Xy::Params{}};
    for (int round = 0; round < rounds; ++round) {
      lattice.heat_bath(team, work, static_cast<std::uint32_t>(round));
      for (int i = 0; i < generator.mirrors_of(round, shape.side); ++i)
        lattice.over_relax(team, work);
    }
    return lattice;
  }

  XyShape shape;

 private:
  std::vector<std::uint32_t> words_;

 public:
  XyWork work;
  SoloTeam team{ScratchCursor{}};
};

inline double distance(double a, double b) {
  return std::abs(std::remainder(a - b, kWholeTurn));
}

}  // namespace wellspring::test
