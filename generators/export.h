// Samples as files: x, label, latents and weight with their metadata. Called by the command line;
// host only.
#pragma once

#include "generators/generator.h"
#include "generators/samples.h"

#include <filesystem>

namespace wellspring {

/// Writes the samples; the ending of `path` names the format. `.npz`: NumPy arrays, a column
/// each: x [count, height, width, channels] or [count, features], label [count], latents [count,
/// latents], weight [count], and metadata.json with names, units, parameters and seed. Errors:
/// config for an unknown ending, runtime when the file cannot be written.
void export_samples(const Generator& generator, const SampleRange& range,
                    const SampleMaking& making, const std::filesystem::path& path);

}  // namespace wellspring
