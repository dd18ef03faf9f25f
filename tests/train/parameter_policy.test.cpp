// Runs with optimizer.parameters: resumes, transfer, frozen batch norms, memory, refusals.
#include "core/io/safetensors.h"
#include "tests/support/rank_group.h"
#include "tests/train/training_testing.h"
#include "train/check_run.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/model_file.h"

#include <cstddef>
#include <map>

namespace wellspring::test {
namespace {

const std::string kFrozenStages = "optimizer.parameters=[{match: stage*, frozen: true}]";

using Contents = std::map<std::string, std::vector<std::byte>>;

Contents contents(const std::filesystem::path& path) {
  const SafetensorsFile file(path);
  Contents tensors;
  for (const TensorInfo& info : file.tensors()) {
    std::vector<std::byte>& bytes = tensors[info.name];
    bytes.resize(info.bytes);
    file.read(info, bytes);
  }
  return tensors;
}

TEST(ParameterRules, ResumeToEqualBytes) {
  const std::string policy =
      "optimizer.parameters=[{match: stage0.*, frozen: true}, {match: \"*.norm.*\", "
      "weight_decay: 0.1}, {match: head.*, lr_scale: 2}]";
  for (const std::string setting : {"optimizer.kind=sgd", "train.ema=0.9", "train.graph=check"}) {
    SCOPED_TRACE(setting);
    const TemporaryFolder straight, broken;
    Listener listener;
    Trainer whole(small_run(straight.path(), {policy, setting}), listener, quick());
    whole.run();
    {
      Trainer first(small_run(broken.path(), {policy, setting}), listener, quick());
      first.train_until(13);
      first.checkpoint();
    }
    Trainer second(small_run(broken.path(), {policy, setting}), listener, quick());
    EXPECT_EQ(second.step(), 13u);
    second.run();
    EXPECT_EQ(second.state_bytes(), whole.state_bytes());
    expect_same_checkpoints(straight.path(), broken.path());
  }
}

TEST(ParameterRules, RefuseToResumeUnderOthers) {
  const TemporaryFolder folder;
  Listener listener;
  {
    Trainer first(small_run(folder.path()), listener, quick());
    first.train_until(4);
    first.checkpoint();
  }
  const std::string message = message_of(ErrorKind::config, [&] {
    Trainer(small_run(folder.path(), {kFrozenStages}), listener, quick());
  });
  expect_parts(message, {"a different configuration", "optimizer.parameters[0].frozen"});
}

TEST(ParameterRules, KeepFrozenWeightsOfAnotherRun) {
  const TemporaryFolder from, probe;
  Listener listener;
  Trainer(small_run(from.path()), listener, quick()).run();
  const std::string init = "init.from=" + from.path().string();
  Trainer trainer(small_run(probe.path(), {init, kFrozenStages, "train.ema=0.9"}), listener,
                  quick());
  trainer.run();
  const std::int64_t head = 8 * 6 + 6;  // 8 channels, 4 + 2 classes
  EXPECT_EQ(trainer.plan().parameters - trainer.plan().frozen, head);
  const std::filesystem::path file = "checkpoints/step-30/model.safetensors";
  const Contents before = contents(from.path() / file), after = contents(probe.path() / file);
  ASSERT_EQ(before.size(), after.size());
  for (const auto& [name, bytes] : before)
    EXPECT_EQ(bytes == after.at(name), !name.starts_with("head.")) << name;
  // The optimizer has state only for trained parameters; the model file alone is complete.
  const Contents state = contents(probe.path() / "checkpoints/step-30/state.safetensors");
  EXPECT_TRUE(state.contains("first.head.weight"));
  EXPECT_FALSE(state.contains("first.stage0.stem.conv.weight"));
  Trainer again(small_run("unused", {"init.head=keep", "init.from=" + probe.path().string()}),
                listener, in_memory());
  EXPECT_EQ(again.evaluate().results[0].loss, trainer.evaluate().results[0].loss);
}

// A batch norm with frozen parameters uses its running statistics and leaves them unchanged.
TEST(ParameterRules, KeepTheStatisticsOfAFrozenBatchNorm) {
  const TemporaryFolder folder;
  Listener listener;
  const std::vector<std::string> settings = {
      "model={name: resnet20}", "train.steps=3", "train.checkpoint_every=1",
      "optimizer.parameters=[{match: layer1.*, frozen: true}, {match: bn1.weight, frozen: true}, "
      "{match: layer3.*.bias, frozen: true}]"};
  Trainer trainer(small_run(folder.path(), settings), listener, quick());
  trainer.run();
  const auto at = [&](int step) {
    return contents(folder.path() / ("checkpoints/step-" + std::to_string(step)) /
                    "model.safetensors");
  };
  const Contents before = at(1), after = at(3);
  for (const auto& [name, bytes] : before) {
    const bool kept = name.starts_with("layer1.") || name == "bn1.weight" ||
                      (name.starts_with("layer3.") && name.ends_with(".bias"));
    EXPECT_EQ(bytes == after.at(name), kept) << name;
  }
}

/// Two phases after the first: stage1 is trained from step 9, stage0 from step 13.
const std::string kUnfrozen =
    "optimizer.parameters=[{match: stage*, unfreeze_at: 9}, {match: stage0.*, unfreeze_at: 13}]";

/// Trains with a checkpoint after each of 15 steps.
void train_on(int ranks, const TemporaryFolder& folder, const std::string& rules) {
  RankGroup(ranks).run([&](Communicator& rank) {
    Listener listener;
    TrainerOptions options = quick();
    options.ranks = &rank;
    Trainer(small_run(folder.path(),
                      {rules, "train.steps=15", "train.checkpoint_every=1", "train.keep=99",
                       "train.ema=0.9", "train.batch=16", "train.clip=0"}),
            listener, options)
        .run();
  });
}

Contents contents_at(const TemporaryFolder& run, int step, const char* file) {
  return contents(run.path() / ("checkpoints/step-" + std::to_string(step)) / file);
}

// Up to step 9, the run equals a run with all stages frozen.
TEST(Unfreezing, TrainsEachPartFromItsStep) {
  for (const int ranks : {1, 2}) {
    SCOPED_TRACE(ranks);
    const TemporaryFolder folder, frozen;
    train_on(ranks, folder, kUnfrozen);
    train_on(ranks, frozen, kFrozenStages);
    EXPECT_EQ(contents_at(folder, 9, "model.safetensors"),
              contents_at(frozen, 9, "model.safetensors"));
    const auto state = [&](int step) { return contents_at(folder, step, "state.safetensors"); };
    const Contents first = state(1), ninth = state(9), tenth = state(10), thirteenth = state(13),
                   last = state(14);
    for (const std::string array : {"trained.", "first.", "second."}) {
      const std::string early = array + "stage1.stem.conv.weight",
                        late = array + "stage0.stem.conv.weight";
      ASSERT_TRUE(first.contains(early) && first.contains(late)) << early;
      EXPECT_EQ(first.at(early), ninth.at(early)) << early;
      EXPECT_NE(ninth.at(early), tenth.at(early)) << early;
      EXPECT_EQ(first.at(late), thirteenth.at(late)) << late;
      EXPECT_NE(thirteenth.at(late), last.at(late)) << late;
    }
  }
}

TEST(Unfreezing, ResumesToEqualBytesOnBothSidesOfTheBoundary) {
  const std::vector<std::vector<std::string>> settings = {
      {"train.graph=check", "train.ema=0.9", "train.clip=0.5"},
      {"optimizer={kind: sgd, lr: 0.05}", "train.accumulate=2", "train.batch=16", "threads=2"},
      {"precision=bf16", "optimizer.kind=lamb", "train.graph=check"}};
  for (const std::vector<std::string>& more : settings) {
    SCOPED_TRACE(more.front());
    const std::vector<std::string> all = with(more, {kUnfrozen});
    const TemporaryFolder straight;
    Listener listener;
    Trainer whole(small_run(straight.path(), all), listener, quick());
    whole.run();
    for (const std::uint64_t end : {4, 9, 11, 13, 17}) {
      const TemporaryFolder broken;
      {
        Trainer first(small_run(broken.path(), all), listener, quick());
        first.train_until(end);
        first.checkpoint();
      }
      Trainer second(small_run(broken.path(), all), listener, quick());
      EXPECT_EQ(second.step(), end);
      second.run();
      EXPECT_EQ(second.state_bytes(), whole.state_bytes()) << end;
      expect_same_checkpoints(straight.path(), broken.path());
    }
  }
}

TEST(Unfreezing, RecordsTheStepAgain) {
  Listener listener;
  Trainer trainer(small_run("unused", {kUnfrozen}), listener, in_memory());
  trainer.train_until(5);
  const std::size_t before = trainer.census().nodes.size();
  trainer.train_until(20);
  EXPECT_GT(trainer.census().nodes.size(), 0u);
  EXPECT_GE(trainer.census().nodes.size(), before);
  EXPECT_TRUE(trainer.census().no_host_transfer());
}

// A batch norm keeps its statistics until its parameters are trained.
TEST(Unfreezing, UpdatesTheStatisticsOfABatchNormFromItsStep) {
  const TemporaryFolder folder;
  Listener listener;
  const std::vector<std::string> settings = {
      "model={name: resnet20}", "train.steps=4", "train.checkpoint_every=1", "train.keep=4",
      "optimizer.parameters=[{match: layer1.*, unfreeze_at: 2}]"};
  Trainer(small_run(folder.path(), settings), listener, quick()).run();
  const auto at = [&](int step) { return contents_at(folder, step, "model.safetensors"); };
  const Contents first = at(1), second = at(2), third = at(3);
  for (const auto& [name, bytes] : first) {
    const bool kept = name.starts_with("layer1.");
    EXPECT_EQ(bytes == second.at(name), kept) << name;
    EXPECT_NE(second.at(name), third.at(name)) << name;
  }
}

std::size_t group_bytes(const MemoryPlan& memory, const std::string& group) {
  std::size_t bytes = 0;
  for (const Reservation& reservation : memory.reservations())
    if (reservation.group == group) bytes += reservation.bytes;
  return bytes;
}

TEST(ParameterRules, NeedLessMemoryWhereNothingLearns) {
  const auto planned = [](const std::vector<std::string>& settings) {
    const RunConfig config = small_run("unused", settings);
    RunContext context(single_rank(), config.train.batch, Device::cpu(), 1);
    const Mixture mixture = config.open_training();
    const SupervisedTask task(config, context, DType::f32,
                              SupervisedTask::Input::of(config, mixture));
    std::map<std::string, std::size_t> bytes;
    for (const char* group : {"gradients", "optimizer", "activations", "parameters"})
      bytes[group] = group_bytes(context.memory, group);
    return bytes;
  };
  auto all = planned({}), probe = planned({kFrozenStages});
  // The head's 8 * 6 weights and 6 biases, each rounded up to 64 elements.
  EXPECT_EQ(probe["gradients"], 2u * 64 * sizeof(float));
  EXPECT_LT(probe["optimizer"], all["optimizer"]);
  EXPECT_LT(probe["activations"], all["activations"]);
  EXPECT_EQ(probe["parameters"], all["parameters"]);
  // Phases use the same memory in turn.
  auto phases = planned({kUnfrozen});
  for (const char* group : {"gradients", "activations", "parameters"})
    EXPECT_LE(phases[group], all[group] + all[group] / 100) << group;
}

TEST(ParameterRules, AreRefusedBeforeTraining) {
  const auto refused = [](const std::string& rules) {
    return message_of(ErrorKind::config,
                      [&] { check_run(small_run("unused", {"optimizer.parameters=" + rules})); });
  };
  expect_parts(refused("[{match: stge0.*, frozen: true}]"),
               {"matches no parameter", "close names: stage0."});
  expect_parts(refused("[{match: \"*\", frozen: true}]"), {"all parameters are frozen"});
  expect_parts(refused("[{frozen: true}]"), {"match"});
  expect_parts(refused("[{match: head.*}]"), {"optimizer.parameters[0]", "has no effect"});
  expect_parts(refused("[{match: head.*, lrscale: 2}]"),
               {"unknown key 'lrscale'", "did you mean 'lr_scale'?"});
  expect_parts(refused("[{match: \"*\", lr_scale: 0}]"), {"have lr_scale 0"});
  expect_parts(refused("[{match: head.*, lr_scale: -1}]"), {"lr_scale"});
  expect_parts(refused("[{match: head.*, lr_scale: .inf}]"), {"lr_scale"});
  expect_parts(refused("[{match: head.*, weight_decay: .nan}]"), {"weight_decay"});
  expect_parts(refused("[{match: head.*, lr_scale: 1, rate: 1}]"), {"rate"});
  expect_parts(refused("[{match: stage*, unfreeze_at: 30}]"),
               {"unfreeze_at: 30: the run has 30 steps", "use a smaller unfreeze_at"});
  expect_parts(refused("[{match: stage*, unfreeze_at: 0}]"), {"unfreeze_at"});
  expect_parts(refused("[{match: stage*, frozen: false, unfreeze_at: 3}]"),
               {"frozen: false with unfreeze_at"});
  expect_parts(refused("[{match: \"*\", unfreeze_at: 3}]"), {"all parameters are frozen at first"});
  check_run(small_run("unused", {"optimizer.parameters=[]"}));
}

TEST(ParameterRules, RoundTripThroughTheResolvedConfiguration) {
  const std::string yaml =
      small_run("unused", {"optimizer.parameters=[{match: \"*\", lr_scale: 0.1}, {match: head.*, "
                           "weight_decay: 0, frozen: false}, {match: stage*, unfreeze_at: 7}]"})
          .to_yaml();
  const RunConfig config = RunConfig::parse(yaml, "again.yaml");
  EXPECT_EQ(config.to_yaml(), yaml);
  ASSERT_EQ(config.optimizer.parameters.size(), 3u);
  EXPECT_EQ(config.optimizer.parameters[2].unfreeze_at, 7u);
  EXPECT_EQ(config.optimizer.parameters[0].lr_scale, 0.1f);
  EXPECT_FALSE(config.optimizer.parameters[0].frozen.has_value());
  EXPECT_EQ(config.optimizer.parameters[1].weight_decay, 0.0f);
  EXPECT_EQ(small_run("unused").identity_yaml().find("parameters"), std::string::npos);
}

}  // namespace
}  // namespace wellspring::test
