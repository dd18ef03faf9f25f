#include "sources/files/sharded_rows.h"

#include "core/error.h"
#include "core/text/plural.h"
#include "core/text/text.h"
#include "kernels/batch/batch_columns.h"
#include "sources/files/shard_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <utility>
#include <vector>

namespace wellspring {
namespace {

class ShardedRows final : public Dataset {
 public:
  struct Shard {
    std::filesystem::path file;
    std::unique_ptr<Dataset> rows;
  };

  ShardedRows(const DatasetRequest& request, std::vector<Shard> shards)
      : path_(request.path), shards_(std::move(shards)), latents_(first().latents()) {
    classes_ = std::ranges::max_element(shards_, {}, [](const Shard& shard) {
                 return shard.rows->classes().size();
               })->rows->classes();
    std::vector<std::int32_t> labels;
    std::vector<Row> all;
    for (std::uint32_t i = 0; i < shards_.size(); ++i) {
      const Dataset& rows = *shards_[i].rows;
      expect_same(shards_[i]);
      widen(rows.latents());
      for (std::int64_t row = 0; row < rows.size(); ++row) {
        labels.push_back(rows.label(row));
        all.push_back({row, i});
      }
    }
    for (const std::int64_t row : first_of_each_class(labels, request.limit_per_class))
      rows_.push_back(all[static_cast<std::size_t>(row)]);
  }

  std::int64_t size() const override { return static_cast<std::int64_t>(rows_.size()); }
  RowLayout layout() const override { return first().layout(); }
  const std::vector<std::string>& classes() const override { return classes_; }
  std::int32_t label(std::int64_t row) const override { return shard(row).label(at(row).row); }
  const std::vector<ValueInfo>& features() const override { return first().features(); }
  const std::vector<ValueInfo>& globals() const override { return first().globals(); }
  const std::vector<LatentInfo>& latents() const override { return latents_; }
  void read_latents(std::int64_t row, float* out) const override {
    shard(row).read_latents(at(row).row, out);
  }
  const std::vector<ValueInfo>& targets() const override { return first().targets(); }
  void read_targets(std::int64_t row, float* out) const override {
    shard(row).read_targets(at(row).row, out);
  }
  std::string location(std::int64_t row) const override { return shard(row).location(at(row).row); }
  std::string place(std::int64_t row) const override { return shard(row).place(at(row).row); }
  std::string summary() const override {
    return fmt::format("{} of {}, {}, from {} ({})", counted(size(), "row"),
                       summary_of_classes(*this), to_string(layout().sample), path_.string(),
                       counted(shards_.size(), "shard"));
  }
  std::string size_advice(ImageSize size) const override { return first().size_advice(size); }
  bool normalised() const override { return first().normalised(); }
  std::unique_ptr<RowReader> reader() const override { return std::make_unique<Reader>(*this); }
  std::uint64_t held_bytes() const override {
    std::uint64_t bytes = 0;
    for (const Shard& shard : shards_) bytes += shard.rows->held_bytes();
    return bytes;
  }
  void hold(std::span<std::byte> memory) override {
    for (const Shard& shard : shards_) {
      const std::uint64_t bytes = shard.rows->held_bytes();
      shard.rows->hold(memory.first(bytes));
      memory = memory.subspan(bytes);
    }
  }

 private:
  /// A row of a shard.
  struct Row {
    std::int64_t row = 0;
    std::uint32_t shard = 0;
  };

  class Reader final : public RowReader {
   public:
    explicit Reader(const ShardedRows& data) : data_(data), readers_(data.shards_.size()) {}
    void check(std::int64_t row) override { reader(row).check(data_.at(row).row); }
    void read(std::int64_t row, std::uint8_t* out) override {
      reader(row).read(data_.at(row).row, out);
    }

   private:
    RowReader& reader(std::int64_t row) {
      std::unique_ptr<RowReader>& reader = readers_[data_.at(row).shard];
      if (!reader) reader = data_.shard(row).reader();
      return *reader;
    }

    const ShardedRows& data_;
    std::vector<std::unique_ptr<RowReader>> readers_;  ///< by shard; null before its first row
  };

  const Dataset& first() const { return *shards_.front().rows; }
  const Row& at(std::int64_t row) const { return rows_[static_cast<std::size_t>(row)]; }
  const Dataset& shard(std::int64_t row) const { return *shards_[at(row).shard].rows; }

  /// Throws a data error if a shard's rows differ from the rows of the first shard.
  void expect_same(const Shard& shard) const {
    const Dataset& rows = *shard.rows;
    const SampleLayout mine = rows.layout().sample, other = first().layout().sample;
    if (rows.layout() != first().layout())
      refuse(shard, "rows are " + to_string(mine), to_string(other),
             mine.kind == SampleKind::set && mine.features == other.features
                 ? fmt::format("set items: {}", std::max(mine.items, other.items))
                 : "store rows of one layout, or make a source of each file");
    if (!std::ranges::equal(rows.classes(), std::span(classes_).first(rows.classes().size())))
      refuse(shard, "the classes are " + list_of(rows.classes()), list_of(classes_),
             "store the same class names, or give them with class_names:");
    const auto same_names = [&](const char* what, const auto& here, const auto& there) {
      std::vector<std::string> a, b;
      for (const auto& column : here) a.push_back(column.name);
      for (const auto& column : there) b.push_back(column.name);
      if (a != b)
        refuse(shard, fmt::format("the {} are {}", what, list_of(a)), list_of(b),
               "store the same columns in all files");
    };
    same_names("features", rows.features(), first().features());
    same_names("globals", rows.globals(), first().globals());
    same_names("latents", rows.latents(), first().latents());
    same_names("targets", rows.targets(), first().targets());
    if (rows.normalised() != first().normalised())
      refuse(shard, rows.normalised() ? "values are normalised" : "values are not normalised",
             first().normalised() ? "normalised" : "not normalised",
             "export all files with the same normalise:");
  }

  static std::string list_of(const std::vector<std::string>& names) {
    constexpr std::size_t kShown = 20;
    std::vector<std::string> shown;
    for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i)
      shown.push_back(printable(names[i]));
    if (names.size() > kShown) shown.emplace_back("...");
    return names.empty() ? "not named" : join(shown);
  }

  [[noreturn]] void refuse(const Shard& shard, const std::string& problem, const std::string& other,
                           const std::string& advice) const {
    fail(ErrorKind::data,
         {shard.file.string() + ": " + problem,
          fmt::format("in other files, such as {}: {}", shards_.front().file.string(), other),
          advice});
  }

  /// Extends the ranges of the latents to include the ranges of another shard.
  void widen(const std::vector<LatentInfo>& others) {
    for (std::size_t i = 0; i < latents_.size(); ++i) {
      latents_[i].low = std::min(latents_[i].low, others[i].low);
      latents_[i].high = std::max(latents_[i].high, others[i].high);
    }
  }

  std::filesystem::path path_;
  std::vector<Shard> shards_;
  std::vector<LatentInfo> latents_;
  std::vector<std::string> classes_;
  std::vector<Row> rows_;
};

}  // namespace

std::unique_ptr<Dataset> open_sharded_rows(
    const DatasetRequest& request, bool (*is_shard)(const std::string& name),
    const std::function<std::unique_ptr<Dataset>(const DatasetRequest&)>& open) {
  const std::vector<std::filesystem::path> files = shard_files(request.path, is_shard);
  DatasetRequest part = request;
  part.limit_per_class = files.size() == 1 ? request.limit_per_class : 0;
  std::vector<ShardedRows::Shard> shards;
  for (const std::filesystem::path& file : files) {
    part.path = file;
    shards.push_back({file, open(part)});
    if (request.watch)
      request.watch("listing", static_cast<std::uint64_t>(shards.size()), files.size());
  }
  if (files.size() == 1) return std::move(shards.front().rows);
  return std::make_unique<ShardedRows>(request, std::move(shards));
}

}  // namespace wellspring
