// How fast a GPU could make samples at most, from the compiler's listing: by the instructions that
// it issues, and by what it writes. Called by the benchmark of generators; host only.
//
// A multiprocessor has four schedulers, and each issues at most one instruction to one warp in a
// cycle (CUDA C++ Programming Guide, "Compute Capability 9.x"). How many a sample takes stands in
// bench/issue_slots.inc, which scripts/issue-slots counts without a GPU (docs/ceilings.md).
// Units that take less than an instruction a cycle, and waits for memory, are not in it: no rate
// comes close to the ceiling, and none lies above it.
#pragma once

#include "kernels/runtime/device.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace wellspring::bench {

struct IssueSlots {
  std::string_view generator;
  std::string_view what;     ///< of its settings; "" for the defaults
  int side;                  ///< of images, pixels; 1 of events
  double warp_instructions;  ///< a sample in bf16, a mean
};
/// All that are counted, for compute capability 9.0.
std::span<const IssueSlots> issue_slots();

struct GpuSpeed {
  std::string name;
  int multiprocessors = 0;
  double clock = 0;  ///< Hz, the highest

  double warp_instructions() const { return 4. * multiprocessors * clock; }  ///< a second
};
/// NVIDIA H200 SXM as published: 132 multiprocessors, 1.98 GHz at most (67 TFLOP/s of f32 are two a
/// lane and cycle), and 4.8 TB/s (NVIDIA H200 Tensor Core GPU, datasheet).
GpuSpeed h200();
inline constexpr double kH200Bytes = 4.8e12;  ///< a second, read or written
GpuSpeed speed_of(Device gpu);

struct GpuCeilings {
  std::string gpu;               ///< "NVIDIA H200"
  bool is_here = false;          ///< the GPU that the row was measured on
  double warp_instructions = 0;  ///< a sample
  double bytes = 0;              ///< a sample, in all columns
  double issue_rate = 0;         ///< samples/s
  double write_rate = 0;         ///< samples/s
  bool issue_binds() const { return issue_rate < write_rate; }
};
/// Of samples of `bytes` in bf16; none where nobody counted their instructions. `here`: a GPU,
/// whose `writes` a second were measured; on the CPU the H200 as published.
std::optional<GpuCeilings> gpu_ceilings(std::string_view generator, std::string_view what, int side,
                                        double bytes, Device here, double writes);

/// "NVIDIA H200, estimate from the listing: 4.2 G/s by 13 warp instructions a sample, 600 G/s by
/// writing 8 bytes at 4.8 TB/s; issue slots bind".
std::string to_string(const GpuCeilings& ceilings);

}  // namespace wellspring::bench
