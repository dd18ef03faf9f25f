// The content of checkpoint.json. Called by train/checkpoint/checkpoint and train/finished_run;
// host only.
#pragma once

#include "train/metrics/observer.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace wellspring {

inline constexpr const char* kCheckpointHeaderFile = "checkpoint.json";
inline constexpr const char* kCheckpointFormat = "wellspring checkpoint 2";

/// The identity of a data set. A different number of samples means a different order, and a
/// different digest means different content.
struct StoredData {
  std::uint64_t samples = 0;
  std::string digest;  ///< see data_identity; "": unknown
};
/// Data sets by source name.
using DataIdentity = std::map<std::string, StoredData>;

/// The part of a run's state that decides how it ends.
struct RunProgress {
  std::optional<BestReport> best;
  std::uint64_t evaluated = 0;   ///< step of the last evaluation compared with the best
  std::uint64_t since_best = 0;  ///< evaluations after the best
  std::string held_out = {};     ///< the eval section without `every`; "": unknown
  /// Total training time of a run with train.max_time, over all its processes. Other runs leave it
  /// 0, so that their checkpoints do not depend on timing.
  double training_seconds = 0;

  friend bool operator==(const RunProgress&, const RunProgress&) = default;
};

struct CheckpointHeader {
  struct File {
    std::uint64_t bytes = 0;
    std::string sha256;  ///< hexadecimal
  };
  std::uint64_t step = 0;
  std::string identity;  ///< RunConfig::identity_yaml of the run
  DataIdentity data;
  RunProgress progress;
  std::map<std::string, File> files;  ///< by name
};

nlohmann::json to_json(const RunProgress& progress);
/// Errors: data for a damaged header, config for an unsupported format.
CheckpointHeader read_checkpoint_header(const std::filesystem::path& checkpoint);
/// Error (data) if the file's content differs from what was written.
void check_digest(const std::filesystem::path& file, const CheckpointHeader& header);

}  // namespace wellspring
