#include "kernels/shard_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <stdexcept>
#include <utility>

namespace wellspring {
namespace {

class WorkList final : public WorkRecorder {
 public:
  void add(NodeKind kind, std::string_view name, std::function<void()> work) override {
    if (kind != NodeKind::kernel && kind != NodeKind::memset && kind != NodeKind::copy_on_device)
      throw std::logic_error(fmt::format("'{}' in a shard: it leaves the device", name));
    work_.push_back(std::move(work));
  }
  void run() const {
    for (const auto& work : work_) work();
  }

 private:
  std::vector<std::function<void()>> work_;
};

/// Records while it lives.
class Recording {
 public:
  Recording(Stream& stream, WorkRecorder& recorder) : stream_(stream) {
    stream_.set_recorder(&recorder);
  }
  ~Recording() { stream_.set_recorder(nullptr); }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

 private:
  Stream& stream_;
};

void run_lists(const std::vector<WorkList>& lists, int threads) {
  std::exception_ptr failure;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (std::size_t i = 0; i < lists.size(); ++i) {
    try {
      lists[i].run();
    } catch (...) {
#pragma omp critical(wellspring_shard_failure)
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

constexpr std::int64_t kBlock = 4096;  // 16 KiB: a sum stays in a first-level cache

/// Values [first, first + count) of one sum.
void add_block(const PartialSums& sum, std::int64_t first, std::int64_t count) {
  float* out = sum.out + first;
  std::size_t next = 0;
  if (!sum.kept) std::copy_n(sum.parts[next++] + first, count, out);
  for (; next < sum.parts.size(); ++next) {
    const float* part = sum.parts[next] + first;
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) out[i] += part[i];
  }
}

}  // namespace

void ShardRunner::enqueue(Stream& to, std::string_view name, std::int64_t shards,
                          const std::function<void(std::int64_t, Stream&)>& record) {
  const auto lists = std::make_shared<std::vector<WorkList>>(static_cast<std::size_t>(shards));
  for (std::int64_t s = 0; s < shards; ++s) {
    const Recording recording(alone_, (*lists)[static_cast<std::size_t>(s)]);
    record(s, alone_);
  }
  to.run(NodeKind::kernel, name, [lists, threads = to.threads()] { run_lists(*lists, threads); });
}

void add_partial_sums(Stream& stream, std::string_view name, std::vector<PartialSums> sums) {
  struct Block {
    std::size_t sum;
    std::int64_t first;
  };
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < sums.size(); ++i)
    for (std::int64_t first = 0; first < sums[i].n; first += kBlock) blocks.push_back({i, first});
  stream.run(NodeKind::kernel, name,
             [sums = std::move(sums), blocks = std::move(blocks), threads = stream.threads()] {
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
               for (std::size_t b = 0; b < blocks.size(); ++b) {
                 const PartialSums& sum = sums[blocks[b].sum];
                 add_block(sum, blocks[b].first, std::min(kBlock, sum.n - blocks[b].first));
               }
             });
}

}  // namespace wellspring
