// `wellspring bench compare A.json B.json`. Called by `bench`.
#pragma once

#include <string>

namespace wellspring::cli {

/// Prints how the rates in `after` differ from the rates in `before`, and writes them to the JSON file
/// `json` unless it is empty. `threshold`: smallest change that counts, "5%" or "0.05". Returns the
/// exit code: 5 if a row is slower. Errors (config): the threshold; (data): see compare_reports.
int bench_compare(const std::string& before, const std::string& after, const std::string& threshold,
                  const std::string& json);

}  // namespace wellspring::cli
