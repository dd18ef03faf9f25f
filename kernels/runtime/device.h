// Devices named at run time: "cpu" and "cuda:N", in one binary. Host only.
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
  /// CPU). Errors: config for any other text; device when a GPU is named that is not there, with
  /// the reason (built without CUDA, no driver, no such index).
  static Device parse(std::string_view text);
  /// Error (config), its message after `where`, for a text that parse() does not know. Asks no
  /// driver: the device need not be there.
  static void expect_name(std::string_view text, const std::string& where = "");

  bool is_cpu() const { return backend == Backend::cpu; }
  bool is_cuda() const { return backend == Backend::cuda; }
  std::string to_string() const;
  friend bool operator==(const Device&, const Device&) = default;
};

/// What is known of the GPUs of this machine, found without failing.
struct CudaStatus {
  bool built = false;    ///< this binary has the CUDA back end
  int device_count = 0;  ///< usable GPUs
  std::string reason;    ///< why there is none, in words; "" where there is one
  int driver_version = 0, runtime_version = 0;  ///< 12040 is 12.4; 0 where unknown
};
/// Never throws, also on a machine with no driver. WELLSPRING_DISABLE_CUDA=1 hides all GPUs.
CudaStatus cuda_status() noexcept;

/// One GPU, or the CPU, as reports print it.
struct DeviceDescription {
  std::string name;  ///< "NVIDIA H200", "AMD EPYC 9555"
  std::uint64_t memory_bytes = 0;
  std::uint64_t free_bytes = 0;
  int multiprocessors = 0;        ///< cores usable by this process, on the CPU
  int compute_capability = 0;     ///< 90 is 9.0; 0 on the CPU
  std::size_t scratch_bytes = 0;  ///< as scratch_limit()
  double clock = 0;               ///< Hz, the highest of the multiprocessors; 0 on the CPU
};
DeviceDescription describe(Device device);

/// Most scratch that any GPU this program is built for grants a team (compute capability 12.0: 99
/// KiB; CUDA C++ Programming Guide, technical specifications).
inline constexpr std::size_t kPortableScratchBytes = 99 * 1024;
/// Most scratch of a team on `device`: on a GPU what its blocks may opt in to (an H200 has 227
/// KiB), on the CPU kPortableScratchBytes, so that what is planned by it there runs everywhere.
std::size_t scratch_limit(Device device);
/// Most scratch of a team that is planned for hosts alone: half of a second-level cache of today,
/// so that what lies there stays with the core.
inline constexpr std::size_t kHostScratchBytes = 512 * 1024;

/// Processors that this process may run on (its affinity mask, not the machine's count).
int usable_cpu_count();

namespace detail {
/// Whether a build for `list` (CMAKE_CUDA_ARCHITECTURES, separated by spaces) has code that runs on
/// a GPU of compute capability `capability` (90 is 9.0).
bool architecture_in_build(std::string_view list, int capability);
}  // namespace detail

}  // namespace wellspring
