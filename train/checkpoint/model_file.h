// Model files: weights in safetensors format, with the metadata needed to use them without their
// run. Files from other programs have neither this metadata nor a digest. Called by checkpoints,
// weight transfer and evaluation; host only.
#pragma once

#include "core/io/safetensors.h"
#include "kernels/batch/batch.h"
#include "train/heads/heads.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace wellspring {

/// The metadata of a model file. Contains no paths from the machine that wrote it.
struct ModelDescription {
  std::uint64_t step = 0;
  std::string config_yaml;      ///< RunConfig::portable_yaml
  std::vector<HeadSpec> heads;  ///< in the order of the outputs
  SampleLayout input;           ///< the network's input, per sample
};

TensorMetadata to_metadata(const ModelDescription& model);

/// Note on a foreign file.
inline constexpr const char* kForeignFile = "written by another program, without a digest";

class ModelFile {
 public:
  /// Errors (data): not a safetensors file, content that does not match its digest, metadata from a
  /// different version of this program.
  explicit ModelFile(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return tensors_.path(); }
  const SafetensorsFile& tensors() const { return tensors_; }
  /// True if the file has no digest: another program wrote it, and damage cannot be detected.
  bool foreign() const { return !tensors_.has_digest(); }
  /// nullopt if the file has no metadata from this program.
  const std::optional<ModelDescription>& description() const { return description_; }
  /// Error (config) if there is no description.
  const ModelDescription& described() const;

 private:
  SafetensorsFile tensors_;
  std::optional<ModelDescription> description_;
};

}  // namespace wellspring
