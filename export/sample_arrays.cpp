#include "export/sample_arrays.h"

#include "core/io/bytes.h"

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace wellspring {
namespace {

/// Names and units of a column, if all samples have the same origin.
ArrayMeaning column_meaning(const SampleReader& feed, const std::string& name) {
  if (feed.origins().size() != 1) return {};
  const SampleInfo& info = feed.origins().front().info;
  if (name == "latents") return meaning_of(info.latents);
  if (name == "globals") return meaning_of(info.globals);
  if (name == "target") return meaning_of(info.targets);
  return {};
}

}  // namespace

SampleArrays::SampleArrays(const SampleReader& feed, std::unique_ptr<ValueArrays> values,
                           ArrayFile& file)
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
    columns_[i] = file_.open(name, {type, extents}, column_meaning(feed, name));
  }
  source_ = file_.open("source", {ElementType::i32, {count}});
  sample_ = file_.open("sample", {ElementType::i64, {count}});
  if (location_bytes_ > 0)
    location_ = file_.open("location",
                           {ElementType::u8, {count, static_cast<std::int64_t>(location_bytes_)}});
  if (values_->grows()) values_->open(file_);
}

void SampleArrays::append(const HostSamples& samples) {
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

/// Writes locations padded with zeros.
void SampleArrays::append_locations(const HostSamples& samples) {
  std::string text;
  for (const Slot& slot : samples.slots) {
    const std::size_t begin = text.size();
    text += feed_.location(slot);
    text.resize(begin + location_bytes_);
  }
  file_.append(location_, bytes_of(text));
}

}  // namespace wellspring
