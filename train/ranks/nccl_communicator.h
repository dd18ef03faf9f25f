// The ranks of a run as processes with one GPU each: NCCL sums in device memory, and TCP carries
// the rest. Host only.
#pragma once

#include "train/ranks/nccl_library.h"
#include "train/ranks/tcp_communicator.h"

#include <atomic>
#include <mutex>
#include <thread>

namespace wellspring {

class NcclCommunicator final : public ConnectedRanks {
 public:
  /// Joins the ring, then NCCL's communicator for `device`. Errors: see Ring; device: NCCL is
  /// absent, fails (two ranks on one GPU, for example), or has other versions on other ranks.
  NcclCommunicator(const RingOptions& options, Device device);
  ~NcclCommunicator() override;
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  int rank() const override { return host_.rank(); }
  int size() const override { return host_.size(); }
  /// Becomes a node of the recorded step if the stream records. Has no effect if a rank is lost:
  /// the next call on the host then fails.
  void all_reduce(Stream& stream, float* values, std::int64_t count) override;
  void all_reduce(std::span<double> values) override { host_.all_reduce(values); }
  void broadcast(std::span<std::byte> bytes) override { host_.broadcast(bytes); }
  void barrier() override { host_.barrier(); }
  void abandon(std::string_view reason) noexcept override { host_.abandon(reason); }

 private:
  void check_versions();
  void check(nccl::Result result, std::string_view call) const;
  void watch(const std::stop_token& stop);

  TcpCommunicator host_;
  Device device_;
  nccl::Communicator ranks_ = nullptr;
  std::timed_mutex in_use_;  ///< NCCL allows one thread at a time
  std::atomic<bool> aborted_ = false;
  std::jthread watcher_;  ///< ends sums that wait for a lost rank
};

}  // namespace wellspring
