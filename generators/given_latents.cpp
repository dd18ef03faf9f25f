#include "generators/given_latents.h"

#include "core/error.h"
#include "core/text/plural.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>

namespace wellspring {

namespace {

/// Values that a latent can be set to. An unbounded law, whose range is only what samples reach,
/// allows all finite values of the right sign.
struct Allowed {
  float low, high;

  explicit Allowed(const LatentInfo& latent) : low(latent.low), high(latent.high) {
    if (latent.ends == LatentEnds::reached) return;
    low = latent.low < 0 ? -std::numeric_limits<float>::max() : 0;
    high = std::numeric_limits<float>::max();
  }
};

}  // namespace

std::vector<float> given_latents(const SampleInfo& info, std::span<const float> values,
                                 std::int64_t width, const std::string& place) {
  const int settable = info.settable_latents, all = info.layout.latents;
  if (settable == 0)
    fail(ErrorKind::config,
         {fmt::format("{}: {} cannot make samples at given latents", place, info.name),
          "with these parameters, its latents do not determine what else it draws",
          "leave the latents out; `wellspring describe NAME` lists settable latents, if any"});
  if (width != settable && width != all)
    fail(ErrorKind::config,
         {fmt::format("{}: {} per sample", place, counted(width, "value")),
          settable == all ? fmt::format("{} has {}", info.name, counted(all, "latent"))
                          : fmt::format("{} has {}, of which the first {} can be set", info.name,
                                        counted(all, "latent"), settable),
          fmt::format("give an array of shape [samples, {}]", settable)});
  const auto rows = values.size() / static_cast<std::size_t>(width);
  std::vector<float> column(rows * static_cast<std::size_t>(all));
  for (std::size_t row = 0; row < rows; ++row) {
    const auto given =
        values.subspan(row * static_cast<std::size_t>(width), static_cast<std::size_t>(settable));
    for (std::size_t k = 0; k < given.size(); ++k) {
      const LatentInfo& latent = info.latents[k];
      const Allowed allowed(latent);
      if (given[k] >= allowed.low && given[k] <= allowed.high) continue;
      fail(ErrorKind::config,
           {fmt::format("{}: row {}, column {} ({}) is {}", place, row, k, latent.name, given[k]),
            fmt::format("allowed are {} to {}", allowed.low, allowed.high),
            "give values in that range"});
    }
    std::ranges::copy(given, column.begin() + static_cast<std::ptrdiff_t>(row) * all);
  }
  return column;
}

}  // namespace wellspring
