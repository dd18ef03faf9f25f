// The content of checkpoint.json. Called by train/checkpoint/checkpoint and train/finished_run;
// host only.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace wellspring {

inline constexpr const char* kCheckpointHeaderFile = "checkpoint.json";
inline constexpr const char* kCheckpointFormat = "wellspring checkpoint 2";

/// The identity of a data set. A different number of samples means a different order, a different
/// digest different content.
struct StoredData {
  std::uint64_t samples = 0;
  std::string digest;  ///< see data_identity; "": unknown
};
/// By source.
using DataIdentity = std::map<std::string, StoredData>;

struct CheckpointHeader {
  struct File {
    std::uint64_t bytes = 0;
    std::string sha256;  ///< hexadecimal
  };
  std::uint64_t step = 0;
  std::string identity;  ///< RunConfig::identity_yaml of the run
  DataIdentity data;
  std::map<std::string, File> files;  ///< by name
};

/// Errors: data for a damaged header, config for an unsupported format.
CheckpointHeader read_checkpoint_header(const std::filesystem::path& checkpoint);
/// Error (data) if the content of the file differs from what was written.
void check_digest(const std::filesystem::path& file, const CheckpointHeader& header);

}  // namespace wellspring
