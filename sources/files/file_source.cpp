#include "sources/files/file_source.h"

#include "core/error.h"
#include "core/text.h"
#include "kernels/device.h"
#include "kernels/emission.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

namespace wellspring {
namespace {

/// Upload of resident data: two pieces of page-locked memory, one filled while the other is copied.
constexpr std::int64_t kUploadPieceBytes = std::int64_t{16} << 20;
constexpr int kUploadPieces = 2;

std::string pixels_text(SampleShape shape) {
  return fmt::format("{}x{}", shape.width, shape.height);
}

}  // namespace

FileSource::FileSource(const SourceSpec& spec, const SourceContext& context)
    : spec_(spec),
      context_(context),
      threads_(spec.threads > 0 ? static_cast<int>(spec.threads) : usable_cpu_count()),
      set_(ImageSet::open({spec.path, spec.split, spec.limit_per_class})) {
  rules_.max_pixels = spec.max_pixels;
  rules_.convert = spec.on_convert == OnConvert::convert;
  rules_.resize = static_cast<int>(spec.resize);
  if (spec.on_error == OnError::skip) skip_damaged();
  rules_.shape = ImageLoader(set_, rules_).measure(0);
  const FrameSize frame = frame_of(rules_.shape);
  training_ = plan_augmentation(context.training, frame, frame);
  evaluation_ = plan_augmentation(context.evaluation, frame, frame);
  const int size = context.size;
  if (size > 0 && !(rules_.shape == SampleShape{size, size, 3})) {
    fail(ErrorKind::data,
         {fmt::format("{}: image of {} pixels", set_.location(0), pixels_text(rules_.shape)),
          fmt::format("the network reads {0}x{0}", size),
          fmt::format("set resize: {0} on source '{1}' (shorter side, then centre crop), or the "
                      "network's size",
                      size, spec.name)});
  }
}

// Which sample is which must not change during a run, so what is left out is found before it.
void FileSource::skip_damaged() {
  std::vector<std::uint8_t> damaged(static_cast<std::size_t>(set_.size()), 0);
  for_each_image(set_, rules_, threads_, 0, set_.size(), [&](ImageLoader& loader, std::int64_t i) {
    try {
      loader.verify(i);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::data) throw;
      damaged[static_cast<std::size_t>(i)] = 1;
    }
  });
  const std::vector<bool> drop(damaged.begin(), damaged.end());
  skipped_ = std::count(drop.begin(), drop.end(), true);
  if (skipped_ == 0) return;
  first_skipped_ = set_.location(std::find(drop.begin(), drop.end(), true) - drop.begin());
  set_.remove(drop);
}

std::string FileSource::summary() const {
  std::string text =
      fmt::format("{}: {} images of {} classes, {}, from {}", name(), set_.size(),
                  set_.classes().size(), pixels_text(rules_.shape), set_.root().string());
  if (rules_.resize > 0) text += fmt::format(", resized to {}", rules_.resize);
  if (spec_.limit_per_class > 0) text += fmt::format(", first {} a class", spec_.limit_per_class);
  if (skipped_ > 0) text += fmt::format("; {} skipped, first {}", skipped_, first_skipped_);
  if (set_.hidden_files() + set_.other_files() > 0) {
    text += fmt::format("; passed over {} hidden and {} other files", set_.hidden_files(),
                        set_.other_files());
  }
  if (batch_ == 0) return text;  // not planned yet
  const auto all = static_cast<std::uint64_t>(set_.size() * row_bytes());
  const std::string reason = spec_.storage != Storage::automatic
                                 ? "as configured"
                                 : fmt::format("{} the budget of {}", resident_ ? "within" : "over",
                                               human_bytes(budget_bytes_));
  text += resident_ ? fmt::format("; resident on the device ({}, {})", human_bytes(all), reason)
                    : fmt::format("; streamed by {} threads, {} batches ahead ({} decoded, {})",
                                  threads_, spec_.ahead, human_bytes(all), reason);
  return text;
}

void FileSource::plan(MemoryPlan& plan, std::int64_t batch_size) {
  batch_ = batch_size;
  device_ = plan.device();
  const std::string label = "images of " + name();
  const std::int64_t all = set_.size() * row_bytes();
  budget_bytes_ = context_.budget_bytes;
  if (spec_.budget > 0) budget_bytes_ = static_cast<std::uint64_t>(spec_.budget * 0x1p30);
  if (budget_bytes_ == 0) budget_bytes_ = describe(plan.device()).memory_bytes / 4;
  resident_ =
      spec_.storage == Storage::resident ||
      (spec_.storage == Storage::automatic && static_cast<std::uint64_t>(all) <= budget_bytes_);
  labels_ = plan.reserve<std::int32_t>("data", "labels of " + name(),
                                       static_cast<std::size_t>(set_.size()));
  const auto reserve = [&](const std::string& what, std::int64_t rows, MemorySpace space) {
    return plan.reserve<std::uint8_t>("data", what, static_cast<std::size_t>(rows * row_bytes()),
                                      space);
  };
  if (resident_) {
    ring_rows_ = 0;
    pixels_ = reserve(label, set_.size(), MemorySpace::device);
    if (plan.device().is_cuda()) {
      const std::int64_t piece = std::max<std::int64_t>(1, kUploadPieceBytes / row_bytes());
      staging_ = reserve(label + ", upload", kUploadPieces * std::min(piece, set_.size()),
                         MemorySpace::host);
    }
    return;
  }
  ring_rows_ = spec_.ahead * batch_size;
  pixels_ = reserve(label + ", ring", ring_rows_, MemorySpace::device);
  staging_ = reserve(label + ", ring", ring_rows_, MemorySpace::host);
  range_pixels_ = reserve(label + ", evaluation", batch_size, MemorySpace::device);
  range_staging_ = reserve(label + ", evaluation", batch_size, MemorySpace::host);
}

void FileSource::load(Stream& stream) {
  load_labels(stream);
  if (resident_) {
    load_resident(stream);
  } else {
    check_streamed();
    range_copied_ = std::make_unique<Event>(stream.device());
  }
}

/// Colours and sizes that do not fit are found before the first step, not hours after it.
void FileSource::check_streamed() {
  for_each_image(set_, rules_, threads_, 0, set_.size(),
                 [](ImageLoader& loader, std::int64_t i) { loader.check(i); });
}

void FileSource::load_labels(Stream& stream) {
  std::vector<std::int32_t> labels(static_cast<std::size_t>(set_.size()));
  for (std::int64_t i = 0; i < set_.size(); ++i) {
    labels[static_cast<std::size_t>(i)] = set_.label(i);
  }
  stream.copy(labels_.data(), labels.data(), labels_.bytes(), CopyDirection::host_to_device,
              "labels");
  stream.synchronize();
}

void FileSource::load_resident(Stream& stream) {
  const auto decode = [&](std::int64_t begin, std::int64_t end, std::uint8_t* rows) {
    for_each_image(set_, rules_, threads_, begin, end, [&](ImageLoader& loader, std::int64_t i) {
      loader.load(i, rows + (i - begin) * row_bytes());
    });
  };
  if (!staging_) {
    decode(0, set_.size(), pixels_.data());
    return;
  }
  const std::int64_t piece =
      static_cast<std::int64_t>(staging_.bytes()) / row_bytes() / kUploadPieces;
  Event copied[kUploadPieces] = {Event(stream.device()), Event(stream.device())};
  std::int64_t begin = 0;
  for (int turn = 0; begin < set_.size(); begin += piece, ++turn) {
    const std::int64_t end = std::min(begin + piece, set_.size());
    const int half = turn % kUploadPieces;
    std::uint8_t* const rows = staging_.data() + half * piece * row_bytes();
    if (turn >= kUploadPieces) copied[half].synchronize();
    decode(begin, end, rows);
    stream.copy(pixels_.data() + begin * row_bytes(), rows,
                static_cast<std::size_t>((end - begin) * row_bytes()),
                CopyDirection::host_to_device, "images");
    copied[half].record(stream);
  }
  stream.synchronize();
}

FileSource::Order FileSource::order() const {
  return {.size = size(), .seed = context_.seed, .shuffle = spec_.shuffle};
}

StoredImages FileSource::stored(const std::uint8_t* pixels, std::int64_t ring_rows) const {
  return {pixels, labels_.data(), rules_.shape, static_cast<std::uint64_t>(ring_rows)};
}

void FileSource::emit(Stream& stream, const Slot* slots, std::uint32_t index,
                      const BatchView& batch) {
  emit_images(stream, name(), stored(pixels_.data(), ring_rows_), rules_.shape, slots, index,
              context_.seed, training_, {}, batch);
}

void FileSource::emit_range(Stream& stream, const Slot* slots, std::uint32_t index,
                            std::uint64_t first, std::int64_t count, const BatchView& batch) {
  if (resident_) {
    emit_images(stream, name(), stored(pixels_.data(), 0), rules_.shape, slots, index,
                context_.seed, evaluation_, {}, batch);
    return;
  }
  // Slots of a range have their sample id as ordinal, so sample i is looked up in row i % batch.
  const auto begin = static_cast<std::int64_t>(first);
  range_copied_->synchronize();
  for_each_image(set_, rules_, threads_, begin, begin + count,
                 [&](ImageLoader& loader, std::int64_t i) {
                   loader.load(i, range_staging_.data() + i % batch_ * row_bytes());
                 });
  stream.copy(range_pixels_.data(), range_staging_.data(), range_staging_.bytes(),
              CopyDirection::host_to_device, "images of an evaluation batch");
  range_copied_->record(stream);
  emit_images(stream, name(), stored(range_pixels_.data(), batch_), rules_.shape, slots, index,
              context_.seed, evaluation_, {}, batch);
}

void FileSource::start(const SlotAssignment& assignment, std::uint32_t index) {
  if (resident_) return;
  const DecodeRing::Memory memory{staging_.data(), pixels_.data(), ring_rows_, row_bytes()};
  ring_ = std::make_unique<DecodeRing>(device_, set_, rules_, threads_, memory, assignment, index,
                                       static_cast<int>(spec_.ahead));
}

void FileSource::before_step(Stream& stream, std::uint64_t step) {
  if (ring_) ring_->before_step(stream, step);
}

void FileSource::after_step(Stream& stream, std::uint64_t step) {
  if (ring_) ring_->after_step(stream, step);
}

}  // namespace wellspring
