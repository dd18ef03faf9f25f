#include "sources/datasets/row_view.h"

#include "core/error.h"
#include "core/text/parse.h"
#include "core/text/plural.h"
#include "core/text/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>
#include <utility>

namespace wellspring {
namespace {

/// Maps a row to [0, 100) by SplitMix64's finaliser (Steele, Lea and Flood, OOPSLA 2014).
double percent_of(std::int64_t row) {
  auto z = static_cast<std::uint64_t>(row) + 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  z ^= z >> 31;
  return static_cast<double>(z >> 11) * 0x1p-53 * 100;
}

/// Smaller sets are divided evenly, by the rank of the hash. If the hash value decided, the size of
/// a 20 % part of n rows would have a standard deviation of 0.4 sqrt(n): 100 +- 9 rows for n = 500.
constexpr std::int64_t kFewestByHash = 500;

/// Evenly spaced values in (0, 100) for the rows of a small set, in the order of percent_of.
std::vector<double> even_percents(std::int64_t size) {
  std::vector<std::pair<double, std::int64_t>> order;
  for (std::int64_t row = 0; row < size; ++row) order.emplace_back(percent_of(row), row);
  std::ranges::sort(order);
  std::vector<double> percents(order.size());
  for (std::size_t rank = 0; rank < order.size(); ++rank)
    percents[static_cast<std::size_t>(order[rank].second)] =
        100 * (static_cast<double>(rank) + 0.5) / static_cast<double>(size);
  return percents;
}

class RowView final : public Dataset {
 public:
  RowView(std::unique_ptr<Dataset> data, std::vector<std::int64_t> rows, std::string remark)
      : data_(std::move(data)), rows_(std::move(rows)), remark_(std::move(remark)) {}

  std::int64_t size() const override { return static_cast<std::int64_t>(rows_.size()); }
  RowLayout layout() const override { return data_->layout(); }
  const std::vector<std::string>& classes() const override { return data_->classes(); }
  std::int32_t label(std::int64_t row) const override { return data_->label(of(row)); }
  const std::vector<ValueInfo>& features() const override { return data_->features(); }
  const std::vector<ValueInfo>& globals() const override { return data_->globals(); }
  const std::vector<LatentInfo>& latents() const override { return data_->latents(); }
  void read_latents(std::int64_t row, float* out) const override {
    data_->read_latents(of(row), out);
  }
  const std::vector<ValueInfo>& targets() const override { return data_->targets(); }
  void read_targets(std::int64_t row, float* out) const override {
    data_->read_targets(of(row), out);
  }
  std::string location(std::int64_t row) const override { return data_->location(of(row)); }
  std::string place(std::int64_t row) const override { return data_->place(of(row)); }
  std::string summary() const override { return data_->summary() + remark_; }
  std::string size_advice(ImageSize size) const override { return data_->size_advice(size); }
  bool encoded() const override { return data_->encoded(); }
  std::uint64_t encoded_bytes(std::int64_t row) const override {
    return data_->encoded_bytes(of(row));
  }
  std::uint64_t held_bytes() const override { return data_->held_bytes(); }
  void hold(std::span<std::byte> memory) override { data_->hold(memory); }
  std::unique_ptr<RowReader> reader() const override {
    return std::make_unique<Reader>(*this, data_->reader());
  }

 private:
  class Reader final : public RowReader {
   public:
    Reader(const RowView& view, std::unique_ptr<RowReader> reader)
        : view_(view), reader_(std::move(reader)) {}
    void check(std::int64_t row) override { reader_->check(view_.of(row)); }
    void read(std::int64_t row, std::uint8_t* out) override { reader_->read(view_.of(row), out); }
    void read_encoded(std::int64_t row, std::vector<std::uint8_t>& bytes) override {
      reader_->read_encoded(view_.of(row), bytes);
    }
    void decode(std::int64_t row, std::span<const std::uint8_t> bytes, std::uint8_t* out) override {
      reader_->decode(view_.of(row), bytes, out);
    }

   private:
    const RowView& view_;
    std::unique_ptr<RowReader> reader_;
  };

  std::int64_t of(std::int64_t row) const { return rows_[static_cast<std::size_t>(row)]; }

  std::unique_ptr<Dataset> data_;
  std::vector<std::int64_t> rows_;
  std::string remark_;
};

}  // namespace

RowRange RowRange::parse(const std::string& text, RowOrder by, const ConfigLocation& place) {
  RowRange range;
  range.by = by;
  if (text.empty()) return range;
  const auto refuse = [&](const std::string& why) {
    fail(ErrorKind::config,
         {fmt::format("{}rows: '{}' is not a range of rows", place.prefix(), text), why,
          "write 0%..80%, or row numbers: 0..8000"});
  };
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos) refuse("a range has a start and an end");
  std::string_view first = trim(std::string_view(text).substr(0, dots));
  std::string_view last = trim(std::string_view(text).substr(dots + 2));
  range.numbers = !first.ends_with('%');
  if (range.numbers != !last.ends_with('%')) refuse("one end is a percentage, the other is not");
  if (!range.numbers) {
    first.remove_suffix(1);
    last.remove_suffix(1);
  }
  const auto begin = parse_number<double>(first), end = parse_number<double>(last);
  if (!begin || !end) refuse("its ends must be numbers");
  const double most = range.numbers ? 0x1p53 : 100;
  if (!(*begin >= 0 && *begin < *end && *end <= most))
    refuse(range.numbers ? "its start must be at least 0 and below its end"
                         : "its start must be below its end, and both must be from 0% to 100%");
  if (range.numbers && (*begin != std::floor(*begin) || *end != std::floor(*end)))
    refuse("row numbers are integers");
  range.begin = *begin;
  range.end = *end;
  return range;
}

std::string RowRange::text() const {
  const char* const unit = numbers ? "" : "%";
  return fmt::format("{:.15g}{}..{:.15g}{}", begin, unit, end, unit);
}

bool RowRange::overlaps(const RowRange& other) const {
  const bool comparable = numbers == other.numbers && (numbers || by == other.by);
  return !comparable || (begin < other.end && other.begin < end);
}

std::vector<std::int64_t> RowRange::rows(std::int64_t size) const {
  const auto position = [&](double at) {
    if (numbers) return std::min(size, static_cast<std::int64_t>(at));
    return at >= 100 ? size : static_cast<std::int64_t>(static_cast<double>(size) * at / 100);
  };
  const bool hashed = !numbers && by == RowOrder::hash;
  const std::int64_t first = hashed ? 0 : position(begin), last = hashed ? size : position(end);
  const std::vector<double> even =
      hashed && size < kFewestByHash ? even_percents(size) : std::vector<double>();
  std::vector<std::int64_t> rows;
  for (std::int64_t row = first; row < last; ++row) {
    double at = begin;
    if (hashed) at = even.empty() ? percent_of(row) : even[static_cast<std::size_t>(row)];
    if (at >= begin && at < end) rows.push_back(row);
  }
  return rows;
}

std::unique_ptr<Dataset> view_rows(std::unique_ptr<Dataset> data, const RowRange& range,
                                   std::int64_t limit_per_class) {
  std::vector<std::int64_t> rows = range.rows(data->size());
  std::vector<std::int32_t> labels;
  for (const std::int64_t row : rows) labels.push_back(data->label(row));
  std::vector<std::int64_t> kept;
  for (const std::int64_t at : first_of_each_class(labels, limit_per_class))
    kept.push_back(rows[static_cast<std::size_t>(at)]);
  const std::string part = fmt::format("rows {}{}", range.text(),
                                       range.numbers                ? ""
                                       : range.by == RowOrder::hash ? " by hash"
                                                                    : " by order");
  if (kept.empty())
    fail(ErrorKind::data, {fmt::format("{} are empty: {}", part, data->summary()),
                           "no rows are left", "correct rows: or path:"});
  std::string remark = fmt::format("; {}: {} of them", part, kept.size());
  if (limit_per_class > 0) remark += fmt::format(", first {} of each class", limit_per_class);
  return std::make_unique<RowView>(std::move(data), std::move(kept), std::move(remark));
}

}  // namespace wellspring
