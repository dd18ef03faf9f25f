// Devices chosen at run time by name ("cpu", "cuda:N") in one binary. Called by all code that owns
// memory or streams; host only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wellspring {

enum class Backend : std::uint8_t { cpu, cuda };

struct Device {
  Backend backend = Backend::cpu;
  int index = 0;

  static constexpr Device cpu() { return {}; }
  static constexpr Device cuda(int index) { return {Backend::cuda, index}; }
  /// Parses "cpu", "cuda" (= "cuda:0"), "cuda:N" or "auto" (the first usable GPU, otherwise the
  /// CPU). Throws a config error for any other text, and a device error with the reason (built
  /// without CUDA, no driver, no such index) for an unavailable GPU.
  static Device parse(std::string_view text);
  /// Throws a config error, prefixed with `where`, if parse() does not know the text. Does not ask
  /// the driver, because the device may be absent.
  static void expect_name(std::string_view text, const std::string& where = "");

  bool is_cpu() const { return backend == Backend::cpu; }
  bool is_cuda() const { return backend == Backend::cuda; }
  std::string to_string() const;
  friend bool operator==(const Device&, const Device&) = default;
};

/// The GPUs of this machine; the search never fails.
struct CudaStatus {
  bool built = false;                           ///< true: this binary has the CUDA back end
  int device_count = 0;                         ///< usable GPUs
  std::string reason;                           ///< why no GPU is usable; "" if one is
  int driver_version = 0, runtime_version = 0;  ///< 12040 means 12.4; 0 if unknown
};
/// Never throws, even without a driver. WELLSPRING_DISABLE_CUDA=1 hides all GPUs.
CudaStatus cuda_status() noexcept;

/// Description of a GPU or the CPU, for reports.
struct DeviceDescription {
  std::string name;  ///< "NVIDIA H200", "AMD EPYC 9555"
  std::uint64_t memory_bytes = 0;
  std::uint64_t free_bytes = 0;
  int multiprocessors = 0;        ///< on the CPU: cores usable by this process
  int compute_capability = 0;     ///< 90 means 9.0; 0 on the CPU
  std::size_t scratch_bytes = 0;  ///< scratch_limit()
  double clock = 0;               ///< highest multiprocessor clock in Hz; 0 on the CPU
};
DeviceDescription describe(Device device);

/// Scratch per team that every supported GPU provides (compute capability 12.0: 99 KiB; CUDA C++
/// Programming Guide, technical specifications).
inline constexpr std::size_t kPortableScratchBytes = 99 * 1024;
/// Maximum scratch per team on `device`. On a GPU, it is the opt-in limit of a block (227 KiB on an
/// H200); on the CPU, it is kPortableScratchBytes, so that plans made there also fit every GPU.
std::size_t scratch_limit(Device device);
/// Maximum scratch per team for plans that only hosts use: half of a current second-level cache, so
/// that the scratch stays in the core's cache.
inline constexpr std::size_t kHostScratchBytes = 512 * 1024;

/// Number of processors in this process's affinity mask, which may be fewer than the machine has.
int usable_cpu_count();

namespace detail {
/// True if a build for `list` (CMAKE_CUDA_ARCHITECTURES, separated by spaces) has code for a GPU of
/// compute capability `capability` (90 means 9.0).
bool architecture_in_build(std::string_view list, int capability);
}  // namespace detail

}  // namespace wellspring
