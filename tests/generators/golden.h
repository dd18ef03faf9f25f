// The pinned samples of a generator, tests/generators/golden/<name>.json:
//
//     {"samples": [{"parameters": {"law": "uniform"}, "size": 48, "seed": 1, "first": 0,
//                   "count": 32, "sha256": "..."}, ...],
//      "teams": {"parameters": {}, "height": 33, "width": 40}}
//
// `samples` are digests, with "plane": true if they include dense labels. `teams` (optional) is for
// the test with teams of all sizes. Called by tests of generators; host only.
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

/// Samples of the team test. Images are not square, and their width is not a multiple of the run
/// length of a host or a device.
struct GoldenTeams {
  std::vector<ParamSetting> settings;
  int height = 9, width = 35;
};

struct Golden {
  std::string file;
  std::vector<GoldenSamples> samples;  ///< empty if the file does not exist
  GoldenTeams teams;
  /// Parameters that the tests of all generators use if samples with the defaults are slow or if
  /// consecutive samples share a label.
  std::vector<ParamSetting> quick;
};

/// The registered generators.
std::vector<std::string> generator_names();
Golden read_golden(const std::string& generator);
/// Replaces the `samples` of the file; the rest stays.
void write_golden(const Golden& golden);

}  // namespace wellspring::test
