#include "generators/export.h"

#include "core/bytes.h"
#include "core/error.h"
#include "core/npy.h"
#include "core/version.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wellspring {
namespace {

nlohmann::ordered_json metadata(const Generator& generator, const SampleRange& range) {
  const GeneratorInfo& info = generator.info();
  nlohmann::ordered_json latents = nlohmann::ordered_json::array();
  for (const LatentInfo& latent : info.latents) {
    latents.push_back(
        {{"name", latent.name}, {"unit", latent.unit}, {"low", latent.low}, {"high", latent.high}});
  }
  return {{"generator", info.name},
          {"reference", info.reference},
          {"parameters", generator.parameters_yaml()},
          {"seed", range.seed},
          {"first", range.first},
          {"count", range.count},
          {"classes", info.classes},
          {"features", info.features},
          {"latents", std::move(latents)},
          {"version", kVersion}};
}

/// Extents of a column of `count` rows.
std::vector<std::int64_t> extents(const BatchColumn& column, const SampleLayout& layout,
                                  std::int64_t count) {
  const std::string_view name = column.name;
  if (name == "label" || name == "weight" || name == "count") return {count};
  if (name != "x") return {count, column.width};
  switch (layout.kind) {
    case SampleKind::image:
      return {count, layout.height, layout.width, layout.channels};
    case SampleKind::event:
      return {count, layout.features};
    case SampleKind::set:
      return {count, layout.items, layout.features};
  }
  return {};
}

void write_npz(const Generator& generator, const SampleRange& range, const SampleMaking& making,
               const std::filesystem::path& path) {
  const auto count = static_cast<std::int64_t>(range.count);
  BatchView rows;  // no memory: what there will be
  rows.layout = generator.layout();
  const auto columns = columns_of(rows);
  constexpr double kMostBytes = 0x1p60;  // far beyond any disk, and within all integers used here
  if (static_cast<double>(count) * static_cast<double>(columns[0].row_bytes()) > kMostBytes) {
    fail(ErrorKind::config,
         {fmt::format("an export of {} samples does not fit into any file", count),
          "it would have more than 2^60 bytes", "export fewer at a time: --first and --count"});
  }
  // x is by far the largest and goes to the file as it is made; the truth beside it is kept.
  std::array<std::vector<std::byte>, kBatchColumns> kept;
  NpzWriter file(path);
  file.begin("x", {columns[0].type, extents(columns[0], rows.layout, count)});
  SampleReader reader(generator, range.seed, making);
  reader.read(range.first, range.count, [&](const HostSamples& samples) {
    const auto made = columns_of(samples.rows);
    for (std::size_t i = 0; i < made.size(); ++i) {
      const Bytes bytes = {static_cast<const std::byte*>(made[i].data),
                           static_cast<std::size_t>(samples.count()) * made[i].row_bytes()};
      if (i == 0) {
        file.append(bytes);
      } else {
        kept[i].insert(kept[i].end(), bytes.begin(), bytes.end());
      }
    }
  });
  file.end();
  for (std::size_t i = 1; i < columns.size(); ++i) {
    const bool always = std::string_view(columns[i].name) == "latents";
    if (columns[i].width == 0 && !always) continue;
    file.add(columns[i].name, {columns[i].type, extents(columns[i], rows.layout, count)}, kept[i]);
  }
  file.add_file("metadata.json", bytes_of(metadata(generator, range).dump(2)));
  file.commit();
}

}  // namespace

void export_samples(const Generator& generator, const SampleRange& range,
                    const SampleMaking& making, const std::filesystem::path& path) {
  const std::string ending = path.extension().string();
  if (ending == ".npz") return write_npz(generator, range, making, path);
  fail(ErrorKind::config, {fmt::format("cannot export to '{}'", path.string()),
                           ending.empty() ? "the ending names the format, and there is none"
                                          : fmt::format("the ending names the format, and '{}' is "
                                                        "not one this version writes",
                                                        ending),
                           "give a name that ends in .npz"});
}

}  // namespace wellspring
