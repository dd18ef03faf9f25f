#include "train/checkpoint/checkpoint.h"

#include "core/io/atomic_folder.h"
#include "core/io/safetensors.h"
#include "tests/support/file_size_limit.h"
#include "tests/train/training_testing.h"
#include "train/evaluation/checkpoint_network.h"
#include "train/evaluation/evaluation.h"

namespace wellspring::test {
namespace {

namespace fs = std::filesystem;

TrainObserver& silent() {
  static TrainObserver observer;
  return observer;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// A finished small run with checkpoints of steps 10, 20 and 30.
class Checkpoints : public ::testing::Test {
 protected:
  // Trains once; each test gets a copy.
  static void SetUpTestSuite() {
    trained_ = std::make_unique<TemporaryFolder>();
    Trainer(small_run(trained_->path()), silent(), quick()).run();
  }
  static void TearDownTestSuite() { trained_.reset(); }
  void SetUp() override { fs::copy(trained_->path(), folder_.path(), fs::copy_options::recursive); }

  fs::path checkpoint(int step) const {
    return folder_.path() / "checkpoints" / ("step-" + std::to_string(step));
  }
  std::string resume_refused(ErrorKind kind, const std::vector<std::string>& overrides = {}) {
    return message_of(kind,
                      [&] { Trainer(small_run(folder_.path(), overrides), silent(), quick()); });
  }

  static inline std::unique_ptr<TemporaryFolder> trained_;
  TemporaryFolder folder_;
};

TEST_F(Checkpoints, KeepTheNewest) {
  EXPECT_EQ(CheckpointStore(folder_.path()).steps(), (std::vector<std::uint64_t>{10, 20, 30}));
  const TemporaryFolder other;
  Trainer(small_run(other.path(), {"train.keep=1"}), silent(), quick()).run();
  EXPECT_EQ(CheckpointStore(other.path()).steps(), (std::vector<std::uint64_t>{30}));
}

TEST_F(Checkpoints, NameTensorsAsTorchDoes) {
  const SafetensorsFile file(checkpoint(30) / "model.safetensors");
  file.verify();
  EXPECT_EQ(file.tensor("stage0.stem.conv.weight").shape, (std::vector<std::int64_t>{4, 3, 3, 3}));
  EXPECT_EQ(file.tensor("stage1.stem.conv.weight").shape, (std::vector<std::int64_t>{8, 4, 3, 3}));
  EXPECT_EQ(file.tensor("stage1.block0.0.norm.weight").shape, (std::vector<std::int64_t>{8}));
  EXPECT_TRUE(contains(file.metadata().at("heads"), "\"circle\""));
  const ModelDescription model = ModelFile(checkpoint(30) / "model.safetensors").described();
  EXPECT_EQ(model.step, 30u);
  EXPECT_EQ(model.input, SampleLayout::image(8, 8, 3));
  ASSERT_EQ(model.heads.size(), 2u);
  EXPECT_EQ(model.heads[0].classes.size(), 4u);
  EXPECT_EQ(model.heads[1].begin, 4);
}

TEST_F(Checkpoints, EvaluateFromAModelFileAlone) {
  const RunConfig config = config_of_checkpoint(folder_.path());
  EXPECT_EQ(config.to_yaml(), small_run(trained_->path()).to_yaml());
  const EvaluationReport report =
      evaluate_checkpoint(checkpoint(30) / "model.safetensors", config, silent());
  EXPECT_EQ(report.results.size(), 2u);
}

TEST_F(Checkpoints, RefuseTruncatedFiles) {
  for (const char* name : {"model.safetensors", "state.safetensors"}) {
    const fs::path file = checkpoint(30) / name;
    const std::string whole = slurp(file);
    spill(file, whole.substr(0, whole.size() - 7));
    const std::string message = resume_refused(ErrorKind::data);
    EXPECT_TRUE(contains(message, name) && contains(message, "bytes")) << message;
    spill(file, whole);
  }
}

TEST_F(Checkpoints, RefuseAlteredFiles) {
  for (const char* name : {"model.safetensors", "state.safetensors"}) {
    const fs::path file = checkpoint(30) / name;
    std::string bytes = slurp(file);
    bytes[bytes.size() - 100] = static_cast<char>(bytes[bytes.size() - 100] ^ 1);
    spill(file, bytes);
    const std::string message = resume_refused(ErrorKind::data);
    EXPECT_TRUE(contains(message, name) && contains(message, "SHA-256")) << message;
    bytes[bytes.size() - 100] = static_cast<char>(bytes[bytes.size() - 100] ^ 1);
    spill(file, bytes);
  }
}

TEST_F(Checkpoints, RefuseADamagedHeader) {
  spill(checkpoint(30) / "checkpoint.json", "{\"step\": 3");
  EXPECT_TRUE(contains(resume_refused(ErrorKind::data), "damaged"));
  spill(checkpoint(30) / "checkpoint.json", "[]");
  EXPECT_TRUE(contains(resume_refused(ErrorKind::data), "damaged"));
  spill(checkpoint(30) / "checkpoint.json", "{\"files\": {\"model.safetensors\": 3}}");
  EXPECT_TRUE(contains(resume_refused(ErrorKind::data), "damaged"));
  for (const char* count : {"1e126", "-1", "2.5"}) {
    spill(checkpoint(30) / "checkpoint.json",
          std::string(R"({"files": {}, "identity": "", "step": 3, "samples": {"a": )") + count +
              "}}");
    EXPECT_TRUE(contains(resume_refused(ErrorKind::data), "damaged")) << count;
  }
  for (
      const char* progress :
      {R"({"evaluated": -1, "since_best": 0})", R"({"evaluated": 1})",
       R"({"evaluated": 1, "since_best": 0, "training_seconds": "long"})",
       R"({"evaluated": 1, "since_best": 0, "best": {"figure": "x", "value": null, "step": 1}})"}) {
    spill(checkpoint(30) / "checkpoint.json",
          std::string(R"({"files": {}, "identity": "", "step": 3, "samples": {}, "progress": )") +
              progress + "}");
    EXPECT_TRUE(contains(resume_refused(ErrorKind::data), "damaged")) << progress;
  }
}

TEST_F(Checkpoints, IgnoreAFolderWithoutHeader) {
  fs::remove(checkpoint(30) / "checkpoint.json");
  const Trainer trainer(small_run(folder_.path()), silent(), quick());
  EXPECT_EQ(trainer.step(), 20u);
}

TEST_F(Checkpoints, RefuseAnotherNetworkAndNameTheDifference) {
  const std::string message = resume_refused(ErrorKind::config, {"model.widths=[4, 12]"});
  EXPECT_TRUE(contains(message, "a different network")) << message;
  EXPECT_TRUE(contains(message, "stage1.stem.conv.weight is F32 [8, 4, 3, 3] in the file"))
      << message;
  EXPECT_TRUE(contains(resume_refused(ErrorKind::config, {"model.blocks=[0, 0]"}),
                       "this network has no stage1.block0.0.conv.weight"));
}

TEST_F(Checkpoints, RefuseAnotherConfigurationAndNameTheDifference) {
  const std::string message =
      resume_refused(ErrorKind::config, {"train.batch=16", "data.sources.0.params.contrast=0.4"});
  EXPECT_TRUE(contains(message, "train.batch: 8 there, 16 here")) << message;
  EXPECT_TRUE(contains(message, "data.sources[0].params.contrast: 0.3 there, 0.4 here")) << message;
}

TEST_F(Checkpoints, RefuseAPathWithoutCheckpoint) {
  const std::string message = message_of(ErrorKind::data, [&] {
    Trainer(small_run(folder_.path()), silent(),
            quick(ResumeChoice::parse((folder_.path() / "checkpoints/step-40").string())));
  });
  EXPECT_TRUE(contains(message, "step-40")) << message;
  message_of(ErrorKind::data, [&] { find_model_file(folder_.path() / "nowhere"); });
  const TemporaryFolder empty;
  EXPECT_TRUE(contains(message_of(ErrorKind::data, [&] { find_checkpoint(empty.path()); }),
                       "no checkpoint found"));
}

TEST_F(Checkpoints, ResumeFromACheckpointOrRunFolderElsewhere) {
  const TemporaryFolder other;
  for (const fs::path& from : {checkpoint(20), folder_.path()}) {
    const Trainer trainer(small_run(other.path()), silent(),
                          quick(ResumeChoice::parse(from.string())));
    EXPECT_EQ(trainer.step(), from == folder_.path() ? 30u : 20u);
  }
}

TEST_F(Checkpoints, RemoveLeftoversOfAKilledRun) {
  std::vector<std::string> before;
  {
    AtomicFolder unfinished(checkpoint(40));
    unfinished.create("model.safetensors").write("half");
    fs::copy(unfinished.temporary(), folder_.path() / "kept", fs::copy_options::recursive);
    before.push_back(unfinished.temporary().string());
  }
  fs::rename(folder_.path() / "kept", before.front());
  CheckpointStore(folder_.path()).clean(30, std::nullopt, 3);
  EXPECT_FALSE(fs::exists(before.front()));
  EXPECT_EQ(CheckpointStore(folder_.path()).steps().size(), 3u);
}

TEST_F(Checkpoints, RemoveLeftoversOfAKilledRemoval) {
  fs::rename(checkpoint(10), checkpoint(8));  // more than `keep`, all complete
  fs::remove(checkpoint(20) / "checkpoint.json");
  fs::copy(checkpoint(30), folder_.path() / "checkpoints/step-mine", fs::copy_options::recursive);
  const CheckpointStore store(folder_.path());
  store.clean(30, std::nullopt, 1);
  EXPECT_EQ(store.steps(), (std::vector<std::uint64_t>{30}));
  EXPECT_FALSE(fs::exists(checkpoint(20)));
  EXPECT_TRUE(fs::exists(folder_.path() / "checkpoints/step-mine"))
      << "not a checkpoint of this program";
}

// A removal may fail, for example when no file descriptor is free.
TEST_F(Checkpoints, RetryAFailedRemovalWithTheNextCheckpoint) {
  Trainer again(small_run(folder_.path()), silent(),
                quick(ResumeChoice::parse(checkpoint(20).string())));
  again.train_until(25);
  const fs::path left = folder_.path() / "checkpoints/.tmp-step-10-1-1";
  fs::copy(checkpoint(10), left, fs::copy_options::recursive);
  again.checkpoint();
  EXPECT_FALSE(fs::exists(left));
}

TEST_F(Checkpoints, DropLaterStepsAfterAResumeFromAnEarlierOne) {
  Trainer again(small_run(folder_.path(), {"train.keep=1"}), silent(),
                quick(ResumeChoice::parse(checkpoint(10).string())));
  again.train_until(15);
  again.checkpoint();
  EXPECT_EQ(CheckpointStore(folder_.path()).steps(), (std::vector<std::uint64_t>{15}));
}

TEST_F(Checkpoints, ReplaceTheOneOfTheLastStepAfterAResumeFromAnEarlierOne) {
  const fs::path last = checkpoint(30), mark = last / "of the first run";
  spill(mark, "");
  fs::remove(folder_.path() / "report.html");  // as if it had not finished
  Trainer(small_run(folder_.path()), silent(), quick(ResumeChoice::parse(last.string()))).run();
  EXPECT_TRUE(fs::exists(mark)) << "this run has made no step";
  Trainer(small_run(folder_.path(), {"train.checkpoint_every=0"}), silent(),
          quick(ResumeChoice::parse(checkpoint(20).string())))
      .run();
  EXPECT_TRUE(fs::exists(last));
  EXPECT_FALSE(fs::exists(mark));
}

TEST(CheckpointOnAFullDisk, KeepsTheOlderOne) {
  const TemporaryFolder folder;
  auto trainer = std::make_unique<Trainer>(small_run(folder.path()), silent(), quick());
  trainer->train_until(10);
  trainer->checkpoint();
  trainer->train_until(15);

  std::string message;
  {
    const test::FileSizeLimit full(1000);
    message = message_of(ErrorKind::runtime, [&] { trainer->checkpoint(); });
  }
  EXPECT_TRUE(contains(message, "step-15")) << message;
  EXPECT_TRUE(contains(message, "step-10")) << message;
  EXPECT_EQ(CheckpointStore(folder.path()).steps(), (std::vector<std::uint64_t>{10}));
  int entries = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder / "checkpoints"))
    ++entries;
  EXPECT_EQ(entries, 1) << "the unfinished checkpoint must be removed";
  trainer.reset();
  Trainer resumed(small_run(folder.path()), silent(), quick());
  EXPECT_EQ(resumed.step(), 10u);
}

}  // namespace
}  // namespace wellspring::test
