#include "bench/gpu_ceilings.h"

#include "core/text/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace wellspring::bench {
namespace {

constexpr auto kIssueSlots = std::to_array<IssueSlots>({
#include "bench/issue_slots.inc"
});

struct GpuSpeed {
  std::string name;
  int multiprocessors = 0;
  double clock = 0;  ///< maximum, Hz

  double warp_instructions() const { return 4. * multiprocessors * clock; }  ///< per second
};

/// NVIDIA H200 SXM as published: 132 multiprocessors, 1.98 GHz at most (from 67 TFLOP/s of f32: two
/// per lane and cycle), and 4.8 TB/s (NVIDIA H200 Tensor Core GPU, datasheet).
GpuSpeed h200() {
  return {"NVIDIA H200", 132, 1.98e9};
}
constexpr double kH200Bytes = 4.8e12;  ///< bytes read or written per second

GpuSpeed speed_of(Device gpu) {
  const DeviceDescription description = describe(gpu);
  return {description.name, description.multiprocessors, description.clock};
}

}  // namespace

std::span<const IssueSlots> issue_slots() {
  return kIssueSlots;
}

std::optional<GpuCeilings> gpu_ceilings(std::string_view generator, std::string_view what, int side,
                                        double bytes, Device here, double writes) {
  const auto found =
      std::find_if(kIssueSlots.begin(), kIssueSlots.end(), [&](const IssueSlots& row) {
        return row.generator == generator && row.what == what && row.side == side;
      });
  if (found == kIssueSlots.end()) return std::nullopt;
  const bool on_gpu = here.is_cuda();
  const GpuSpeed gpu = on_gpu ? speed_of(here) : h200();
  return GpuCeilings{gpu.name,
                     on_gpu,
                     found->warp_instructions,
                     bytes,
                     gpu.warp_instructions() / found->warp_instructions,
                     on_gpu ? writes : kH200Bytes / bytes};
}

std::string to_string(const GpuCeilings& ceilings) {
  return fmt::format(
      "{}, estimate from the listing: {}/s by {:.4g} warp instructions per sample, {}/s by writing "
      "{} bytes{}; lower bound: {}",
      ceilings.gpu, human_count(ceilings.issue_rate), ceilings.warp_instructions,
      human_count(ceilings.write_rate), human_count(ceilings.bytes),
      ceilings.is_here ? "" : " at 4.8 TB/s",
      ceilings.issue_is_lower() ? "issue slots" : "writing");
}

}  // namespace wellspring::bench
