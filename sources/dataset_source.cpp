#include "sources/dataset_source.h"

#include "core/error.h"
#include "core/text/plural.h"
#include "core/text/text.h"
#include "kernels/runtime/threads.h"
#include "sources/files/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace wellspring {
namespace {

/// Resident data go through two page-locked buffers: while one is copied, the other is filled.
constexpr std::int64_t kUploadPieceBytes = std::int64_t{16} << 20;
constexpr int kUploadPieces = 2;

std::unique_ptr<Dataset> open_rows(const SourceSpec& spec, int threads, int channels,
                                   const WorkWatch& watch) {
  const auto told = [&](const std::string& what, std::uint64_t done, std::uint64_t total) {
    if (watch) watch(what + " " + spec.name, done, total);
  };
  const bool part = !spec.rows.empty();
  auto data = open_dataset({.path = spec.path,
                            .settings = spec.params,
                            .place = spec.place,
                            .limit_per_class = part ? 0 : spec.limit_per_class,
                            .threads = threads,
                            .format = spec.format,
                            .labelled = spec.labelled,
                            .channels = channels,
                            .watch = told});
  if (!part) return data;
  // The limit is applied after the range, so it does not change which rows are in a range.
  return view_rows(std::move(data), RowRange::parse(spec.rows, spec.rows_by, spec.place),
                   spec.limit_per_class);
}

}  // namespace

DatasetSource::DatasetSource(const SourceSpec& spec, const SourceContext& context)
    : spec_(spec),
      context_(context),
      threads_(reading_threads(spec.threads > 0 ? spec.threads : context.threads)),
      data_(open_rows(spec, threads_, context.channels, context.watch)),
      layout_(data_->layout().sample) {
  for (const LatentInfo& latent : data_->latents()) latent_names_.push_back(latent.name);
  layout_.latents = static_cast<int>(latent_names_.size());
  layout_.targets = static_cast<int>(data_->targets().size());
  if (data_->layout().type == ElementType::u8) {
    plan_images();
  } else {
    normalise(context.training.normalisation);
  }
}

void DatasetSource::plan_images() {
  const RowLayout layout = data_->layout();
  const ImageSize size = context_.size;
  const int channels = layout.sample.channels;
  if (size.given() && layout.own_sizes) {
    layout_.height = size.height;
    layout_.width = size.width;
  }
  if (size.given() && size != ImageSize(layout_.height, layout_.width)) {
    fail(ErrorKind::data,
         {fmt::format("{}: image of {}x{} pixels", data_->location(0), layout.sample.width,
                      layout.sample.height),
          fmt::format("the network reads {}x{}", size.width, size.height),
          spec_.labelled ? fmt::format("on source '{}', {}, or change the network's size",
                                       spec_.name, data_->size_advice(size))
                         : data_->size_advice(size)});
  }
  if (context_.channels != 0 && context_.channels != channels)
    fail(ErrorKind::data, {fmt::format("source '{}': {} with {}", spec_.name, data_->location(0),
                                       counted(channels, "channel")),
                           fmt::format("data.channels is {}, but only image files can be converted",
                                       context_.channels),
                           fmt::format("set data.channels: {}, or convert the data", channels)});
  const FrameSize frame = frame_of(layout.sample.shape()), out = frame_of(layout_.shape());
  const auto planned = [&](const Augmentations& values) {
    expect_channels(values, channels);
    AugmentationPlan plan = plan_augmentation(values, layout.own_sizes ? FrameSize{} : frame, out);
    plan.source = frame;
    return plan;
  };
  training_ = planned(context_.training);
  evaluation_ = planned(context_.evaluation);
  layout_.patches = training_.patches();
}

void DatasetSource::normalise(const Normalisation& values) {
  scaler_.set(values, layout(), fmt::format("{}source '{}'", spec_.place.prefix(), name()));
}

std::string DatasetSource::summary() const {
  std::string text = fmt::format("{}: {}, seed {}", name(), data_->summary(), context_.seed);
  if (share_.rows == 0) return text;  // not planned yet
  const auto all = static_cast<std::uint64_t>(data_->size() * row_bytes());
  const std::string reason = spec_.storage != Storage::automatic
                                 ? "as configured"
                                 : fmt::format("{} the budget of {}", resident_ ? "within" : "over",
                                               human_bytes(budget_bytes_));
  text += resident_ ? fmt::format("; resident on the device ({}, {})", human_bytes(all), reason)
                    : fmt::format(
                          "; streamed by {}, {} ahead ({} in all, {})", counted(threads_, "thread"),
                          counted(spec_.ahead, "batch", "batches"), human_bytes(all), reason);
  if (cached_ != nullptr) text += "; " + cached_->cache_summary();
  return text;
}

void DatasetSource::plan(MemoryPlan& plan, const Share& share) {
  share_ = share;
  device_ = plan.device();
  const std::string label = "rows of " + name();
  const std::int64_t all = data_->size() * row_bytes();
  budget_bytes_ = context_.budget_bytes;
  if (spec_.budget > 0) budget_bytes_ = static_cast<std::uint64_t>(spec_.budget * 0x1p30);
  if (budget_bytes_ == 0) budget_bytes_ = describe(plan.device()).memory_bytes / 4;
  resident_ =
      spec_.storage == Storage::resident ||
      (spec_.storage == Storage::automatic && static_cast<std::uint64_t>(all) <= budget_bytes_);
  if (!resident_) cache_streamed();
  labels_ = plan.reserve<std::int32_t>("data", "labels of " + name(),
                                       static_cast<std::size_t>(data_->size()));
  const auto columns = [&](const char* what, std::size_t width) {
    if (width == 0) return Planned<float>{};
    return plan.reserve<float>("data", what + name(),
                               static_cast<std::size_t>(data_->size()) * width);
  };
  latents_ = columns("latents of ", data_->latents().size());
  targets_ = columns("targets of ", data_->targets().size());
  scaler_.plan(plan, name());
  if (data_->held_bytes() > 0)
    held_ = plan.reserve<std::byte>("data", "arrays of " + name(), data_->held_bytes(),
                                    MemorySpace::host);
  if (data_->layout().type == ElementType::u8) {
    const SampleShape shape = data_->layout().sample.shape();
    emitter_.plan(plan, "data", share.rows, StoredImages{{}, shape}, shape);
    passes_.plan(plan, "data", share.rows, layout_.shape(), training_);
  }
  const auto reserve = [&](const std::string& what, std::int64_t rows, MemorySpace space) {
    return plan.reserve<std::uint8_t>("data", what, static_cast<std::size_t>(rows * row_bytes()),
                                      space);
  };
  if (resident_) {
    ring_rows_ = 0;
    rows_ = reserve(label, data_->size(), MemorySpace::device);
    if (plan.device().is_cuda()) {
      const std::int64_t piece = std::max<std::int64_t>(1, kUploadPieceBytes / row_bytes());
      staging_ = reserve(label + ", upload", kUploadPieces * std::min(piece, data_->size()),
                         MemorySpace::host);
    }
    return;
  }
  ring_rows_ = spec_.ahead * share.rows;
  rows_ = reserve(label + ", ring", ring_rows_, MemorySpace::device);
  staging_ = reserve(label + ", ring", ring_rows_, MemorySpace::host);
  if (!(share == Share::whole(share.global_batch))) {
    const auto places = static_cast<std::size_t>(spec_.ahead * share.global_batch);
    places_ = plan.reserve<std::int32_t>("data", label + ", places", places);
    staging_places_ =
        plan.reserve<std::int32_t>("data", label + ", places", places, MemorySpace::host);
  }
  range_rows_ = reserve(label + ", evaluation", share.rows, MemorySpace::device);
  range_staging_ = reserve(label + ", evaluation", share.rows, MemorySpace::host);
}

void DatasetSource::cache_streamed() {
  if (spec_.cache.empty()) return;
  auto cached = std::make_unique<CachedRows>(
      std::move(data_),
      CachedRows::Options{.tiers = spec_.cache,
                          .where = fmt::format("{}source '{}'", spec_.place.prefix(), name()),
                          .node = context_.node,
                          .key = cache_key(),
                          .threads = threads_,
                          .filled = [this](std::int64_t done) { tell("caching", done); }});
  cached_ = cached.get();
  data_ = std::move(cached);
}

std::string DatasetSource::cache_key() const {
  // A held-out source may share the name of its training source; `shuffle` tells them apart.
  return fmt::format("{} {} {} {} {} {}", name(), spec_.path, spec_.rows, spec_.limit_per_class,
                     spec_.shuffle, data_->size());
}

void DatasetSource::load(Stream& stream) {
  if (held_ || cached_ != nullptr)
    data_->hold(held_ ? std::span(held_.data(), held_.size()) : std::span<std::byte>());
  load_truth(stream);
  scaler_.load(stream);
  if (resident_) {
    load_resident(stream);
  } else {
    check_streamed();
    range_copied_ = std::make_unique<Event>(stream.device());
  }
}

void DatasetSource::tell(const char* doing, std::int64_t done) const {
  if (context_.watch)
    context_.watch(fmt::format("{} {}", doing, name()), static_cast<std::uint64_t>(done),
                   static_cast<std::uint64_t>(data_->size()));
}

/// Finds bad rows before the first step instead of hours later.
void DatasetSource::check_streamed() {
  for_each_row(
      *data_, threads_, 0, data_->size(),
      [](RowReader& reader, std::int64_t i) { reader.check(i); },
      [this](std::int64_t done) { tell("checking", done); });
}

void DatasetSource::load_truth(Stream& stream) {
  std::vector<std::int32_t> labels(static_cast<std::size_t>(data_->size()));
  for (std::int64_t i = 0; i < data_->size(); ++i) {
    labels[static_cast<std::size_t>(i)] = data_->label(i);
  }
  stream.copy(labels_.data(), labels.data(), labels_.bytes(), CopyDirection::host_to_device,
              "labels");
  stream.synchronize();
  load_columns(stream, latents_, &Dataset::read_latents);
  load_columns(stream, targets_, &Dataset::read_targets);
}

void DatasetSource::load_columns(Stream& stream, const Planned<float>& columns,
                                 void (Dataset::*read)(std::int64_t, float*) const) {
  if (!columns) return;
  std::vector<float> values(columns.size());
  const std::size_t width = columns.size() / static_cast<std::size_t>(data_->size());
  for (std::int64_t i = 0; i < data_->size(); ++i)
    ((*data_).*read)(i, values.data() + static_cast<std::size_t>(i) * width);
  stream.copy(columns.data(), values.data(), columns.bytes(), CopyDirection::host_to_device,
              "truth of rows");
  stream.synchronize();
}

void DatasetSource::load_resident(Stream& stream) {
  const auto read = [&](std::int64_t begin, std::int64_t end, std::uint8_t* rows) {
    for_each_row(
        *data_, threads_, begin, end,
        [&](RowReader& reader, std::int64_t i) {
          reader.read(i, rows + (i - begin) * row_bytes());
        },
        [&](std::int64_t done) { tell("reading", begin + done); });
  };
  if (!staging_) {
    read(0, data_->size(), rows_.data());
    return;
  }
  const std::int64_t piece =
      static_cast<std::int64_t>(staging_.bytes()) / row_bytes() / kUploadPieces;
  Event copied[kUploadPieces] = {Event(stream.device()), Event(stream.device())};
  std::int64_t begin = 0;
  for (int turn = 0; begin < data_->size(); begin += piece, ++turn) {
    const std::int64_t end = std::min(begin + piece, data_->size());
    const int half = turn % kUploadPieces;
    std::uint8_t* const rows = staging_.data() + half * piece * row_bytes();
    if (turn >= kUploadPieces) copied[half].synchronize();
    read(begin, end, rows);
    stream.copy(rows_.data() + begin * row_bytes(), rows,
                static_cast<std::size_t>((end - begin) * row_bytes()),
                CopyDirection::host_to_device, "rows of a data set");
    copied[half].record(stream);
  }
  stream.synchronize();
}

DatasetSource::Order DatasetSource::order() const {
  return {.size = size(),
          .seed = context_.seed,
          .shuffle = spec_.shuffle,
          .repeats = static_cast<std::uint32_t>(spec_.repeats)};
}

void DatasetSource::emit_rows(Stream& stream, const StoredRows& rows, const AugmentationPlan& plan,
                              const Slot* slots, std::uint32_t index, const BatchView& batch) {
  const RowLayout layout = data_->layout();
  if (layout.type == ElementType::u8) {
    const SampleShape shape = layout.sample.shape();
    EmitCall call = {slots, index, context_.seed, plan, batch};
    if (plan.goes_on()) call.batch = passes_.target(batch);
    emitter_.emit(stream, name(), StoredImages{rows, shape, layout.own_sizes}, shape, call);
    call.batch = batch;
    if (plan.goes_on()) passes_.finish(StreamLauncher{stream}, call);
    return;
  }
  visit_float(batch.dtype, [&]<class T>(T) {
    map(stream, name(), batch.size * layout.sample.elements(),
        EmitStoredFeatures<T>{rows, slots, index, batch, scaler_.table()});
  });
}

StoredRows DatasetSource::stored(const std::uint8_t* bytes, std::int64_t period) const {
  StoredRows rows;
  rows.bytes = bytes;
  rows.labels = labels_.data();
  rows.latents = latents_ ? latents_.data() : nullptr;
  rows.targets = targets_ ? targets_.data() : nullptr;
  rows.latent_count = static_cast<std::int32_t>(data_->latents().size());
  rows.target_count = static_cast<std::int32_t>(data_->targets().size());
  rows.period = static_cast<std::uint64_t>(period);
  return rows;
}

void DatasetSource::emit(Stream& stream, const Slot* slots, std::uint32_t index,
                         const BatchView& batch) {
  StoredRows rows = stored(rows_.data(), ring_rows_);
  if (places_) {
    rows.period = places_.size();
    rows.places = places_.data();
  }
  emit_rows(stream, rows, training_, slots, index, batch);
}

void DatasetSource::emit_range(Stream& stream, const Slot* slots, std::uint32_t index,
                               std::uint64_t first, std::int64_t count, const BatchView& batch) {
  if (resident_) {
    emit_rows(stream, stored(rows_.data(), 0), evaluation_, slots, index, batch);
    return;
  }
  // In a range, ordinal = sample id: sample i is in row i % batch.
  const auto begin = static_cast<std::int64_t>(first);
  range_copied_->synchronize();
  for_each_row(*data_, threads_, begin, begin + count, [&](RowReader& reader, std::int64_t i) {
    reader.read(i, range_staging_.data() + i % share_.rows * row_bytes());
  });
  stream.copy(range_rows_.data(), range_staging_.data(), range_staging_.bytes(),
              CopyDirection::host_to_device, "rows of an evaluation batch");
  range_copied_->record(stream);
  emit_rows(stream, stored(range_rows_.data(), share_.rows), evaluation_, slots, index, batch);
}

void DatasetSource::start(const SlotAssignment& assignment, std::uint32_t index) {
  if (resident_) return;
  RowRing::Memory memory{staging_.data(), rows_.data(), ring_rows_};
  if (places_) {
    memory.host_places = staging_places_.data();
    memory.device_places = places_.data();
    memory.places = static_cast<std::int64_t>(places_.size());
  }
  ring_ = std::make_unique<RowRing>(device_, *data_, threads_, memory, assignment, index,
                                    static_cast<int>(spec_.ahead));
}

void DatasetSource::before_step(Stream& stream, std::uint64_t step, std::uint64_t count) {
  if (ring_) ring_->before_step(stream, step, count);
}

void DatasetSource::after_step(Stream& stream, std::uint64_t step, std::uint64_t count) {
  if (ring_) ring_->after_step(stream, step, count);
}

}  // namespace wellspring
