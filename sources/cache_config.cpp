#include "sources/cache_config.h"

#include <fmt/format.h>

namespace wellspring {
namespace {

constexpr const char* kHelp =
    "storage of streamed rows: none, encoded (all image files in host memory), decoded (all rows "
    "in "
    "host memory), or a list of tiers";
constexpr double kLeastFraction = 1e-6;

const ParamTable<CacheTier>& tier_table() {
  static const auto table = [] {
    ParamTable<CacheTier> rows("cache tier");
    rows.choice("tier", &CacheTier::medium,
                {{"ram", CacheMedium::ram}, {"shm", CacheMedium::shm}, {"disk", CacheMedium::disk}},
                "host memory of each rank; /dev/shm or a folder, which the ranks of a node share")
        .required();
    rows.may_change();
    rows.choice("rows", &CacheTier::form,
                {{"encoded", RowForm::encoded}, {"decoded", RowForm::decoded}},
                "image files as they are, decoded every time; or rows ready for the batch");
    rows.may_change();
    rows.real(
        "fraction", &CacheTier::fraction, {kLeastFraction, 1}, "",
        "part of all rows, by a hash of the row number; default: all that earlier tiers leave",
        "stochastic caching");
    rows.may_change();
    rows.real("limit", &CacheTier::limit, {0, 1e6}, "GiB",
              "a tier that needs more is an error; 0: no limit");
    rows.may_change();
    rows.text("path", &CacheTier::path, "folder on a local disk (disk)");
    rows.may_change();
    return rows;
  }();
  return table;
}

std::vector<CacheTier> read_tiers(const ConfigNode& list) {
  std::vector<CacheTier> tiers;
  double left = 1;
  for (const ConfigNode& node : list.elements()) {
    CacheTier tier = node.read(tier_table());
    if (!node.has("fraction")) tier.fraction = left;
    constexpr double kRounding = 1e-9;  // rounding error of a few added fractions
    if (tier.fraction < kLeastFraction || tier.fraction > left + kRounding)
      node.refuse(fmt::format("fraction: {:g}, but earlier tiers leave {:g} of the rows",
                              tier.fraction, left),
                  "each row is in one tier at most", "use smaller fractions, or fewer tiers");
    left = std::max(0., left - tier.fraction);
    const bool disk = tier.medium == CacheMedium::disk;
    if (disk == tier.path.empty())
      node.refuse(
          disk ? "tier: disk without path" : "path of a tier that is not on disk", "",
          disk ? "set path: to a folder on a local disk" : "remove path, or set tier: disk");
    tiers.push_back(std::move(tier));
  }
  return tiers;
}

}  // namespace

std::vector<CacheTier> read_cache(const ConfigNode& source) {
  if (source.kind("cache") == ConfigKind::list) return read_tiers(source.at("cache"));
  const auto word = source.scalar("cache");
  if (!word || word->value == "none") return {};
  CacheTier tier;
  tier_table().set(tier, "rows", word->value, word->place);
  return {tier};
}

void write_cache(ConfigWriter& writer, const std::vector<CacheTier>& tiers) {
  if (tiers.empty()) writer.value("cache", "none", true);
  writer.section("cache", [&] {
    for (std::size_t i = 0; i < tiers.size(); ++i)
      writer.element(i, [&] { writer.table(tier_table(), tiers[i]); });
  });
}

void append_cache(std::vector<ConfigSection>& sections, const std::string& source) {
  ParamRow word;
  word.name = "cache";
  word.type = ParamType::text;
  word.help = kHelp;
  word.may_change = true;
  sections.push_back({source, "kind: files", {word}, ""});
  sections.push_back({source + ".cache[]", "", tier_table().rows(), ""});
}

}  // namespace wellspring
