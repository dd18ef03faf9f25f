// Upper bounds on the rate of a generator on a GPU, from the compiler's listing: by instruction
// issue and by memory writes. Called by the generator benchmark; host only.
//
// A multiprocessor has four schedulers; each issues at most one warp instruction per cycle (CUDA
// C++ Programming Guide, "Compute Capability 9.x"). scripts/issue-slots counts the instructions per
// sample without a GPU and writes bench/issue_slots.inc (bench/results/gpu-ceilings.md). The bound
// ignores memory stalls and units that take more than one cycle, so real rates stay well below it.
#pragma once

#include "kernels/runtime/device.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace wellspring::bench {

struct IssueSlots {
  std::string_view generator;
  std::string_view what;     ///< the variant's settings; "" for the defaults
  int side;                  ///< image side, pixels; 1 for events
  double warp_instructions;  ///< mean per sample, x in bf16
};
/// All counts, for compute capability 9.0.
std::span<const IssueSlots> issue_slots();

struct GpuCeilings {
  std::string gpu;               ///< "NVIDIA H200"
  bool is_here = false;          ///< true for the GPU of the measurement
  double warp_instructions = 0;  ///< per sample
  double bytes = 0;              ///< per sample, all columns
  double issue_rate = 0;         ///< samples/s
  double write_rate = 0;         ///< samples/s
  bool issue_is_lower() const { return issue_rate < write_rate; }
};
/// Bounds for samples of `bytes` bytes with x in bf16; empty if the instructions are unknown.
/// `here`: the GPU, with `writes` measured in samples/s; if it is the CPU, the published H200.
std::optional<GpuCeilings> gpu_ceilings(std::string_view generator, std::string_view what, int side,
                                        double bytes, Device here, double writes);

/// "NVIDIA H200, estimate from the listing: 4.2 G/s by 13 warp instructions per sample, 600 G/s by
/// writing 8 bytes at 4.8 TB/s; lower bound: issue slots".
std::string to_string(const GpuCeilings& ceilings);

}  // namespace wellspring::bench
