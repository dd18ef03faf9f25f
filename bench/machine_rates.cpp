#include "bench/machine_rates.h"

#include "bench/large_product.h"
#include "bench/measure.h"
#include "core/error.h"
#include "kernels/random/random_memory.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <vector>

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

enum class HostMemory : std::uint8_t { page_locked, pageable };

/// Bytes per second from the host to a GPU. CUDA copies pageable memory through a page-locked buffer.
double bus_rate(Device gpu, std::size_t bytes, HostMemory kind) {
  Stream stream(gpu);
  MemoryPlan memory(gpu);
  std::optional<Planned<std::byte>> locked;
  if (kind == HostMemory::page_locked)
    locked = memory.reserve<std::byte>("bench", "bus, host", bytes, MemorySpace::host);
  const auto device = memory.reserve<std::byte>("bench", "bus, device", bytes);
  memory.commit();
  std::vector<std::byte> pageable(locked ? 0 : bytes);
  std::byte* const host = locked ? locked->data() : pageable.data();
  constexpr std::size_t kPart = std::size_t{1} << 20;
  const std::vector<std::uint16_t> numbers = ordinary_numbers(kPart, 0);
  for (std::size_t at = 0; at < bytes; at += kPart)
    std::memcpy(host + at, numbers.data(), std::min(kPart, bytes - at));
  return rate_of(
      {[&] { stream.copy(device.data(), host, bytes, CopyDirection::host_to_device, "bus"); },
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
  const auto bus = [&](HostMemory kind) {
    return [=] { return bus_rate(device, work.copied, kind); };
  };
  std::vector<MachineRate> rates = {
      measured("memory copy, read and written", "B/s",
               [&] { return copy_rate(device, work.copied); }),
      measured("matrix product, f32", "FLOP/s", product(DType::f32)),
      measured("matrix product, bf16", "FLOP/s", product(DType::bf16))};
  if (device.is_cuda()) {
    rates.push_back(measured("bus, page-locked", "B/s", bus(HostMemory::page_locked)));
    rates.push_back(measured("bus, pageable", "B/s", bus(HostMemory::pageable)));
  } else {
    rates.push_back({"bus, host to device", {}, "B/s", "the step runs on the CPU"});
  }
  return rates;
}

}  // namespace wellspring::bench
