#include "sources/dataset_reader.h"

#include "core/error.h"
#include "core/text/plural.h"
#include "core/text/text.h"
#include "kernels/batch/set_count.h"
#include "kernels/runtime/threads.h"
#include "sources/datasets/stored_rows.h"
#include "sources/files/class_names.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>

namespace wellspring {
namespace {

constexpr std::int64_t kBatchBytes = std::int64_t{16} << 20;  ///< pixels or files per batch
constexpr std::int64_t kMostRows = 4096;                      ///< per batch

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

/// The slots of `rows` data set rows, starting at `begin`.
std::vector<Slot> slots_of(std::int64_t begin, std::int64_t rows) {
  std::vector<Slot> slots(static_cast<std::size_t>(rows));
  for (std::size_t b = 0; b < slots.size(); ++b) {
    slots[b].sample = slots[b].ordinal = static_cast<std::uint64_t>(begin) + b;
    slots[b].row = static_cast<std::uint32_t>(b);
  }
  return slots;
}

/// The metadata of the samples contain the path and the settings.
void expect_utf8_request(const DatasetRequest& request) {
  std::vector<std::string> texts = {request.path.string()};
  for (const ParamSetting& setting : request.settings) texts.push_back(setting.value);
  for (const std::string& text : texts)
    if (!is_utf8(text))
      fail(ErrorKind::config, {printable(text) + ": not UTF-8",
                               "the metadata of samples contain this text and are UTF-8",
                               "rename the file or folder, or use a symbolic link to it"});
}

std::string name_of(const std::filesystem::path& path) {
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

}  // namespace

DatasetReader::DatasetReader(const DatasetRequest& request, std::uint64_t first,
                             std::optional<std::uint64_t> count)
    : request_(request), data_(open_dataset(request)), first_(first) {
  expect_utf8_request(request);
  expect_utf8(data_->classes(), request.path.string());
  if (data_->layout().own_sizes)
    fail(ErrorKind::config,
         {request.path.string() + ": with canvas, images keep their own sizes",
          "these samples need one size", "leave canvas out, or choose a size with resize"});
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
  for (std::uint64_t done = skipped_; done < count_;) {
    const auto part = std::min(rows, static_cast<std::int64_t>(count_ - done));
    const BatchView batch = batch_.begin(stream, part);
    const auto begin = static_cast<std::int64_t>(first_ + done);
    for_each_row(*data_, threads, begin, begin + part, [&](RowReader& reader, std::int64_t row) {
      read_row(reader, row, batch, row - begin);
    });
    take({batch_.end(stream, part), slots_of(begin, part)});
    done += static_cast<std::uint64_t>(part);
  }
}

std::int64_t DatasetReader::rows_of_files(std::int64_t begin) const {
  const auto end = static_cast<std::int64_t>(first_ + count_);
  std::int64_t row = begin;
  std::uint64_t bytes = 0;
  do {
    bytes += data_->encoded_bytes(row++);
  } while (row < end && row - begin < kMostRows && bytes < std::uint64_t{kBatchBytes});
  return row - begin;
}

void DatasetReader::make_files(const std::function<void(const HostSamples&)>& take) {
  const int threads = reading_threads(request_.threads);
  for (std::uint64_t done = skipped_; done < count_;) {
    const auto begin = static_cast<std::int64_t>(first_ + done);
    const std::int64_t rows = rows_of_files(begin);
    std::vector<std::vector<std::uint8_t>> files(static_cast<std::size_t>(rows));
    for_each_row(*data_, threads, begin, begin + rows, [&](RowReader& reader, std::int64_t row) {
      std::vector<std::uint8_t>& file = files[static_cast<std::size_t>(row - begin)];
      reader.read_encoded(row, file);
      reader.check_encoded(row, file);
    });
    std::vector<std::int32_t> labels;
    for (std::int64_t row = begin; row < begin + rows; ++row) labels.push_back(data_->label(row));
    std::vector<float> weights(labels.size(), 1.f);
    BatchView batch;
    batch.size = rows;
    batch.layout = layout_;
    batch.label = labels.data();
    batch.weight = weights.data();
    take({batch, slots_of(begin, rows), files});
    done += static_cast<std::uint64_t>(rows);
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
