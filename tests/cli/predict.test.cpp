// Predictions on the command line: `eval --predictions`, `eval` in full, and `predict`.
#include "tests/cli/command.h"
#include "tests/support/dataset_fixtures.h"
#include "tests/support/error_testing.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

namespace wellspring::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPhotosRun = R"(name: photos
device: cpu
threads: 1
data:
  size: 8
  sources: [{name: photos, kind: files, path: photos, resize: 8}]
eval: {sources: [{of: photos, fraction: 0.4}]}
model: {name: cnn, widths: [4], blocks: [0], pool: [1]}
train: {batch: 8, steps: 6}
)";

struct Predictions : ::testing::Test {
  Predictions() {
    write_as_folder(folder_ / "photos", labelled_noise(2, 12, 12));
    spill(folder_ / "photos.yaml", kPhotosRun);
    const Outcome outcome = run({"train", "photos.yaml"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  }
  Outcome run(const std::vector<std::string>& arguments) const {
    return wellspring(arguments, folder_.path());
  }
  TemporaryFolder folder_;
};

TEST_F(Predictions, PrintTheFirstRows) {
  const Outcome outcome = run({"predict", "runs/photos", "photos"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  expect_parts(outcome.out, {"24 images, 8x8, from photos", "row ", " %\n",
                             "... 14 more rows: write all of them with --out"});
}

TEST_F(Predictions, AreWritten) {
  const Outcome outcome = run({"predict", "runs/photos", "photos", "--out", "p.csv"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  expect_parts(outcome.out, {"p.csv: predictions for 24 images"});
  EXPECT_TRUE(slurp(folder_ / "p.csv").starts_with("source,sample,location,predicted,scores_"));
  const Outcome evaluated = run({"eval", "runs/photos", "--predictions", "e.h5"});
  EXPECT_EQ(evaluated.exit_code, 0) << evaluated.err;
  expect_parts(evaluated.out, {"photos: accuracy", "calibration error", "precision  recall",
                               "class \\ predicted", "predictions: e.h5"});
  EXPECT_TRUE(fs::exists(folder_ / "e.h5"));
}

TEST_F(Predictions, RefuseWhatTheyCannotRead) {
  const auto refused = [&](int code, std::vector<std::string> more,
                           const std::vector<std::string>& parts) {
    more.insert(more.begin(), {"predict", "runs/photos"});
    const Outcome outcome = run(more);
    EXPECT_EQ(outcome.exit_code, code) << outcome.out;
    EXPECT_EQ(outcome.out, "");
    expect_parts(outcome.err, parts);
  };
  refused(2, {"photos", "--out", "p.txt"}, {"'p.txt'", ".npz, .csv, .h5"});
  refused(3, {"phtos"}, {"phtos: no such", "did you mean 'photos'"});
  refused(3, {"photos.yaml"}, {"photos.yaml: cannot tell the format"});
  refused(2, {"photos", "resize=big"}, {"command line", "resize"});
  refused(2, {"photos", "resise=8"}, {"unknown key 'resise'"});
  refused(3, {"photos", "resize=0"}, {"the network reads 8x8", "write resize=8 after the path"});
  refused(2, {"photos", "--like", "photo"}, {"no source 'photo'", "did you mean 'photos'"});
  refused(2, {}, {"'data' is missing"});
  spill(folder_ / "photos" / "new.png", "damaged");
  refused(3, {"photos", "--out", "p.npz"}, {"new.png"});
  EXPECT_FALSE(fs::exists(folder_ / "p.npz"));
  const Outcome skipped = run({"predict", "runs/photos", "photos", "on_error=skip"});
  EXPECT_EQ(skipped.exit_code, 0) << skipped.err;
  expect_parts(skipped.out, {"24 images", "1 skipped, first photos/new.png"});
}

TEST_F(Predictions, ReplaceNoInput) {
  const auto refused = [&](const std::vector<std::string>& command, const std::string& file,
                           const std::vector<std::string>& parts) {
    const std::string before = slurp(folder_ / file);
    const Outcome outcome = run(command);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.out;
    expect_parts(outcome.err, parts);
    EXPECT_TRUE(slurp(folder_ / file) == before) << file << " has changed";
  };
  ASSERT_EQ(run({"export", "shapes", "--count", "8", "--size", "8", "--out", "a.npz"}).exit_code,
            0);
  fs::create_symlink("a.npz", folder_ / "link.npz");
  fs::copy_file((folder_ / "runs/photos/checkpoints/step-6/model.safetensors"),
                folder_ / "keep.h5");
  refused({"predict", "runs/photos", "a.npz", "--out", "a.npz"}, "a.npz", {"would replace it"});
  refused({"predict", "runs/photos", "a.npz", "--out", "link.npz"}, "a.npz", {"which is a.npz"});
  refused({"predict", "keep.h5", "photos", "--out", "keep.h5"}, "keep.h5", {"would replace it"});
  spill(
      folder_ / "arrays.yaml",
      "name: arrays\ndevice: cpu\ndata: {size: 8, sources: [{name: a, kind: files, path: a.npz}]}\n"
      "eval: {sources: [{of: a, fraction: 0.5}]}\n"
      "model: {name: cnn, widths: [4], blocks: [0], pool: [1]}\ntrain: {batch: 2, steps: 2}\n");
  refused({"export", "arrays.yaml", "--count", "2", "--out", "a.npz"}, "a.npz", {"would replace"});
  const Outcome outcome = run({"train", "arrays.yaml"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  refused({"eval", "runs/arrays", "--predictions", "link.npz"}, "a.npz", {"would replace it"});
}

TEST_F(Predictions, PreviewsReplaceAndJoinNoImageOfADataSet) {
  const fs::path some = fs::directory_iterator(folder_ / "photos/class0")->path();
  const std::string before = slurp(some);
  fs::create_directory_symlink("photos/class0", folder_ / "link");
  const std::vector<std::string> names = {
      "photos/class0/" + some.filename().string(), "photos/class0/new.png", "link/new.png",
      (folder_ / "photos/class1/../class0/new.png").string(), "photos/new.png"};
  for (const std::string& out : names) {
    const Outcome outcome = run({"preview", "photos.yaml", "--out", out});
    EXPECT_EQ(outcome.exit_code, 2) << outcome.out;
    expect_parts(outcome.err, {out, "data set photos reads all images", "in another folder"});
  }
  const Outcome inside =
      wellspring({"preview", "../photos.yaml", "data.sources.0.path=.", "--out", "new.png"},
                 folder_ / "photos");
  EXPECT_EQ(inside.exit_code, 2) << inside.out;
  EXPECT_FALSE(fs::exists(folder_ / "photos/new.png"));
  EXPECT_EQ(slurp(some), before);
  EXPECT_FALSE(fs::exists(folder_ / "photos/class0/new.png"));
  // Elsewhere, a preview replaces an older one, even next to the folder of the split that is read.
  fs::create_directory(folder_ / "all");
  fs::rename(folder_ / "photos", folder_ / "all/train");
  for (int turn = 0; turn < 2; ++turn) {
    const Outcome outcome = run({"preview", "photos.yaml", "--out", "all/p.png",
                                 "data.sources.0.path=all", "data.sources.0.split=train"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  }
}

TEST_F(Predictions, CheckTheOutputFirst) {
  fs::create_directory(folder_ / "dd.csv");
  const auto refused = [&](const std::vector<std::string>& command,
                           const std::vector<std::string>& parts) {
    const Outcome outcome = run(command);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.out;
    expect_parts(outcome.err, parts);
  };
  refused({"eval", "runs/photos", "--predictions", "dd.csv"}, {"dd.csv", "is a folder"});
  refused({"eval", "runs/photos", "--predictions", ""}, {"--predictions has an empty name"});
  refused({"predict", "runs/photos", "photos", "--out", ""}, {"--out has an empty name"});
  EXPECT_EQ(run({"predict", "runs/photos", "photos", "--out", "P.CSV"}).exit_code, 0);
  EXPECT_TRUE(slurp(folder_ / "P.CSV").starts_with("source,sample"));
}

TEST_F(Predictions, NameWhatTheNetworkReads) {
  ASSERT_EQ(run({"export", "gaussian_linear", "--count", "8", "--out", "events.npz"}).exit_code, 0);
  const auto refused = [&](const std::string& network, const std::string& data,
                           const std::vector<std::string>& parts) {
    const Outcome outcome = run({"predict", network, data});
    EXPECT_EQ(outcome.exit_code, 3) << outcome.out;
    expect_parts(outcome.err, parts);
  };
  refused("runs/photos", "events.npz",
          {"events.npz", "event of 4 features", "reads an image 8x8x3"});
  std::string first;
  for (const auto& entry : fs::recursive_directory_iterator(folder_ / "photos"))
    if (entry.is_regular_file()) first = entry.path().string();
  refused("runs/photos", first, {"give the folder that contains the image"});
}

TEST_F(Predictions, RefuseASharedScalingWithoutEffect) {
  for (const std::string command : {"eval", "predict"}) {
    std::vector<std::string> words = {command, "runs/photos"};
    if (command == "predict") words.push_back("photos");
    words.push_back("data.normalise=none");
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.out;
    expect_parts(outcome.err, {"data.normalise=none has no effect", "source 'photos'"});
  }
}

}  // namespace
}  // namespace wellspring::test
