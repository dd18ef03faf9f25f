// Several ranks in one process: threads that sum their numbers in shared memory. Tests only; host
// only.
#pragma once

#include "kernels/batch/communicator.h"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace wellspring::test {

/// Thrown by a rank's calls after another rank has ended.
struct RankEnded : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Like std::barrier, but waiting takes no core, which another rank may need.
class Meeting {
 public:
  explicit Meeting(int expected) : expected_(expected) {}
  void arrive_and_wait() {
    std::unique_lock lock(mutex_);
    const int phase = phase_;
    if (++arrived_ == expected_) return complete();
    completed_.wait(lock, [&] { return phase_ != phase; });
  }
  void arrive_and_drop() {
    const std::lock_guard lock(mutex_);
    if (--expected_ > 0 && arrived_ == expected_) complete();
  }

 private:
  void complete() {
    arrived_ = 0;
    ++phase_;
    completed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable completed_;
  int expected_, arrived_ = 0, phase_ = 0;
};

class RankGroup {
 public:
  explicit RankGroup(int ranks)
      : calls_(static_cast<std::size_t>(ranks)), ended_(calls_.size()), meeting_(ranks) {}

  int size() const { return static_cast<int>(calls_.size()); }

  /// Runs `body` once per rank, all at the same time. Rethrows the failure of the lowest rank that
  /// failed by itself, not because another one had ended.
  void run(const std::function<void(Communicator&)>& body) {
    std::vector<std::exception_ptr> failures(calls_.size()), followers;
    {
      std::vector<std::jthread> threads;
      for (int rank = 0; rank < size(); ++rank)
        threads.emplace_back([this, rank, &body, &failures] {
          std::exception_ptr& failure = failures[static_cast<std::size_t>(rank)];
          try {
            Member member(*this, rank);
            body(member);
          } catch (...) {
            failure = std::current_exception();
          }
          {
            const std::lock_guard lock(ends_);
            ended_[static_cast<std::size_t>(rank)] = end_of(rank, failure);
          }
          meeting_.arrive_and_drop();  // so that the other ranks do not wait for this one
        });
    }
    for (const std::exception_ptr& failure : failures) {
      if (!failure) continue;
      try {
        std::rethrow_exception(failure);
      } catch (const RankEnded&) {
        followers.push_back(failure);
      }
    }
    if (!followers.empty()) std::rethrow_exception(followers.front());
  }

 private:
  enum class Kind : std::uint8_t { all_reduce_f32, all_reduce_f64, broadcast, barrier };
  /// A rank's call. All ranks must make the same call.
  struct Call {
    Kind kind = Kind::barrier;
    std::size_t count = 0;
    void* data = nullptr;
  };

  class Member final : public Communicator {
   public:
    Member(RankGroup& group, int rank) : group_(group), rank_(rank) {}
    int rank() const override { return rank_; }
    int size() const override { return group_.size(); }
    void all_reduce(Stream& stream, float* values, std::int64_t count) override {
      stream.run(NodeKind::kernel, "all reduce", [this, values, count] {
        add<float>(Kind::all_reduce_f32, std::span(values, static_cast<std::size_t>(count)));
      });
    }
    void all_reduce(std::span<double> values) override { add(Kind::all_reduce_f64, values); }
    void broadcast(std::span<std::byte> bytes) override {
      group_.together(rank_, {Kind::broadcast, bytes.size(), bytes.data()}, [&] {
        if (rank_ > 0) std::memcpy(bytes.data(), group_.calls_.front().data, bytes.size());
      });
    }
    void barrier() override {
      group_.together(rank_, {}, [] {});
    }

   private:
    /// Sums in rank order, on every rank.
    template <class T>
    void add(Kind kind, std::span<T> values) {
      std::vector<T> sums(values.size(), T{});
      group_.together(rank_, {kind, values.size(), values.data()}, [&] {
        for (const Call& call : group_.calls_)
          for (std::size_t i = 0; i < sums.size(); ++i)
            sums[i] += static_cast<const T*>(call.data)[i];
      });
      std::copy(sums.begin(), sums.end(), values.begin());
    }

    RankGroup& group_;
    int rank_;
  };

  static std::string end_of(int rank, const std::exception_ptr& failure) {
    const std::string text = "rank " + std::to_string(rank) + " has ";
    try {
      if (failure) std::rethrow_exception(failure);
    } catch (const RankEnded& first) {
      return first.what();
    } catch (const std::exception& error) {
      return text + "failed: " + error.what();
    } catch (...) {
      return text + "failed";
    }
    return text + "returned";
  }

  void stop_if_ended() {
    const std::lock_guard lock(ends_);
    for (const std::string& end : ended_)
      if (!end.empty()) throw RankEnded(end);
  }

  /// Calls `use` while the data of all ranks' calls are valid.
  template <class Use>
  void together(int rank, const Call& call, Use use) {
    calls_[static_cast<std::size_t>(rank)] = call;
    meeting_.arrive_and_wait();
    stop_if_ended();
    bool same = true;
    for (const Call& other : calls_)
      same = same && other.kind == call.kind && other.count == call.count;
    if (same) use();
    meeting_.arrive_and_wait();  // all ranks have read
    if (!same) throw std::logic_error("the ranks make different calls");
  }

  std::vector<Call> calls_;         ///< by rank
  std::mutex ends_;                 ///< guards ended_
  std::vector<std::string> ended_;  ///< by rank: how it ended; "": still running
  Meeting meeting_;
};

}  // namespace wellspring::test
