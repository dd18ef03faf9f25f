#include "train/ranks/rank_settings.h"

#include "core/error.h"
#include "kernels/runtime/device.h"
#include "kernels/runtime/threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

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

}  // namespace

void take_part_of_node(RunConfig& config, const Launch& launch) {
  choose_gpu(config, launch);
  // Rank 0 listens at this port, so no other job has the same one at the same time.
  config.node = {fmt::format("{}:{}", launch.address, launch.port), launch.local_rank,
                 launch.local_size};
  if (config.threads == 0 && std::getenv("OMP_NUM_THREADS") == nullptr)
    config.threads = std::max(1, compute_threads(0).count / launch.local_size);
  if (config.memory == 0 && config.device == "cpu") {
    constexpr double kGiB = 0x1p30;
    config.memory =
        static_cast<double>(describe(Device::cpu()).free_bytes) / launch.local_size / kGiB;
  }
}

}  // namespace wellspring
