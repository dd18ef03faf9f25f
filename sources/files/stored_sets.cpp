#include "sources/files/stored_sets.h"

#include "core/counted.h"
#include "sources/files/array_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace wellspring {
namespace {

bool are_features(std::int64_t count) {
  return count > 0 && count <= kMostFeatures;
}

class RaggedSets final : public StoredSets {
 public:
  RaggedSets(const ArrayInput& file, const std::string& items, const std::string& offsets)
      : items_(file.array(items)) {
    if (items_.shape().size() != 2 || !are_features(items_.shape()[1])) {
      file.refuse(
          items_,
          fmt::format("'{}' is there: items are numbers [items of all sets, features]", offsets),
          "store them so, or name the array of offsets with offsets:");
    }
    read_offsets(file, file.array(offsets));
  }
  std::int64_t rows() const override { return static_cast<std::int64_t>(offsets_.size()) - 1; }
  int features() const override { return static_cast<int>(items_.shape()[1]); }
  std::int64_t most_items() const override { return most_; }
  std::int64_t read(std::int64_t row, std::int64_t room, float* out) const override {
    const std::int64_t begin = offsets_[static_cast<std::size_t>(row)];
    const std::int64_t count = offsets_[static_cast<std::size_t>(row) + 1] - begin;
    if (count > 0) items_.read(begin, std::min(count, room), out);
    return count;
  }

 private:
  void read_offsets(const ArrayInput& file, const NumberArray& array) {
    if (array.shape().size() != 1 || array.rows() < 2 || !array.is_whole())
      file.refuse(array, "offsets are whole numbers [sets + 1], of one set at least",
                  "store where each set begins, and the number of all items at the end");
    offsets_.resize(static_cast<std::size_t>(array.rows()));
    array.read(0, array.rows(), offsets_.data());
    const std::int64_t all = items_.rows();
    const std::size_t last = offsets_.size() - 1;
    for (std::size_t k = 0; k <= last; ++k) {
      const std::int64_t before = k == 0 ? 0 : offsets_[k - 1];
      const std::int64_t least = k == last ? all : before, most = k == 0 ? 0 : all;
      if (offsets_[k] < least || offsets_[k] > most)
        file.refuse(array.name(), fmt::format("has {} at place {}", offsets_[k], k),
                    fmt::format("offsets begin with 0, never fall and end with {}: '{}' has {}",
                                all, items_.name(), counted(all, "item")),
                    "the file is damaged, or its offsets belong to other items");
      most_ = std::max(most_, offsets_[k] - before);
    }
  }

  NumberArray items_;
  std::vector<std::int64_t> offsets_;
  std::int64_t most_ = 0;
};

class MaskedSets final : public StoredSets {
 public:
  MaskedSets(const ArrayInput& file, const std::string& places)
      : file_(file), places_(file.array(places)) {
    const std::vector<std::int64_t>& shape = places_.shape();
    if (shape.size() != 3 || shape[0] == 0 || shape[1] == 0 || shape[2] < 2 ||
        !are_features(shape[1]) || !are_features(shape[2]) || !are_features(shape[1] * shape[2])) {
      file.refuse(
          places_,
          fmt::format("sets are numbers [sets, places, features and a mask], up to {} a set",
                      kMostFeatures),
          "store one set at least, and the mask (1 or 0) as the last feature");
    }
  }
  std::int64_t rows() const override { return places_.rows(); }
  int features() const override { return static_cast<int>(places_.shape()[2]) - 1; }
  std::int64_t most_items() const override { return places_.shape()[1]; }
  std::int64_t read(std::int64_t row, std::int64_t room, float* out) const override {
    const auto width = static_cast<std::size_t>(places_.shape()[2]);
    std::vector<float> places(static_cast<std::size_t>(most_items()) * width);
    places_.read(row, 1, places.data());
    std::int64_t count = 0;
    for (std::size_t i = 0; i < places.size(); i += width) {
      const float mask = places[i + width - 1];
      if (mask != 0 && mask != 1)
        file_.refuse(places_.name(),
                     fmt::format("has the mask {} at row {}, item {}", mask, row, i / width),
                     "1 is an item and 0 is none", "correct the mask, or leave the row out");
      if (mask == 0) continue;
      if (count < room)
        std::copy_n(places.begin() + static_cast<std::ptrdiff_t>(i), width - 1,
                    out + count * features());
      ++count;
    }
    return count;
  }

 private:
  const ArrayInput& file_;
  NumberArray places_;
};

}  // namespace

std::unique_ptr<StoredSets> open_ragged_sets(const ArrayInput& file, const std::string& items,
                                             const std::string& offsets) {
  return std::make_unique<RaggedSets>(file, items, offsets);
}
std::unique_ptr<StoredSets> open_masked_sets(const ArrayInput& file, const std::string& places) {
  return std::make_unique<MaskedSets>(file, places);
}

}  // namespace wellspring
