// Description of this machine. Called by `doctor` and by the header of every benchmark; host only.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace wellspring::bench {

struct Machine {
  std::string processor;         ///< model name
  std::string instruction_sets;  ///< those that affect speed: "avx2 fma avx512f"
  std::string system;            ///< kernel and distribution
  int threads = 1;               ///< default number of threads
  std::string threads_from;      ///< see ThreadChoice::decided_by
  double memory_bytes = 0;       ///< see HostMemory
  double available_bytes = 0;
  std::string memory_limited_by;  ///< "": no limit
  double load = 0;                ///< load average of the last minute
};

Machine this_machine();
nlohmann::json to_json(const Machine& machine);

}  // namespace wellspring::bench
