// The driver takes a kernel's local memory from device memory at the first launch; plans leave room
// for it.
#include "core/error.h"
#include "core/io/files.h"
#include "export/samples.h"
#include "generators/generator.h"
#include "kernels/runtime/memory_plan.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <sstream>
#include <string>

namespace wellspring {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

/// Makes four samples with `mebibytes` MiB of device memory. Returns false if the plan is refused.
bool makes_samples(Generator& generator, std::size_t mebibytes) {
  stand_in::set_device_memory(mebibytes * kMiB);
  std::optional<SampleMaker> maker;
  try {
    maker.emplace(generator, SampleMaking{.device = Device::cuda(0)}, 4);
  } catch (const Error&) {
    return false;
  }
  maker->make({1, 0, 4}, [](const HostSamples&) {});
  return true;
}

// The stand-in has one multiprocessor, so the 5,296 bytes of ginkgo's row in the report are 11.3 MiB.
TEST(LocalMemory, FitsForAShowerWheneverItsPlanDoes) {
  const auto generator = make_generator("ginkgo", 1, {});
  int accepted = 0;
  for (std::size_t mebibytes = 1; mebibytes <= 20; ++mebibytes)
    accepted += makes_samples(*generator, mebibytes);
  stand_in::set_device_memory(4096 * kMiB);
  EXPECT_GE(accepted, 6);
  EXPECT_LE(accepted, 10) << "plans without their local memory must be refused";
}

TEST(LocalMemory, IsALineOfThePlan) {
  MemoryPlan memory(Device::cuda(0));
  EXPECT_EQ(memory.local_bytes(), (1024 + 512) * 2048);
  EXPECT_NE(memory.table().find("local memory of kernels"), std::string::npos);
  EXPECT_EQ(MemoryPlan(Device::cpu()).local_bytes(), 0u);
  make_generator("ginkgo", 1, {})->plan(memory, 4, DenseLabels::none);
  EXPECT_EQ(memory.local_bytes(), (5296 + 512) * 2048);
}

// Other kernels' local memory is not announced.
TEST(LocalMemory, IsInEveryPlanForOtherKernels) {
  std::istringstream report(read_text(WELLSPRING_SOURCE_DIR "/bench/results/kernels.md"));
  int rows = 0;
  for (std::string line; std::getline(report, line);) {
    if (!line.starts_with("| `") || line.starts_with("| `MakeEvents")) continue;
    const std::string functor = "[with F = " + line.substr(3, line.find('`', 3) - 3) + "]";
    const stand_in::HostKernel kernel{nullptr, functor.c_str()};
    cudaFuncAttributes attributes{};
    ASSERT_EQ(cudaFuncGetAttributes(&attributes, &kernel), cudaSuccess);
    EXPECT_LE(attributes.localSizeBytes, kStackBytes) << functor;
    ++rows;
  }
  EXPECT_GT(rows, 50);
}

}  // namespace
}  // namespace wellspring
