// The pinned samples of a generator, stored in tests/generators/golden/<name>.json:
//
//     {"samples": [{"parameters": {"law": "uniform"}, "size": 48, "seed": 1, "first": 0,
//                   "count": 32, "sha256": "..."}, ...],
//      "teams": {"parameters": {}, "height": 33, "width": 40}}
//
// `samples` are digests; "plane": true includes dense labels. `teams` (optional) configures the
// test with teams of all sizes. For tests of generators; host only.
#pragma once

#include "core/config/params.h"
#include "export/samples.h"

#include <string>
#include <vector>

namespace wellspring::test {

struct GoldenSamples {
  std::vector<ParamSetting> settings;
  int size = 48;  ///< side of images, pixels
  SampleRange range = {1, 0, 32};
  DenseLabels dense = DenseLabels::none;
  std::string sha256;
};

/// Samples for the team test. Images are not square, and their width is not a multiple of the
/// host's or the device's run length.
struct GoldenTeams {
  std::vector<ParamSetting> settings;
  int height = 9, width = 35;
};

struct Golden {
  std::string file;
  std::vector<GoldenSamples> samples;  ///< empty if the file does not exist
  GoldenTeams teams;
  /// Parameters for tests that run on every generator; set where samples with the defaults are
  /// slow or consecutive samples share a label.
  std::vector<ParamSetting> quick;
};

/// The registered generators.
std::vector<std::string> generator_names();
Golden read_golden(const std::string& generator);
/// Replaces the file's `samples` and keeps the rest.
void write_golden(const Golden& golden);

}  // namespace wellspring::test
