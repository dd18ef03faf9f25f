// Tables of many classes, made class by class on all threads. Called by generators whose classes
// take a search; host only.
#pragma once

#include "core/text/progress.h"
#include "kernels/runtime/launch.h"

#include <atomic>
#include <cstdint>
#include <exception>
#include <vector>

namespace wellspring {

namespace detail {

/// One class a team of one; the failure of each is kept.
template <class Make>
struct MakeOne {
  const Make* make;
  std::exception_ptr* failures;
  Progress* progress;
  std::atomic<std::uint64_t>* done;

  void operator()(SoloTeam&, std::int64_t k) const {
    try {
      (*make)(k);
    } catch (...) {
      failures[k] = std::current_exception();
    }
    const std::uint64_t so_far = ++*done;
    if (progress != nullptr) progress->update(so_far);
  }
};

}  // namespace detail

/// make(k) for every class k below `count`, in any order and side by side. `progress`, where there
/// is one, counts classes. Throws what the first class that failed has thrown, when all are
/// through.
template <class Make>
void make_each(std::int64_t count, int threads, Progress* progress, const Make& make) {
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(count));
  std::atomic<std::uint64_t> done = 0;
  host::run_league(count, threads, {1, 0},
                   detail::MakeOne<Make>{&make, failures.data(), progress, &done});
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

}  // namespace wellspring
