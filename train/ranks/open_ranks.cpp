#include "train/ranks/open_ranks.h"

#include "train/ranks/nccl_communicator.h"
#include "train/ranks/tcp_communicator.h"

namespace wellspring {

std::unique_ptr<ConnectedRanks> open_ranks(const Launch& launch, Device device,
                                           const std::string& program,
                                           std::chrono::milliseconds timeout) {
  const RingOptions options{.rank = launch.rank,
                            .size = launch.size,
                            .address = launch.address,
                            .port = launch.port,
                            .loopback_only = launch.on_one_node(),
                            .program = program,
                            .timeout = timeout};
  if (device.is_cuda()) return std::make_unique<NcclCommunicator>(options, device);
  return std::make_unique<TcpCommunicator>(options);
}

}  // namespace wellspring
