// A data set with some or all of its rows in faster storage. Used by streamed sources; host only.
//
// Each row belongs to at most one tier, chosen by a hash of its number. hold() fills the tiers; the
// ranks of a node fill their shared tiers together. A row that another rank has not finished
// filling is read from the data set.
#pragma once

#include "sources/datasets/dataset.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace wellspring {

enum class CacheMedium : std::uint8_t {
  ram,   ///< memory of this process, in the memory plan
  shm,   ///< /dev/shm, shared by the ranks of a node
  disk,  ///< a folder, shared by the ranks of a node
};

enum class RowForm : std::uint8_t {
  encoded,  ///< images as in their files, decoded every time
  decoded,
};

/// One tier of a cache, and the part of the rows in it. The default: all rows in this process.
struct CacheTier {
  CacheMedium medium = CacheMedium::ram;
  RowForm form = RowForm::decoded;
  double fraction = 1;
  double limit = 0;       ///< GiB; 0: none
  std::string path = {};  ///< folder (disk)
};

/// The ranks of a run on this machine.
struct NodeRanks {
  std::string job = {};  ///< a text that no other job on this machine has at the same time
  int rank = 0, count = 1;
};

class CachedRows final : public Dataset {
 public:
  struct Options {
    std::vector<CacheTier> tiers;
    std::string where;  ///< "train.yaml:3: source 'photos'", for messages
    NodeRanks node;
    std::string key;  ///< identical for the same rows on all ranks of a node
    int threads = 1;
    std::function<void(std::int64_t)> filled = {};  ///< receives the number of rows done
  };
  /// Chooses the rows of each tier and measures them. Errors: config if a tier is larger than its
  /// limit, or if it is to hold encoded rows and the data set has none.
  CachedRows(std::unique_ptr<Dataset> data, Options options);
  ~CachedRows() override;

  /// "decoded rows in host memory (1.2 GiB)"
  std::string cache_summary() const;

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
  bool encoded() const override { return data_->encoded(); }
  std::uint64_t encoded_bytes(std::int64_t row) const override { return data_->encoded_bytes(row); }
  std::uint64_t held_bytes() const override;
  /// Opens and fills the tiers. Errors: data if a row is damaged or if a file has changed since
  /// its size was measured; runtime if there is no room; Interrupted after a signal.
  void hold(std::span<std::byte> memory) override;
  std::unique_ptr<RowReader> reader() const override;

 private:
  class Tier;
  class Reader;
  /// The tier of a row and its number there; nullptr: in no tier.
  const Tier* find(std::int64_t row, std::size_t& slot) const;
  void fill(Tier& tier);

  std::unique_ptr<Dataset> data_;
  Options options_;
  std::vector<std::unique_ptr<Tier>> tiers_;
  std::vector<std::uint8_t> tier_of_row_;   ///< index in tiers_; kNone: in no tier
  std::vector<std::uint32_t> slot_of_row_;  ///< number among the rows of its tier
};

}  // namespace wellspring
