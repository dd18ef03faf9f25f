// Several ranks in one process: threads that sum their numbers in shared memory. Tests only; host
// only.
#pragma once

#include "kernels/batch/communicator.h"

#include <algorithm>
#include <barrier>
#include <cstdint>
#include <exception>
#include <functional>
#include <stdexcept>
#include <thread>
#include <vector>

namespace wellspring::test {

class RankGroup {
 public:
  explicit RankGroup(int ranks)
      : data_(static_cast<std::size_t>(ranks), nullptr), meeting_(ranks) {}

  int size() const { return static_cast<int>(data_.size()); }

  /// Runs `body` once per rank, all at the same time; rethrows the failure of the lowest rank.
  void run(const std::function<void(Communicator&)>& body) {
    std::vector<std::exception_ptr> failures(data_.size());
    {
      std::vector<std::jthread> threads;
      for (int rank = 0; rank < size(); ++rank) {
        threads.emplace_back([this, rank, &body, &failures] {
          try {
            Member member(*this, rank);
            body(member);
          } catch (...) {
            failures[static_cast<std::size_t>(rank)] = std::current_exception();
            meeting_.arrive_and_drop();  // so that the other ranks do not wait for it
          }
        });
      }
    }
    for (const std::exception_ptr& failure : failures) {
      if (failure) std::rethrow_exception(failure);
    }
  }

 private:
  class Member final : public Communicator {
   public:
    Member(RankGroup& group, int rank) : group_(group), rank_(rank) {}
    int rank() const override { return rank_; }
    int size() const override { return group_.size(); }
    void all_reduce(Stream& stream, void* data, DType dtype, std::int64_t count) override {
      stream.run(NodeKind::kernel, "all reduce", [this, data, dtype, count] {
        visit_float(dtype, [&]<class T>(T) {
          group_.add(static_cast<std::size_t>(rank_), static_cast<T*>(data),
                     static_cast<std::size_t>(count));
        });
      });
    }

   private:
    RankGroup& group_;
    int rank_;
  };

  /// Sums in rank order, on every rank.
  template <class T>
  void add(std::size_t rank, T* data, std::size_t count) {
    data_[rank] = data;
    meeting_.arrive_and_wait();
    if (std::find(data_.begin(), data_.end(), nullptr) != data_.end()) {
      throw std::runtime_error("another rank has failed");
    }
    std::vector<T> sum(count);
    for (std::size_t i = 0; i < count; ++i) {
      float total = 0;
      for (const void* other : data_) total += static_cast<float>(static_cast<const T*>(other)[i]);
      sum[i] = static_cast<T>(total);
    }
    meeting_.arrive_and_wait();  // all ranks have read
    std::copy(sum.begin(), sum.end(), data);
    data_[rank] = nullptr;
    meeting_.arrive_and_wait();  // all ranks have written
  }

  std::vector<const void*> data_;  ///< each rank's input during a sum, else null
  std::barrier<> meeting_;
};

}  // namespace wellspring::test
