// How far work has come that may take minutes before or between the steps of a run. Told by what
// does it, shown by the command line; host only.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace wellspring {

/// Called on the thread that waits for the work, often: "decoding cifar10", parts done, and of how
/// many. Nobody listens where it is empty. It does not throw.
using WorkWatch =
    std::function<void(const std::string& what, std::uint64_t done, std::uint64_t total)>;

}  // namespace wellspring
