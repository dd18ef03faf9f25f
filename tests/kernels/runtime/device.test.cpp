#include "kernels/runtime/device.h"

#include "core/error.h"
#include "tests/support/environment_variable.h"
#include "tests/support/error_testing.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace wellspring {
namespace {

/// Expects that parsing `text` throws an error of this kind; returns the message.
std::string refusal(ErrorKind kind, std::string_view text) {
  return test::message_of(kind, [&] { static_cast<void>(Device::parse(text)); });
}

TEST(Device, ParsesNames) {
  EXPECT_EQ(Device::parse("cpu"), Device::cpu());
  EXPECT_EQ(Device::cpu().to_string(), "cpu");
  EXPECT_EQ(Device::cuda(3).to_string(), "cuda:3");
}

TEST(Device, RefusesUnknownNamesWithAConfigurationError) {
  for (const char* text : {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "CPU", "cpu:0"}) {
    test::expect_parts(refusal(ErrorKind::config, text), {"cuda:N"});
  }
}

TEST(Device, ReportsWhyAGpuIsAbsent) {
  if (cuda_status().device_count != 0) GTEST_SKIP() << "this machine has a GPU";
  const CudaStatus status = cuda_status();
  EXPECT_FALSE(status.reason.empty());
  for (const char* text : {"cuda", "cuda:0", "cuda:7"}) {
    test::expect_parts(refusal(ErrorKind::device, text), {status.reason});
  }
  EXPECT_EQ(Device::parse("auto"), Device::cpu());
}

TEST(Device, ListsTheGpusForAnIndexOutOfRange) {
  if (cuda_status().device_count == 0) GTEST_SKIP() << "needs a GPU: " << cuda_status().reason;
  test::expect_parts(refusal(ErrorKind::device, "cuda:999"), {"cuda:0"});
}

TEST(Device, HidesGpusByEnvironment) {
  const test::EnvironmentVariable hidden("WELLSPRING_DISABLE_CUDA", "1");
  EXPECT_EQ(cuda_status().device_count, 0);
  EXPECT_EQ(Device::parse("auto"), Device::cpu());
  const std::string message = refusal(ErrorKind::device, "cuda");
  if (cuda_status().built) test::expect_parts(message, {"WELLSPRING_DISABLE_CUDA"});
}

TEST(Device, DescribesTheCpu) {
  const DeviceDescription cpu = describe(Device::cpu());
  EXPECT_FALSE(cpu.name.empty());
  EXPECT_GT(cpu.free_bytes, 0u);
  EXPECT_GE(cpu.memory_bytes, cpu.free_bytes);
  EXPECT_EQ(cpu.multiprocessors, usable_cpu_count());
  EXPECT_EQ(cpu.compute_capability, 0);
  EXPECT_EQ(cpu.scratch_bytes, kPortableScratchBytes);
  EXPECT_EQ(scratch_limit(Device::cpu()), kPortableScratchBytes);
}

TEST(Device, GpuProvidesThePortableScratch) {
  if (cuda_status().device_count == 0) GTEST_SKIP() << "needs a GPU: " << cuda_status().reason;
  EXPECT_GE(scratch_limit(Device::cuda(0)), kPortableScratchBytes);
  EXPECT_EQ(describe(Device::cuda(0)).scratch_bytes, scratch_limit(Device::cuda(0)));
}

TEST(ArchitectureInBuild, FollowsTheArchitectureList) {
  using detail::architecture_in_build;
  const char* const list = "80-real 90-real 100-real 120";
  for (const int capability : {80, 86, 89, 90, 100, 103, 120, 121, 130}) {
    EXPECT_TRUE(architecture_in_build(list, capability)) << capability;
  }
  for (const int capability : {0, 70, 75, 110}) {
    EXPECT_FALSE(architecture_in_build(list, capability)) << capability;
  }
  EXPECT_FALSE(architecture_in_build("86-real", 80));  // built for a later minor version
  EXPECT_TRUE(architecture_in_build("80-virtual", 90));
  EXPECT_FALSE(architecture_in_build("90a-real", 100));
  EXPECT_TRUE(architecture_in_build("90a", 90));
  EXPECT_TRUE(architecture_in_build("100f", 103));
  EXPECT_FALSE(architecture_in_build("100f", 110));
  EXPECT_TRUE(architecture_in_build("native", 75));
  EXPECT_FALSE(architecture_in_build("", 90));
}

}  // namespace
}  // namespace wellspring
