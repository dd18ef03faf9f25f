// Runs all launches of an emission on the host with teams of a given size (see host_team.h). Tests
// only; host only.
#pragma once

#include "kernels/runtime/launch.h"
#include "tests/support/host_team.h"

#include <cstdint>
#include <cstring>
#include <string_view>

namespace wellspring::test {

struct TeamLauncher {
  int members = 1;  ///< threads per team

  Device device() const { return Device::cpu(); }
  template <class F>
  void map(std::string_view, std::int64_t n, const F& f) const {
    for (std::int64_t i = 0; i < n; ++i) f(n - 1 - i);  // the order must not matter
  }
  template <class F>
  void league(std::string_view name, std::int64_t n, TeamShape shape, const F& f) const {
    wellspring::detail::check_league(name, n, shape, launch_bound<F>(), shares_warps<F>(),
                                     Device::cpu());
    run_thread_league(n, members, shape.scratch_bytes, f);
  }
  void zero(std::string_view, void* data, std::size_t bytes) const { std::memset(data, 0, bytes); }
};

}  // namespace wellspring::test
