#include "sources/datasets/cached_rows.h"

#include "core/error.h"
#include "core/io/crc32c.h"
#include "core/io/shared_file.h"
#include "core/measure/trace.h"
#include "core/text/text.h"
#include "kernels/runtime/host_limits.h"
#include "sources/datasets/row_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

namespace wellspring {
namespace {

constexpr std::uint8_t kNone = 0xFF;
constexpr std::uint64_t kAlignment = 64;  // bytes

std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

const char* folder_name(const CacheTier& tier) {
  return tier.medium == CacheMedium::shm ? "/dev/shm" : tier.path.c_str();
}

}  // namespace

/// Rows of one tier. Its memory begins with a state and a checksum per row; the rows follow.
class CachedRows::Tier {
 public:
  Tier(const CacheTier& settings, std::vector<std::int64_t> rows, const Dataset& data)
      : settings_(settings), rows_(std::move(rows)) {
    for (const std::int64_t row : rows_) {
      const bool encoded = settings.form == RowForm::encoded;
      ends_.push_back(end() + (encoded ? data.encoded_bytes(row)
                                       : static_cast<std::uint64_t>(data.layout().bytes())));
    }
  }

  const CacheTier& settings() const { return settings_; }
  bool encoded() const { return settings_.form == RowForm::encoded; }
  const std::vector<std::int64_t>& rows() const { return rows_; }
  std::uint64_t bytes() const { return table_bytes() + aligned(end()); }
  std::uint64_t row_bytes(std::size_t slot) const { return ends_[slot] - begin(slot); }

  /// `memory` [bytes()]: memory of this process.
  void open(std::span<std::byte> memory) {
    memory_ = memory;
    std::ranges::fill(memory_.first(table_bytes()), std::byte{0});
  }
  void open(const std::string& job, const NodeRanks& node) {
    const bool disk = settings_.medium == CacheMedium::disk;
    file_.emplace(SharedFile::Options{
        .folder = folder_name(settings_),
        .job = job,
        .sharers = node.count,
        .bytes = bytes(),
        .mapped = disk ? table_bytes() : bytes(),
        .advice = disk ? "set a smaller fraction: of this tier, or another path:"
                       : "set a smaller fraction: of this tier, or make /dev/shm larger (in "
                         "Docker: --shm-size)"});
    memory_ = file_->memory();
  }

  /// Among all processes, true once per row: the caller that gets true must then put() the row.
  bool claim(std::size_t slot) {
    std::uint32_t expected = kEmpty;
    return state(slot).compare_exchange_strong(expected, kFilling);
  }
  void put(std::size_t slot, Bytes row) {
    if (rows_in_memory()) {
      std::ranges::copy(row, memory_.begin() + static_cast<std::ptrdiff_t>(at(slot)));
    } else {
      checksum(slot) = crc32c(row);
      file_->write(at(slot), row);
    }
    state(slot).store(kFull, std::memory_order_release);
  }
  bool full(std::size_t slot) const { return state(slot).load(std::memory_order_acquire) == kFull; }
  /// The bytes of a full row, in place or in `buffer`. Data error if they are damaged.
  std::span<const std::uint8_t> get(std::size_t slot, std::vector<std::uint8_t>& buffer) const {
    const auto size = static_cast<std::size_t>(row_bytes(slot));
    if (rows_in_memory())
      return {reinterpret_cast<const std::uint8_t*>(memory_.data()) + at(slot), size};
    buffer.resize(size);
    file_->read(at(slot), std::as_writable_bytes(std::span(buffer)));
    if (crc32c(bytes_of(buffer)) != checksum(slot))
      fail(ErrorKind::data,
           {fmt::format("{}: a row of the cache is damaged", settings_.path),
            "its checksum differs", "check the disk, or remove this tier from cache:"});
    return buffer;
  }

 private:
  static constexpr std::uint32_t kEmpty = 0, kFilling = 1, kFull = 2;

  bool rows_in_memory() const { return settings_.medium != CacheMedium::disk; }
  std::uint64_t end() const { return ends_.empty() ? 0 : ends_.back(); }
  std::uint64_t begin(std::size_t slot) const { return slot == 0 ? 0 : ends_[slot - 1]; }
  std::uint64_t at(std::size_t slot) const { return table_bytes() + begin(slot); }
  std::uint64_t table_bytes() const { return aligned(2 * sizeof(std::uint32_t) * rows_.size()); }
  std::uint32_t* table() const { return reinterpret_cast<std::uint32_t*>(memory_.data()); }
  std::atomic_ref<std::uint32_t> state(std::size_t slot) const {
    return std::atomic_ref(table()[slot]);
  }
  std::uint32_t& checksum(std::size_t slot) const { return table()[rows_.size() + slot]; }

  CacheTier settings_;
  std::vector<std::int64_t> rows_;
  std::vector<std::uint64_t> ends_;  ///< ends of the rows, relative to the start of the first
  std::optional<SharedFile> file_;
  std::span<std::byte> memory_;  ///< all bytes, or the table of rows on disk
};

class CachedRows::Reader final : public RowReader {
 public:
  explicit Reader(const CachedRows& rows) : rows_(rows), source_(rows.data_->reader()) {}

  void check(std::int64_t row) override {
    std::size_t slot = 0;
    const Tier* const tier = rows_.find(row, slot);
    if (tier == nullptr || tier->encoded() || !tier->full(slot)) source_->check(row);
  }
  void read(std::int64_t row, std::uint8_t* out) override {
    std::size_t slot = 0;
    const Tier* const tier = rows_.find(row, slot);
    if (tier == nullptr || !tier->full(slot)) {
      source_->read(row, out);
    } else if (tier->encoded()) {
      source_->decode(row, fetch(*tier, slot), out);
    } else {
      const std::span<const std::uint8_t> bytes = fetch(*tier, slot);
      std::memcpy(out, bytes.data(), bytes.size());
    }
  }
  void read_encoded(std::int64_t row, std::vector<std::uint8_t>& bytes) override {
    source_->read_encoded(row, bytes);
  }
  void decode(std::int64_t row, std::span<const std::uint8_t> bytes, std::uint8_t* out) override {
    source_->decode(row, bytes, out);
  }

 private:
  std::span<const std::uint8_t> fetch(const Tier& tier, std::size_t slot) {
    const TraceSpan span(stages::kRead);
    return tier.get(slot, buffer_);
  }

  const CachedRows& rows_;
  std::unique_ptr<RowReader> source_;
  std::vector<std::uint8_t> buffer_;
};

CachedRows::CachedRows(std::unique_ptr<Dataset> data, Options options)
    : data_(std::move(data)),
      options_(std::move(options)),
      tier_of_row_(static_cast<std::size_t>(data_->size()), kNone),
      slot_of_row_(tier_of_row_.size()) {
  double share = 0;  // rows in earlier tiers, per cent
  for (const CacheTier& settings : options_.tiers) {
    const std::string where = fmt::format("{}: cache[{}]", options_.where, tiers_.size());
    if (settings.form == RowForm::encoded && !data_->encoded())
      fail(ErrorKind::config,
           {fmt::format("{}: encoded, but its rows are not encoded ({})", where, data_->summary()),
            "only image files are decoded", "write decoded"});
    RowRange range;
    range.begin = share;
    range.end = std::min(100., share += 100 * settings.fraction);
    auto tier = std::make_unique<Tier>(settings, range.rows(data_->size()), *data_);
    const double limit = settings.limit * 0x1p30, bytes = static_cast<double>(tier->bytes());
    if (limit > 0 && bytes > limit)
      fail(ErrorKind::config,
           {fmt::format("{}: {} {} need {}", where, tier->rows().size(),
                        tier->encoded() ? "encoded rows" : "decoded rows",
                        human_bytes(tier->bytes())),
            fmt::format("its limit is {}", human_bytes(static_cast<std::uint64_t>(limit))),
            fmt::format("set fraction: {:.2g}, or a higher limit",
                        // Rounded down, with 5 % to spare for rows of different sizes.
                        std::floor(95 * settings.fraction * limit / bytes) / 100)});
    for (std::size_t slot = 0; slot < tier->rows().size(); ++slot) {
      const auto row = static_cast<std::size_t>(tier->rows()[slot]);
      tier_of_row_[row] = static_cast<std::uint8_t>(tiers_.size());
      slot_of_row_[row] = static_cast<std::uint32_t>(slot);
    }
    tiers_.push_back(std::move(tier));
  }
}

CachedRows::~CachedRows() = default;

std::string CachedRows::cache_summary() const {
  std::vector<std::string> texts;
  for (const auto& tier : tiers_) {
    const CacheTier& settings = tier->settings();
    texts.push_back(fmt::format(
        "{}{} rows in {} ({})",
        settings.fraction < 1 ? fmt::format("{:.3g}% of the ", 100 * settings.fraction) : "",
        tier->encoded() ? "encoded" : "decoded",
        settings.medium == CacheMedium::ram ? "host memory" : folder_name(settings),
        human_bytes(tier->bytes())));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::uint64_t CachedRows::held_bytes() const {
  std::uint64_t bytes = data_->held_bytes();
  for (const auto& tier : tiers_)
    if (tier->settings().medium == CacheMedium::ram) bytes += tier->bytes();
  return bytes;
}

void CachedRows::hold(std::span<std::byte> memory) {
  const auto own = static_cast<std::size_t>(held_bytes() - data_->held_bytes());
  if (data_->held_bytes() > 0) data_->hold(memory.subspan(own));
  for (const auto& tier : tiers_) {
    if (tier->settings().medium == CacheMedium::ram) {
      tier->open(memory.first(static_cast<std::size_t>(tier->bytes())));
      memory = memory.subspan(static_cast<std::size_t>(tier->bytes()));
      continue;
    }
    const std::uint64_t available = host_memory().available_bytes;
    if (tier->settings().medium == CacheMedium::shm && options_.node.rank == 0 &&
        tier->bytes() > available)
      fail(ErrorKind::runtime, {fmt::format("{}: a cache of {} in /dev/shm", options_.where,
                                            human_bytes(tier->bytes())),
                                human_bytes(available) + " of memory are available",
                                "set a smaller fraction: of this tier"});
    tier->open(fmt::format("{} {} {}", options_.node.job, options_.key, &tier - tiers_.data()),
               options_.node);
  }
  for (const auto& tier : tiers_) fill(*tier);
}

/// Every rank of the node begins at a different row.
void CachedRows::fill(Tier& tier) {
  const auto count = static_cast<std::int64_t>(tier.rows().size());
  const bool shared = tier.settings().medium != CacheMedium::ram;
  const std::int64_t first = shared ? count * options_.node.rank / options_.node.count : 0;
  const auto fill_row = [&](RowReader& reader, std::int64_t i) {
    const auto slot = static_cast<std::size_t>((first + i) % count);
    if (!tier.claim(slot)) return;
    const std::int64_t row = tier.rows()[slot];
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(tier.row_bytes(slot)));
    if (tier.encoded()) {
      reader.read_encoded(row, bytes);
      if (bytes.size() != tier.row_bytes(slot))
        fail(ErrorKind::data,
             {location(row) + ": the file has changed", "its size differs from that at the start",
              "start again when nothing writes to the data set"});
    } else {
      reader.read(row, bytes.data());
    }
    tier.put(slot, bytes_of(bytes));
  };
  for_each_row(*data_, options_.threads, 0, count, fill_row, options_.filled);
}

const CachedRows::Tier* CachedRows::find(std::int64_t row, std::size_t& slot) const {
  const std::uint8_t tier = tier_of_row_[static_cast<std::size_t>(row)];
  slot = slot_of_row_[static_cast<std::size_t>(row)];
  return tier == kNone ? nullptr : tiers_[tier].get();
}

std::unique_ptr<RowReader> CachedRows::reader() const {
  return std::make_unique<Reader>(*this);
}

}  // namespace wellspring
