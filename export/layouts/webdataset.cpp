#include "export/layouts/webdataset.h"

#include "core/error.h"
#include "core/io/file_kind.h"
#include "core/io/files.h"
#include "core/io/npy.h"
#include "core/io/sha256.h"
#include "core/picture/png.h"
#include "core/text/text.h"
#include "core/version.h"
#include "export/layouts/layouts.h"
#include "export/shard_folder.h"
#include "kernels/runtime/threads.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace wellspring {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kClasses = "classes.txt";
constexpr std::size_t kTarBlock = 512;

/// Adds a member with a fixed date and owner, so that
/// identical samples give identical files.
void add_member(std::string& archive, const std::string& name, Bytes content) {
  std::string header(kTarBlock, '\0');
  const auto put = [&](std::size_t at, const std::string& text) {
    header.replace(at, text.size(), text);
  };
  put(0, name);
  put(100, "0000644");
  put(108, "0000000");
  put(116, "0000000");
  put(124, fmt::format("{:011o}", content.size()));
  put(136, "00000000000");
  put(148, "        ");
  put(156, "0");
  put(257, "ustar");
  put(263, "00");
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  put(148, fmt::format("{:06o}", sum) + '\0' + ' ');
  archive += header;
  archive += text_of(content);
  archive.resize((archive.size() + kTarBlock - 1) / kTarBlock * kTarBlock, '\0');
}

std::string npy_of(const ArraySpec& spec, std::span<const float> values) {
  return npy_header(spec).append(text_of(bytes_of(values)));
}

/// File extension for an image, as data sets recognise it.
const char* image_extension(std::span<const std::uint8_t> file) {
  switch (file_kind(file)) {
    case FileKind::jpeg:
      return ".jpg";
    case FileKind::png:
      return ".png";
    case FileKind::webp:
      return ".webp";
    default:
      return ".ppm";
  }
}

template <class Info>
Json named_values(const std::vector<Info>& columns, std::span<const float> values) {
  Json object = Json::object();
  for (std::size_t i = 0; i < std::min(columns.size(), values.size()); ++i)
    object[columns[i].name] = values[i];
  return object;
}

/// Encodes the samples of a batch.
class SampleEncoder {
 public:
  SampleEncoder(const SampleReader& feed, const HostSamples& samples)
      : feed_(feed), samples_(samples), layout_(samples.rows.layout) {}

  /// The members of row `row`, which is sample `number` of the export.
  std::string encode(std::size_t row, std::uint64_t number) const {
    const std::string key = fmt::format("{:09}", number);
    std::string members;
    const auto x = row_of(samples_.x(), row, layout_.elements());
    if (!samples_.files.empty()) {
      const std::vector<std::uint8_t>& file = samples_.files[row];
      add_member(members, key + image_extension(file), bytes_of(file));
    } else if (layout_.kind == SampleKind::image) {
      add_member(members, key + ".png", encode_png(picture_of(x)));
    } else {
      const bool set = layout_.kind == SampleKind::set;
      ArraySpec spec{ElementType::f32, {layout_.features}};
      if (set) spec.shape.insert(spec.shape.begin(), samples_.items()[row]);
      add_member(members, key + ".npy", bytes_of(npy_of(spec, x.first(spec.count()))));
    }
    add_member(members, key + ".cls", bytes_of(fmt::format("{}", samples_.label()[row])));
    add_member(members, key + ".json", bytes_of(truth_of(row).dump()));
    if (layout_.planes > 0) {
      const std::int64_t pixels = std::int64_t{layout_.height} * layout_.width;
      add_member(members, key + ".plane.npy",
                 bytes_of(npy_of({ElementType::f32, {layout_.height, layout_.width}},
                                 row_of(samples_.plane(), row, pixels))));
    }
    return members;
  }

 private:
  template <class T>
  static std::span<const T> row_of(std::span<const T> column, std::size_t row, std::int64_t width) {
    const auto size = static_cast<std::size_t>(width);
    return column.empty() ? column : column.subspan(row * size, size);
  }

  RgbImage picture_of(std::span<const float> x) const {
    RgbImage image{layout_.width, layout_.height, {}};
    image.pixels.reserve(x.size() / static_cast<std::size_t>(layout_.channels) * 3);
    for (const float value : x)
      image.pixels.insert(image.pixels.end(), layout_.channels == 1 ? 3 : 1,
                          layouts::pixel_of(value));
    return image;
  }

  Json truth_of(std::size_t row) const {
    const Slot& slot = samples_.slots[row];
    const SampleOrigin& origin = feed_.origins()[slot.source];
    Json truth = {
        {"source", origin.name}, {"sample", slot.sample}, {"label", samples_.label()[row]}};
    const auto add = [&](const char* name, Json values) {
      if (!values.empty()) truth[name] = std::move(values);
    };
    const SampleInfo& info = origin.info;
    add("latents", named_values(info.latents, row_of(samples_.latents(), row, layout_.latents)));
    add("target", named_values(info.targets, row_of(samples_.target(), row, layout_.targets)));
    add("globals", named_values(info.globals, row_of(samples_.globals(), row, layout_.globals)));
    if (!samples_.weight().empty()) truth["weight"] = samples_.weight()[row];
    add("mask", row_of(samples_.mask(), row, layout_.patches));
    if (const std::string location = feed_.location(slot); !location.empty())
      truth["location"] = is_utf8(location) ? location : printable(location);
    return truth;
  }

  const SampleReader& feed_;
  const HostSamples& samples_;
  const SampleLayout layout_;
};

/// Encodes the rows starting at `begin` in parallel. `first`: number of row 0 in the export.
std::vector<std::string> encode_rows(const SampleReader& feed, const HostSamples& samples,
                                     std::int64_t begin, std::uint64_t first, int threads) {
  const SampleEncoder encoder(feed, samples);
  std::vector<std::string> encoded(static_cast<std::size_t>(samples.count()));
  std::vector<std::exception_ptr> failures(encoded.size());
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (std::int64_t row = begin; row < samples.count(); ++row) {
    const auto at = static_cast<std::size_t>(row);
    try {
      encoded[at] = encoder.encode(at, first + at);
    } catch (...) {
      failures[at] = std::current_exception();
    }
  }
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
  return encoded;
}

/// Writes members into the shards of a folder. A shard ends after a number of samples or bytes.
class TarShards {
 public:
  TarShards(ShardFolder& folder, std::uint64_t most_samples)
      : folder_(folder), most_samples_(most_samples) {}

  /// Adds the members of one sample.
  void add(const std::string& members) {
    if (!shard_) shard_.emplace(folder_.path_of(folder_.shards()));
    write(bytes_of(members));
    ++shard_->entry.samples;
    if (shard_->entry.samples == most_samples_ || shard_->entry.bytes >= kShardBytes) end();
  }
  /// Completes the last shard.
  void end() {
    if (!shard_) return;
    write(bytes_of(std::string(2 * kTarBlock, '\0')));
    shard_->file.commit();
    shard_->entry.sha256 = shard_->hash.hex();
    folder_.add(shard_->entry);
    shard_.reset();
  }

 private:
  struct Shard {
    explicit Shard(const fs::path& path) : file(path), entry{path.filename().string(), 0, 0, ""} {}
    AtomicFile file;
    ShardEntry entry;
    Sha256 hash = {};
  };

  void write(Bytes bytes) {
    shard_->file.write(bytes);
    shard_->hash.update(bytes);
    shard_->entry.bytes += bytes.size();
  }

  ShardFolder& folder_;
  std::uint64_t most_samples_;
  std::optional<Shard> shard_;
};

/// The classes, if all samples have the same ones.
std::vector<std::string> common_classes(const SampleReader& feed) {
  std::vector<std::string> classes = feed.origins().front().info.classes;
  for (const SampleOrigin& origin : feed.origins())
    if (origin.info.classes != classes) return {};
  return classes;
}

}  // namespace

ExportReport export_webdataset(SampleReader& feed, const fs::path& path,
                               const ExportOptions& options) {
  if (path.has_extension() && !fs::is_directory(path))
    fail(ErrorKind::config,
         {fmt::format("--layout {} cannot be used with '{}'", kWebDataset, path.string()),
          "it writes a folder of shards", "use a name without an extension"});
  if (!options.shards.empty())
    fail(ErrorKind::config, {fmt::format("--format cannot be used with --layout {}", kWebDataset),
                             "its shards are tar files", "leave one of the two out"});
  if (options.images != ImageForm{} || options.compression.on())
    fail(ErrorKind::config,
         {fmt::format("--pixels, --channels and --compress cannot be used with --layout {}",
                      kWebDataset),
          "its images are 8-bit files", "leave them out"});
  const int channels = feed.layout().channels;
  if (feed.layout().kind == SampleKind::image && channels != 1 && channels != 3)
    layouts::refuse(kWebDataset, fmt::format("a PNG has 1 or 3 channels, not {}", channels));
  expect_few_shards(path, feed.count(), options.shard_samples);  // more if they end at kShardBytes
  Json settings = feed.identity();
  settings["dense_labels"] = feed.layout().planes > 0;
  settings["shard_samples"] = options.shard_samples;
  settings["version"] = kVersion;
  const bool copied = feed.has_files() && !options.reencode;
  if (copied) settings["images"] = "copied";
  ShardFolder folder(path, kWebDataset, ".tar", std::move(settings));
  ExportReport report{{}, {}, folder.abandoned(), folder.samples(), copied};
  if (!folder.complete()) {
    const std::uint64_t done = folder.samples();
    const int threads = compute_threads(options.threads).count;
    TarShards shards(folder, options.shard_samples);
    std::uint64_t next = feed.skip(done);  // number of the batch's first sample
    const auto take = [&](const HostSamples& samples) {
      const std::int64_t begin = done > next ? static_cast<std::int64_t>(done - next) : 0;
      for (const std::string& members : encode_rows(feed, samples, begin, next, threads))
        if (!members.empty()) shards.add(members);  // empty: already in a complete shard
      next += static_cast<std::uint64_t>(samples.count());
      if (options.progress) options.progress(next);
    };
    if (next < feed.count()) copied ? feed.make_files(take) : feed.make(take);
    shards.end();
    const std::vector<std::string> classes = common_classes(feed);
    if (!classes.empty()) write_file(path / kClasses, join(classes, "\n") + "\n");
    folder.finish(export_metadata(feed, options, done > 0 ? SamplesMade::some : SamplesMade::all));
  }
  report.arrays = folder.names();
  report.overflow = feed.overflow();
  return report;
}

}  // namespace wellspring
