// Samples as files: x, label, latents and weight with their metadata. Called by the command line;
// host only.
#pragma once

#include "generators/generator.h"
#include "generators/samples.h"

#include <filesystem>
#include <string>
#include <vector>

namespace wellspring {

struct ExportReport {
  std::vector<std::string> arrays;  ///< that were written
  SetOverflow overflow;             ///< what did not fit into the rows of a set, and was left out
  std::vector<std::string> notes;   ///< of the generator: what the user should know
};

/// Writes the samples; the ending of `path` names the format. `.npz`: NumPy arrays, a column each:
/// x [count, height, width, channels] or [count, features], label [count], latents [count,
/// latents], weight [count], further columns of the layout, and metadata.json with names, units,
/// parameters, versions and seed. Sets are ragged: x [items of all, features], those of sample i
/// from offsets[i] to offsets[i + 1], offsets [count + 1]. Errors: config for an unknown ending,
/// runtime when the file cannot be written.
ExportReport export_samples(Generator& generator, const SampleRange& range,
                            const SampleMaking& making, const std::filesystem::path& path);

}  // namespace wellspring
