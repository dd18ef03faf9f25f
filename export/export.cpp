#include "export/export.h"

#include "core/error.h"
#include "core/version.h"
#include "export/array_file.h"
#include "export/array_shards.h"
#include "export/export_layout.h"
#include "export/layouts/event_records.h"
#include "export/layouts/trackml.h"
#include "export/layouts/webdataset.h"
#include "export/sample_arrays.h"
#include "generators/own/stored_source.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <vector>

namespace wellspring {
namespace {

nlohmann::ordered_json values(const std::vector<ValueInfo>& columns) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const ValueInfo& value : columns)
    list.push_back({{"name", value.name}, {"unit", value.unit}});
  return list;
}

/// Describes the columns for samples of this origin.
nlohmann::ordered_json meaning(const SampleOrigin& origin) {
  const SampleInfo& info = origin.info;
  nlohmann::ordered_json latents = nlohmann::ordered_json::array();
  for (const LatentInfo& latent : info.latents) {
    latents.push_back({{"name", latent.name},
                       {"help", latent.help},
                       {"unit", latent.unit},
                       {"low", latent.low},
                       {"high", latent.high}});
  }
  return {{"name", origin.name},
          {"reference", info.reference},
          {"classes", info.classes},
          {"features", values(info.features)},
          {"globals", values(info.globals)},
          {"targets", values(info.targets)},
          {"latents", std::move(latents)}};
}

nlohmann::ordered_json plane_of(const SampleInfo& info) {
  if (!info.plane) return nullptr;
  return {{"name", info.plane->name}, {"help", info.plane->help}, {"unit", info.plane->unit}};
}

/// Rejects more bytes than any disk holds; smaller sizes fit into all integer types used here.
void expect_storable(const SampleReader& feed) {
  constexpr double kMostBytes = 0x1p60;
  const auto row_bytes = static_cast<double>(feed.layout().elements()) * sizeof(float);
  if (static_cast<double>(feed.count()) * row_bytes <= kMostBytes) return;
  fail(ErrorKind::config,
       {fmt::format("an export of {} samples is too large for a file", feed.count()),
        "it would have more than 2^60 bytes", "use a smaller --count"});
}

}  // namespace

nlohmann::ordered_json export_metadata(const SampleReader& feed, const ExportOptions& options,
                                       SamplesMade made) {
  nlohmann::ordered_json data = feed.identity();
  for (std::size_t i = 0; i < feed.origins().size(); ++i)
    data["sources"][i].update(meaning(feed.origins()[i]));
  if (feed.layout().planes > 0) {
    for (std::size_t i = 0; i < feed.origins().size(); ++i)
      data["sources"][i]["plane"] = plane_of(feed.origins()[i].info);
  }
  if (feed.layout().kind == SampleKind::set) {
    data["most_items"] = feed.layout().items;
    data["overflow"] = {{"samples", feed.overflow().samples}, {"items", feed.overflow().items}};
    if (made == SamplesMade::some) data["overflow"] = nullptr;
  }
  if (options.store_headers) data[kStoredHeaders] = stored_headers(feed.generators());
  data["version"] = kVersion;
  return data;
}

ExportReport export_samples(SampleReader& feed, const std::filesystem::path& path,
                            const ExportOptions& options) {
  if (options.store_headers) expect_storable(feed.generators());
  if (options.layout == kWebDataset) return export_webdataset(feed, path, options);
  if (options.reencode)
    fail(ErrorKind::config,
         {"--reencode: the images are not written as files",
          fmt::format("only --layout {} writes image files", kWebDataset), "leave it out"});
  if (!options.shards.empty()) {
    expect_storable(feed);
    return export_array_shards(feed, path, options);
  }
  if (path.extension() == ".trackml" || is_event_record(path)) {
    if (!options.layout.empty() || options.images != ImageForm{} || options.compression.on() ||
        options.store_headers)
      fail(ErrorKind::config,
           {fmt::format(
                "--layout, --pixels, --channels, --compress and --store-headers cannot be used "
                "with '{}'",
                path.string()),
            "they apply to array files", "leave them out"});
    return is_event_record(path) ? export_event_records(feed, path, options.progress)
                                 : export_trackml(feed, path, options.progress);
  }
  const ExportLayout& layout = find_export_layout(options.layout, feed, path);
  const auto file = [&] {
    if (is_npz(path) || is_hdf5(path)) expect_storable(feed);
    return create_array_file(path, options.compression);
  }();
  SampleArrays arrays(feed, make_values(layout, feed, options.images), *file);
  std::uint64_t done = 0;
  feed.make([&](const HostSamples& samples) {
    arrays.append(samples);
    done += static_cast<std::uint64_t>(samples.count());
    if (options.progress) options.progress(done);
  });
  nlohmann::ordered_json about = export_metadata(feed, options);
  if (is_hdf5(path)) about["layout"] = layout.name;
  return {file->finish(about), feed.overflow()};
}

}  // namespace wellspring
