// The meeting point of the ranks of a run, and the longest time that they wait for each other. Host
// only.
#pragma once

#include <chrono>
#include <string>

namespace wellspring {

struct RingOptions {
  int rank = 0, size = 1;
  std::string address = "127.0.0.1";  ///< rank 0's node
  int port = 0;                       ///< port at which rank 0 listens
  bool loopback_only = true;          ///< all ranks are on this machine
  std::string program;                ///< version and commit; must be the same on all ranks
  /// Longest time until all ranks have joined, and longest time for which a rank may do nothing.
  std::chrono::milliseconds timeout{600'000};
};

}  // namespace wellspring
