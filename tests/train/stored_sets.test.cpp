// A network for sets learns a class and a regression from a file and its generator together:
// resident, streamed, and after a resume.
#include "core/signals.h"
#include "export/export.h"
#include "tests/train/training_testing.h"

#include <fmt/format.h>

namespace wellspring::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSetRun = R"(name: sets
seed: 7
device: cpu
threads: 1
data:
  sources:
    - {{name: full, kind: files, path: {}, head: jets, storage: {}, ahead: 2}}
    - {{name: jets, kind: generator, generator: ginkgo, params: {{items: 16}}}}
eval: {{samples: 40, sources: [{{of: jets}}]}}
model: {{name: deepset, item_widths: [8], widths: [8], pooling: sum}}
heads:
  - {{name: jets, loss: class}}
  - {{name: parts, loss: regression, targets: [constituents, first_fraction]}}
train: {{batch: 8, steps: 24, log_every: 4, checkpoint_every: 6}}
)";

struct StoredSets : ::testing::Test {
  /// 50 jets with room for 16 items.
  StoredSets() : file(folder / "jets.npz") {
    GeneratorReader feed(make_generator("ginkgo", 1, {{"items", "16"}}), {3, 0, 50});
    export_samples(feed, file, {});
  }
  RunConfig run(const fs::path& out, const std::string& storage = "resident",
                std::vector<std::string> overrides = {}) const {
    overrides.push_back("out=" + out.string());
    return RunConfig::parse(fmt::format(kSetRun, file.string(), storage), "sets.yaml", overrides);
  }

  TemporaryFolder folder;
  fs::path file;
};

TEST_F(StoredSets, TrainAndResumeTogetherWithTheirGenerator) {
  std::vector<std::uint8_t> straight;
  for (const std::string storage : {"resident", "streamed"}) {
    const TemporaryFolder whole_out, broken_out;
    Listener listener;
    Trainer whole(run(whole_out.path(), storage), listener, quick());
    whole.run();
    EXPECT_LT(listener.steps.back().loss, listener.steps.front().loss);
    // Resident and streamed runs must have the same bytes and the same identity.
    if (straight.empty()) straight = whole.state_bytes();
    EXPECT_EQ(whole.state_bytes(), straight);
    {
      const SignalGuard guard;
      Listener stopper;
      stopper.interrupt_at = 9;
      Trainer first(run(broken_out.path(), storage), stopper, quick());
      EXPECT_EQ(first.run().status, RunStatus::interrupted);
    }
    Trainer second(run(broken_out.path(), storage), listener, quick());
    EXPECT_GT(second.step(), 0u);
    second.run();
    EXPECT_EQ(second.state_bytes(), whole.state_bytes());
  }
}

TEST_F(StoredSets, RefuseAMismatchBeforeTheFirstStep) {
  Listener listener;
  const auto refused = [&](const std::vector<std::string>& overrides) {
    return message_of(ErrorKind::config, [&] {
      Trainer(run(folder / "out", "resident", overrides), listener, quick());
    });
  };
  expect_parts(refused({"data.sources.0.items=12"}),
               {"set of up to 16 items", "set of up to 12 items",
                "one network reads the samples of all sources"});
  expect_parts(refused({"heads.1.targets=[constituent]"}),
               {"no source has a latent or target 'constituent'", "did you mean 'constituents'?"});
  expect_parts(
      refused(
          {"heads.1.targets=[momentum]", "data.sources.1.params={items: 16, momentum_high: 500}"}),
      {"target 'momentum' of source 'jets' has the range [400, 500] GeV", "[400, 400] GeV"});
}

TEST_F(StoredSets, RoundTripListsOfNames) {
  const RunConfig config = run(folder / "out", "resident", {"data.sources.0.latents=[latents]"});
  const RunConfig again = RunConfig::parse(config.to_yaml(), "config.resolved.yaml");
  EXPECT_EQ(again.to_yaml(), config.to_yaml());
  Listener listener;
  EXPECT_NO_THROW(Trainer(again, listener, quick()));
}

TEST_F(StoredSets, ReportItemsThatDoNotFit) {
  const TemporaryFolder out;
  Listener listener;
  Trainer trainer(
      run(out.path(), "streamed", {"data.sources.0.items=2", "data.sources.1.params={items: 2}"}),
      listener, quick());
  trainer.run();
  EXPECT_GT(listener.steps.back().overflow.samples, 0u);
}

}  // namespace
}  // namespace wellspring::test
