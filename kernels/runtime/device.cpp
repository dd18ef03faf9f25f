#include "kernels/runtime/device.h"

#include "core/error.h"
#include "core/text/parse.h"
#include "kernels/runtime/cuda_check.h"
#include "kernels/runtime/host_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <omp.h>
#include <optional>

namespace wellspring {
namespace {

/// A GPU reported by the driver, usable or not.
struct Gpu {
  int index = 0;
  std::string name;
  int compute_capability = 0;
  bool usable = false;
};

struct Probe {
  CudaStatus status;
  std::vector<Gpu> gpus;
};

std::string capability_text(int capability) {
  return fmt::format("{}.{}", capability / 10, capability % 10);
}

std::string list_text(const std::vector<Gpu>& gpus) {
  std::string text;
  for (const Gpu& gpu : gpus) {
    text += fmt::format("{}cuda:{} {} (compute capability {}{})", text.empty() ? "" : ", ",
                        gpu.index, gpu.name, capability_text(gpu.compute_capability),
                        gpu.usable ? "" : ", not in this build");
  }
  return text;
}

#if WELLSPRING_CUDA

bool disabled_by_environment() {
  const char* value = std::getenv("WELLSPRING_DISABLE_CUDA");
  return value != nullptr && *value != '\0' && std::string_view(value) != "0";
}

Gpu query_gpu(int index) {
  Gpu gpu{index, "GPU", 0, false};
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, index) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return gpu;
  }
  gpu.name = properties.name;
  gpu.compute_capability = properties.major * 10 + properties.minor;
  gpu.usable = detail::architecture_in_build(WELLSPRING_CUDA_ARCHITECTURES, gpu.compute_capability);
  return gpu;
}

std::string no_device_reason(cudaError_t error, int driver_version, int runtime_version) {
  static_cast<void>(cudaGetLastError());
  if (driver_version == 0) return "no NVIDIA driver is loaded";
  if (error == cudaErrorInsufficientDriver) {
    return fmt::format("the driver is too old: it supports CUDA {}.{}, but this build needs {}.{}",
                       driver_version / 1000, driver_version % 1000 / 10, runtime_version / 1000,
                       runtime_version % 1000 / 10);
  }
  if (error == cudaErrorNoDevice || error == cudaSuccess) {
    return "the driver reports no GPU (is CUDA_VISIBLE_DEVICES empty?)";
  }
  return fmt::format("the driver failed: {}", cudaGetErrorString(error));
}

Probe probe() {
  Probe found;
  found.status.built = true;
  if (disabled_by_environment()) {
    found.status.reason = "WELLSPRING_DISABLE_CUDA is set";
    return found;
  }
  static_cast<void>(cudaDriverGetVersion(&found.status.driver_version));
  static_cast<void>(cudaRuntimeGetVersion(&found.status.runtime_version));
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess || count == 0) {
    found.status.reason =
        no_device_reason(error, found.status.driver_version, found.status.runtime_version);
    return found;
  }
  for (int i = 0; i < count; ++i) found.gpus.push_back(query_gpu(i));
  found.status.device_count = static_cast<int>(
      std::count_if(found.gpus.begin(), found.gpus.end(), [](const Gpu& g) { return g.usable; }));
  if (found.status.device_count == 0) {
    found.status.reason =
        fmt::format("this build has no code for any GPU of this machine (it was built for {}): {}",
                    WELLSPRING_CUDA_ARCHITECTURES, list_text(found.gpus));
  }
  return found;
}

#else

Probe probe() {
  Probe found;
  found.status.reason = "this binary was built without CUDA";
  return found;
}

#endif

[[noreturn]] void refuse_gpu(std::string_view text, std::string why) {
  fail(ErrorKind::device,
       {fmt::format("device '{}' is not usable", text), std::move(why),
        "set device=cpu or device=auto; 'wellspring doctor' lists the devices of this machine"});
}

Device checked_gpu(std::string_view text, int index) {
  const Probe found = probe();
  if (found.status.device_count == 0) refuse_gpu(text, found.status.reason);
  const auto gpu = std::find_if(found.gpus.begin(), found.gpus.end(),
                                [index](const Gpu& g) { return g.index == index; });
  if (gpu == found.gpus.end()) {
    refuse_gpu(text, fmt::format("no such index; this machine has {}", list_text(found.gpus)));
  }
  if (!gpu->usable) {
    refuse_gpu(text, fmt::format("this build has no code for compute capability {}; this machine "
                                 "has {}",
                                 capability_text(gpu->compute_capability), list_text(found.gpus)));
  }
  return Device::cuda(index);
}

Device first_usable() {
  for (const Gpu& gpu : probe().gpus) {
    if (gpu.usable) return Device::cuda(gpu.index);
  }
  return Device::cpu();
}

std::optional<int> parse_index(std::string_view text) {
  const std::optional<int> index = parse_number<int>(text);
  return index && *index >= 0 ? index : std::nullopt;
}

/// The value of the line `key: value` or `key value` in a /proc file; "" if there is no such line.
std::string proc_value(const char* path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!std::string_view(line).starts_with(key)) continue;
    const std::size_t begin = line.find_first_not_of(" \t:", key.size());
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return {};
}

DeviceDescription describe_cpu() {
  DeviceDescription cpu;
  cpu.name = proc_value("/proc/cpuinfo", "model name");
  if (cpu.name.empty()) cpu.name = "CPU";
  const HostMemory memory = host_memory();
  cpu.memory_bytes = memory.total_bytes;
  cpu.free_bytes = memory.available_bytes;
  cpu.multiprocessors = usable_cpu_count();
  cpu.scratch_bytes = kPortableScratchBytes;
  return cpu;
}

}  // namespace

namespace detail {

bool architecture_in_build(std::string_view list, int capability) {
  for (const std::string_view entry : split(list, ' ')) {
    int architecture = 0;
    const auto [end, error] =
        std::from_chars(entry.data(), entry.data() + entry.size(), architecture);
    if (error != std::errc{}) return !entry.empty();  // "all" or "native": the builder decided
    const std::string_view rest(end, static_cast<std::size_t>(entry.data() + entry.size() - end));
    // Suffix a: only this chip; f: its family (same major version). Without a suffix, SASS also
    // runs on later minor versions, and PTX (no "-real") on all newer chips.
    if (rest.starts_with('a')) {
      if (capability == architecture) return true;
      continue;
    }
    const bool newer = capability >= architecture;
    const bool same_major = capability / 10 == architecture / 10;
    const bool has_real = !rest.ends_with("-virtual");
    const bool has_ptx = !rest.ends_with("-real") && !rest.starts_with('f');
    if (newer && ((has_real && same_major) || has_ptx)) return true;
  }
  return false;
}

}  // namespace detail

void Device::expect_name(std::string_view text, const std::string& where) {
  if (text == "cpu" || text == "auto" || text == "cuda" ||
      (text.starts_with("cuda:") && parse_index(text.substr(5)))) {
    return;
  }
  fail(ErrorKind::config, {fmt::format("{}unknown device '{}'", where, text), "",
                           "use cpu, cuda, cuda:N (N = 0, 1, ...) or auto"});
}

Device Device::parse(std::string_view text) {
  expect_name(text);
  if (text == "cpu") return cpu();
  if (text == "auto") return first_usable();
  return checked_gpu(text, text == "cuda" ? 0 : *parse_index(text.substr(5)));
}

std::string Device::to_string() const {
  return is_cpu() ? "cpu" : fmt::format("cuda:{}", index);
}

CudaStatus cuda_status() noexcept {
  try {
    return probe().status;
  } catch (...) {  // out of memory while composing the reason; nothing else throws
    return {};
  }
}

int usable_cpu_count() {
  // sched_getaffinity would be wrong: if OMP_PROC_BIND is set, OpenMP's runtime has bound this
  // thread to one processor before main() begins. OpenMP still knows the original number.
  return std::max(1, omp_get_num_procs());
}

DeviceDescription describe(Device device) {
  if (device.is_cpu()) return describe_cpu();
#if WELLSPRING_CUDA
  const Device checked = checked_gpu(device.to_string(), device.index);
  const cuda::DeviceScope scope(checked.index);
  cudaDeviceProp properties{};
  WS_CUDA_CHECK(cudaGetDeviceProperties(&properties, checked.index));
  std::size_t free_bytes = 0, total_bytes = 0;
  WS_CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
  int kilohertz = 0;
  WS_CUDA_CHECK(cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, checked.index));
  return {properties.name,
          total_bytes,
          free_bytes,
          properties.multiProcessorCount,
          properties.major * 10 + properties.minor,
          scratch_limit(checked),
          1e3 * kilohertz};
#else
  refuse_gpu(device.to_string(), cuda_status().reason);
#endif
}

std::size_t scratch_limit(Device device) {
  if (device.is_cpu()) return kPortableScratchBytes;
#if WELLSPRING_CUDA
  int bytes = 0;
  WS_CUDA_CHECK(
      cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device.index));
  return static_cast<std::size_t>(bytes);
#else
  refuse_gpu(device.to_string(), cuda_status().reason);
#endif
}

}  // namespace wellspring
