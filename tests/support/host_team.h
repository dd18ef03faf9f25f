// Teams of any size on the host, with one thread per member and real barriers. They reveal races,
// diverging barriers and a dependence on the team's size without a GPU. For the tests of generators
// and operations, also under ThreadSanitizer. Host only.
#pragma once

#include "kernels/runtime/launch.h"
#include "kernels/runtime/team.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace wellspring::test {

/// Thrown if some members of a team wait at a barrier for others that have already returned.
struct TeamDivergence : std::logic_error {
  using std::logic_error::logic_error;
};

/// State that the members of a ThreadTeam share: the barrier and the scratch block.
/// The barrier orders no more than necessary: a waiting member synchronises only
/// with the member that completes the phase. A mutex would also order it after
/// members that have already continued, which would hide races from
/// ThreadSanitizer.
class TeamHall {
 public:
  TeamHall(int size, std::size_t scratch_bytes) : size_(size), scratch_(scratch_bytes) {}

  int size() const { return size_; }
  std::span<std::byte> scratch() { return scratch_; }

  /// Waits for all members. If a member has left, throws in every other one; CUDA would hang or
  /// read garbage.
  void meet() {
    const std::uint32_t phase = phase_.load();
    const std::uint64_t before = census_.fetch_add(1);
    if (before >= kOneLeft) diverge();
    if (static_cast<int>(before) + 1 == size_) {
      census_.fetch_sub(static_cast<std::uint64_t>(size_));
      // A plain store could overwrite a divergence found by another member.
      phase_.fetch_add(1);
      phase_.notify_all();
    } else {
      phase_.wait(phase);
    }
    if ((phase_.load() & kDiverged) != 0) diverge();
  }

  /// Marks that the member has returned from the functor, normally or not.
  void leave() {
    const std::uint64_t before = census_.fetch_add(kOneLeft);
    if (before % kOneLeft == 0) return;
    phase_.fetch_or(kDiverged);
    phase_.notify_all();
  }

  /// Prepares for the next team after all members have left.
  void reset() {
    census_ = 0;
    phase_ = 0;
    // Scratch is uninitialised on a GPU, so it is filled with a value that no functor expects.
    std::fill(scratch_.begin(), scratch_.end(), std::byte{0xCD});
  }

 private:
  static constexpr std::uint64_t kOneLeft = std::uint64_t{1} << 32;
  static constexpr std::uint32_t kDiverged = 1u << 31;

  [[noreturn]] void diverge() {
    phase_.fetch_or(kDiverged);
    phase_.notify_all();
    throw TeamDivergence("team barrier: some members wait for others that have already returned");
  }

  const int size_;
  std::vector<std::byte> scratch_;
  std::atomic<std::uint64_t> census_ = 0;  ///< members waiting, plus kOneLeft for each that left
  std::atomic<std::uint32_t> phase_ = 0;   ///< barriers completed, and kDiverged
};

/// The result of one scratch() call by a member.
struct ScratchRange {
  std::size_t begin = 0, end = 0;
  bool operator==(const ScratchRange&) const = default;
};

/// One member as the functor sees it, with the interface of SoloTeam and cuda::BlockTeam.
class ThreadTeam {
 public:
  ThreadTeam(TeamHall& hall, int rank)
      : hall_(hall), rank_(rank), cursor_{hall.scratch().data(), hall.scratch().size(), 0} {}

  int rank() const { return rank_; }
  int size() const { return hall_.size(); }
  void sync() const { hall_.meet(); }

  template <class T>
  T* scratch(std::size_t count) {
    T* block = cursor_.take<T>(count);
    taken_.push_back({cursor_.used - count * sizeof(T), cursor_.used});
    if (cursor_.used > cursor_.capacity) {
      throw std::logic_error("team scratch: " + std::to_string(cursor_.used) +
                             " bytes are taken, " + std::to_string(cursor_.capacity) +
                             " were asked for");
    }
    return block;
  }
  const std::vector<ScratchRange>& taken() const { return taken_; }

  template <class I>
  I atomic_add(I* target, I value) const {
    return host_atomic_add(target, value);
  }
  template <class I>
  I atomic_max(I* target, I value) const {
    return host_atomic_max(target, value);
  }
  template <class I>
  I atomic_or(I* target, I value) const {
    return host_atomic_or(target, value);
  }

 private:
  TeamHall& hall_;
  int rank_;
  ScratchCursor cursor_;
  std::vector<ScratchRange> taken_;
};

/// Rethrows a failure; the cause of a divergence takes precedence over the divergence itself.
inline void rethrow_first(const std::vector<std::exception_ptr>& failures) {
  std::exception_ptr divergence;
  for (const std::exception_ptr& failure : failures) {
    if (!failure) continue;
    try {
      std::rethrow_exception(failure);
    } catch (const TeamDivergence&) {
      divergence = failure;
    }
  }
  if (divergence) std::rethrow_exception(divergence);
}

/// Rethrows the exceptions of a team's members, or std::logic_error if they took different scratch.
inline void check_team(const std::vector<ThreadTeam>& team,
                       const std::vector<std::exception_ptr>& failures) {
  rethrow_first(failures);
  for (const ThreadTeam& member : team) {
    if (member.taken() != team[0].taken()) {
      throw std::logic_error("team scratch: members took different blocks");
    }
  }
}

/// Runs f(team, i) for each i of `indices`, one after another, each with a new team. The same `size` threads form all
/// teams. Rethrows a member's exception. Throws std::logic_error after a divergence,
/// or if members take different scratch.
template <class F>
void run_thread_teams(const std::vector<std::int64_t>& indices, int size, std::size_t scratch_bytes,
                      const F& f) {
  TeamHall hall(size, scratch_bytes);
  std::vector<ThreadTeam> team;
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(size));
  const auto begin = [&] {
    hall.reset();
    team.clear();
    for (int rank = 0; rank < size; ++rank) team.emplace_back(hall, rank);
  };
  begin();

  std::exception_ptr first_failure;
  std::barrier team_ended(size, [&]() noexcept {
    try {
      check_team(team, failures);
      begin();
    } catch (...) {
      first_failure = std::current_exception();
    }
  });
  std::vector<std::jthread> threads;
  for (std::size_t rank = 0; rank < failures.size(); ++rank) {
    threads.emplace_back([&, rank] {
      for (const std::int64_t i : indices) {
        if (first_failure) return;
        try {
          hall.meet();  // no member may finish before the last one begins
          f(team[rank], i);
        } catch (...) {
          failures[rank] = std::current_exception();
        }
        hall.leave();
        team_ended.arrive_and_wait();
      }
    });
  }
  threads.clear();  // waits for all
  if (first_failure) std::rethrow_exception(first_failure);
}

/// The same for all i in [0, n). A barrier of hundreds of threads takes milliseconds on few cores, so among many such
/// teams only the last and a few others have `size` members; the rest have one.
template <class F>
void run_thread_league(std::int64_t n, int size, std::size_t scratch_bytes, const F& f) {
  const std::int64_t stride = size > 32 ? std::max<std::int64_t>(1, (n - 1) / 3) : 1;
  std::vector<std::int64_t> alone, together;
  for (std::int64_t i = 0; i < n; ++i) ((n - 1 - i) % stride == 0 ? together : alone).push_back(i);
  if (!alone.empty()) run_thread_teams(alone, 1, scratch_bytes, f);
  run_thread_teams(together, size, scratch_bytes, f);
}

/// The bytes of a contiguous container of trivially copyable values.
template <class Container>
std::span<std::byte> bytes_of(Container& values) {
  return std::as_writable_bytes(std::span(values));
}

/// Runs the functor as the host does (with a team of one, SoloTeam) and with teams of 1, 7, 32 and
/// 256 threads, and expects identical bytes in `outputs`, the memory that the functor writes
/// through its pointers. Each run begins with the initial contents of `outputs`; at the end they
/// hold the result. With the stand-in for a GPU, whose teams run the same functors in device tests,
/// only the team of one runs, because the others take long to compile and run there.
template <class F>
void expect_equal_for_all_team_sizes(const F& functor, std::int64_t n, TeamShape shape,
                                     std::vector<std::span<std::byte>> outputs) {
#if WELLSPRING_CUDA_STAND_IN
  static_cast<void>(outputs);
  host::run_league(n, 1, shape, functor);
#else
  using Bytes = std::vector<std::byte>;
  const auto keep = [&outputs] {
    std::vector<Bytes> copies;
    for (const auto& output : outputs) copies.emplace_back(output.begin(), output.end());
    return copies;
  };
  const std::vector<Bytes> initial = keep();
  host::run_league(n, 1, shape, functor);
  const std::vector<Bytes> expected = keep();

  for (const int size : {1, 7, 32, 256}) {
    SCOPED_TRACE("team of " + std::to_string(size));
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      std::copy(initial[o].begin(), initial[o].end(), outputs[o].begin());
    }
    try {
      run_thread_league(n, size, shape.scratch_bytes, functor);
    } catch (const std::exception& failure) {
      ADD_FAILURE() << failure.what();
      continue;
    }
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      const auto [got, want] =
          std::mismatch(outputs[o].begin(), outputs[o].end(), expected[o].begin());
      if (got != outputs[o].end()) {
        ADD_FAILURE() << "output " << o << " differs from a team of one, first in byte "
                      << got - outputs[o].begin() << " of " << outputs[o].size();
      }
    }
  }
#endif
}

}  // namespace wellspring::test
