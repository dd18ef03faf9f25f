// Builds tables of many classes in parallel, with one thread per class. Called by generators whose
// classes need a search; host only.
#pragma once

#include "core/text/progress.h"
#include "kernels/runtime/launch.h"

#include <atomic>
#include <cstdint>
#include <exception>
#include <vector>

namespace wellspring {

namespace detail {

/// Makes each class with a team of one; stores the exception if this throws.
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

/// Calls make(k) for every class k below `count`, in any order and concurrently. `progress`, if
/// given, counts classes. After all calls, rethrows the exception of the first class that failed.
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
