// Runs with each optimizer and schedule: resumes, rates per block, longer runs, refusals.
#include "tests/train/training_testing.h"
#include "train/checkpoint/checkpoint.h"
#include "train/models/model.h"
#include "train/network/network.h"
#include "train/run_length.h"

#include <map>

namespace wellspring::test {
namespace {

// Each run passes --graph check, is interrupted in the middle, and ends with identical bytes.
TEST(Optimizers, ResumeToEqualBytes) {
  const std::vector<Settings> runs = {
      {"optimizer={kind: sgd, lr: 0.01, nesterov: true}"},
      {"optimizer={kind: lion, lr: 0.001, weight_decay: 0.1}", "train.ema=0.9"},
      {"optimizer={kind: lamb, lr: 0.01, weight_decay: 0.01}"},
      {"optimizer={kind: lars, lr: 1, weight_decay: 0.01}"},
      {"optimizer={kind: lars, lr: 1, weight_decay: 0.01, momentum: 0}"},
      {"optimizer.layer_decay=0.5", "optimizer.agc=0.01",
       "optimizer.parameters=[{match: stage0.*, frozen: true}]"},
      {"optimizer.schedule=one_cycle", "optimizer.warmup=0.6"},
      {"optimizer.schedule=constant", "optimizer.cooldown=0.7"},
      {"optimizer.schedule=step", "optimizer.milestones=[0.2, 0.5]"},
      {"train.batch=16", "train.accumulate=2", "train.ema=0.9"},
  };
  for (const Settings& settings : runs) {
    SCOPED_TRACE(settings.front());
    const Settings all = with(settings, {"train.graph=check"});
    const TemporaryFolder straight, broken;
    Listener listener;
    Trainer whole(small_run(straight.path(), all), listener, quick());
    whole.run();
    {
      Trainer first(small_run(broken.path(), all), listener, quick());
      first.train_until(13);
      first.checkpoint();
    }
    Trainer second(small_run(broken.path(), all), listener, quick());
    EXPECT_EQ(second.step(), 13u);
    second.run();
    EXPECT_EQ(second.state_bytes(), whole.state_bytes());
    expect_same_checkpoints(straight.path(), broken.path());
  }
}

TEST(Optimizers, RoundTripThroughTheResolvedConfiguration) {
  for (const Settings& settings : std::vector<Settings>{
           {},
           {"optimizer={kind: lion, layer_decay: 0.75, agc: 0.02, schedule: linear, floor: 0.1}"},
           {"optimizer={kind: lars, trust_coefficient: 0.01, schedule: step, milestones: [0.5]}"},
           {"optimizer={kind: lamb, schedule: one_cycle, warmup: 0.3, start: 0.1}"},
           {"optimizer={schedule: constant, cooldown: 0.2, floor: 0.01}", "train.accumulate=1"},
           {"optimizer={schedule: constant}", "train.batch=16", "train.accumulate=2"}}) {
    const std::string yaml = small_run("unused", settings).to_yaml();
    EXPECT_EQ(RunConfig::parse(yaml, "again.yaml").to_yaml(), yaml);
  }
  // Settings that a file omits are not part of its identity, so older checkpoints continue.
  const std::string plain = small_run("unused").identity_yaml();
  for (const char* key : {"schedule: ", "layer_decay", "agc", "trust", "accumulate", "cooldown"})
    EXPECT_EQ(plain.find(key), std::string::npos) << key;
}

TEST(Optimizers, HaveTheDefaultsOfTheirPublications) {
  EXPECT_EQ(small_run("unused", {"optimizer.kind=lion"}).optimizer.spec.beta2, 0.99f);
  EXPECT_EQ(small_run("unused", {"optimizer.kind=lamb"}).optimizer.spec.epsilon, 1e-6f);
  EXPECT_EQ(small_run("unused").optimizer.spec.beta2, 0.999f);
  EXPECT_EQ(
      small_run("unused", {"optimizer.kind=lion", "optimizer.beta2=0.98"}).optimizer.spec.beta2,
      0.98f);
}

TEST(Optimizers, RefuseSettingsWithoutEffect) {
  const auto refused = [](const Settings& settings, const std::vector<std::string>& parts) {
    expect_parts(message_of(ErrorKind::config, [&] { small_run("unused", settings); }), parts);
  };
  refused({"optimizer.trust_coefficient=0.1"}, {"trust_coefficient", "adamw", "lars"});
  refused({"optimizer.nesterov=true"}, {"nesterov does not apply to adamw", "kind: sgd"});
  refused({"optimizer.gamma=0.5"}, {"gamma does not apply to this schedule", "schedule: step"});
  refused({"optimizer.cooldown=0.5"}, {"cooldown does not apply", "schedule: constant"});
  refused({"optimizer.start=0.5", "optimizer.schedule=linear"}, {"schedule: one_cycle"});
  refused({"optimizer.schedule=step"}, {"milestone", "[0.5, 0.75]"});
  refused({"optimizer.schedule=step", "optimizer.milestones=[0.7, 0.5]"}, {"not increasing"});
  refused({"optimizer.schedule=step", "optimizer.milestones=[0.01]"}, {"not increasing"});
  refused({"optimizer.schedule=step", "optimizer.milestones=[0.5]", "optimizer.floor=0.1"},
          {"floor has no effect", "gamma"});
  refused({"optimizer.schedule=constant", "optimizer.floor=0.1"}, {"floor", "cooldown"});
  refused({"optimizer.schedule=constant", "optimizer.cooldown=0.6", "optimizer.warmup=0.5"},
          {"longer than the run"});
  refused({"optimizer.schedule=cosin"}, {"cosine"});
  Listener listener;
  expect_parts(message_of(ErrorKind::config,
                          [&] {
                            Trainer(small_run("unused", {"model={name: mlp, widths: []}",
                                                         "optimizer.layer_decay=0.5"}),
                                    listener, in_memory());
                          }),
               {"optimizer.layer_decay", "a single block"});
}

// The blocks of some parameters, and the last block, as timm 1.0 numbers them in
// param_groups_layer_decay.
TEST(LayerDecay, DividesNetworksAsTimmDoes) {
  struct Row {
    const char* model;
    std::vector<ParamSetting> settings;
    int last;
    std::map<std::string, int> blocks;
  };
  const Row rows[] = {
      {"resnet18",
       {},
       9,
       {{"conv1.weight", 0},
        {"bn1.bias", 0},
        {"layer1.0.conv1.weight", 1},
        {"layer1.1.bn2.weight", 2},
        {"layer2.0.downsample.0.weight", 3},
        {"layer4.1.conv2.weight", 8},
        {"fc.weight", 9},
        {"fc.bias", 9}}},
      {"vit",
       {{"patch", "8", {}}},
       13,
       {{"cls_token", 0},
        {"pos_embed", 0},
        {"patch_embed.proj.weight", 0},
        {"blocks.0.norm1.weight", 1},
        {"blocks.11.mlp.fc2.bias", 12},
        {"norm.weight", 12},
        {"head.weight", 13}}},
      {"vit",
       {{"patch", "8", {}}, {"pool", "mean", {}}},
       13,
       {{"blocks.11.norm1.weight", 12}, {"fc_norm.weight", 13}, {"head.weight", 13}}},
      {"convnext",
       {},
       19,
       {{"stem.0.weight", 0},
        {"stem.1.bias", 0},
        {"stages.0.blocks.0.gamma", 1},
        {"stages.1.downsample.1.weight", 4},
        {"stages.1.blocks.0.norm.weight", 4},
        {"stages.1.blocks.1.norm.weight", 5},
        {"stages.3.blocks.2.mlp.fc1.weight", 18},
        {"head.norm.weight", 19},
        {"head.fc.weight", 19}}},
  };
  for (const Row& row : rows) {
    Stream stream(Device::cpu(), 1);
    MemoryPlan memory(Device::cpu());
    Network network(make_model(row.model, row.settings)->record(SampleLayout::image(32, 32, 3), 10),
                    {}, stream, memory);
    int last = 0;
    std::map<std::string, int> found;
    for (const ParameterTensor& tensor : network.parameters().tensors()) {
      last = std::max(last, tensor.block);
      found[tensor.name] = tensor.block;
    }
    EXPECT_EQ(last, row.last) << row.model;
    for (const auto& [name, block] : row.blocks) EXPECT_EQ(found.at(name), block) << name;
  }
}

TEST(LayerDecay, CountsTheOutputLayerOfItemsAsTheLastBlock) {
  Stream stream(Device::cpu(), 1);
  MemoryPlan memory(Device::cpu());
  const auto model = make_model("transformer", {{"depth", "2", {}}, {"heads", "2", {}}});
  Network network(
      model->record(SampleLayout::set(8, 4), {{.name = kItemOutput, .width = 2, .dense = true}}),
      {}, stream, memory);
  for (const ParameterTensor& tensor : network.parameters().tensors())
    EXPECT_EQ(tensor.block, tensor.name.starts_with("item_head") ? 3
                            : tensor.name.starts_with("block0.") ? 1
                            : tensor.name.starts_with("embed")   ? 0
                                                                 : 2)
        << tensor.name;
}

// A constant rate continues; a cool-down is repeated from an earlier checkpoint.
TEST(Schedules, KeepTheRatesOfEarlierStepsInLongerRuns) {
  const Settings constant = {"optimizer.schedule=constant", "optimizer.warmup=0"};
  EXPECT_TRUE(may_be_longer(small_run("unused", constant)));
  EXPECT_FALSE(may_be_longer(small_run("unused")));
  const Settings cooling = {"optimizer.schedule=constant", "optimizer.warmup=0.1",
                            "optimizer.cooldown=0.4"};  // 3 and 12 of 30 steps
  EXPECT_FALSE(may_be_longer(small_run("unused", cooling)));
  const TemporaryFolder folder, longer;
  Listener listener;
  Trainer(small_run(folder.path(), cooling), listener, quick()).run();
  const Settings other = {"optimizer.schedule=constant", "optimizer.cooldown=0.4",
                          "train.steps=60"};
  const Settings more = with(other, {"optimizer.warmup=0.05"});
  const auto from = [&](const char* step) {
    return quick({ResumeChoice::Kind::path, folder.path() / "checkpoints" / step});
  };
  EXPECT_EQ(Trainer(small_run(longer.path(), more), listener, from("step-10")).step(), 10u);
  expect_parts(
      message_of(ErrorKind::config,
                 [&] { Trainer(small_run(longer.path(), more), listener, from("step-30")); }),
      {"planned for 30 steps and cannot be extended to 60", "before step 30",
       "optimizer.schedule=constant before its cool-down, so from a checkpoint up to step 18"});
  expect_parts(message_of(ErrorKind::config,
                          [&] {
                            Trainer(small_run(longer.path(), with(other, {"optimizer.warmup=0.1"})),
                                    listener, from("step-10"));
                          }),
               {"3 warm-up steps", "optimizer.warmup=0.05"});
}

}  // namespace
}  // namespace wellspring::test
