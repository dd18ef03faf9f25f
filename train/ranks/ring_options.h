// The meeting point of the ranks of a run, and the longest time that they wait for each other. Host
// only.
#pragma once

#include <chrono>
#include <string>

namespace wellspring {

struct RingOptions {
  int rank = 0, size = 1;
  std::string address = "127.0.0.1";  ///< rank 0's node
  int port = 0;                       ///< rank 0 listens there
  bool loopback_only = true;          ///< all ranks are on this machine
  std::string program;                ///< version and commit; all ranks must have the same
  /// The longest time for all ranks to join, and for a rank to do nothing.
  std::chrono::milliseconds timeout{600'000};
};

}  // namespace wellspring
