// Ranks over TCP, as threads of this process. Tests only; host only.
#pragma once

#include "core/error.h"
#include "train/ranks/tcp_communicator.h"

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace wellspring::test {

inline int free_port() {
  return listen_on(0, true).local_port();
}

inline RingOptions options_of(int rank, int size, int port, std::chrono::milliseconds timeout) {
  return {.rank = rank, .size = size, .port = port, .program = "1.0", .timeout = timeout};
}

/// Runs `body` on every rank and returns what each failed with ("": nothing).
inline std::vector<std::string> run_tcp_ranks(
    int size, const std::function<void(TcpCommunicator&)>& body,
    std::chrono::milliseconds timeout = std::chrono::seconds(60)) {
  const int port = free_port();
  std::vector<std::string> ends(static_cast<std::size_t>(size));
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      try {
        TcpCommunicator ranks(options_of(rank, size, port, timeout));
        body(ranks);
      } catch (const Error& error) {
        ends[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  threads.clear();
  return ends;
}

}  // namespace wellspring::test
