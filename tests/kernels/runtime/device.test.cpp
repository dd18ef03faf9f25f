#include "kernels/runtime/device.h"

#include "core/error.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace wellspring {
namespace {

ErrorKind kind_of_parse(std::string_view text) {
  try {
    static_cast<void>(Device::parse(text));
  } catch (const Error& error) {
    return error.kind();
  }
  return ErrorKind::runtime;
}

std::string message_of_parse(std::string_view text) {
  try {
    static_cast<void>(Device::parse(text));
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

/// Sets an environment variable for one test.
class ScopedEnvironment {
 public:
  ScopedEnvironment(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~ScopedEnvironment() { unsetenv(name_); }

 private:
  const char* name_;
};

TEST(Device, ParsesNames) {
  EXPECT_EQ(Device::parse("cpu"), Device::cpu());
  EXPECT_EQ(Device::cpu().to_string(), "cpu");
  EXPECT_EQ(Device::cuda(3).to_string(), "cuda:3");
}

TEST(Device, RefusesUnknownNamesAsConfiguration) {
  for (const char* text : {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "CPU", "cpu:0"}) {
    EXPECT_EQ(kind_of_parse(text), ErrorKind::config) << text;
  }
  EXPECT_NE(message_of_parse("gpu").find("cuda:N"), std::string::npos);
}

TEST(Device, AbsentGpuIsADeviceErrorWithTheReason) {
  if (cuda_status().device_count != 0) GTEST_SKIP() << "this machine has a GPU";
  const CudaStatus status = cuda_status();
  EXPECT_FALSE(status.reason.empty());
  for (const char* text : {"cuda", "cuda:0", "cuda:7"}) {
    EXPECT_EQ(kind_of_parse(text), ErrorKind::device) << text;
    EXPECT_NE(message_of_parse(text).find(status.reason), std::string::npos) << text;
  }
  EXPECT_EQ(Device::parse("auto"), Device::cpu());
}

TEST(Device, IndexOutOfRangeListsTheGpus) {
  if (cuda_status().device_count == 0) GTEST_SKIP() << "needs a GPU: " << cuda_status().reason;
  EXPECT_EQ(kind_of_parse("cuda:999"), ErrorKind::device);
  EXPECT_NE(message_of_parse("cuda:999").find("cuda:0"), std::string::npos);
}

TEST(Device, EnvironmentHidesAllGpus) {
  const ScopedEnvironment hidden("WELLSPRING_DISABLE_CUDA", "1");
  EXPECT_EQ(cuda_status().device_count, 0);
  EXPECT_EQ(Device::parse("auto"), Device::cpu());
  EXPECT_EQ(kind_of_parse("cuda"), ErrorKind::device);
  if (cuda_status().built) {
    EXPECT_NE(message_of_parse("cuda").find("WELLSPRING_DISABLE_CUDA"), std::string::npos);
  }
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

TEST(Device, AGpuGrantsAtLeastThePortableScratch) {
  if (cuda_status().device_count == 0) GTEST_SKIP() << "needs a GPU: " << cuda_status().reason;
  EXPECT_GE(scratch_limit(Device::cuda(0)), kPortableScratchBytes);
  EXPECT_EQ(describe(Device::cuda(0)).scratch_bytes, scratch_limit(Device::cuda(0)));
}

TEST(Device, ArchitectureListDecidesWhatRuns) {
  using detail::architecture_in_build;
  const char* const list = "80-real 90-real 100-real 120";
  for (const int capability : {80, 86, 89, 90, 100, 103, 120, 121, 130}) {
    EXPECT_TRUE(architecture_in_build(list, capability)) << capability;
  }
  for (const int capability : {0, 70, 75, 110}) {
    EXPECT_FALSE(architecture_in_build(list, capability)) << capability;
  }
  EXPECT_FALSE(architecture_in_build("86-real", 80));  // code of a later minor
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
