// A mixture with a source of files, and its emitted rows.
#pragma once

#include "kernels/runtime/step_state.h"
#include "sources/mixture.h"
#include "sources/source_spec.h"
#include "tests/sources/fake_source.h"
#include "tests/support/augmentation.h"
#include "tests/support/host_batch.h"
#include "tests/support/image_fixtures.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace wellspring::test {

inline constexpr int kSide = 12;
inline constexpr SampleShape kShape{kSide, kSide, 3};

inline SourceSpec files(const std::filesystem::path& path) {
  SourceSpec spec;
  spec.name = "real";
  spec.kind = SourceKind::files;
  spec.path = path.string();
  spec.threads = 2;
  spec.ahead = 2;
  return spec;
}

inline SourceSpec with(SourceSpec spec, const std::string& key, const std::string& value) {
  spec.params.push_back({key, value});
  return spec;
}

inline SourceSpec with_storage(SourceSpec spec, Storage storage, int threads = 2) {
  spec.storage = storage;
  spec.threads = threads;
  return spec;
}

/// A source of files, alone or mixed with an endless source.
inline Mixture file_mixture(const SourceSpec& spec, bool mixed, const std::string& yaml = "") {
  Mixture mixture(3);
  SourceContext context;
  context.seed = 5;
  context.training = augmentations_of(yaml);
  mixture.add(make_source(spec, context), {});
  if (!mixed) return mixture;
  const SampleShape shape = mixture.source(0).layout().shape();
  mixture.add(std::make_unique<FakeSource>("fake", FakeSource::Traits{.shape = shape}), {});
  mixture.set_schedule({{0, {0, 1}}, {0.2, {0, 1}}, {0.6, {0.7, 0.3}}, {1, {1, 0}}});
  return mixture;
}

/// A loaded mixture that emits a share of each batch.
struct MixtureRun {
  MixtureRun(Mixture sources, const Share& share, std::uint64_t steps)
      : mixture(std::move(sources)) {
    mixture.plan(memory, share, steps);
    state = memory.reserve<StepState>("state", "step", 1);
    memory.commit();
    mixture.load(stream);
    batch = std::make_unique<HostBatch>(share.rows, mixture.layout());
  }

  void step(std::uint64_t number) {
    state.data()->step = number;
    mixture.before_step(stream, number);
    mixture.emit(stream, state.data(), batch->view());
    mixture.after_step(stream, number);
  }

  MemoryPlan memory{Device::cpu()};  // outlives the threads that fill it
  Mixture mixture;
  Stream stream{Device::cpu(), 1};
  Planned<StepState> state;
  std::unique_ptr<HostBatch> batch;
};

/// The mixture of file_mixture().
struct FileRun : MixtureRun {
  static constexpr std::int64_t kBatch = 8;
  static constexpr std::uint64_t kSteps = 30;

  FileRun(const SourceSpec& spec, bool mixed, const std::string& yaml = "")
      : MixtureRun(file_mixture(spec, mixed, yaml), Share::whole(kBatch), kSteps) {}

  const Dataset& data() const { return *mixture.source(0).rows(); }
};

/// Pixels and labels of all steps, batch by batch.
struct Trace {
  std::vector<float> x;
  std::vector<std::int32_t> labels;
  friend bool operator==(const Trace&, const Trace&) = default;
};

inline Trace trace(const SourceSpec& spec, bool mixed, std::uint64_t first = 0,
                   const std::string& yaml = "") {
  FileRun run(spec, mixed, yaml);
  Trace result;
  for (std::uint64_t s = first; s < FileRun::kSteps; ++s) {
    run.step(s);
    const auto x = run.batch->x();
    const auto label = run.batch->label();
    result.x.insert(result.x.end(), x.begin(), x.end());
    result.labels.insert(result.labels.end(), label.begin(), label.end());
  }
  return result;
}

/// A test with a folder of images of three classes.
class ImageFolderTest : public ::testing::Test {
 protected:
  ImageFolderTest() { write_image_folder(root_, 3, 7, kSide, kSide); }

  TemporaryFolder folder_;
  std::filesystem::path root_ = folder_.path() / "images";
};

}  // namespace wellspring::test
