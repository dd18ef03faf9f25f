#include "generators/latents.h"

namespace wellspring {

LatentInfo::LatentInfo(std::string_view its_name, std::string_view its_help,
                       std::string_view its_unit, float its_low, float its_high,
                       LatentRole its_role, LatentEnds its_ends)
    : name(its_name),
      help(its_help),
      unit(its_unit),
      low(its_low),
      high(its_high),
      role(its_role),
      ends(its_ends) {}
LatentInfo::LatentInfo() = default;
LatentInfo::LatentInfo(const LatentInfo& other) = default;
LatentInfo::LatentInfo(LatentInfo&& other) noexcept = default;
LatentInfo& LatentInfo::operator=(const LatentInfo& other) = default;
LatentInfo& LatentInfo::operator=(LatentInfo&& other) noexcept = default;
LatentInfo::~LatentInfo() = default;

}  // namespace wellspring
