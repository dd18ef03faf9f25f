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

nlohmann::ordered_json metadata(const Generator& generator, const SampleRange& range,
                                const SetOverflow& overflow) {
  const SampleInfo& info = generator.info();
  nlohmann::ordered_json latents = nlohmann::ordered_json::array();
  for (const LatentInfo& latent : info.latents) {
    latents.push_back(
        {{"name", latent.name}, {"unit", latent.unit}, {"low", latent.low}, {"high", latent.high}});
  }
  const auto values = [](const std::vector<ValueInfo>& columns) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const ValueInfo& value : columns) {
      list.push_back({{"name", value.name}, {"unit", value.unit}});
    }
    return list;
  };
  nlohmann::ordered_json data = {{"generator", info.name},
                                 {"generator_version", info.version},
                                 {"reference", info.reference},
                                 {"parameters", generator.parameters_yaml()},
                                 {"seed", range.seed},
                                 {"first", range.first},
                                 {"count", range.count},
                                 {"classes", info.classes},
                                 {"features", values(info.features)},
                                 {"globals", values(info.globals)},
                                 {"targets", values(info.targets)},
                                 {"latents", std::move(latents)}};
  if (info.layout.kind == SampleKind::set) {
    data["most_items"] = info.layout.items;
    data["overflow"] = {{"samples", overflow.samples}, {"items", overflow.items}};
  }
  data["version"] = kVersion;
  return data;
}

/// Extents of a column of `count` rows.
std::vector<std::int64_t> extents(const BatchColumn& column, const SampleLayout& layout,
                                  std::int64_t count) {
  const std::string_view name = column.name;
  if (name == "label" || name == "weight") return {count};
  if (name != "x") return {count, column.width};
  if (layout.kind == SampleKind::event) return {count, layout.features};
  return {count, layout.height, layout.width, layout.channels};
}

Bytes bytes_of_rows(const BatchColumn& column, std::int64_t first, std::int64_t count) {
  return {static_cast<const std::byte*>(column.data) +
              static_cast<std::size_t>(first) * column.row_bytes(),
          static_cast<std::size_t>(count) * column.row_bytes()};
}

/// Where the items of each set begin among those of all, and behind them how many there are. Makes
/// the samples for their counts alone: x is written as it is made, and its extent comes before it.
std::vector<std::int64_t> offsets_of(SampleMaker& maker, const SampleRange& range) {
  std::vector<std::int64_t> offsets = {0};
  maker.make(range, [&](const HostSamples& samples) {
    for (const std::int32_t items : samples.items()) offsets.push_back(offsets.back() + items);
  });
  return offsets;
}

/// The items of a batch of sets that exist, one set after another.
void append_items(NpzWriter& file, const HostSamples& samples) {
  const auto features = static_cast<std::size_t>(samples.rows.layout.features);
  const auto width = static_cast<std::size_t>(samples.rows.layout.elements());
  const auto items = samples.items();
  for (std::size_t row = 0; row < items.size(); ++row) {
    file.append(std::as_bytes(
        samples.x().subspan(row * width, static_cast<std::size_t>(items[row]) * features)));
  }
}

/// Not more than any disk holds, and within all integers used here.
void expect_storable(const Generator& generator, std::uint64_t count) {
  constexpr double kMostBytes = 0x1p60;
  const auto row_bytes = static_cast<double>(generator.layout().elements()) * sizeof(float);
  if (static_cast<double>(count) * row_bytes <= kMostBytes) return;
  fail(ErrorKind::config,
       {fmt::format("an export of {} samples does not fit into any file", count),
        "it would have more than 2^60 bytes", "export fewer at a time: --first and --count"});
}

ExportReport write_npz(Generator& generator, const SampleRange& range, const SampleMaking& making,
                       const std::filesystem::path& path) {
  expect_storable(generator, range.count);
  const auto count = static_cast<std::int64_t>(range.count);
  const SampleLayout& layout = generator.layout();
  const bool ragged = layout.kind == SampleKind::set;
  BatchView rows;  // no memory: what there will be
  rows.layout = layout;
  const auto columns = columns_of(rows);

  ExportReport report;
  SampleMaker maker(generator, making, range.count);
  NpzWriter file(path);
  const auto add = [&](const std::string& name, const ArraySpec& spec, Bytes bytes) {
    file.add(name, spec, bytes);
    report.arrays.push_back(name);
  };
  if (ragged) {
    const std::vector<std::int64_t> offsets = offsets_of(maker, range);
    report.overflow = maker.overflow();
    add("offsets", {ElementType::i64, {count + 1}}, bytes_of(offsets));
    file.begin("x", {ElementType::f32, {offsets.back(), layout.features}});
  } else {
    file.begin("x", {ElementType::f32, extents(columns[0], layout, count)});
  }
  report.arrays.push_back("x");
  // x is by far the largest and goes to the file as it is made; the truth beside it is kept.
  std::array<std::vector<std::byte>, kBatchColumns> kept;
  maker.make(range, [&](const HostSamples& samples) {
    const auto made = columns_of(samples.rows);
    if (ragged) {
      append_items(file, samples);
    } else {
      file.append(bytes_of_rows(made[0], 0, samples.count()));
    }
    for (std::size_t i = 1; i < made.size(); ++i) {
      const Bytes bytes = bytes_of_rows(made[i], 0, samples.count());
      kept[i].insert(kept[i].end(), bytes.begin(), bytes.end());
    }
  });
  file.end();
  for (std::size_t i = 1; i < columns.size(); ++i) {
    const std::string name = columns[i].name;
    if (name == "count") continue;  // what offsets say
    if (columns[i].width == 0 && name != "latents") continue;
    add(name, {columns[i].type, extents(columns[i], layout, count)}, kept[i]);
  }
  file.add_file("metadata.json", bytes_of(metadata(generator, range, report.overflow).dump(2)));
  file.commit();
  report.notes = maker.notes();
  return report;
}

}  // namespace

ExportReport export_samples(Generator& generator, const SampleRange& range,
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
