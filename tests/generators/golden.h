// The pinned samples of a generator, tests/generators/golden/<name>.json:
//
//     {"samples": [{"parameters": {"law": "uniform"}, "size": 48, "seed": 1, "first": 0, "count":
//     32,
//                   "sha256": "..."}, ...],    and "plane": true where it is made, too
//      "teams": {"parameters": {}, "height": 33, "width": 40}}
//
// `samples` are digests; `teams`, which may be left out, is what the test with teams of all sizes
// makes. Used by tests of generators; host only.
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
  DenseTruth dense = DenseTruth::none;
  std::string sha256;
};

/// What the team test makes: not square, and a multiple neither of a host's run of pixels nor of a
/// device's.
struct GoldenTeams {
  std::vector<ParamSetting> settings;
  int height = 9, width = 35;
};

struct Golden {
  std::string file;
  std::vector<GoldenSamples> samples;  ///< empty where there is no such file
  GoldenTeams teams;
  /// Parameters that the tests of every generator set, where samples with the defaults take long or
  /// consecutive ones share a label.
  std::vector<ParamSetting> quick;
};

Golden read_golden(const std::string& generator);
/// Writes the file with its `samples`; all else in it stays.
void write_golden(const Golden& golden);

}  // namespace wellspring::test
