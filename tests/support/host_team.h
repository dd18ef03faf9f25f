// Teams of any size on the host: every member a thread, meeting at real barriers, so that a team
// functor's races, diverging barriers and dependence on the team's size show without a GPU. Called
// by the tests of generators and operations, also under the thread sanitizer. Host only.
#pragma once

#include "kernels/launch.h"
#include "kernels/team.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace wellspring::test {

/// What the members of a ThreadTeam share: the barrier and the scratch block.
class TeamHall {
 public:
  TeamHall(int size, std::size_t scratch_bytes) : size_(size), scratch_(scratch_bytes) {}

  int size() const { return size_; }
  std::span<std::byte> scratch() { return scratch_; }

  /// Waits for all members. Throws in every member when one has left, where CUDA would hang or read
  /// garbage.
  void meet() {
    std::unique_lock lock(mutex_);
    if (left_ > 0) diverge(lock);
    if (++waiting_ == size_) {
      waiting_ = 0;
      ++generation_;
      all_here_.notify_all();
      return;
    }
    const std::uint64_t mine = generation_;
    all_here_.wait(lock, [&] { return generation_ != mine || diverged_; });
    if (generation_ == mine) diverge(lock);
  }

  /// The member has returned from the functor, normally or not.
  void leave() {
    std::unique_lock lock(mutex_);
    ++left_;
    if (waiting_ > 0) {
      diverged_ = true;
      all_here_.notify_all();
    }
  }

  /// Checks that the member's `call`-th scratch call takes what the first member's took.
  void same_scratch(std::size_t call, std::size_t begin, std::size_t end) {
    const std::lock_guard lock(mutex_);
    if (end > scratch_.size()) {
      throw std::logic_error("team scratch: " + std::to_string(end) + " bytes are taken, " +
                             std::to_string(scratch_.size()) + " were asked for");
    }
    if (call == taken_.size()) taken_.push_back({begin, end});
    if (taken_[call] != Range{begin, end}) {
      throw std::logic_error("team scratch: members took different blocks in call " +
                             std::to_string(call));
    }
  }

  /// Prepares for the next league rank; all members have left.
  void reset() {
    waiting_ = left_ = 0;
    taken_.clear();
    // Scratch is uninitialised on a GPU: a value that no functor can take for its own.
    std::fill(scratch_.begin(), scratch_.end(), std::byte{0xCD});
  }

 private:
  struct Range {
    std::size_t begin, end;
    bool operator==(const Range&) const = default;
  };

  [[noreturn]] void diverge(std::unique_lock<std::mutex>& lock) {
    diverged_ = true;
    all_here_.notify_all();
    lock.unlock();
    throw std::logic_error("team barrier: some members wait for others that have already returned");
  }

  const int size_;
  std::vector<std::byte> scratch_;
  std::mutex mutex_;
  std::condition_variable all_here_;
  int waiting_ = 0;
  int left_ = 0;
  std::uint64_t generation_ = 0;
  bool diverged_ = false;
  std::vector<Range> taken_;  ///< by scratch call, from whoever called first
};

/// One member, as the functor sees it: the same members as SoloTeam and cuda::BlockTeam.
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
    const std::size_t begin = cursor_.used - count * sizeof(T);
    hall_.same_scratch(calls_++, begin, cursor_.used);
    return block;
  }
  template <class I>
  I atomic_add(I* target, I value) const {
    return std::atomic_ref<I>(*target).fetch_add(value, std::memory_order_relaxed);
  }
  template <class I>
  I atomic_max(I* target, I value) const {
    std::atomic_ref<I> shared(*target);
    I old = shared.load(std::memory_order_relaxed);
    while (value > old && !shared.compare_exchange_weak(old, value, std::memory_order_relaxed)) {
    }
    return old;
  }
  template <class I>
  I atomic_or(I* target, I value) const {
    return std::atomic_ref<I>(*target).fetch_or(value, std::memory_order_relaxed);
  }

 private:
  TeamHall& hall_;
  int rank_;
  ScratchCursor cursor_;
  std::size_t calls_ = 0;
};

/// f(team, i) for i in [0, n), one after another, each with a team of `size` threads. Rethrows the
/// first member's exception; a divergence is a std::logic_error.
template <class F>
void run_thread_league(std::int64_t n, int size, std::size_t scratch_bytes, const F& f) {
  TeamHall hall(size, scratch_bytes);
  for (std::int64_t i = 0; i < n; ++i) {
    hall.reset();
    std::vector<std::exception_ptr> failures(static_cast<std::size_t>(size));
    std::vector<std::thread> members;
    for (int rank = 0; rank < size; ++rank) {
      members.emplace_back([&, rank] {
        try {
          ThreadTeam team(hall, rank);
          f(team, i);
        } catch (...) {
          failures[static_cast<std::size_t>(rank)] = std::current_exception();
        }
        hall.leave();
      });
    }
    for (std::thread& member : members) member.join();
    for (const std::exception_ptr& failure : failures) {
      if (failure) std::rethrow_exception(failure);
    }
  }
}

/// The bytes of a contiguous container of trivially copyable values.
template <class Container>
std::span<std::byte> bytes_of(Container& values) {
  return std::as_writable_bytes(std::span(values));
}

/// Runs the functor as the host does (a team of one, SoloTeam) and with teams of 1, 7, 32 and 256
/// threads, and expects equal bytes in `outputs`: the memory that the functor writes, through
/// pointers it holds. Each run begins from what `outputs` held at the call; afterwards they hold
/// the result.
template <class F>
void expect_equal_for_all_team_sizes(const F& functor, std::int64_t n, TeamShape shape,
                                     std::vector<std::span<std::byte>> outputs) {
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
}

}  // namespace wellspring::test
