// A view of some rows of a data set. It is a data set too, so that one file can serve training and
// evaluation with disjoint rows. Used by sources; host only.
#pragma once

#include "core/config/params.h"
#include "sources/datasets/dataset.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace wellspring {

/// How a percentage selects rows.
enum class RowOrder : std::uint8_t {
  hash,   ///< by a hash of the row's number: a random part, even of sorted files
  order,  ///< by position
};

/// "10%..90%", or "100..900" for row numbers; the end is excluded. Ranges that do not overlap have
/// no row in common, whatever the size of the data set.
struct RowRange {
  double begin = 0, end = 100;  ///< per cent, or row numbers
  bool numbers = false;
  RowOrder by = RowOrder::hash;

  /// "" means all rows. Throws config errors.
  static RowRange parse(const std::string& text, RowOrder by, const ConfigLocation& place = {});
  std::string text() const;
  bool overlaps(const RowRange& other) const;
  /// The rows of a data set of this size, ascending.
  std::vector<std::int64_t> rows(std::int64_t size) const;
};

/// The rows of `range`; of these, `limit_per_class` keeps the first N of each class (0: all).
/// Throws a data error if no row is left.
std::unique_ptr<Dataset> view_rows(std::unique_ptr<Dataset> data, const RowRange& range,
                                   std::int64_t limit_per_class);

}  // namespace wellspring
