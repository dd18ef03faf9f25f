// Compares two files that `wellspring bench --json` has written; host only.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace wellspring::bench {

enum class Change : std::uint8_t {
  none,     ///< within the threshold, or within the noise
  faster,   ///< beyond both
  slower,   ///< beyond both
  unknown,  ///< a file has too few repeats for an interval
};

/// A row of both files.
struct ComparedRow {
  std::string name, unit;
  double before = 0, after = 0;  ///< medians
  double ratio = 1;              ///< after over before
  /// From the least to the largest ratio of rates in the two 95 % intervals; empty without them.
  double low = 0, high = 0;
  Change change = Change::unknown;
};

struct Comparison {
  std::vector<ComparedRow> rows;
  std::vector<std::string> only_before, only_after;  ///< names
  std::vector<std::string> notes;                    ///< the machines differ
  bool slower() const;                               ///< a row is slower
};

/// Rows with the same name and unit. A row has changed if `low` to `high` does not contain 1 and the
/// ratio is further than `threshold` from it. Errors (data): not such a file; no row in common.
/// `name_before`, `name_after`: of the files, for messages.
Comparison compare_reports(const std::string& before, const std::string& name_before,
                           const std::string& after, const std::string& name_after,
                           double threshold);

std::string to_text(const Comparison& comparison);
nlohmann::ordered_json to_json(const Comparison& comparison);

}  // namespace wellspring::bench
