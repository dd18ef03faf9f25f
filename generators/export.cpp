#include "generators/export.h"

#include "core/bytes.h"
#include "core/error.h"
#include "core/npy.h"
#include "core/version.h"
#include "generators/trackml.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace wellspring {
namespace {

nlohmann::ordered_json values(const std::vector<ValueInfo>& columns) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const ValueInfo& value : columns)
    list.push_back({{"name", value.name}, {"unit", value.unit}});
  return list;
}

/// What the numbers of the columns mean where a sample is of this origin.
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

nlohmann::ordered_json metadata(const SampleFeed& feed) {
  nlohmann::ordered_json data = feed.identity();
  for (std::size_t i = 0; i < feed.origins().size(); ++i)
    data["sources"][i].update(meaning(feed.origins()[i]));
  if (feed.layout().kind == SampleKind::set) {
    data["most_items"] = feed.layout().items;
    data["overflow"] = {{"samples", feed.overflow().samples}, {"items", feed.overflow().items}};
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

/// Not more than any disk holds, and within all integers used here.
void expect_storable(const SampleFeed& feed) {
  constexpr double kMostBytes = 0x1p60;
  const auto row_bytes = static_cast<double>(feed.layout().elements()) * sizeof(float);
  if (static_cast<double>(feed.count()) * row_bytes <= kMostBytes) return;
  fail(ErrorKind::config,
       {fmt::format("an export of {} samples does not fit into any file", feed.count()),
        "it would have more than 2^60 bytes", "export fewer at a time"});
}

/// The arrays of the archive while they are filled. Every array has its place in the file from the
/// beginning, but for the items of sets: how many there are is known when the last one is made, and
/// they lie behind all others.
class NpzArrays {
 public:
  NpzArrays(const SampleLayout& layout, std::uint64_t rows, const std::filesystem::path& path)
      : layout_(layout), file_(path) {
    const auto count = static_cast<std::int64_t>(rows);
    BatchView none;  // no memory: what there will be
    none.layout = layout;
    const auto columns = columns_of(none);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::string name = columns[i].name;
      if (ragged() && (name == "x" || name == "count")) continue;  // items and offsets
      if (columns[i].width == 0 && name != "latents") continue;
      columns_[i] = open(name, {columns[i].type, extents(columns[i], layout, count)});
    }
    source_ = open("source", {ElementType::i32, {count}});
    sample_ = open("sample", {ElementType::i64, {count}});
    if (!ragged()) return;
    offsets_ = open("offsets", {ElementType::i64, {count + 1}});
    file_.append(offsets_, std::as_bytes(std::span(&items_, 1)));
    columns_[0] = file_.open_growing("x", {ElementType::f32, {0, layout.features}});
    names_.push_back("x");
  }

  void append(const HostSamples& samples) {
    const auto made = columns_of(samples.rows);
    for (std::size_t i = ragged() ? 1 : 0; i < made.size(); ++i) {
      if (!columns_[i]) continue;
      file_.append(*columns_[i], {static_cast<const std::byte*>(made[i].data),
                                  static_cast<std::size_t>(samples.count()) * made[i].row_bytes()});
    }
    if (ragged()) append_items(samples);
    std::vector<std::int32_t> source;
    std::vector<std::int64_t> sample;
    for (const Slot& slot : samples.slots) {
      source.push_back(static_cast<std::int32_t>(slot.source));
      sample.push_back(static_cast<std::int64_t>(slot.sample));
    }
    file_.append(source_, bytes_of(source));
    file_.append(sample_, bytes_of(sample));
  }

  std::vector<std::string> finish(const std::string& metadata) {
    for (const auto& column : columns_)
      if (column) file_.close(*column);
    file_.close(source_);
    file_.close(sample_);
    if (ragged()) file_.close(offsets_);
    file_.add_file("metadata.npy", bytes_of(npy_text(metadata)));
    names_.push_back("metadata");
    file_.commit();
    return names_;
  }

 private:
  bool ragged() const { return layout_.kind == SampleKind::set; }

  NpzWriter::Array open(const std::string& name, const ArraySpec& spec) {
    names_.push_back(name);
    return file_.open(name, spec);
  }

  /// The items of a batch of sets that exist, one set after another.
  void append_items(const HostSamples& samples) {
    const auto features = static_cast<std::size_t>(layout_.features);
    const auto width = static_cast<std::size_t>(layout_.elements());
    std::vector<float> x;
    std::vector<std::int64_t> offsets;
    for (std::size_t row = 0; row < samples.items().size(); ++row) {
      const auto items = static_cast<std::size_t>(samples.items()[row]);
      const auto values = samples.x().subspan(row * width, items * features);
      x.insert(x.end(), values.begin(), values.end());
      offsets.push_back(items_ += samples.items()[row]);
    }
    file_.append(*columns_[0], bytes_of(x));
    file_.append(offsets_, bytes_of(offsets));
  }

  SampleLayout layout_;
  NpzWriter file_;
  std::array<std::optional<NpzWriter::Array>, kBatchColumns> columns_;  ///< as columns_of
  NpzWriter::Array source_ = 0, sample_ = 0, offsets_ = 0;
  std::int64_t items_ = 0;  ///< of all sets so far
  std::vector<std::string> names_;
};

ExportReport write_npz(SampleFeed& feed, const std::filesystem::path& path,
                       const std::function<void(std::uint64_t)>& progress) {
  expect_storable(feed);
  NpzArrays arrays(feed.layout(), feed.count(), path);
  std::uint64_t done = 0;
  feed.make([&](const HostSamples& samples) {
    arrays.append(samples);
    done += static_cast<std::uint64_t>(samples.count());
    if (progress) progress(done);
  });
  ExportReport report;
  report.overflow = feed.overflow();
  report.arrays = arrays.finish(metadata(feed).dump(2));
  return report;
}

}  // namespace

ExportReport export_samples(SampleFeed& feed, const std::filesystem::path& path,
                            const std::function<void(std::uint64_t)>& progress) {
  const std::string ending = path.extension().string();
  if (ending == ".npz") return write_npz(feed, path, progress);
  if (ending == ".trackml") return export_trackml(feed, path, progress);
  fail(ErrorKind::config, {fmt::format("cannot export to '{}'", path.string()),
                           ending.empty() ? "the ending names the format, and there is none"
                                          : fmt::format("the ending names the format, and '{}' is "
                                                        "not one this version writes",
                                                        ending),
                           "give a name that ends in .npz or, for hits of tracks, .trackml"});
}

}  // namespace wellspring
