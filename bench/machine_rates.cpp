#include "bench/machine_rates.h"

#include "bench/large_product.h"
#include "bench/measure.h"
#include "core/error.h"
#include "kernels/random/random_memory.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>

namespace wellspring::bench {
namespace {

/// Bytes per second, read and written.
double copy_rate(Device device, std::size_t bytes) {
  MemoryTraffic traffic(device, MemoryTraffic::Kind::copy, bytes);
  return rate_of(traffic.work(static_cast<double>(bytes)));
}

/// Floating-point operations per second.
double product_rate(Device device, DType compute, std::int64_t side) {
  LargeProduct product(device, compute, side > 0 ? side : LargeProduct::usual_side(device));
  return rate_of(product.work(product.operations()));
}

/// Bytes per second from page-locked memory to a GPU.
double bus_rate(Device gpu, std::size_t bytes) {
  Stream stream(gpu);
  MemoryPlan memory(gpu);
  const auto host = memory.reserve<std::byte>("bench", "bus, host", bytes, MemorySpace::host);
  const auto device = memory.reserve<std::byte>("bench", "bus, device", bytes);
  memory.commit();
  constexpr std::size_t kPart = std::size_t{1} << 20;
  const std::vector<std::uint16_t> numbers = ordinary_numbers(kPart, 0);
  for (std::size_t at = 0; at < bytes; at += kPart)
    std::memcpy(host.data() + at, numbers.data(), std::min(kPart, bytes - at));
  return rate_of({[&] {
                    stream.copy(device.data(), host.data(), bytes, CopyDirection::host_to_device,
                                "bus");
                  },
                  static_cast<double>(bytes), [&] { stream.synchronize(); }});
}

/// Without a rate if the memory for its measurement is not free: a diagnosis that has succeeded must not
/// fail here.
MachineRate measured(const char* what, const char* unit, const std::function<double()>& rate) {
  try {
    return {what, rate(), unit};
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::device) throw;
    const std::string text = error.what();
    return {what, {}, unit, text.substr(0, text.find('\n'))};
  }
}

}  // namespace

std::vector<MachineRate> machine_rates(Device device, const MachineWork& work) {
  const auto product = [&](DType compute) {
    return [=] { return product_rate(device, compute, work.side); };
  };
  return {
      measured("memory copy, read and written", "B/s",
               [&] { return copy_rate(device, work.copied); }),
      measured("matrix product, f32", "FLOP/s", product(DType::f32)),
      measured("matrix product, bf16", "FLOP/s", product(DType::bf16)),
      device.is_cuda()
          ? measured("bus, host to device", "B/s", [&] { return bus_rate(device, work.copied); })
          : MachineRate{"bus, host to device", {}, "B/s", "the step runs on the CPU"}};
}

}  // namespace wellspring::bench
