#include "kernels/launch.h"

#include <fmt/format.h>

#include <stdexcept>

namespace wellspring::detail {

void check_map(std::string_view name, std::int64_t n) {
  if (n < 0) throw std::logic_error(fmt::format("launch '{}' over {} elements", name, n));
}

void check_league(std::string_view name, std::int64_t n, TeamShape shape, Device device) {
  check_map(name, n);
  if (shape.size < 32 || shape.size > kMaxTeamSize || shape.size % 32 != 0) {
    throw std::logic_error(
        fmt::format("launch '{}': team size {} is not a multiple of 32 in "
                    "[32, {}]",
                    name, shape.size, kMaxTeamSize));
  }
  if (shape.scratch_bytes <= kPortableScratchBytes) return;  // every GPU has them: ask no driver
  if (const std::size_t limit = scratch_limit(device); shape.scratch_bytes > limit) {
    throw std::logic_error(
        fmt::format("launch '{}': {} bytes of scratch are more than the {} of {}", name,
                    shape.scratch_bytes, limit, device.to_string()));
  }
}

}  // namespace wellspring::detail
