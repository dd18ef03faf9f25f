#include "train/ranks/nccl_communicator.h"

#include "core/error.h"
#include "core/expect.h"
#include "kernels/runtime/cuda_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

namespace wellspring {
namespace {

/// NCCL works on the calling thread's current GPU.
template <class Call>
nccl::Result on_device([[maybe_unused]] Device device, Call call) {
#if WELLSPRING_CUDA
  const cuda::DeviceScope scope(device.index);
#endif
  return call();
}

}  // namespace

NcclCommunicator::NcclCommunicator(const RingOptions& options, Device device)
    : host_(options), device_(device) {
  check_versions();
  nccl::UniqueId id{};
  if (rank() == 0) check(nccl::functions().get_unique_id(&id), "ncclGetUniqueId");
  host_.broadcast(std::as_writable_bytes(std::span(&id, 1)));
  check(on_device(device, [&] { return nccl::functions().init_rank(&ranks_, size(), id, rank()); }),
        "ncclCommInitRank");
  watcher_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
}

NcclCommunicator::~NcclCommunicator() {
  watcher_.request_stop();
  if (watcher_.joinable()) watcher_.join();
  // Once a rank has ended, the communicator can only be aborted.
  if (ranks_ != nullptr && !aborted_)
    static_cast<void>(host_.ended() ? nccl::functions().abort(ranks_)
                                    : nccl::functions().destroy(ranks_));
}

void NcclCommunicator::all_reduce(Stream& stream, float* values, std::int64_t count) {
  WS_EXPECT(stream.device() == device_);
  const std::lock_guard lock(in_use_);
  if (aborted_) return;
  const nccl::Result result = on_device(device_, [&] {
    return nccl::functions().all_reduce(values, values, static_cast<std::size_t>(count),
                                        nccl::kFloat32, nccl::kSum, ranks_, stream.native());
  });
  if (result != 0 && host_.neighbour_lost()) return;
  check(result, "ncclAllReduce");
}

/// Different versions may misunderstand each other; NCCL does not promise to notice.
void NcclCommunicator::check_versions() {
  std::vector<double> versions(static_cast<std::size_t>(size()));
  try {
    int own = 0;
    check(nccl::functions().version(&own), "ncclGetVersion");
    versions[static_cast<std::size_t>(rank())] = own;
  } catch (const Error& error) {
    host_.abandon(fmt::format("rank {} has failed: {}", rank(), error.what()));
    throw;
  }
  host_.all_reduce(versions);
  const auto other = std::ranges::find_if(versions, [&](double v) { return v != versions[0]; });
  if (other != versions.end())
    fail(ErrorKind::device, {"the ranks have different versions of NCCL",
                             fmt::format("rank 0 has {}, rank {} has {}", versions[0],
                                         other - versions.begin(), *other),
                             "install the same version on all nodes"});
}

void NcclCommunicator::check(nccl::Result result, std::string_view call) const {
  if (result == 0) return;
  int version = 0;
  nccl::functions().version(&version);
  fail(ErrorKind::device,
       {fmt::format("NCCL on {}: {} failed", device_.to_string(), call),
        fmt::format("{}, NCCL {}", nccl::functions().error_text(result), version),
        "NCCL_DEBUG=INFO prints what it does; every rank needs a GPU of its own"});
}

/// A sum that involves a lost rank never ends on the device, so the host waits forever. Aborting
/// ends the sum; later sums then do nothing, and the host's next call fails and names the rank.
void NcclCommunicator::watch(const std::stop_token& stop) {
  constexpr std::chrono::milliseconds kPause{100};
  while (!stop.stop_requested()) {
    if (host_.neighbour_lost()) {
      // A call that still runs after a second waits for the lost rank; only aborting ends it.
      const std::unique_lock lock(in_use_, std::chrono::seconds(1));
      aborted_ = true;
      nccl::functions().abort(ranks_);
      return;
    }
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace wellspring
