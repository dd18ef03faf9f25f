// Weights from other runs and from other programs' files, for `init.from` and `eval`.
#include "core/io/safetensors.h"
#include "tests/support/plain_safetensors.h"
#include "tests/train/training_testing.h"
#include "train/checkpoint/adapted_tensor.h"
#include "train/checkpoint/checkpoint.h"
#include "train/evaluation/checkpoint_network.h"
#include "train/evaluation/evaluation.h"

#include <array>
#include <cmath>
#include <cstring>
#include <span>

namespace wellspring::test {
namespace {

namespace fs = std::filesystem;

/// Rounds to multiples of 1/64, which have 5 significant bits and are therefore exact in every
/// float type.
void round_values(PlainTensor& tensor) {
  for (std::size_t at = 0; at < tensor.data.size(); at += sizeof(float)) {
    float value = 0;
    std::memcpy(&value, tensor.data.data() + at, sizeof(float));
    value = std::round(std::fmin(std::fmax(value, -0.25f), 0.25f) * 64) / 64;
    std::memcpy(tensor.data.data() + at, &value, sizeof(float));
  }
}

/// A trained model, and a version with rounded weights, as another program might write it.
class WeightTransfer : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    trained_ = std::make_unique<TemporaryFolder>();
    Listener listener;
    Trainer(small_run(trained_->path(), {"train.steps=10"}), listener, test::quick()).run();
  }
  static void TearDownTestSuite() { trained_.reset(); }
  void SetUp() override {
    const SafetensorsFile file(model());
    metadata_ = file.metadata();
    tensors_ = test::read_tensors(file);
    for (PlainTensor& tensor : tensors_) round_values(tensor);
  }

  static fs::path model() { return find_model_file(trained_->path()); }
  fs::path foreign() const { return folder_ / "weights.safetensors"; }
  void write(ElementType type, const TensorMetadata& metadata = {{"format", "pt"}}) const {
    std::vector<PlainTensor> tensors = {test::batch_count("norm")};
    for (const PlainTensor& tensor : tensors_) tensors.push_back(as_type(tensor, type));
    write_plain_safetensors(foreign(), tensors, metadata);
  }
  /// Held-out losses of a run that starts from a file, before its first step.
  std::vector<double> initial_losses(const fs::path& from,
                                     std::vector<std::string> settings = {"init.head=keep"}) {
    settings.push_back("init.from=" + from.string());
    Trainer trainer(small_run("unused", settings), listener_, in_memory());
    note_ = trainer.plan().notes.at(0);
    return losses(trainer.evaluate());
  }
  static std::vector<double> losses(const EvaluationReport& report) {
    std::vector<double> all;
    for (const EvaluationResult& result : report.results) all.push_back(result.loss);
    return all;
  }
  std::string refused(ErrorKind kind, const fs::path& from,
                      const std::vector<std::string>& settings) {
    return message_of(kind, [&] { initial_losses(from, settings); });
  }

  static inline std::unique_ptr<TemporaryFolder> trained_;
  TemporaryFolder folder_;
  TensorMetadata metadata_;
  std::vector<PlainTensor> tensors_;
  Listener listener_;
  std::string note_;
};

TEST_F(WeightTransfer, ReadsFilesOfOtherProgramsWithAnyFloatType) {
  write(ElementType::f32);
  const std::vector<double> expected = initial_losses(foreign());
  expect_parts(note_, {"written by another program, without a digest; loaded 14 tensors"});
  EXPECT_EQ(note_.find("unexpected"), std::string::npos) << note_;
  EXPECT_EQ(note_.find("reset"), std::string::npos) << note_;
  EXPECT_NE(expected, initial_losses(model()));
  EXPECT_EQ(note_.find("foreign"), std::string::npos) << note_;
  for (const ElementType type : {ElementType::f16, ElementType::bf16, ElementType::f64}) {
    write(type);
    EXPECT_EQ(initial_losses(foreign()), expected) << element_name(type);
    expect_parts(note_, {"converted from " + std::string(element_name(type))});
  }
  initial_losses(foreign(), {"init.head=reset"});
  expect_parts(note_, {"loaded 12 tensors", "reset head.weight, head.bias"});
}

TEST_F(WeightTransfer, EvaluatesFilesOfOtherPrograms) {
  for (const ElementType type : {ElementType::f32, ElementType::f16}) {
    write(type);
    const EvaluationReport report = evaluate_checkpoint(foreign(), small_run("unused"), listener_);
    EXPECT_EQ(losses(report), initial_losses(foreign()));
    ASSERT_EQ(report.notes.size(), 1u);
    expect_parts(report.notes[0],
                 {"weights.safetensors: written by another program, without a digest"});
  }
  EXPECT_TRUE(evaluate_checkpoint(model(), small_run("unused"), listener_).notes.empty());
  expect_parts(message_of(ErrorKind::config, [&] { config_of_checkpoint(foreign()); }),
               {"has no configuration", "wellspring eval", "CONFIG.yaml"});
  tensors_.erase(tensors_.begin());
  write(ElementType::f32);
  expect_parts(message_of(ErrorKind::config,
                          [&] { evaluate_checkpoint(foreign(), small_run("unused"), listener_); }),
               {"is missing from the file"});
}

TEST_F(WeightTransfer, ReadsEditedModelsWithoutTheirDigest) {
  write(ElementType::f32, metadata_);
  expect_parts(refused(ErrorKind::data, foreign(), {}),
               {"its digest does not match its content", "metadata without 'digest'"});
  metadata_.erase("digest");
  write(ElementType::f32, metadata_);
  const RunConfig config = config_of_checkpoint(foreign());
  const EvaluationReport report = evaluate_checkpoint(foreign(), config, listener_);
  EXPECT_EQ(losses(report), initial_losses(foreign()));
  EXPECT_EQ(report.step, 10u);
  EXPECT_EQ(report.notes.size(), 1u);
}

TEST_F(WeightTransfer, RefusesInvalidMetadata) {
  metadata_.erase("digest");
  const auto message = [&](const std::string& key, const std::string& value) {
    TensorMetadata changed = metadata_;
    changed[key] = value;
    write(ElementType::f32, changed);
    return refused(ErrorKind::data, foreign(), {"init.head=keep"});
  };
  expect_parts(message("format", "wellspring state 2"), {"not a model file of this version"});
  expect_parts(message("step", "-1"), {"its step '-1' is not a number"});
  expect_parts(message("heads", "[]"), {"its list of heads is empty"});
  expect_parts(message("heads", R"([{"name": "shapes"}])"), {"cannot read the model's metadata"});
  expect_parts(message("input", "{}"), {"cannot read the model's metadata"});
  // One class more than the output layer has.
  std::string heads = metadata_.at("heads");
  const std::string shape = "{\"classes\":[";
  ASSERT_EQ(heads.find(shape), 1u) << heads;
  metadata_["heads"] = "[" + shape + "\"x\"],\"loss\":\"class\",\"name\":\"x\"}," + heads.substr(1);
  write(ElementType::f32, metadata_);
  expect_parts(refused(ErrorKind::config, foreign(), {"init.head=keep"}),
               {"head.weight is [6, 8] in the file", "need [7, 8]"});
}

TEST_F(WeightTransfer, RefusesFilesOfTorchSave) {
  for (const char* begin : {"PK\x03\x04 archive", "\x80\x02 pickle"}) {
    test::spill(folder_ / "weights.pth", begin);
    expect_parts(
        refused(ErrorKind::data, folder_ / "weights.pth", {}),
        {"weights.pth: not a safetensors file", "torch.save", "scripts/torch-weights from-torch"});
  }
}

TEST_F(WeightTransfer, RefusesTensorsThatDoNotFit) {
  for (PlainTensor& tensor : tensors_) tensor.name = "encoder." + tensor.name;
  write(ElementType::f32);
  expect_parts(refused(ErrorKind::config, foreign(), {}),
               {"no tensor has a matching name", "this network has stage0.stem.conv.weight",
                "the file has encoder.", "scripts/torch-weights"});
  write_plain_safetensors(
      foreign(),
      {{"stage0.stem.conv.weight", ElementType::u8, {4, 3, 3, 3}, std::vector<std::byte>(108)}});
  expect_parts(refused(ErrorKind::config, foreign(), {}),
               {"stage0.stem.conv.weight is U8 [4, 3, 3, 3] in the file"});
}

TEST_F(WeightTransfer, RefusesToKeepAnotherHead) {
  const std::vector<std::string> keep = {"init.head=keep", "data.sources.0.params.classes=3"};
  expect_parts(
      refused(ErrorKind::config, model(), keep),
      {"init.head=keep: ", "has a different output layer",
       "head 'shapes' has 4 classes in the file, 3 classes in this network", "init.head=reset"});
  expect_parts(refused(ErrorKind::config, model(),
                       {"init.head=keep", "eval.sources=[]",
                        "data.sources=[{name: a, kind: generator, generator: shapes}]"}),
               {"it has the heads shapes, noise; this network has a"});
  write(ElementType::f32);
  expect_parts(refused(ErrorKind::config, foreign(), keep),
               {"head.weight is [6, 8] in the file, [5, 8] in this network", "init.head=reset"});
  initial_losses(model(), {"init.head=reset", "data.sources.0.params.classes=3"});
  expect_parts(note_, {"reset head.weight, head.bias"});
}

TEST_F(WeightTransfer, KeepsHeadsCommonToBothNetworks) {
  initial_losses(model(), {"init.head=keep", "eval.sources=[{of: noise}]",
                           "data.sources=[{name: noise, kind: generator, generator: noise}, "
                           "{name: more, kind: generator, generator: shapes}]"});
  expect_parts(note_, {"loaded 14 tensors; reset head 'more'"});
}

TEST_F(WeightTransfer, RefusesToKeepARegressionWithOtherOutputs) {
  const auto places = [](const std::string& error) {
    return "heads=[{name: shapes}, {name: noise}, {name: place, loss: regression, targets: [x], "
           "sources: [shapes]" +
           error + "}]";
  };
  const auto train = [&](const std::string& error) {
    Trainer(small_run(folder_.path(), {places(error), "train.steps=2"}), listener_, test::quick())
        .run();
    return find_model_file(folder_.path());
  };
  const fs::path squared = train("");
  expect_parts(refused(ErrorKind::config, squared, {"init.head=keep", places(", error: gaussian")}),
               {"head 'place' has error squared in the file, error gaussian in this network"});
  initial_losses(squared, {"init.head=keep", places(", error: huber, delta: 0.5")});
  expect_parts(note_, {"loaded 14 tensors"});
  initial_losses(squared, {"init.head=keep", "init.shapes=adapt", places(", error: gaussian")});
  expect_parts(note_, {"reset head 'place'"});
}

// An output that the file lacks is new, although another one is kept.
TEST_F(WeightTransfer, KeepsHeadsNextToANewOutput) {
  const std::string unet = "model={name: unet, widths: [4, 8], group_width: 4}";
  Trainer(small_run(folder_.path(), {unet, "train.steps=2", "eval.sources=[{of: shapes}]",
                                     "data.sources=[{name: shapes, kind: generator, generator: "
                                     "shapes}]",
                                     "heads=[{name: mask, loss: pixel_class, sources: [shapes]}]"}),
          listener_, test::quick())
      .run();
  initial_losses(find_model_file(folder_.path()),
                 {unet, "init.head=keep", "eval.sources=[{of: shapes}]",
                  "data.sources=[{name: shapes, kind: generator, generator: shapes}, {name: "
                  "noise, kind: generator, generator: noise}]",
                  "heads=[{name: mask, loss: pixel_class, sources: [shapes]}, {name: noise}]"});
  expect_parts(note_, {"reset head 'noise', sample_head.weight, sample_head.bias"});
}

// Hidden layers of a projection belong to its head.
TEST_F(WeightTransfer, ResetsProjectionsWithTheirHead) {
  const auto settings = [](const std::string& projection) {
    return std::vector<std::string>{
        "data.views=2", "data.augment=[{flip_x: 0.5}]", "eval.sources=[]",
        "heads=[{name: pretext, loss: info_nce, projection: " + projection + "}]"};
  };
  Trainer(small_run(folder_.path(), with(settings("[8, 4]"), {"train.steps=2"})), listener_,
          test::quick())
      .run();
  std::vector<std::string> wider = with(settings("[12, 4]"), {"init.head=reset"});
  wider.push_back("init.from=" + find_model_file(folder_.path()).string());
  const Trainer trainer(small_run("unused", wider), listener_, in_memory());
  expect_parts(trainer.plan().notes.at(0), {"reset ", "hidden1.weight"});
}

TEST_F(WeightTransfer, AdaptsPositionsToTheSizeOfImages) {
  const std::string vit = "model={name: vit, patch: 2, width: 8, depth: 1, heads: 2}";
  Trainer(small_run(folder_.path(), {vit, "train.steps=2"}), listener_, test::quick()).run();
  const fs::path small = find_model_file(folder_.path());
  expect_parts(refused(ErrorKind::config, small, {vit, "data.size=12"}),
               {"pos_embed is [1, 17, 8] in the file, [1, 37, 8] in this network",
                "init.shapes=adapt accepts other image sizes of a vit"});
  initial_losses(small, {vit, "data.size=12", "init.shapes=adapt"});
  expect_parts(note_, {"resized pos_embed from [1, 17, 8] to [1, 37, 8]; reset head.weight"});
  EXPECT_EQ(note_.find("missing"), std::string::npos) << note_;
  // If the network has no class token, the token's position is dropped.
  const std::string mean = "model={name: vit, patch: 2, width: 8, depth: 1, heads: 2, pool: mean}";
  initial_losses(small, {mean, "data.size=12", "init.shapes=adapt"});
  expect_parts(note_, {"resized pos_embed from [1, 17, 8] to [1, 36, 8]", "missing fc_norm.weight",
                       "unexpected cls_token"});
  // Only the class token's position is large, so it must not reach the patches.
  tensors_ = test::read_tensors(SafetensorsFile(small));
  const auto stored = std::ranges::find(tensors_, "pos_embed", &test::PlainTensor::name);
  const auto store = [&](std::int64_t tokens, float first) {
    std::vector<float> values(static_cast<std::size_t>(tokens * 8), 0.5f);
    std::fill_n(values.begin(), 8, first);
    const auto bytes = std::as_bytes(std::span(values));
    stored->shape = {1, tokens, 8};
    stored->data.assign(bytes.begin(), bytes.end());
    write(ElementType::f32);
  };
  store(36, 0.5f);
  const std::vector<std::string> larger = {mean, "data.size=12", "init.shapes=adapt"};
  const std::vector<double> expected = initial_losses(foreign(), larger);
  store(17, 100);
  EXPECT_EQ(initial_losses(foreign(), larger), expected);
  const std::string other = "model={name: vit, patch: 4, width: 8, depth: 1, heads: 2}";
  expect_parts(
      refused(ErrorKind::config, small, {other, "init.shapes=adapt"}),
      {"patch_embed.proj.weight is [8, 3, 2, 2] in the file, [8, 3, 4, 4] in this network",
       "init.shapes=adapt changes only pos_embed and the input channels of the first convolution"});
}

// Positions belong to a grid: 2 x 4 patches have the same number of positions as 4 x 2.
TEST_F(WeightTransfer, AdaptsPositionsToTheProportionsOfImages) {
  const std::string vit = "model={name: vit, patch: 2, width: 8, depth: 1, heads: 2}";
  Trainer(small_run(folder_.path(), {vit, "train.steps=2", "data.size=[4, 8]"}), listener_,
          test::quick())
      .run();
  const fs::path wide = find_model_file(folder_.path());
  initial_losses(wide, {vit, "data.size=[4, 8]"});
  EXPECT_EQ(note_.find("resized"), std::string::npos) << note_;
  expect_parts(refused(ErrorKind::config, wide, {vit, "data.size=[8, 4]"}),
               {"pos_embed is for 4x2 patches in the file, 2x4 in this network",
                "init.shapes=adapt accepts other image sizes"});
  initial_losses(wide, {vit, "data.size=[8, 4]", "init.shapes=adapt"});
  expect_parts(note_, {"resized pos_embed from [1, 9, 8] to [1, 9, 8]"});
  initial_losses(wide, {vit, "data.size=[6, 16]", "init.shapes=adapt"});
  expect_parts(note_, {"resized pos_embed from [1, 9, 8] to [1, 25, 8]"});
}

TEST_F(WeightTransfer, AdaptsTheFirstConvolutionToTheChannels) {
  const auto stem =
      std::ranges::find(tensors_, "stage0.stem.conv.weight", &test::PlainTensor::name);
  ASSERT_NE(stem, tensors_.end());
  std::vector<float> gray(4 * 3 * 3);
  std::memcpy(gray.data(), stem->data.data(), gray.size() * sizeof(float));
  const auto store = [&](const std::vector<float>& values, std::int64_t channels) {
    const auto bytes = std::as_bytes(std::span(values));
    stem->shape = {4, channels, 3, 3};
    stem->data.assign(bytes.begin(), bytes.end());
    write(ElementType::f32);
  };
  store(with_input_channels(gray, 4, 1, 3), 3);
  const std::vector<double> expected = initial_losses(foreign());
  store(gray, 1);
  expect_parts(refused(ErrorKind::config, foreign(), {"init.head=keep"}),
               {"stage0.stem.conv.weight is [4, 1, 3, 3] in the file", "init.shapes=adapt"});
  EXPECT_EQ(initial_losses(foreign(), {"init.head=keep", "init.shapes=adapt"}), expected);
  expect_parts(note_, {"resized stage0.stem.conv.weight from [4, 1, 3, 3] to [4, 3, 3, 3]"});
}

TEST_F(WeightTransfer, ResetsHeadsThatDoNotFit) {
  const std::vector<std::string> adapt = {"init.head=keep", "init.shapes=adapt",
                                          "data.sources.0.params.classes=3"};
  initial_losses(model(), adapt);
  expect_parts(note_, {"loaded 14 tensors; reset head 'shapes'"});
  write(ElementType::f32);
  initial_losses(foreign(), adapt);
  expect_parts(note_, {"loaded 12 tensors; reset head.weight, head.bias"});
}

}  // namespace
}  // namespace wellspring::test
