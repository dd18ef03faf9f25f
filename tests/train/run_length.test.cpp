// Epochs, and runs that are extended.
#include "train/run_length.h"

#include "tests/support/npz_fixtures.h"
#include "tests/train/training_testing.h"
#include "train/run_samples.h"

#include <memory>

namespace wellspring::test {
namespace {

/// A source of `size` samples; only the size matters.
class SizedSource final : public Source {
 public:
  SizedSource(std::string name, std::uint64_t size, std::uint32_t repeats)
      : name_(std::move(name)), size_(size), repeats_(repeats) {}
  const std::string& name() const override { return name_; }
  SampleLayout layout() const override { return {}; }
  const std::vector<std::string>& classes() const override { return none_; }
  const std::vector<std::string>& latent_names() const override { return none_; }
  std::uint64_t size() const override { return size_; }
  std::uint64_t first_evaluation_sample() const override { return 0; }
  std::string summary() const override { return ""; }
  Order order() const override { return {.repeats = repeats_}; }
  void emit(Stream&, const Slot*, std::uint32_t, const BatchView&) override {}
  void emit_range(Stream&, const Slot*, std::uint32_t, std::uint64_t, std::int64_t,
                  const BatchView&) override {}

 private:
  std::string name_;
  std::uint64_t size_;
  std::uint32_t repeats_;
  std::vector<std::string> none_;
};

/// Steps of `epochs` over sources with these sizes and repeats, whose weights are 3 and 1, in
/// batches of 8.
std::int64_t steps_of(int epochs, std::vector<std::pair<std::uint64_t, std::uint32_t>> sizes,
                      std::vector<std::string> settings = {}) {
  settings.insert(settings.end(), {"train.steps=0", "train.epochs=" + std::to_string(epochs)});
  RunConfig config = small_run("unused", std::move(settings));
  Mixture mixture(1);
  const char* names[] = {"shapes", "noise"};
  for (std::size_t i = 0; i < sizes.size(); ++i)
    mixture.add(std::make_unique<SizedSource>(names[i], sizes[i].first, sizes[i].second), {});
  std::vector<std::string> notes;
  settle_epochs(config, mixture, notes);
  EXPECT_EQ(config.train.epochs, 0);
  EXPECT_EQ(notes.size(), 1u);
  return config.train.steps;
}

TEST(Epochs, FollowTheSizeTheShareAndTheRepeatsOfADataSet) {
  // 6 rows of shapes and 2 of noise per step.
  EXPECT_EQ(steps_of(1, {{600, 1}, {0, 1}}), 100);
  EXPECT_EQ(steps_of(3, {{600, 1}, {0, 1}}), 300);
  EXPECT_EQ(steps_of(1, {{601, 1}, {0, 1}}), 101) << "rounded up";
  EXPECT_EQ(steps_of(3, {{601, 1}, {0, 1}}), 301) << "rounded up once";
  EXPECT_EQ(steps_of(2, {{600, 4}, {0, 1}}), 800) << "each repeat is a sample";
  EXPECT_EQ(steps_of(1, {{600, 1}, {300, 1}}), 150) << "the slower one decides";
}

TEST(Epochs, RefuseGeneratorsAndSchedules) {
  expect_parts(message_of(ErrorKind::config,
                          [] {
                            steps_of(1, {{0, 1}, {0, 1}});
                          }),
               {"train.epochs: no source is a data set", "set train.steps"});
  expect_parts(message_of(ErrorKind::config,
                          [] {
                            steps_of(1, {{600, 1}, {0, 1}},
                                     {"data.sources=[{name: shapes, generator: shapes}, "
                                      "{name: noise, generator: noise}]",
                                      "data.schedule=[{at: 0, weights: {shapes: 1, noise: 1}}, "
                                      "{at: 1, weights: {shapes: 1, noise: 2}}]"});
                          }),
               {"train.epochs: data.schedule changes the weights", "set train.steps"});
  // 10^15 rows of the data set come with a third as many generated samples, more than 2^48.
  expect_parts(message_of(ErrorKind::config,
                          [] {
                            steps_of(1000000, {{1000000000, 1}, {0, 1}});
                          }),
               {"ids from 2^48"});
}

TEST(Epochs, RefuseTwoLengths) {
  expect_parts(message_of(ErrorKind::config, [] { small_run("unused", {"train.epochs=2"}); }),
               {"steps: 30 and epochs: 2", "remove one"});
  expect_parts(message_of(ErrorKind::config, [] { small_run("unused", {"train.steps=0"}); }),
               {"steps: 0 without epochs"});
}

class EpochRun : public testing::Test {
 protected:
  EpochRun() {
    std::vector<float> x;
    std::vector<std::int64_t> y;
    for (int i = 0; i < 100; ++i) {
      y.push_back(i % 2);
      for (int k = 0; k < 3; ++k) x.push_back(static_cast<float>((i + k) % 7) + 0.5f);
    }
    write_compressed_npz(folder_ / "a.npz", {{"x", npy_file({ElementType::f32, {100, 3}}, x)},
                                             {"label", npy_file({ElementType::i64, {100}}, y)}});
  }
  std::uint64_t extended(std::vector<std::string> settings = {}) const {
    return extended_steps(config(std::move(settings)), 5, [](const auto& with) {
      std::string command = "COMMAND";
      for (const std::string& setting : with) command += " " + setting;
      return command;
    });
  }
  RunConfig config(std::vector<std::string> settings = {}) const {
    settings.push_back("out=" + (folder_ / "run").string());
    return RunConfig::parse(
        "name: a\ndevice: cpu\nthreads: 1\ndata: {sources: [{name: real, kind: "
        "files, path: " +
            (folder_ / "a.npz").string() +
            "}]}\nmodel: {name: mlp, widths: [8]}\n"
            "optimizer: {floor: 1, warmup: 0}\n"
            "train: {batch: 16, epochs: 2, log_every: 4}\n",
        "a.yaml", settings);
  }
  TemporaryFolder folder_;
};

TEST_F(EpochRun, TrainsResumesAndFinishesOnce) {
  {
    const SignalGuard guard;
    Listener stopper;
    stopper.interrupt_at = 4;
    EXPECT_EQ(Trainer(config(), stopper, quick()).run().status, RunStatus::interrupted);
  }
  Listener listener;
  {
    Trainer trainer(config(), listener, quick());
    EXPECT_EQ(trainer.plan().steps, 13u);  // 200 / 16
    EXPECT_EQ(trainer.run().step, 13u);
  }
  EXPECT_EQ(Trainer(config(), listener, quick()).run().status, RunStatus::already_finished);
  // More epochs extend the run.
  Trainer longer(config({"train.epochs=4"}), listener, quick());
  EXPECT_EQ(longer.step(), 13u);
  EXPECT_EQ(longer.run().step, 25u);
  // Exports contain the samples of all steps.
  const RunConfig resolved = RunConfig::load(folder_ / "run/config.resolved.yaml");
  EXPECT_EQ(resolved.train.steps, 25);
  EXPECT_EQ(RunSamples(config(), {}).count(), 13u * 16u);
}

TEST_F(EpochRun, IsExtendedWhenItHasEnded) {
  expect_parts(message_of(ErrorKind::config, [&] { extended(); }),
               {"--extend:", "has no checkpoint"});
  Listener listener;
  {
    const SignalGuard guard;
    Listener stopper;
    stopper.interrupt_at = 4;
    Trainer(config(), stopper, quick()).run();
  }
  expect_parts(message_of(ErrorKind::config, [&] { extended(); }),
               {"of 13", "only a run that has ended can be extended",
                "continue it without --extend: COMMAND train.steps=13 train.epochs=0"});
  Trainer(config(), listener, quick()).run();
  EXPECT_EQ(extended(), 18u);
}

TEST_F(EpochRun, NamesTheLimitThatHasEndedIt) {
  Listener listener;
  EXPECT_EQ(Trainer(config({"train.max_time=0.000001 s"}), listener, quick()).run().status,
            RunStatus::out_of_time);
  expect_parts(message_of(ErrorKind::config, [&] { extended({"train.max_time=0.000001 s"}); }),
               {"of 13, stopped by train.max_time",
                "COMMAND train.steps=13 train.epochs=0 train.max_time="});
  Trainer(config({"train.max_time=1 h"}), listener, quick()).run();
  EXPECT_EQ(extended({"train.max_time=1 h"}), 18u);
  expect_parts(message_of(ErrorKind::config, [&] { extended({"train.max_time=0.000001 s"}); }),
               {"has reached its limit: stopped by train.max_time", "add train.max_time="});
}

}  // namespace
}  // namespace wellspring::test
