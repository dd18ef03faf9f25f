// The guarantees of every generator (docs/architecture.md), checked before a compiled header is used
// for the first time. Called by generators/own/own_generator.cpp; host only.
#pragma once

#include "generators/generator.h"

#include <filesystem>
#include <functional>
#include <string>

namespace wellspring::own {

/// Checks samples of the generator with its default parameters: values in their ranges, no NaN, and
/// equal bytes for any batch and order. Runs in a child process with a limit of processor time, so
/// endless loops and crashes are reported like other failures. `load` is called in the child.
/// Returns the failure, which names the sample, or "".
std::string failure_of(const std::function<GeneratorEntry()>& load);

/// Compares bytes of samples between the host and a GPU, in this process. Returns the failure, or "".
std::string failure_on_gpu(const GeneratorEntry& on_host, const GeneratorEntry& on_gpu,
                           Device device);

}  // namespace wellspring::own
