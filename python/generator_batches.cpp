#include "python/generator_batches.h"

#include "core/error.h"
#include "kernels/ops/narrow.h"
#include "kernels/runtime/launch.h"
#include "kernels/runtime/stream_capture.h"
#include "sources/mixing/assignment.h"
#include "sources/mixing/device_slots.h"
#include "sources/source_spec.h"

#include <fmt/format.h>

#include "python/process.h"
#include <algorithm>
#include <utility>

namespace wellspring::python {
namespace {

constexpr const char* kPlace = "Generator";
/// On the CPU, writing so many slots takes less time than waking threads for it.
constexpr std::int64_t kFewRows = 4096;

/// Refuses settings that a source would not apply.
void check(const GeneratorBatches::Settings& settings, const GeneratorEntry& entry) {
  if (entry.kind == SampleKind::image) return;
  if (!settings.augmentations.list.empty())
    fail(ErrorKind::config,
         {fmt::format("{}: augment: '{}' does not make images", kPlace, entry.name),
          "only images can be augmented", "leave augment out"});
  if (settings.augmentations.normalisation.choice == Normalisation::Choice::automatic)
    fail(ErrorKind::config, {fmt::format("{}: normalise: auto", kPlace),
                             "it is measured on the samples of a whole run",
                             "give numbers, {'mean': [...], 'std': [...]}, or use Mixture"});
}

std::unique_ptr<ProceduralSource> open(const GeneratorBatches::Settings& settings,
                                       const GeneratorEntry& entry) {
  check(settings, entry);
  SourceSpec spec;
  spec.name = spec.generator = settings.generator;
  spec.params = settings.parameters;
  spec.seed = static_cast<std::int64_t>(settings.seed);
  spec.place = {kPlace};
  SourceContext context;
  context.size = settings.size;
  context.training = settings.augmentations;
  context.dense = settings.dense;
  std::unique_ptr<Source> source = make_source(spec, context);
  auto generator =
      std::unique_ptr<ProceduralSource>(static_cast<ProceduralSource*>(source.release()));
  if (settings.dense == DenseLabels::plane) expect_plane(generator->generator().info());
  return generator;
}

}  // namespace

GeneratorBatches::GeneratorBatches(const Settings& settings)
    : entry_(find_generator(settings.generator, {kPlace})),
      source_(open(settings, entry_)),
      stream_(settings.device, settings.threads),
      enqueued_(settings.device),
      augmented_(!settings.augmentations.list.empty()),
      normalised_(!settings.augmentations.normalisation.is_identity()) {}

std::shared_ptr<BatchMemory> GeneratorBatches::memory(std::int64_t rows, ElementType type) {
  return pool_.take(stream_.device(), rows, source_->layout(), type);
}

void GeneratorBatches::reserve(const TypedBatch& batch, const Stream& stream) {
  const bool narrow = batch.narrow() || wide_;
  if (plan_ && batch.view.size <= rows_ && narrow == static_cast<bool>(wide_)) return;
  if (is_captured(stream))
    fail(ErrorKind::config,
         {"stream: the batch needs new memory, which cannot be allocated during a capture",
          fmt::format("it is the first of {} rows of type {}", batch.view.size,
                      element_name(batch.type)),
          "make such a batch before the capture"});
  const std::int64_t rows = std::max(batch.view.size, rows_);
  auto plan = std::make_unique<MemoryPlan>(stream_.device());
  before_ = overflow_so_far();  // waits: an enqueued batch may still use the memory of plan_
  rows_ = 0;                    // until the new plan is complete
  overflow_ = {};
  wide_ = {};
  source_->plan(*plan, Share::whole(rows));
  slots_ = plan->reserve<Slot>("batch", "slots", static_cast<std::size_t>(rows));
  overflow_ = plan->reserve<SetOverflow>("batch", "overflow", 1);
  if (stream_.device().is_cuda() && generator().info().settable_latents > 0)
    latents_ = plan->reserve<float>("batch", "given latents",
                                    static_cast<std::size_t>(rows * layout().latents));
  if (narrow)
    wide_ = plan->reserve<float>("batch", "x as f32",
                                 static_cast<std::size_t>(rows * layout().elements()));
  plan->commit();
  source_->load(stream_);
  if (std::exchange(captured_, false)) captured_plans_.push_back(std::move(plan_));
  plan_ = std::move(plan);
  rows_ = rows;
}

SetOverflow GeneratorBatches::overflow_so_far() {
  SetOverflow sum = before_, latest;
  if (std::exchange(in_flight_, false)) enqueued_.synchronize();
  if (!overflow_) return sum;
  stream_.copy(&latest, overflow_.data(), sizeof latest, CopyDirection::device_to_host, "overflow");
  stream_.synchronize();
  sum.samples += latest.samples;
  sum.items += latest.items;
  return sum;
}

SetOverflow GeneratorBatches::overflow() {
  const std::lock_guard lock(turn_);
  return overflow_so_far();
}

/// Batches share scenes and slots. A graph cannot wait for work outside it, so its capture does.
void GeneratorBatches::wait_for_enqueued(Stream& stream) {
  if (!in_flight_) return;
  if (!is_captured(stream)) return enqueued_.wait(stream);
  synchronize_in_capture(enqueued_);
  in_flight_ = false;
}

void GeneratorBatches::emit(Stream& stream, First first, const TypedBatch& wanted,
                            const std::vector<float>& latents) {
  if (wanted.type == ElementType::u8) {
    const SampleInfo& info = generator().info();
    expect_pixels(info.name, {info.low, info.high, normalised_});
  }
  reserve(wanted, stream);
  BatchView batch = wanted.view;
  if (wanted.narrow()) batch.x = wide_.data();
  wait_for_enqueued(stream);
  const auto assign = [&](const auto& slots) {
    if (stream.device().is_cuda() || batch.size > kFewRows)
      return map(stream, "slots", batch.size, slots);
    for (std::int64_t row = 0; row < batch.size; ++row) slots(row);
  };
  const auto repeat = static_cast<std::uint32_t>(first.passes.repeat);
  if (first.words != nullptr) {
    assign(DeviceRepeatedSlots{first.words, repeat, slots_.data()});
  } else if (first.passes.plain()) {  // without a division per row
    assign(RangeSlots{first.id, 0, batch.size, slots_.data()});
  } else {
    const auto pass = static_cast<std::uint64_t>(first.passes.epoch);
    assign(RepeatedSlots{first.id, pass, repeat, slots_.data()});
  }
  if (batch.layout.kind == SampleKind::set) batch.overflow = overflow_.data();
  const float* given = latents.empty() ? nullptr : latents.data();
  if (given != nullptr && stream.device().is_cuda()) {
    stream.copy(latents_.data(), given, latents.size() * sizeof(float),
                CopyDirection::host_to_device, "latents");
    given = latents_.data();
  }
  source_->emit(stream, slots_.data(), 0, batch, given);
  if (wanted.narrow())
    ops::narrow(stream, batch.size * batch.layout.elements(), wide_.data(), wanted.type,
                wanted.view.x);
}

void GeneratorBatches::expect_passes_differ(const Passes& passes) const {
  if (augmented_ || passes.plain()) return;
  fail(ErrorKind::config,
       {passes.repeat > 1 ? fmt::format("repeat = {} needs augmentation", passes.repeat)
                          : fmt::format("epoch = {} needs augmentation", passes.epoch),
        "without it, the same samples would be repeated",
        entry_.kind == SampleKind::image ? "make the generator with augment=[...], or leave it out"
                                         : "only images are augmented; leave it out"});
}

void GeneratorBatches::make(std::uint64_t first, const TypedBatch& batch, const Passes& passes,
                            const std::vector<float>& latents) {
  expect_own_threads();
  const std::lock_guard lock(turn_);
  emit(stream_, {first, nullptr, passes}, batch, latents);
  stream_.synchronize();
  in_flight_ = false;
}

void GeneratorBatches::enqueue(First first, const TypedBatch& batch, void* native) {
  expect_own_threads();
  if (device().is_cpu())
    fail(ErrorKind::config, {"stream: the generator is on the CPU", "it has no streams",
                             "leave stream out, or make a generator with device='cuda'"});
  const std::lock_guard lock(turn_);
  if (!borrowed_ || borrowed_->native() != native)
    borrowed_ = Stream::borrow(device(), native, stream_.threads());
  emit(*borrowed_, first, batch);
  if (is_captured(*borrowed_)) {
    captured_ = true;
    return;
  }
  enqueued_.record(*borrowed_);
  in_flight_ = true;
}

std::vector<std::string> GeneratorBatches::notes() {
  const std::lock_guard lock(turn_);
  return source_->notes();
}

}  // namespace wellspring::python
