#include "sources/datasets/cached_rows.h"

#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace wellspring {
namespace {

class CachedRows final : public Dataset {
 public:
  CachedRows(std::unique_ptr<Dataset> data, int threads)
      : data_(std::move(data)), threads_(threads) {}

  std::int64_t size() const override { return data_->size(); }
  RowLayout layout() const override { return data_->layout(); }
  const std::vector<std::string>& classes() const override { return data_->classes(); }
  std::int32_t label(std::int64_t row) const override { return data_->label(row); }
  const std::vector<ValueInfo>& features() const override { return data_->features(); }
  const std::vector<ValueInfo>& globals() const override { return data_->globals(); }
  const std::vector<LatentInfo>& latents() const override { return data_->latents(); }
  void read_latents(std::int64_t row, float* out) const override { data_->read_latents(row, out); }
  const std::vector<ValueInfo>& targets() const override { return data_->targets(); }
  void read_targets(std::int64_t row, float* out) const override { data_->read_targets(row, out); }
  std::string location(std::int64_t row) const override { return data_->location(row); }
  std::string place(std::int64_t row) const override { return data_->place(row); }
  std::string summary() const override { return data_->summary(); }
  std::string size_advice(ImageSize size) const override { return data_->size_advice(size); }
  std::uint64_t held_bytes() const override { return rows_bytes() + data_->held_bytes(); }
  void hold(std::span<std::byte> memory) override {
    if (data_->held_bytes() > 0) data_->hold(memory.subspan(rows_bytes()));
    auto* const rows = reinterpret_cast<std::uint8_t*>(memory.data());
    for_each_row(*data_, threads_, 0, size(), [&](RowReader& reader, std::int64_t i) {
      reader.read(i, rows + i * layout().bytes());
    });
    rows_ = rows;
  }
  std::unique_ptr<RowReader> reader() const override {
    if (rows_ == nullptr) throw std::logic_error("CachedRows: reader() before hold()");
    return std::make_unique<Reader>(rows_, static_cast<std::size_t>(layout().bytes()));
  }

 private:
  class Reader final : public RowReader {
   public:
    Reader(const std::uint8_t* rows, std::size_t bytes) : rows_(rows), bytes_(bytes) {}
    void check(std::int64_t /*row*/) override {}  // hold() has read it
    void read(std::int64_t row, std::uint8_t* out) override {
      std::memcpy(out, rows_ + static_cast<std::size_t>(row) * bytes_, bytes_);
    }

   private:
    const std::uint8_t* rows_;
    std::size_t bytes_;
  };

  /// A multiple of the largest alignment of what follows.
  std::size_t rows_bytes() const {
    constexpr std::size_t kAlignment = alignof(std::max_align_t);
    const auto bytes = static_cast<std::size_t>(size() * layout().bytes());
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }

  std::unique_ptr<Dataset> data_;
  int threads_;
  const std::uint8_t* rows_ = nullptr;
};

}  // namespace

std::unique_ptr<Dataset> cache_rows(std::unique_ptr<Dataset> data, int threads) {
  return std::make_unique<CachedRows>(std::move(data), threads);
}

}  // namespace wellspring
