// The machine's rates, on the stand-in: the host waits for every copy and product, and the bus copies
// from page-locked and from pageable memory.
#include "bench/machine_rates.h"

#include <gtest/gtest.h>

namespace wellspring::bench {
namespace {

TEST(MachineRates, AreMeasuredOnADevice) {
  for (const Device device : {Device::cuda(0), Device::cpu()}) {
    const std::vector<MachineRate> rates = machine_rates(device, {1 << 20, 64});
    ASSERT_EQ(rates.size(), device.is_cpu() ? 4U : 5U);
    for (const MachineRate& rate : rates) {
      const bool bus_of_cpu = device.is_cpu() && rate.what.starts_with("bus");
      EXPECT_NE(rate.rate.has_value(), bus_of_cpu) << rate.what << rate.reason;
      EXPECT_GT(rate.rate.value_or(1), 0) << rate.what;
    }
  }
}

TEST(MachineRates, SayWhichMemoryIsNotFree) {
  const std::vector<MachineRate> rates = machine_rates(Device::cuda(0), {std::size_t{1} << 50, 64});
  EXPECT_FALSE(rates.front().rate);
  EXPECT_FALSE(rates.front().reason.empty());
  EXPECT_TRUE(rates[1].rate) << rates[1].reason;
}

}  // namespace
}  // namespace wellspring::bench
