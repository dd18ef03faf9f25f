// Batches emitted by generator and file sources, for comparison. Tests only; host only.
#pragma once

#include "sources/source_spec.h"
#include "tests/support/host_batch.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace wellspring::test {

inline SourceSpec generator_source(const std::string& generator,
                                   const std::vector<ParamSetting>& settings) {
  SourceSpec spec;
  spec.name = "made";
  spec.generator = generator;
  spec.params = settings;
  spec.seed = 7;
  return spec;
}

inline SourceSpec file_source(const std::filesystem::path& path,
                              const std::vector<ParamSetting>& settings = {},
                              Storage storage = Storage::resident) {
  SourceSpec spec;
  spec.name = "full";
  spec.kind = SourceKind::files;
  spec.path = path.string();
  spec.params = settings;
  spec.storage = storage;
  return spec;
}

/// A source, and a batch of the source's samples [first, first + kRows).
struct EmittedSource {
  static constexpr std::int64_t kRows = 12;

  explicit EmittedSource(const SourceSpec& spec, std::uint64_t first = 0, DType dtype = DType::f32,
                         const Normalisation& normalisation = {})
      : source(make_source(spec, {})) {
    source->normalise(normalisation);
    source->plan(memory, Share::whole(kRows));
    memory.commit();
    source->load(stream);
    batch = std::make_unique<HostBatch>(kRows, source->layout(), dtype);
    std::vector<Slot> slots(kRows);
    for (std::uint32_t row = 0; row < kRows; ++row) slots[row] = {first + row, first + row, 1, row};
    source->emit_range(stream, slots.data(), 1, first, kRows, batch->view());
  }
  SetOverflow overflow() const { return *batch->view().overflow; }

  MemoryPlan memory{Device::cpu()};
  std::unique_ptr<Source> source;
  Stream stream{Device::cpu(), 1};
  std::unique_ptr<HostBatch> batch;
};

}  // namespace wellspring::test
