#include "train/ranks/rank_settings.h"

#include "core/error.h"
#include "kernels/random/philox.h"
#include "kernels/runtime/device.h"
#include "kernels/runtime/memory_nodes.h"
#include "kernels/runtime/threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

namespace wellspring {
namespace {

void choose_gpu(RunConfig& config, const Launch& launch) {
  if (config.device == "auto") config.device = cuda_status().device_count > 0 ? "cuda" : "cpu";
  if (config.device == "cpu" || launch.local_size == 1) return;
  if (config.device != "cuda")
    fail(ErrorKind::config,
         {fmt::format("device: {}, but this node has {} ranks", config.device, launch.local_size),
          "every rank needs a GPU of its own", "set device: cuda"});
  // A launcher may show each rank its own GPU only (srun --gpus-per-task=1).
  const int gpus = cuda_status().device_count;
  if (gpus > 1 && gpus < launch.local_size)
    fail(ErrorKind::device,
         {fmt::format("this node has {} ranks, but {} usable GPUs", launch.local_size, gpus), "",
          "start fewer ranks per node"});
  config.device = fmt::format("cuda:{}", gpus > 1 ? launch.local_rank : 0);
}

/// A number of this node that a double represents exactly: containers of one node have the same.
double node_number() {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  return static_cast<double>(named_key(0, boot) >> 12);
}

/// The processors that the ranks of this node may use, by rank.
std::vector<std::vector<int>> processors_of_node(const std::vector<int>& own, Communicator& ranks) {
  constexpr std::size_t kWord = 32, kWords = 128;  // bits; more than 4096 processors are not told
  const std::size_t row = 1 + kWords, first = row * static_cast<std::size_t>(ranks.rank());
  std::vector<double> told(row * static_cast<std::size_t>(ranks.size()));
  told[first] = node_number();
  for (const int processor : own) {
    const auto p = static_cast<std::size_t>(processor);
    if (p < kWord * kWords)
      told[first + 1 + p / kWord] += static_cast<double>(std::uint32_t{1} << p % kWord);
  }
  const double node = told[first];
  ranks.all_reduce(told);
  std::vector<std::vector<int>> found;
  for (std::size_t begin = 0; begin < told.size(); begin += row) {
    if (told[begin] != node) continue;
    found.emplace_back();
    for (std::size_t p = 0; p < kWord * kWords; ++p)
      if (static_cast<std::uint32_t>(told[begin + 1 + p / kWord]) >> p % kWord & 1)
        found.back().push_back(static_cast<int>(p));
  }
  return found;
}

}  // namespace

void take_part_of_node(RunConfig& config, const Launch& launch) {
  choose_gpu(config, launch);
  // Rank 0 listens at this port, so no other job has the same one at the same time.
  config.node = {fmt::format("{}:{}", launch.address, launch.port), launch.local_rank,
                 launch.local_size};
  if (config.memory == 0 && config.device == "cpu") {
    constexpr double kGiB = 0x1p30;
    config.memory =
        static_cast<double>(describe(Device::cpu()).free_bytes) / launch.local_size / kGiB;
  }
}

void take_processors(RunConfig& config, const Launch& launch, Communicator& ranks) {
  std::vector<int> own = allowed_processors();
  own.erase(std::ranges::unique(own).begin(), own.end());  // OpenMP's places may overlap
  const std::vector<std::vector<int>> node = processors_of_node(own, ranks);
  if (config.threads != 0 || std::getenv("OMP_NUM_THREADS") != nullptr) return;
  int threads = share_of_processors(own, node);
  // A quota of processor time counts for all ranks.
  if (const int most = compute_threads(0).count; most < static_cast<int>(own.size()))
    threads = std::min(threads, std::max(1, most / launch.local_size));
  config.threads = threads;
}

int share_of_processors(const std::vector<int>& own, const std::vector<std::vector<int>>& node) {
  std::map<int, int> users;
  for (const std::vector<int>& processors : node)
    for (const int processor : processors) ++users[processor];
  double share = 0;
  for (const int processor : own) share += 1.0 / std::max(1, users[processor]);
  constexpr double kRounding = 1e-6;  // three thirds are one
  return std::max(1, static_cast<int>(share + kRounding));
}

}  // namespace wellspring
