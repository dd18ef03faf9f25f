// Exit codes and messages of `train` with bad data or bad checkpoints.
#include "core/io/npy.h"
#include "generators/generator.h"
#include "tests/cli/command.h"
#include "tests/support/dataset_fixtures.h"
#include "tests/support/error_testing.h"
#include "tests/support/image_fixtures.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace wellspring::test {
namespace {

namespace fs = std::filesystem;

constexpr int kSide = 12;

/// Image files of two classes, and a short run on them.
constexpr const char* kFilesRun = R"(name: files
device: cpu
threads: 1
data:
  size: 12
  sources:
    - {name: real, kind: files, path: images}
eval:
  sources:
    - {of: real, path: held_out}
model: {name: mlp, widths: [32]}
train: {batch: 2, steps: 12, log_every: 4, checkpoint_every: 4, keep: 9}
)";

class TrainInput : public testing::Test {
 protected:
  TrainInput() {
    spill(folder() / "files.yaml", kFilesRun);
    write_image_folder(folder() / "images", 2, 3, kSide, kSide);
    write_image_folder(folder() / "held_out", 2, 1, kSide, kSide, 50'000);
  }
  fs::path folder() const { return folder_.path(); }
  fs::path checkpoint(int step) const {
    return folder() / "runs/files/checkpoints" / ("step-" + std::to_string(step));
  }
  Outcome train(std::vector<std::string> overrides = {}) const {
    overrides.insert(overrides.begin(), {"train", "files.yaml"});
    return wellspring(overrides, folder());
  }
  void expect_refused(int exit_code, const std::vector<std::string>& parts,
                      const std::vector<std::string>& overrides = {}) const {
    const Outcome outcome = train(overrides);
    EXPECT_EQ(outcome.exit_code, exit_code) << outcome.out;
    expect_parts(outcome.err, parts);
  }

 private:
  TemporaryFolder folder_;
};

// ---- images -------------------------------------------------------------------------------------

struct BadData {
  const char* what;
  std::function<void(const fs::path&)> prepare;  ///< called with the folder of the run
  std::vector<std::string> parts;                ///< parts of the message
  std::string path = "images";
  std::vector<std::string> overrides = {};
};

void PrintTo(const BadData& data, std::ostream* out) {
  *out << data.what;
}

/// Writes an image of the second class, which comes after good images.
BadData bad_image(const char* what, const std::string& name, const Bytes& bytes,
                  std::vector<std::string> parts) {
  const std::string path = "images/class1/" + name;
  parts.push_back(path + ": ");
  return {what, [=](const fs::path& folder) { write_bytes(folder / path, bytes); }, parts};
}

Bytes pixels(int width = kSide, int height = kSide) {
  return noise_rgb(width, height, 1);
}
Bytes good_jpeg() {
  return encode_jpeg(pixels(), kSide, kSide);
}
Bytes shortened(Bytes bytes, std::size_t by) {
  bytes.resize(bytes.size() - by);
  return bytes;
}

/// Images of the run's size as arrays of two classes, with the given labels.
BadData bad_arrays(const char* what, std::int64_t rows, const std::vector<std::int64_t>& labels,
                   std::size_t cut_off, std::vector<std::string> parts) {
  const auto prepare = [=](const fs::path& folder) {
    const wellspring::ArraySpec images{wellspring::ElementType::u8, {rows, kSide, kSide, 3}};
    const Bytes x(images.count(), 7);
    write_npy(folder / "x.npy", images, std::as_bytes(std::span(x)));
    fs::resize_file(folder / "x.npy", fs::file_size(folder / "x.npy") - cut_off);
    write_npy(folder / "y.npy",
              {wellspring::ElementType::i64, {static_cast<std::int64_t>(labels.size())}},
              std::as_bytes(std::span(labels)));
  };
  return {what,
          prepare,
          std::move(parts),
          "x.npy",
          {"data.sources.0.labels=y.npy", "data.sources.0.classes=2"}};
}

/// One error per kind of data and per format; tests/sources checks the others.
class RefusedData : public TrainInput, public testing::WithParamInterface<BadData> {};

TEST_P(RefusedData, ExitsBeforeTheFirstStep) {
  GetParam().prepare(folder());
  for (const char* storage : {"resident", "streamed"}) {
    std::vector<std::string> overrides = GetParam().overrides;
    overrides.push_back("data.sources.0.path=" + GetParam().path);
    overrides.push_back(std::string("data.sources.0.storage=") + storage);
    expect_refused(3, GetParam().parts, overrides);
  }
  EXPECT_FALSE(fs::exists(folder() / "runs/files/metrics.jsonl"));
}

INSTANTIATE_TEST_SUITE_P(
    Data, RefusedData,
    testing::Values(
        BadData{"EmptyClassFolder",
                [](const fs::path& folder) { fs::create_directory(folder / "images/class2"); },
                {"images: class folder 'class2' has no images", "fill the folder or remove it"}},
        BadData{"TruncatedArchive",
                [](const fs::path& folder) {
                  TarWriter tar;
                  tar.add("a/1.jpg", good_jpeg());
                  tar.add("b/1.jpg", good_jpeg());
                  write_bytes(folder / "set.tar", shortened(tar.body(), 300));
                },
                {"set.tar: the tar archive is truncated within b/1.jpg", "download the archive"},
                "set.tar"},
        BadData{
            "NoDataSet",
            [](const fs::path&) {},
            {"files.yaml: cannot tell the format from the file name", "wellspring list formats"},
            "files.yaml"},
        BadData{"NoArchive",
                [](const fs::path&) {},
                {"files.yaml: not a tar or zip archive", "a folder of class folders"},
                "files.yaml",
                {"data.sources.0.format=tar"}},
        bad_arrays("TruncatedArray", 3, {0, 1, 1}, 100,
                   {"x.npy: cannot read the NumPy array", "1296"}),
        bad_arrays("LabelOutOfRange", 3, {0, 7, 1}, 0, {"y.npy: row 1 has label 7", "2 classes"}),
        BadData{"TruncatedCifar",
                [](const fs::path& folder) {
                  write_as_cifar(folder / "cifar", labelled_noise(2, 2, 32));
                  fs::resize_file(folder / "cifar/data_batch_2.bin", 4000);
                },
                {"data_batch_2.bin: 4000 bytes", "a record has 3073 bytes"},
                "cifar"},
        BadData{"MissingPath", [](const fs::path&) {}, {"image: no such", "'images'"}, "image"},
        bad_image("EmptyFile", "x.jpg", {}, {"the file is empty", "on_error: skip"}),
        bad_image("ImageOfAnotherSize", "x.png", encode_png(pixels(16, 8), 16, 8),
                  {"image of 16x8 pixels", "has 12x12", "set resize: 12"})),
    [](const auto& test) { return test.param.what; });

TEST_F(TrainInput, RefusesDamagedResidentImagesAtTheStart) {
  write_bytes(folder() / "images/class1/x.jpg", shortened(good_jpeg(), 60));
  expect_refused(3,
                 {"images/class1/x.jpg: damaged JPEG", "replace the file, or set on_error: skip"});
  EXPECT_FALSE(fs::exists(folder() / "runs/files/metrics.jsonl"));
}

TEST_F(TrainInput, SavesACheckpointAtADamagedStreamedImage) {
  // Six images in order, in batches of two: step 2 begins with the damaged image.
  const std::vector<std::string> streamed = {"data.sources.0.storage=streamed",
                                             "data.sources.0.shuffle=false"};
  const fs::path file = folder() / "images/class1/001.jpg";
  const std::string sound = slurp(file);
  spill(file, sound.substr(0, sound.size() - 60));
  expect_refused(3,
                 {"step 2: images/class1/001.jpg: damaged JPEG",
                  "saved in runs/files/checkpoints/step-2", "the same command resumes it"},
                 streamed);
  spill(file, sound);
  const Outcome resumed = train(streamed);
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  expect_parts(resumed.out, {"resumed at step 2"});
}

TEST_F(TrainInput, SavesACheckpointAtADamagedHeldOutImage) {
  const fs::path file = folder() / "held_out/class1/000.jpg";
  const std::string sound = slurp(file);
  spill(file, sound.substr(0, sound.size() - 60));
  const std::vector<std::string> streamed = {"data.sources.0.storage=streamed"};
  expect_refused(
      3,
      {"step 12: held_out/class1/000.jpg: damaged JPEG", "saved in runs/files/checkpoints/step-12"},
      streamed);
  spill(file, sound);
  const Outcome evaluated = train(streamed);
  EXPECT_EQ(evaluated.exit_code, 0) << evaluated.err;
  expect_parts(evaluated.out, {"resumed at step 12", "held out, real: accuracy"});
}

// Refuses held-out files that are also training files; reports copies of training images.
TEST_F(TrainInput, ReportsHeldOutImagesInTheTrainingData) {
  expect_refused(3,
                 {"held-out source 'real'", "images/class0/000.jpg is also trained on",
                  "path:, split: or rows: in eval.sources"},
                 {"eval.sources.0.path=./images"});
  fs::copy_file(folder() / "images/class1/002.png", folder() / "held_out/class1/002.png");
  const Outcome outcome = train();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  expect_parts(outcome.out,
               {"held out 'real': 1 of 3 rows are also in training source 'real'; for example",
                "held_out/class1/002.png equals images/class1/002.png",
                "3 samples, 1 of them also in the training data"});
}

TEST_F(TrainInput, ReportsAMissingHeldOutFolder) {
  expect_refused(3, {"held-out source 'real': nowhere: no such"}, {"eval.sources.0.path=nowhere"});
}

TEST_F(TrainInput, RefusesLabelsThatDoNotMatchTheHead) {
  write_image_folder(folder() / "three", 3, 1, kSide, kSide);
  expect_refused(3,
                 {"'real' has 3 classes", "head 'real' has 2",
                  "the same class in the network and in the data"},
                 {"eval.sources.0.path=three"});
  expect_refused(2,
                 {"head 'real': source 'more' has 3 classes (class0, class1, class2)",
                  "but an earlier source has 2"},
                 {"data.sources=[{name: real, kind: files, path: images}, "
                  "{name: more, kind: files, path: three, head: real}]"});
  ASSERT_EQ(train().exit_code, 0);
  const Outcome evaluated =
      wellspring({"eval", "runs/files", "files.yaml", "eval.sources.0.path=three"}, folder());
  EXPECT_EQ(evaluated.exit_code, 3) << evaluated.out;
  expect_parts(evaluated.err, {"'real' has 3 classes", "head 'real' has 2"});
}

// ---- names --------------------------------------------------------------------------------------

// 0xE9 is e with an acute accent in Latin-1, and invalid UTF-8 here.
TEST_F(TrainInput, RefusesNamesThatAreNotUtf8) {
  for (const char* const key :
       {"name", "out", "data.root", "data.sources.0.path", "init.from", "data.sources.0.name"}) {
    expect_refused(2, {"command line: not UTF-8", "caf\\xe9"},
                   {std::string(key) + "=images/caf\xe9"});
  }
  fs::rename(folder() / "images/class1", folder() / "images/caf\xe9");
  expect_refused(3, {"source 'real': the name of class 'caf\\xe9' is not UTF-8", "rename"});
  fs::rename(folder() / "images/caf\xe9", folder() / "images/class1");
  fs::copy(folder() / "files.yaml", folder() / "caf\xe9.yaml");
  const Outcome named = wellspring({"train", "caf\xe9.yaml"}, folder());
  EXPECT_EQ(named.exit_code, 0) << named.err;  // the configuration sets the run's `name`
  spill(folder() / "caf\xe9.yaml", slurp(folder() / "files.yaml").substr(12));
  const Outcome unnamed = wellspring({"train", "caf\xe9.yaml"}, folder());
  EXPECT_EQ(unnamed.exit_code, 2) << unnamed.err;
  expect_parts(unnamed.err,
               {"'caf\\xe9' cannot name a run: the run is named after the file", "name=NAME"});
}

TEST_F(TrainInput, AcceptsUmlauts) {
  fs::rename(folder() / "images/class1", folder() / "images/M\xc3\xbchle");
  fs::rename(folder() / "held_out/class1", folder() / "held_out/M\xc3\xbchle");
  const Outcome outcome = train({"name=caf\xc3\xa9", "out=runs/\xe2\x82\xac"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(wellspring({"eval", "runs/\xe2\x82\xac"}, folder()).exit_code, 0);
}

TEST_F(TrainInput, EscapesTerminalControlsInNames) {
  fs::rename(folder() / "images/class1", folder() / "images/\x1b[31mred");
  fs::rename(folder() / "held_out/class1", folder() / "held_out/\x1b[31mred");
  fs::copy_file(folder() / "images/class0/000.jpg", folder() / "held_out/class0/\x1b]0;1.jpg");
  const Outcome fine = train({"out=runs/\x1b[2J"});
  EXPECT_EQ(fine.exit_code, 0) << fine.err;
  expect_parts(fine.out, {"\\x1b[2J", "held_out/class0/\\x1b]0;1.jpg"});
  write_bytes(folder() / "images/\x1b[31mred/\x1b[2J.jpg", shortened(good_jpeg(), 60));
  const Outcome refused = train({"out=runs/\x1b[3J"});
  EXPECT_EQ(refused.exit_code, 3) << refused.err;
  expect_parts(refused.err, {"\\x1b[31mred/\\x1b[2J.jpg: damaged JPEG"});
  const Outcome config = wellspring({"config", "files.yaml", "out=\x1b[2J"}, folder());
  for (const Outcome& outcome : {fine, refused, config}) {
    EXPECT_EQ((outcome.out + outcome.err).find('\x1b'), std::string::npos)
        << outcome.out << outcome.err;
  }
}

// ---- checkpoints --------------------------------------------------------------------------------

TEST_F(TrainInput, RefusesDamagedCheckpoints) {
  ASSERT_EQ(train().exit_code, 0);
  const fs::path file = checkpoint(12) / "model.safetensors";
  const std::string whole = slurp(file);
  const auto refused = [&](const std::string& bytes, const std::string& why) {
    spill(file, bytes);
    expect_refused(3, {"step-12/model.safetensors: the checkpoint is damaged", why,
                       "remove this checkpoint folder"});
    return wellspring({"eval", "runs/files"}, folder()).exit_code;
  };
  EXPECT_EQ(refused(whole.substr(0, whole.size() / 2), "bytes"), 3);
  std::string altered = whole;
  altered.back() = static_cast<char>(altered.back() ^ 1);
  EXPECT_EQ(refused(altered, "SHA-256"), 3);
  // Once the damaged checkpoint is removed as advised, training resumes from the previous one.
  fs::remove_all(checkpoint(12));
  const Outcome resumed = train();
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  expect_parts(resumed.out, {"resumed at step 8"});
}

TEST_F(TrainInput, RefusesCheckpointsOfAnotherRun) {
  ASSERT_EQ(train().exit_code, 0);
  expect_refused(2, {"contains a different network", "[16, 432] in this network", "init.from"},
                 {"model.widths=[16]"});
  expect_refused(
      2, {"a different configuration", "train.batch: 2 there, 3 here", "another out=FOLDER"},
      {"train.batch=3"});
}

TEST_F(TrainInput, RefusesCheckpointsOfAnotherGeneratorVersion) {
  const std::vector<std::string> shapes = {
      "data.sources=[{name: real, kind: generator, generator: shapes}]", "eval.sources=[]"};
  const Outcome trained = train(shapes);
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const fs::path header = checkpoint(12) / "checkpoint.json";
  const std::string version =
      fmt::format("generator_version: {}", make_generator("shapes", 8)->info().version);
  std::string text = slurp(header);
  const std::size_t at = text.find(version);
  ASSERT_NE(at, std::string::npos) << text;
  spill(header, text.replace(at, version.size(), "generator_version: 99"));
  expect_refused(2,
                 {"a different configuration", "generator_version: 99 there",
                  "a different generator version makes different samples"},
                 shapes);
}

TEST_F(TrainInput, RefusesCheckpointsOfOtherFiles) {
  ASSERT_EQ(train().exit_code, 0);
  fs::remove_all(checkpoint(12));
  write_bytes(folder() / "images/class0/new.jpg", good_jpeg());
  expect_refused(3, {"step-8: source 'real' had 6 samples and now has 7",
                     "the order of the samples would differ", "restore the files"});
  fs::remove(folder() / "images/class0/new.jpg");
  EXPECT_EQ(train().exit_code, 0);
}

TEST_F(TrainInput, ReportsASkippedIncompleteCheckpoint) {
  ASSERT_EQ(train().exit_code, 0);
  fs::remove(checkpoint(12) / "checkpoint.json");
  const Outcome resumed = train();
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  expect_parts(resumed.out, {"resumed at step 8", "step-12 is incomplete and was not used"});
}

// An instruction set limit for oneDNN also limits our kernels. Every processor that can run the
// program has AVX2.
TEST_F(TrainInput, ReportsAChangedInstructionSet) {
  const auto train_with = [&](const char* set, const std::vector<std::string>& settings) {
    std::vector<std::string> arguments = {"train", "files.yaml", "optimizer.floor=1",
                                          "optimizer.warmup=0"};
    arguments.insert(arguments.end(), settings.begin(), settings.end());
    return wellspring(arguments, folder(), {{"ONEDNN_MAX_CPU_ISA", set}});
  };
  ASSERT_EQ(train_with("SSE41", {"train.steps=4"}).exit_code, 0);
  const Outcome same = train_with("SSE41", {"train.steps=8"});
  EXPECT_EQ(same.exit_code, 0) << same.err;
  EXPECT_EQ(same.out.find("computed with"), std::string::npos) << same.out;
  const Outcome changed = train_with("ALL", {});
  EXPECT_EQ(changed.exit_code, 0) << changed.err;
  expect_parts(changed.out, {"resumed at step 8", "the steps before 8 were computed with older",
                             "in their last bits"});
}

TEST_F(TrainInput, RefusesALoopOfLinksAsWeights) {
  fs::create_symlink("loop", folder() / "loop");
  expect_refused(3, {"loop: cannot read", "symbolic links"}, {"init.from=loop"});
}

TEST_F(TrainInput, RefusesFilesThatAreNotCheckpoints) {
  const auto evaluate = [&](const char* file) { return wellspring({"eval", file}, folder()); };
  const Outcome configuration = evaluate("files.yaml");
  EXPECT_EQ(configuration.exit_code, 2);
  expect_parts(configuration.err, {"is a configuration, not a checkpoint", "eval RUN_FOLDER"});
  ASSERT_EQ(wellspring({"export", "shapes", "--count", "2", "--out", "x.npz"}, folder()).exit_code,
            0);
  const Outcome archive = evaluate("x.npz");
  EXPECT_EQ(archive.exit_code, 3);
  expect_parts(archive.err, {"x.npz: not a safetensors file", "a NumPy archive (.npz)"});
}

TEST_F(TrainInput, KeepsTheOldCheckpointOnAFullDisk) {
  ASSERT_EQ(train({"train.steps=8"}).exit_code, 0);
  fs::remove_all(checkpoint(8));
  // Under a limit of 8 KiB per file, writing the weights (57 KiB) fails as it would on a full disk.
  const Outcome full = shell(
      "trap '' XFSZ; ulimit -f 8; exec '" + wellspring_path() + "' train files.yaml train.steps=8",
      folder());
  EXPECT_EQ(full.exit_code, 1) << full.out;
  // A resumed run writes a checkpoint of its first step, 4, before it trains.
  expect_parts(full.err, {"step 4: cannot write the checkpoint", "model.safetensors", "ulimit -f",
                          "run the same command again", "runs/files/checkpoints/step-4"});
  EXPECT_FALSE(fs::exists(checkpoint(8)));
  const Outcome resumed = train({"train.steps=8"});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  expect_parts(resumed.out, {"resumed at step 4"});
}

}  // namespace
}  // namespace wellspring::test
