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

}  // namespace

std::span<const IssueSlots> issue_slots() {
  return kIssueSlots;
}

GpuSpeed h200() {
  return {"NVIDIA H200", 132, 1.98e9};
}

GpuSpeed speed_of(Device gpu) {
  const DeviceDescription description = describe(gpu);
  return {description.name, description.multiprocessors, description.clock};
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
