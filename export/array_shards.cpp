#include "export/array_shards.h"

#include "core/error.h"
#include "core/io/files.h"
#include "core/io/hdf5.h"
#include "core/io/sha256.h"
#include "core/version.h"
#include "export/array_file.h"
#include "export/sample_arrays.h"
#include "export/shard_folder.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace wellspring {
namespace {

/// A shard's share of a feed: has the feed's description, but cannot make samples itself.
class FeedPart final : public SampleReader {
 public:
  FeedPart(const SampleReader& feed, std::uint64_t count, std::size_t longest_location)
      : feed_(feed), count_(count), longest_location_(longest_location) {}

  std::uint64_t count() const override { return count_; }
  SampleLayout layout() const override { return feed_.layout(); }
  const std::vector<SampleOrigin>& origins() const override { return feed_.origins(); }
  std::string location(const Slot& slot) const override { return feed_.location(slot); }
  std::size_t longest_location() const override { return longest_location_; }
  void make(const std::function<void(const HostSamples&)>&) override {
    throw std::logic_error("the whole feed makes the samples");
  }
  SetOverflow overflow() const override { return {}; }
  SampleHeading heading() const override { return feed_.heading(); }
  std::string summary() const override { return feed_.summary(); }
  nlohmann::ordered_json identity() const override { return feed_.identity(); }
  nlohmann::ordered_json making() const override { return feed_.making(); }
  std::vector<std::string> generators() const override { return feed_.generators(); }

 private:
  const SampleReader& feed_;
  std::uint64_t count_;
  std::size_t longest_location_;
};

/// Rows [begin, begin + count) of a batch.
HostSamples part_of(const HostSamples& samples, std::int64_t begin, std::int64_t count) {
  auto columns = columns_of(samples.rows);
  for (BatchColumn& column : columns) {
    if (column.data != nullptr)
      column.data = static_cast<std::byte*>(column.data) +
                    static_cast<std::size_t>(begin) * column.row_bytes();
  }
  BatchView rows = with_columns(samples.rows, columns);
  rows.size = count;
  return {rows,
          samples.slots.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(count))};
}

ShardEntry entry_of(const std::filesystem::path& path, std::uint64_t samples) {
  constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;
  const InputFile file(path);
  std::vector<std::byte> piece;
  Sha256 hash;
  for (std::uint64_t at = 0; at < file.size(); at += piece.size()) {
    piece.resize(std::min(kPiece, file.size() - at));
    file.read(at, piece);
    hash.update(piece);
  }
  return {path.filename().string(), samples, file.size(), hash.hex()};
}

/// Few enough samples to keep a shard below kShardBytes.
std::uint64_t samples_per_shard(const SampleReader& feed, const ExportOptions& options,
                                std::size_t longest_location) {
  BatchView none;
  none.layout = feed.layout();
  std::uint64_t row = longest_location + 3 * sizeof(std::int64_t);  // source, sample, offset
  for (const BatchColumn& column : columns_of(none)) row += column.row_bytes();
  return std::min(options.shard_samples, std::max<std::uint64_t>(1, kShardBytes / row));
}

/// The shard that is being written.
struct ArrayShard {
  ArrayShard(const SampleReader& feed, std::uint64_t samples, std::size_t longest_location,
             const ExportLayout& layout, const ExportOptions& options, std::filesystem::path where)
      : path(std::move(where)),
        part(feed, samples, longest_location),
        file(create_array_file(path, options.compression)),
        arrays(part, make_values(layout, part, options.images), *file),
        left(samples) {}

  std::filesystem::path path;
  FeedPart part;
  std::unique_ptr<ArrayFile> file;
  SampleArrays arrays;
  std::uint64_t left;  ///< samples still to be written
};

/// Fills a folder with shards.
class ArrayShards {
 public:
  ArrayShards(SampleReader& feed, const ExportLayout& layout, const ExportOptions& options,
              std::size_t longest_location, ShardFolder& folder)
      : feed_(feed),
        layout_(layout),
        options_(options),
        folder_(folder),
        longest_location_(longest_location),
        begun_(folder.samples()),
        shards_(folder.shards()) {}

  /// Writes the rows starting at `begin`.
  void write(const HostSamples& samples, std::int64_t begin) {
    while (begin < samples.count()) {
      if (!shard_) start();
      const std::int64_t rows =
          std::min(samples.count() - begin, static_cast<std::int64_t>(shard_->left));
      shard_->arrays.append(part_of(samples, begin, rows));
      shard_->left -= static_cast<std::uint64_t>(rows);
      begin += rows;
      if (shard_->left == 0) end();
    }
  }
  /// Adds the shard whose checksum is being computed to the index.
  void settle() {
    if (pending_.valid()) folder_.add(pending_.get());
  }

 private:
  void start() {
    const std::uint64_t samples =
        std::min(samples_per_shard(feed_, options_, longest_location_), feed_.count() - begun_);
    shard_ = std::make_unique<ArrayShard>(feed_, samples, longest_location_, layout_, options_,
                                          folder_.path_of(shards_));
    begun_ += samples;
    ++shards_;
  }
  void end() {
    nlohmann::ordered_json about = export_metadata(feed_, options_, SamplesMade::some);
    about["layout"] = layout_.name;
    shard_->file->finish(about);
    settle();
    pending_ = std::async(std::launch::async, entry_of, shard_->path, shard_->part.count());
    shard_.reset();
  }

  SampleReader& feed_;
  const ExportLayout& layout_;
  const ExportOptions& options_;
  ShardFolder& folder_;
  std::size_t longest_location_;
  std::uint64_t begun_;  ///< samples in complete shards and in the current one
  std::size_t shards_;
  std::unique_ptr<ArrayShard> shard_;
  std::future<ShardEntry> pending_;
};

std::string extension_of(const std::string& format) {
  if (format == kNpzShards) return ".npz";
  if (format == kHdf5Shards) return ".h5";
  fail(ErrorKind::config, {fmt::format("unknown format of shards '{}'", format),
                           fmt::format("known formats: {}, {}", kNpzShards, kHdf5Shards), ""});
}

}  // namespace

ExportReport export_array_shards(SampleReader& feed, const std::filesystem::path& path,
                                 const ExportOptions& options) {
  const std::string extension = extension_of(options.shards);
  if (path.has_extension() && !std::filesystem::is_directory(path))
    fail(ErrorKind::config,
         {fmt::format("--format {} cannot be used with '{}'", options.shards, path.string()),
          "it writes a folder of shards",
          "use a name without an extension; without --format, the extension selects the format of "
          "a single file"});
  if (options.shards == kHdf5Shards) require_hdf5(path);
  const ExportLayout& layout =
      find_export_layout(options.layout.empty() ? export_layouts().front().name : options.layout,
                         feed, path / shard_name(0, extension));
  make_values(layout, feed, options.images);  // refuses before the folder is created
  const std::size_t longest_location = feed.longest_location();
  expect_few_shards(path, feed.count(), samples_per_shard(feed, options, longest_location));
  nlohmann::ordered_json settings = feed.identity();
  settings["dense_labels"] = feed.layout().planes > 0;
  settings["shard_samples"] = options.shard_samples;
  settings["layout"] = layout.name;
  settings["pixels"] = options.images.pixels == ElementType::u8 ? "u8" : "f32";
  settings["channels"] = options.images.channels_first ? "first" : "last";
  settings["compression"] = to_text(options.compression);
  settings["version"] = kVersion;
  ShardFolder folder(path, options.shards, extension, std::move(settings));
  ExportReport report{{}, {}, folder.abandoned(), folder.samples()};
  if (!folder.complete()) {
    const std::uint64_t done = folder.samples();
    ArrayShards shards(feed, layout, options, longest_location, folder);
    std::uint64_t next = feed.skip(done);  // number of the batch's first sample
    try {
      if (next < feed.count())
        feed.make([&](const HostSamples& samples) {
          const auto all = static_cast<std::uint64_t>(samples.count());
          if (next + all > done)
            shards.write(samples, done > next ? static_cast<std::int64_t>(done - next) : 0);
          next += all;
          if (options.progress) options.progress(next);
        });
    } catch (...) {
      shards.settle();
      throw;
    }
    shards.settle();
    folder.finish(export_metadata(feed, options, done > 0 ? SamplesMade::some : SamplesMade::all));
  }
  report.arrays = folder.names();
  report.overflow = feed.overflow();
  return report;
}

}  // namespace wellspring
