#include "sources/mixture.h"

#include "core/error.h"
#include "core/measure/trace.h"
#include "core/text/plural.h"
#include "kernels/batch/batch_columns.h"
#include "kernels/runtime/launch.h"
#include "sources/files/class_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace wellspring {
namespace {

/// Largest accepted table: 64 million steps of two sources.
constexpr std::uint64_t kLargestTableBytes = std::uint64_t{1} << 30;

std::string layout_advice(const SampleLayout& a, const SampleLayout& b) {
  if (a.kind != b.kind) return "mix images with images, events with events, and sets with sets";
  if (a.kind == SampleKind::image)
    return "give all of them the same size (data.size, or resize: on a source of images) and "
           "number of channels";
  if (a.kind == SampleKind::event) return "give all of them the same features, in the same order";
  return "give all of them the same number of items (items: of a generator or a file) and the same "
         "features "
         "and globals; files without globals have globals: ''";
}

/// Clears the dense labels and masks of a batch, unless all of its sources make them.
void clear_missing(Stream& stream, const SampleLayout& made, const BatchView& batch) {
  const auto rows = static_cast<std::size_t>(batch.size);
  if (batch.plane != nullptr && made.planes < batch.layout.planes)
    stream.fill_zero(batch.plane,
                     rows * static_cast<std::size_t>(batch.layout.height) *
                         static_cast<std::size_t>(batch.layout.width) * sizeof(float),
                     "dense labels");
  if (batch.mask != nullptr && made.patches < batch.layout.patches)
    stream.fill_zero(batch.mask, rows * static_cast<std::size_t>(batch.layout.patches), "masks");
}

}  // namespace

void Mixture::add(std::unique_ptr<Source> source, MixtureEntry entry, const ConfigLocation& place) {
  const std::string& name = source->name();
  expect_utf8(source->classes(), fmt::format("source '{}'", name));
  if (size() == kMaxSources) {
    fail(ErrorKind::config,
         {fmt::format("{}source '{}': too many sources", place.prefix(), name),
          fmt::format("a mixture can have at most {}", kMaxSources), "remove or merge sources"});
  }
  for (const auto& other : sources_) {
    if (other->name() == name) {
      fail(ErrorKind::config,
           {fmt::format("{}two sources are called '{}'", place.prefix(), name),
            "metrics and schedules tell sources apart by name", "give each source a unique name"});
    }
  }
  if (!sources_.empty() && !source->layout().same_input(sources_.front()->layout())) {
    const Source& first = *sources_.front();
    fail(ErrorKind::config,
         {fmt::format("{}source '{}' has samples of layout [{}], but source '{}' has [{}]",
                      place.prefix(), name, to_string(source->layout()), first.name(),
                      to_string(first.layout())),
          "one network reads the samples of all sources",
          layout_advice(source->layout(), first.layout())});
  }
  if (!std::isfinite(entry.weight) || entry.weight < 0) {
    fail(ErrorKind::config,
         {fmt::format("{}source '{}' has weight {}", place.prefix(), name, entry.weight),
          "a weight is a share of the batch, relative to the other sources'",
          "use a number of at least 0"});
  }
  entries_.push_back(std::move(entry));
  sources_.push_back(std::move(source));
}

SampleLayout Mixture::layout() const {
  SampleLayout layout = sources_.front()->layout();
  for (const auto& source : sources_) {
    layout.targets = std::max(layout.targets, source->layout().targets);
    layout.latents = std::max(layout.latents, source->layout().latents);
    layout.planes = std::max(layout.planes, source->layout().planes);
    layout.patches = std::max(layout.patches, source->layout().patches);
  }
  return layout;
}

void Mixture::set_schedule(std::vector<SchedulePoint> points) {
  double before = 0;
  for (const SchedulePoint& point : points) {
    const auto refuse = [&](const std::string& problem, const std::string& why,
                            const std::string& advice) {
      fail(ErrorKind::config, {point.place.prefix() + problem, why, advice});
    };
    if (!(point.at >= 0 && point.at <= 1)) {
      refuse(fmt::format("schedule point at {} is outside the run", point.at),
             "a position is a fraction of the run", "give 0 (0%) to 1 (100%)");
    }
    if (point.at < before) {
      refuse(fmt::format("schedule point at {} comes after the one at {}", point.at, before),
             "points must be in chronological order", "sort the points by at:");
    }
    before = point.at;
    if (point.weights.size() != sources_.size()) {
      refuse(
          fmt::format("schedule point at {} has {} for {}", point.at,
                      counted(point.weights.size(), "weight"), counted(sources_.size(), "source")),
          "every point must set a weight for every source",
          "list all of them; a weight of 0 excludes one");
    }
    double sum = 0;
    for (std::size_t k = 0; k < sources_.size(); ++k) {
      const double weight = point.weights[k];
      if (!std::isfinite(weight) || weight < 0) {
        refuse(fmt::format("schedule point at {} gives source '{}' weight {}", point.at,
                           sources_[k]->name(), weight),
               "a weight is a share of the batch, relative to the other sources'",
               "use a number of at least 0");
      }
      sum += weight;
    }
    if (sum <= 0) {
      refuse(fmt::format("all weights of the schedule point at {} are 0", point.at),
             "nothing could fill the batch there", "give at least one source a weight above 0");
    }
  }
  schedule_ = std::move(points);
}

void Mixture::expect_views(const Share& share) const {
  if (views_ == 1) return;
  if (layout().kind != SampleKind::image)
    fail(ErrorKind::config,
         {fmt::format("data.views: {}, but source '{}' has no images", views_,
                      sources_.front()->name()),
          "only images are augmented, so all views of a sample would be identical",
          "remove data.views"});
  if (share.global_batch % views_ == 0 && share.first_row % views_ == 0) return;
  fail(ErrorKind::config, {fmt::format("data.views: a rank's rows begin at row {} of a batch of {}",
                                       share.first_row, share.global_batch),
                           fmt::format("each rank processes all {} views of its samples", views_),
                           "set train.batch to a multiple of the number of views and ranks"});
}

void Mixture::plan(MemoryPlan& plan, const Share& share, std::uint64_t steps) {
  if (sources_.empty()) {
    fail(ErrorKind::config, {"there is no source of samples", "nothing could fill a batch",
                             "add an entry to sources:"});
  }
  expect_views(share);
  share_ = share;
  steps_ = steps;
  points_ = schedule_;
  if (points_.empty()) {
    SchedulePoint constant;
    double sum = 0;
    for (const MixtureEntry& entry : entries_) {
      constant.weights.push_back(entry.weight);
      sum += entry.weight;
    }
    if (sum <= 0) {
      fail(ErrorKind::config, {"the weights of all sources are 0", "nothing could fill a batch",
                               "give at least one source a weight above 0"});
    }
    points_.push_back(std::move(constant));
  }
  const std::int64_t batch = share.global_batch / views_;
  const double samples = static_cast<double>(steps) * static_cast<double>(batch);
  weights_ = std::make_unique<WeightSchedule>(points_, samples);

  *host_assignment_ = {};
  host_assignment_->steps = steps;
  host_assignment_->share = share;
  host_assignment_->sources = static_cast<std::uint32_t>(size());
  host_assignment_->views = views_;
  host_assignment_->seed = seed_;
  if (size() > 1) {
    const std::uint64_t bytes =
        (steps + 1) * static_cast<std::uint64_t>(size()) * sizeof(std::int64_t);
    if (bytes > kLargestTableBytes) {
      fail(ErrorKind::config,
           {fmt::format("a mixture of {} over {} needs a table of {} MiB",
                        counted(size(), "source"), counted(steps, "step"), bytes >> 20),
            fmt::format("the limit is {} MiB", kLargestTableBytes >> 20),
            "use fewer steps (a larger batch), or split the run"});
    }
    table_ = deal_slots(*weights_, steps, batch);
    host_assignment_->before = table_.before.data();
    device_table_ = plan.reserve<std::int64_t>("data", "mixture table", table_.before.size());
  }
  slots_ = plan.reserve<Slot>("data", "slots", static_cast<std::size_t>(share.rows));
  for (const auto& source : sources_) source->plan(plan, share);
}

bool Mixture::same_assignment(std::uint64_t steps, std::uint64_t until) const {
  if (size() == 1) return true;
  const std::int64_t batch = host_assignment_->samples();
  const WeightSchedule weights(points_, static_cast<double>(steps) * static_cast<double>(batch));
  const SlotTable other = deal_slots(weights, steps, batch);
  const auto entries =
      static_cast<std::ptrdiff_t>((until + 1) * static_cast<std::uint64_t>(size()));
  return until <= std::min(steps, steps_) &&
         std::equal(other.before.begin(), other.before.begin() + entries, table_.before.begin());
}

void Mixture::load(Stream& stream) {
  for (int k = 0; k < size(); ++k) {
    source(k).load(stream);
    host_assignment_->order[k] = source(k).order();
  }
  device_assignment_ = *host_assignment_;
  if (size() > 1) {
    stream.copy(device_table_.data(), table_.before.data(), device_table_.bytes(),
                CopyDirection::host_to_device, "mixture table");
    stream.synchronize();
    device_assignment_.before = device_table_.data();
  }
  for (int k = 0; k < size(); ++k) {
    source(k).start(*host_assignment_, static_cast<std::uint32_t>(k));
  }
}

void Mixture::before_step(Stream& stream, std::uint64_t step, std::uint64_t count) {
  const TraceSpan span(stages::kFetch, static_cast<std::int64_t>(step));
  for (const auto& source : sources_) source->before_step(stream, step, count);
}

void Mixture::after_step(Stream& stream, std::uint64_t step, std::uint64_t count) {
  for (const auto& source : sources_) source->after_step(stream, step, count);
}

void Mixture::emit(Stream& stream, const StepState* state, const BatchView& batch) {
  map(stream, "assign slots", share_.rows, AssignSlots{device_assignment_, state, slots_.data()});
  SampleLayout common = layout();
  for (const auto& source : sources_) {
    common.planes = std::min(common.planes, source->layout().planes);
    common.patches = std::min(common.patches, source->layout().patches);
  }
  clear_missing(stream, common, batch);
  for (int k = 0; k < size(); ++k) {
    source(k).emit(stream, slots_.data(), static_cast<std::uint32_t>(k), batch);
  }
}

void Mixture::emit_range(Stream& stream, int index, std::uint64_t first, const BatchView& batch,
                         std::int64_t count) {
  Source& from = source(index);
  const std::uint64_t first_sample = from.first_evaluation_sample() + first;
  if (from.size() > 0 && first_sample + static_cast<std::uint64_t>(count) > from.size()) {
    throw std::logic_error(
        fmt::format("no samples {} to {} in source '{}', which has {}", first_sample,
                    first_sample + static_cast<std::uint64_t>(count), from.name(), from.size()));
  }
  const auto k = static_cast<std::uint32_t>(index);
  clear_missing(stream, from.layout(), batch);
  map(stream, "evaluation slots", batch.size, RangeSlots{first_sample, k, count, slots_.data()});
  from.emit_range(stream, slots_.data(), k, first_sample, count, batch);
}

std::vector<Slot> Mixture::host_slots(std::uint64_t step) const {
  std::vector<Slot> result;
  result.reserve(static_cast<std::size_t>(share_.rows));
  for (std::int64_t row = 0; row < share_.rows; ++row) {
    result.push_back(host_assignment_->slot(step, row));
  }
  return result;
}

std::int64_t Mixture::achieved(std::uint64_t step, int source) const {
  return views_ * host_assignment_->given(step, static_cast<std::uint32_t>(source));
}

double Mixture::target(std::uint64_t step, int source) const {
  const auto samples = static_cast<double>(host_assignment_->samples());
  return views_ * weights_->target(source, static_cast<double>(step) * samples);
}

std::vector<std::string> Mixture::notes() const {
  std::vector<std::string> all;
  for (const auto& source : sources_) {
    std::vector<std::string> own = source->notes();
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

}  // namespace wellspring
