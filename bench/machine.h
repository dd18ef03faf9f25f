// The machine a figure was measured on, for `doctor` and the header of every benchmark. Host only.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace wellspring::bench {

struct Machine {
  std::string processor;         ///< model name
  std::string instruction_sets;  ///< of those that matter to speed here: "avx2 fma avx512f"
  std::string system;            ///< kernel and distribution
  int threads = 1;               ///< that the program uses unless it is told otherwise
  std::string threads_from;      ///< what decided that: see ThreadChoice
  double memory_bytes = 0;       ///< as HostMemory
  double available_bytes = 0;
  std::string memory_limited_by;  ///< "": nothing
  double load = 0;  ///< programs that ran or wanted to, on average over the last minute
};

Machine this_machine();
nlohmann::json to_json(const Machine& machine);

}  // namespace wellspring::bench
