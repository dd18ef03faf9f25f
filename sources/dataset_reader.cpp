#include "sources/dataset_reader.h"

#include "core/error.h"
#include "core/text/plural.h"
#include "kernels/batch/set_count.h"
#include "kernels/runtime/threads.h"
#include "sources/datasets/stored_rows.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>

namespace wellspring {
namespace {

constexpr std::int64_t kBatchBytes = std::int64_t{16} << 20;
constexpr std::int64_t kMostRows = 4096;  ///< per batch

SampleOrigin origin_of(const Dataset& data, const std::string& name, const SampleLayout& layout) {
  SampleOrigin origin;
  origin.name = name;
  origin.info.name = name;
  origin.info.layout = layout;
  origin.info.classes = data.classes();
  origin.info.features = data.features();
  origin.info.globals = data.globals();
  origin.info.latents = data.latents();
  origin.info.targets = data.targets();
  return origin;
}

std::string name_of(const std::filesystem::path& path) {
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

}  // namespace

DatasetReader::DatasetReader(const DatasetRequest& request, std::uint64_t first,
                             std::optional<std::uint64_t> count)
    : request_(request), data_(open_dataset(request)), first_(first) {
  layout_ = data_->layout().sample;
  layout_.latents = static_cast<int>(data_->latents().size());
  layout_.targets = static_cast<int>(data_->targets().size());
  origins_ = {origin_of(*data_, name_of(request.path), layout_)};
  const auto rows = static_cast<std::uint64_t>(data_->size());
  const std::uint64_t left = rows - std::min(rows, first);
  count_ = count.value_or(left);
  if (count_ > left || left == 0)
    fail(ErrorKind::config,
         {fmt::format("{}: the data set has {}", request.path.string(), counted(rows, "row")),
          fmt::format("of these, {} follow from row {} on", left, first),
          "use a smaller --first or --count"});
}

std::string DatasetReader::location(const Slot& slot) const {
  return data_->location(static_cast<std::int64_t>(slot.sample));
}

std::size_t DatasetReader::longest_location() const {
  std::size_t longest = 0;
  for (std::uint64_t i = first_; i < first_ + count_; ++i)
    longest = std::max(longest, data_->location(static_cast<std::int64_t>(i)).size());
  return longest;
}

void DatasetReader::read_row(RowReader& reader, std::int64_t row, const BatchView& batch,
                             std::int64_t b) const {
  const std::int64_t width = layout_.elements();
  float* const x = static_cast<float*>(batch.x) + b * width;
  if (data_->layout().type == ElementType::u8) {
    std::vector<std::uint8_t> pixels(static_cast<std::size_t>(width));
    reader.read(row, pixels.data());
    std::ranges::transform(pixels, x,
                           [](std::uint8_t pixel) { return static_cast<float>(pixel) / 255; });
  } else {
    std::vector<float> numbers(static_cast<std::size_t>(stored_numbers(layout_)));
    reader.read(row, reinterpret_cast<std::uint8_t*>(numbers.data()));
    std::copy_n(numbers.begin(), width, x);
    if (layout_.globals > 0)
      std::copy_n(numbers.begin() + width, layout_.globals, batch.globals + b * layout_.globals);
    if (layout_.kind == SampleKind::set) {
      std::int32_t items = 0;
      std::memcpy(&items, &numbers.back(), sizeof items);
      detail::write_count(batch, b, items);
    }
  }
  batch.label[b] = data_->label(row);
  batch.weight[b] = 1;
  if (layout_.latents > 0) data_->read_latents(row, batch.latents + b * layout_.latents);
  if (layout_.targets > 0) data_->read_targets(row, batch.target + b * layout_.targets);
}

void DatasetReader::make(const std::function<void(const HostSamples&)>& take) {
  const Device device = Device::cpu();
  Stream stream(device, 1);
  MemoryPlan memory(device);
  const std::int64_t fit = kBatchBytes / (layout_.elements() * std::int64_t{sizeof(float)});
  const auto rows = static_cast<std::int64_t>(std::min<std::uint64_t>(
      count_, static_cast<std::uint64_t>(std::clamp<std::int64_t>(fit, 1, kMostRows))));
  batch_.plan(memory, "samples", rows, layout_);
  memory.commit();
  const int threads = reading_threads(request_.threads);
  std::vector<Slot> slots(static_cast<std::size_t>(rows));
  for (std::uint64_t done = skipped_; done < count_;) {
    const auto part = std::min(rows, static_cast<std::int64_t>(count_ - done));
    const BatchView batch = batch_.begin(stream, part);
    const auto begin = static_cast<std::int64_t>(first_ + done);
    for_each_row(*data_, threads, begin, begin + part, [&](RowReader& reader, std::int64_t row) {
      read_row(reader, row, batch, row - begin);
    });
    for (std::int64_t b = 0; b < part; ++b) {
      Slot& slot = slots[static_cast<std::size_t>(b)];
      slot.sample = slot.ordinal = static_cast<std::uint64_t>(begin + b);
      slot.row = static_cast<std::uint32_t>(b);
    }
    take({batch_.end(stream, part), std::span(slots).first(static_cast<std::size_t>(part))});
    done += static_cast<std::uint64_t>(part);
  }
}

SampleHeading DatasetReader::heading() const {
  return {origins_.front().name, fmt::format("rows {} to {}", first_, first_ + count_ - 1), ""};
}

std::string DatasetReader::summary() const {
  return fmt::format("{}, rows from {}, of {}", counted(count_, "sample"), first_,
                     data_->summary());
}

nlohmann::ordered_json DatasetReader::identity() const {
  nlohmann::ordered_json settings = nlohmann::ordered_json::object();
  for (const ParamSetting& setting : request_.settings) settings[setting.name] = setting.value;
  return {{"data", request_.path.string()},
          {"format", request_.format},
          {"settings", std::move(settings)},
          {"rows", data_->size()},
          {"first", first_},
          {"count", count_}};
}

nlohmann::ordered_json DatasetReader::making() const {
  return {{"device", "cpu"}};
}

}  // namespace wellspring
