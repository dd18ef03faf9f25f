#include "python/generator_batches.h"

#include "core/error.h"
#include "kernels/runtime/launch.h"
#include "sources/mixing/assignment.h"
#include "sources/mixing/device_slots.h"
#include "sources/source_spec.h"

#include <fmt/format.h>

#include "python/process.h"

namespace wellspring::python {
namespace {

constexpr const char* kPlace = "Generator";

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
      stream_(settings.device, settings.threads) {}

std::shared_ptr<BatchMemory> GeneratorBatches::memory(std::int64_t rows, DType dtype) {
  const std::lock_guard lock(turn_);
  return pool_.take(stream_.device(), rows, source_->layout(), dtype);
}

void GeneratorBatches::reserve(std::int64_t rows) {
  if (plan_ && rows <= rows_) return;
  auto plan = std::make_unique<MemoryPlan>(stream_.device());
  before_ = overflow_so_far();  // waits: the latest batch may still use the memory of plan_
  rows_ = 0;                    // until the new plan is complete
  overflow_ = {};
  source_->plan(*plan, Share::whole(rows));
  slots_ = plan->reserve<Slot>("batch", "slots", static_cast<std::size_t>(rows));
  overflow_ = plan->reserve<SetOverflow>("batch", "overflow", 1);
  if (stream_.device().is_cuda() && generator().info().settable_latents > 0)
    latents_ = plan->reserve<float>("batch", "given latents",
                                    static_cast<std::size_t>(rows * layout().latents));
  plan->commit();
  source_->load(stream_);
  plan_ = std::move(plan);
  rows_ = rows;
}

SetOverflow GeneratorBatches::overflow_so_far() {
  SetOverflow sum = before_, latest;
  if (latest_ == nullptr || !overflow_) return sum;
  latest_->synchronize();
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

void GeneratorBatches::emit(Stream& stream, First first, BatchView batch,
                            const std::vector<float>& latents) {
  reserve(batch.size);
  if (latest_ != nullptr && latest_ != &stream && stream.device().is_cuda()) {
    Event done(stream.device());  // batches share scenes and slots
    done.record(*latest_);
    done.wait(stream);
  }
  latest_ = &stream;
  if (first.words != nullptr) {
    map(stream, "slots", batch.size, DeviceRangeSlots{first.words, slots_.data()});
  } else {
    map(stream, "slots", batch.size, RangeSlots{first.id, 0, batch.size, slots_.data()});
  }
  if (batch.layout.kind == SampleKind::set) batch.overflow = overflow_.data();
  const float* given = latents.empty() ? nullptr : latents.data();
  if (given != nullptr && stream.device().is_cuda()) {
    stream.copy(latents_.data(), given, latents.size() * sizeof(float),
                CopyDirection::host_to_device, "latents");
    given = latents_.data();
  }
  source_->emit(stream, slots_.data(), 0, batch, given);
}

void GeneratorBatches::make(std::uint64_t first, BatchView batch,
                            const std::vector<float>& latents) {
  expect_own_threads();
  const std::lock_guard lock(turn_);
  emit(stream_, {first}, batch, latents);
  stream_.synchronize();
}

void GeneratorBatches::enqueue(First first, BatchView batch, void* native) {
  expect_own_threads();
  if (device().is_cpu())
    fail(ErrorKind::config, {"stream: the generator is on the CPU", "it has no streams",
                             "leave stream out, or make a generator with device='cuda'"});
  const std::lock_guard lock(turn_);
  if (!borrowed_ || borrowed_->native() != native) {
    auto stream = Stream::borrow(device(), native, stream_.threads());
    if (latest_ != nullptr) latest_->synchronize();  // the caller changes streams: rare
    latest_ = nullptr;
    borrowed_ = std::move(stream);
  }
  emit(*borrowed_, first, batch);
}

std::vector<std::string> GeneratorBatches::notes() {
  const std::lock_guard lock(turn_);
  return source_->notes();
}

}  // namespace wellspring::python
