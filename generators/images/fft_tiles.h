// Inverse Fourier transform of grids in device memory (inverse_fft.h), through tiles in a team's
// scratch memory: first tiles of columns, then of rows. Memory is thus written and read once per
// direction, and a member transforms up to 16 numbers in registers. Results are bit-identical to
// inverse_fft.h. Used by generator `spectrum`; host and device.
#pragma once

#include "generators/images/inverse_fft.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/simd.h"
#include "kernels/runtime/team.h"

#include <bit>
#include <cstdint>

namespace wellspring::fft {

/// Four adjacent cells, at a multiple of 16 bytes.
struct alignas(16) FourCells {
  Cell cell[4];
};

/// On 16 numbers, two radix-4 stages; on 4 numbers, one; on 8 numbers, a radix-2 stage and then a
/// radix-4 stage. The numbers are `half` apart, and number 0 is number j of its butterfly. The
/// first stages of a transform have half = 1 and j = 0.
template <int kLog, bool kFirst>
WS_INLINE void transform_numbers(Complex (&z)[1 << kLog], std::int32_t j, std::int32_t half,
                                 Twiddles twiddles) {
  if constexpr (kLog == 3) {
    static_assert(kFirst);
    WS_LANES
    for (int i = 0; i < 8; i += 2) {
      const Complex a = z[i], b = z[i + 1];
      z[i] = a + b;
      z[i + 1] = a - b;
    }
    combine(z[0], z[2], z[4], z[6]);
    butterfly(z[1], z[3], z[5], z[7], Turns(twiddles, twiddles.side / 8));
    return;
  }
  if constexpr (kFirst) {
    WS_LANES
    for (int i = 0; i < 1 << kLog; i += 4) combine(z[i], z[i + 1], z[i + 2], z[i + 3]);
  } else {
    const Turns w(twiddles, j * (twiddles.side / (4 * half)));
    WS_LANES
    for (int i = 0; i < 1 << kLog; i += 4) butterfly(z[i], z[i + 1], z[i + 2], z[i + 3], w);
  }
  if constexpr (kLog == 4) {
    const std::int32_t turn = twiddles.side / (16 * half);
    if constexpr (kFirst) combine(z[0], z[4], z[8], z[12]);
    WS_LANES
    for (int i = kFirst ? 1 : 0; i < 4; ++i)
      butterfly(z[i], z[i + 4], z[i + 8], z[i + 12], Turns(twiddles, (j + i * half) * turn));
  }
}

/// Lines of numbers: groups of 2^log_adjacent lines with adjacent numbers. Consecutive numbers in a
/// line are 2^log_step cells apart. After every 2^log_gap numbers, a gap of 2^log_step more cells
/// avoids bank conflicts in scratch memory.
struct Lines {
  Cell* cells;
  std::int32_t imaginary;  ///< cells from the real to the imaginary part
  std::int32_t group;      ///< cells from group to group
  int log_step, log_gap;

  WS_INLINE Cell* at(std::int32_t g, std::int32_t line) const { return cells + g * group + line; }
  WS_INLINE std::int32_t offset(std::int32_t i) const { return (i + (i >> log_gap)) << log_step; }

  /// Numbers that are `half` apart; `half` is 1 or a multiple of 2^log_gap.
  template <int kCount>
  WS_INLINE void get(const Cell* from, std::int32_t half, Complex (&z)[kCount]) const {
    const std::int32_t step = offset(half);
    WS_LANES
    for (int i = 0; i < kCount; ++i) {
      const Cell* const re = from + (half == 1 ? offset(i) : i * step);
      z[i] = {load(re), load(re + imaginary)};
    }
  }
  template <int kCount>
  WS_INLINE void set(Cell* to, std::int32_t half, const Complex (&z)[kCount]) const {
    const std::int32_t step = offset(half);
    WS_LANES
    for (int i = 0; i < kCount; ++i) {
      Cell* const re = to + (half == 1 ? offset(i) : i * step);
      store(re, z[i].re);
      store(re + imaginary, z[i].im);
    }
  }
};
/// Rows of a grid in memory, read four cells at a time.
struct StoredRows {
  const Cell* cells;
  std::int32_t imaginary;
  std::int32_t field;  ///< cells from grid to grid
  int log_rows;        ///< rows of a tile
  int log_columns;

  WS_INLINE const Cell* at(std::int32_t g, std::int32_t) const {
    return cells + (g >> log_rows) * field + ((g & ((1 << log_rows) - 1)) << log_columns);
  }
  WS_INLINE static std::int32_t offset(std::int32_t i) { return i; }

  template <int kCount>
  WS_INLINE void get(const Cell* from, std::int32_t, Complex (&z)[kCount]) const {
    WS_LANES
    for (int i = 0; i < kCount; i += 4) {
      const FourCells re = *reinterpret_cast<const FourCells*>(from + i);
      const FourCells im = *reinterpret_cast<const FourCells*>(from + imaginary + i);
      WS_LANES
      for (int k = 0; k < 4; ++k) z[i + k] = {load(re.cell + k), load(im.cell + k)};
    }
  }
};
/// Columns of a grid in memory: 2^log_columns from each of two places.
struct StoredColumns : Lines {
  std::int32_t places[2];
  int log_columns;

  WS_INLINE Cell* at(std::int32_t g, std::int32_t line) const {
    const std::int32_t place = (line >> log_columns) != 0 ? places[1] : places[0];
    return cells + g * group + place + (line & ((1 << log_columns) - 1));
  }
};

/// Number and length of the lines to transform.
struct LineCount {
  std::int32_t groups;
  int log_adjacent, log_length;
};

/// Called by all members: some stages of the transform. Ends with a barrier.
template <int kLog, bool kFirst, class Team, class From, class To>
WS_INLINE void transform_stages(Team& team, LineCount lines, std::int32_t half, Twiddles twiddles,
                                const From& from, const To& to) {
  const int log_parts = lines.log_length - kLog;
  const std::int32_t count = lines.groups << (log_parts + lines.log_adjacent);
  for (std::int32_t t = team.rank(); t < count; t += team.size()) {
    const std::int32_t line = t & ((1 << lines.log_adjacent) - 1);
    const std::int32_t part = (t >> lines.log_adjacent) & ((1 << log_parts) - 1);
    const std::int32_t g = t >> (lines.log_adjacent + log_parts);
    const std::int32_t j = kFirst ? 0 : part & (half - 1);
    const std::int32_t first = ((part - j) << kLog) + j;
    Complex z[1 << kLog];
    from.get(from.at(g, line) + from.offset(first), half, z);
    transform_numbers<kLog, kFirst>(z, j, half, twiddles);
    to.set(to.at(g, line) + to.offset(first), half, z);
  }
  team.sync();
}

/// Called by all members: transforms lines of at least 32 numbers. The first stages read `from`,
/// the last ones write to `to`, and the others use `work`. Ends with a barrier.
template <class Team, class From, class To>
WS_INLINE void transform_tile(Team& team, LineCount lines, Twiddles twiddles, const From& from,
                              const Lines& work, const To& to) {
  int done = 4;
  if (lines.log_length % 2 != 0) {
    transform_stages<3, true>(team, lines, 1, twiddles, from, work);
    done = 3;
  } else {
    transform_stages<4, true>(team, lines, 1, twiddles, from, work);
  }
  for (; lines.log_length - done > 4; done += 4)
    transform_stages<4, false>(team, lines, 1 << done, twiddles, work, work);
  if (lines.log_length - done == 4) {
    transform_stages<4, false>(team, lines, 1 << done, twiddles, work, to);
  } else {
    transform_stages<2, false>(team, lines, 1 << done, twiddles, work, to);
  }
}

/// Tiles of a sample with `fields` grids of N x N/2 complex numbers.
struct Tiles {
  std::int32_t fields;
  int log_side;
  int log_columns;  ///< in each half of a tile; the halves are from two places
  int log_rows;     ///< rows of a tile

  static constexpr int kLeastLogSide = 6;

  /// No gaps after a first stage of 8 numbers, because the next stage has half = 8.
  WS_HD static constexpr int column_gap(int log_side) { return log_side % 2 == 0 ? 4 : 31; }
  /// Cells of tiles with the given numbers of columns or rows.
  WS_HD static constexpr std::int32_t column_cells(std::int32_t fields, int log_side,
                                                   int log_columns) {
    return fields *
           (((1 << log_side) + (1 << log_side >> column_gap(log_side))) << (log_columns + 2));
  }
  WS_HD static constexpr std::int32_t row_cells(std::int32_t fields, int log_side, int log_rows) {
    return fields * ((9 << (log_side - 1) >> 3) << (log_rows + 1));
  }
  /// The largest tiles of at most `cells` cells, or log_columns = 0 if such tiles are too small.
  WS_HD static constexpr Tiles of(std::int32_t fields, int log_side, std::int64_t cells) {
    Tiles tiles{fields, log_side, 3, log_side};
    while (tiles.log_columns > 0 && column_cells(fields, log_side, tiles.log_columns) > cells)
      --tiles.log_columns;
    while (tiles.log_rows > 0 && row_cells(fields, log_side, tiles.log_rows) > cells)
      --tiles.log_rows;
    if (log_side < kLeastLogSide || row_cells(fields, log_side, tiles.log_rows) > cells)
      tiles.log_columns = 0;
    return tiles;
  }

  /// Cells of the larger tile.
  WS_HD constexpr std::int32_t cells() const {
    const std::int32_t a = column_cells(fields, log_side, log_columns);
    const std::int32_t b = row_cells(fields, log_side, log_rows);
    return a > b ? a : b;
  }

  /// Stored columns hold bit-reversed numbers k (inverse_fft.h), so adjacent columns in half a tile
  /// have equal residues modulo residues(). The halves' residues add up to 0, so a tile contains
  /// N/2 - k along with k. The first tile has the residues that are their own opposites.
  WS_INLINE int log_residues() const { return log_side - 1 - log_columns; }
  WS_INLINE std::int32_t residue(std::int32_t tile, bool second) const {
    const std::int32_t residues = 1 << log_residues();
    if (!second) return tile;
    return tile == 0 ? residues / 2 : residues - tile;
  }
  WS_INLINE std::int32_t column_tiles() const { return 1 << (log_residues() - 1); }
  /// Column of number k in its tile.
  WS_INLINE std::int32_t column_of(std::int32_t tile, std::int32_t k) const {
    const bool second = (k & ((1 << log_residues()) - 1)) != tile;
    return (second ? 1 << log_columns : 0) + reversed(k >> log_residues(), log_columns);
  }
  /// The i-th number k of a tile between 1 and N/4, for i below 2^log_columns.
  WS_INLINE std::int32_t number_of(std::int32_t tile, std::int32_t i) const {
    const std::int32_t r = residue(tile, (i >> (log_columns - 1)) != 0);
    const std::int32_t m = i & ((1 << (log_columns - 1)) - 1);
    return r + ((r == 0 ? m + 1 : m) << log_residues());
  }

  WS_INLINE Lines columns(Cell* scratch) const {
    const std::int32_t part = column_cells(1, log_side, log_columns) / 2;
    return {scratch, part, 2 * part, log_columns + 1, column_gap(log_side)};
  }
  WS_INLINE Lines rows(Cell* scratch) const {
    const std::int32_t line = row_cells(1, log_side, 0) / 2;
    return {scratch, fields * (line << log_rows), line, 0, 3};
  }

  /// Called by all members: transforms a tile of columns into the grids. Ends with a barrier.
  template <class Team>
  WS_INLINE void transform_columns(Team& team, Twiddles twiddles, std::int32_t tile, Cell* scratch,
                                   Cell* grids) const {
    const std::int32_t grid = 1 << (2 * log_side);
    const auto place = [&](bool second) {
      return reversed(residue(tile, second), log_residues()) << log_columns;
    };
    const Lines work = columns(scratch);
    transform_tile(
        team, {fields, log_columns + 1, log_side}, twiddles, work, work,
        StoredColumns{
            {grids, grid / 2, grid, log_side - 1, 31}, {place(false), place(true)}, log_columns});
  }
  /// Called by all members: transforms rows starting at `first`, from the
  /// grids to scratch. Ends with a barrier.
  template <class Team>
  WS_INLINE void transform_rows(Team& team, Twiddles twiddles, std::int32_t first,
                                const Cell* grids, Cell* scratch) const {
    const std::int32_t grid = 1 << (2 * log_side);
    const Lines work = rows(scratch);
    transform_tile(
        team, {fields << log_rows, 0, log_side - 1}, twiddles,
        StoredRows{grids + (first << (log_side - 1)), grid / 2, grid, log_rows, log_side - 1}, work,
        work);
  }
};

}  // namespace wellspring::fft
