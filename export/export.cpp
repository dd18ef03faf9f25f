#include "export/export.h"

#include "core/error.h"
#include "core/io/bytes.h"
#include "core/version.h"
#include "export/array_file.h"
#include "export/export_layout.h"
#include "export/layouts/event_records.h"
#include "export/layouts/trackml.h"
#include "export/layouts/webdataset.h"
#include "generators/own/stored_source.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
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

/// The arrays of the file: values, labels and true parameters.
class SampleArrays {
 public:
  SampleArrays(const SampleReader& feed, std::unique_ptr<ValueArrays> values, ArrayFile& file)
      : feed_(feed),
        file_(file),
        values_(std::move(values)),
        location_bytes_(feed.longest_location()) {
    if (!values_->grows()) values_->open(file_);
    const auto count = static_cast<std::int64_t>(feed.count());
    BatchView none;  // only the layout, no memory
    none.layout = feed.layout();
    const auto columns = columns_of(none);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::string name = columns[i].name;
      if (name == "x" || name == "count") continue;  // written by ValueArrays
      if (columns[i].width == 0 && name != "latents") continue;
      std::vector<std::int64_t> extents = {count};
      if (name == "plane") {
        extents.insert(extents.end(), {feed.layout().height, feed.layout().width});
      } else if (name != "label" && name != "weight") {
        extents.push_back(columns[i].width);
      }
      const ElementType type = name == "label" ? ElementType::i64 : columns[i].type;
      columns_[i] = file_.open(name, {type, extents}, meaning(feed, name));
    }
    source_ = file_.open("source", {ElementType::i32, {count}});
    sample_ = file_.open("sample", {ElementType::i64, {count}});
    if (location_bytes_ > 0)
      location_ = file_.open(
          "location", {ElementType::u8, {count, static_cast<std::int64_t>(location_bytes_)}});
    if (values_->grows()) values_->open(file_);
  }

  void append(const HostSamples& samples) {
    values_->append(file_, samples);
    const auto made = columns_of(samples.rows);
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (!columns_[i]) continue;
      if (std::string_view(made[i].name) == "label") {
        const std::vector<std::int64_t> labels(samples.label().begin(), samples.label().end());
        file_.append(*columns_[i], bytes_of(labels));
        continue;
      }
      file_.append(*columns_[i], {static_cast<const std::byte*>(made[i].data),
                                  static_cast<std::size_t>(samples.count()) * made[i].row_bytes()});
    }
    std::vector<std::int32_t> source;
    std::vector<std::int64_t> sample;
    for (const Slot& slot : samples.slots) {
      source.push_back(static_cast<std::int32_t>(slot.source));
      sample.push_back(static_cast<std::int64_t>(slot.sample));
    }
    file_.append(source_, bytes_of(source));
    file_.append(sample_, bytes_of(sample));
    if (location_bytes_ > 0) append_locations(samples);
  }

 private:
  /// Writes locations padded with zeros.
  void append_locations(const HostSamples& samples) {
    std::string text;
    for (const Slot& slot : samples.slots) {
      const std::size_t begin = text.size();
      text += feed_.location(slot);
      text.resize(begin + location_bytes_);
    }
    file_.append(location_, bytes_of(text));
  }

  /// Names and units of a column, if all samples have the same origin.
  static ArrayMeaning meaning(const SampleReader& feed, const std::string& name) {
    if (feed.origins().size() != 1) return {};
    const SampleInfo& info = feed.origins().front().info;
    if (name == "latents") return meaning_of(info.latents);
    if (name == "globals") return meaning_of(info.globals);
    if (name == "target") return meaning_of(info.targets);
    return {};
  }

  const SampleReader& feed_;
  ArrayFile& file_;
  std::unique_ptr<ValueArrays> values_;
  std::size_t location_bytes_;  ///< 0: no stored samples
  std::array<std::optional<ArrayFile::Array>, kBatchColumns>
      columns_;  ///< in the order of columns_of
  ArrayFile::Array source_ = 0, sample_ = 0, location_ = 0;
};

}  // namespace

nlohmann::ordered_json export_metadata(const SampleReader& feed, const ExportOptions& options) {
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
  }
  if (options.store_headers) data[kStoredHeaders] = stored_headers(feed.generators());
  data["version"] = kVersion;
  return data;
}

ExportReport export_samples(SampleReader& feed, const std::filesystem::path& path,
                            const ExportOptions& options) {
  if (options.store_headers) expect_storable(feed.generators());
  if (options.layout == kWebDataset) return export_webdataset(feed, path, options);
  if (path.extension() == ".trackml" || is_event_record(path)) {
    if (!options.layout.empty() || options.images != ImageForm{} || options.gzip > 0 ||
        options.store_headers)
      fail(ErrorKind::config,
           {fmt::format("--layout, --pixels, --channels, --gzip and --store-headers cannot be used "
                        "with '{}'",
                        path.string()),
            "they apply to array files", "leave them out"});
    return is_event_record(path) ? export_event_records(feed, path, options.progress)
                                 : export_trackml(feed, path, options.progress);
  }
  const ExportLayout& layout = find_export_layout(options.layout, feed, path);
  const auto file = [&] {
    if (is_npz(path) || is_hdf5(path)) expect_storable(feed);
    return create_array_file(path, options.gzip);
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
