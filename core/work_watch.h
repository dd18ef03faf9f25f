// Progress callback for work that may take minutes before or between the steps of a run. Called by
// the code that does the work, shown by the command line; host only.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace wellspring {

/// Called often, on the thread that waits for the work: "decoding cifar10", parts done, total parts
/// (0: unknown). May be empty. Must not throw.
using WorkWatch =
    std::function<void(const std::string& what, std::uint64_t done, std::uint64_t total)>;

}  // namespace wellspring
