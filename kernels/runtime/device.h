// Devices named at run time, "cpu" and "cuda:N", in one binary. Called by everything that owns
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
  /// CPU). Errors: config for any other text; device for an unavailable GPU, with the reason (built
  /// without CUDA, no driver, no such index).
  static Device parse(std::string_view text);
  /// Error (config), its message preceded by `where`, for a text that parse() does not know. Does
  /// not ask the driver: the device may be absent.
  static void expect_name(std::string_view text, const std::string& where = "");

  bool is_cpu() const { return backend == Backend::cpu; }
  bool is_cuda() const { return backend == Backend::cuda; }
  std::string to_string() const;
  friend bool operator==(const Device&, const Device&) = default;
};

/// The GPUs of this machine, found without errors.
struct CudaStatus {
  bool built = false;                           ///< this binary has the CUDA back end
  int device_count = 0;                         ///< usable GPUs
  std::string reason;                           ///< why there is no usable GPU; "" if there is one
  int driver_version = 0, runtime_version = 0;  ///< 12040 is 12.4; 0 if unknown
};
/// Never throws, even without a driver. WELLSPRING_DISABLE_CUDA=1 hides all GPUs.
CudaStatus cuda_status() noexcept;

/// A GPU, or the CPU, for reports.
struct DeviceDescription {
  std::string name;  ///< "NVIDIA H200", "AMD EPYC 9555"
  std::uint64_t memory_bytes = 0;
  std::uint64_t free_bytes = 0;
  int multiprocessors = 0;        ///< on the CPU: cores usable by this process
  int compute_capability = 0;     ///< 90 is 9.0; 0 on the CPU
  std::size_t scratch_bytes = 0;  ///< scratch_limit()
  double clock = 0;               ///< highest multiprocessor clock in Hz; 0 on the CPU
};
DeviceDescription describe(Device device);

/// Scratch per team available on every GPU that the program can be built for (compute capability
/// 12.0: 99 KiB; CUDA C++ Programming Guide, technical specifications).
inline constexpr std::size_t kPortableScratchBytes = 99 * 1024;
/// Largest scratch per team on `device`: the opt-in limit of a block on a GPU (227 KiB on an H200),
/// kPortableScratchBytes on the CPU, so that plans made there run everywhere.
std::size_t scratch_limit(Device device);
/// Largest scratch per team for plans that only hosts use: half of a current second-level cache, so
/// that it stays with the core.
inline constexpr std::size_t kHostScratchBytes = 512 * 1024;

/// Processors available to this process (its affinity mask, not the machine's count).
int usable_cpu_count();

namespace detail {
/// True if a build for `list` (CMAKE_CUDA_ARCHITECTURES, separated by spaces) has code for a GPU of
/// compute capability `capability` (90 is 9.0).
bool architecture_in_build(std::string_view list, int capability);
}  // namespace detail

}  // namespace wellspring
