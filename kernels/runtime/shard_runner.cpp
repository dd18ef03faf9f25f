#include "kernels/runtime/shard_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <omp.h>
#include <stdexcept>
#include <utility>

namespace wellspring {
namespace {

class WorkList final : public WorkRecorder {
 public:
  void add(NodeKind kind, std::string_view name, std::function<void()> work) override {
    if (kind != NodeKind::kernel && kind != NodeKind::memset && kind != NodeKind::copy_on_device)
      throw std::logic_error(fmt::format("'{}' in a shard is not device work", name));
    work_.push_back(std::move(work));
  }
  void run() const {
    for (const auto& work : work_) work();
  }

 private:
  std::vector<std::function<void()>> work_;
};

/// `lists`: indexed by shard, then by thread.
void run_lists(const std::vector<std::vector<WorkList>>& lists, int active_threads) {
  std::exception_ptr failure;
  const int threads = std::min(active_threads, static_cast<int>(lists.front().size()));
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (std::size_t i = 0; i < lists.size(); ++i) {
    try {
      lists[i][static_cast<std::size_t>(omp_get_thread_num())].run();
    } catch (...) {
#pragma omp critical(wellspring_shard_failure)
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

constexpr std::int64_t kBlock = 4096;  // 16 KiB, so that a sum stays in a first-level cache

/// Adds the values [first, first + count) of one sum; `count` is at most kBlock.
template <class T>
void add_block(const PartialSums& sum, std::int64_t first, std::int64_t count) {
  const auto values = [first](const void* array) { return static_cast<const T*>(array) + first; };
  std::array<float, kBlock> total;
  std::size_t next = 0;
  const T* begin = sum.kept ? values(sum.out) : values(sum.parts[next++]);
  for (std::int64_t i = 0; i < count; ++i)
    total[static_cast<std::size_t>(i)] = static_cast<float>(begin[i]);
  for (; next < sum.parts.size(); ++next) {
    const T* part = values(sum.parts[next]);
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i)
      total[static_cast<std::size_t>(i)] += static_cast<float>(part[i]);
  }
  T* out = static_cast<T*>(sum.out) + first;
  for (std::int64_t i = 0; i < count; ++i) out[i] = T(total[static_cast<std::size_t>(i)]);
}

}  // namespace

void ShardRunner::enqueue(Stream& to, std::string_view name, Workers workers,
                          const std::function<void(Place, Stream&)>& record) {
  const std::size_t threads = std::min(workers.threads, static_cast<std::size_t>(to.threads()));
  const auto lists = std::make_shared<std::vector<std::vector<WorkList>>>(workers.shards);
  for (std::size_t shard = 0; shard < workers.shards; ++shard) {
    std::vector<WorkList>& by_thread = (*lists)[shard];
    by_thread.resize(threads);
    for (std::size_t thread = 0; thread < threads; ++thread) {
      const Recording recording(alone_, by_thread[thread]);
      record({shard, thread}, alone_);
    }
  }
  to.run(NodeKind::kernel, name,
         [lists, active = to.active_threads()] { run_lists(*lists, active->count()); });
}

void add_partial_sums(Stream& stream, std::string_view name, std::vector<PartialSums> sums) {
  struct Block {
    std::size_t sum;
    std::int64_t first;
  };
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < sums.size(); ++i)
    for (std::int64_t first = 0; first < sums[i].n; first += kBlock) blocks.push_back({i, first});
  stream.run(
      NodeKind::kernel, name,
      [sums = std::move(sums), blocks = std::move(blocks), active = stream.active_threads()] {
#pragma omp parallel for schedule(dynamic, 1) num_threads(active->count())
        for (std::size_t b = 0; b < blocks.size(); ++b) {
          const PartialSums& sum = sums[blocks[b].sum];
          const std::int64_t first = blocks[b].first, count = std::min(kBlock, sum.n - first);
          if (sum.type == DType::f32)
            add_block<float>(sum, first, count);
          else
            add_block<bf16>(sum, first, count);
        }
      });
}

}  // namespace wellspring
