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

constexpr const char* kRun = R"(name: photos
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
    spill(folder_ / "photos.yaml", kRun);
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
  refused(3, {"photos", "resize=0"}, {"the network reads 8x8", "resize: 8"});
  refused(2, {"photos", "--like", "photo"}, {"no source 'photo'", "did you mean 'photos'"});
  refused(2, {}, {"'data' is missing"});
  spill(folder_ / "photos" / "new.png", "damaged");
  refused(3, {"photos", "--out", "p.npz"}, {"new.png"});
  EXPECT_FALSE(fs::exists(folder_ / "p.npz"));
  const Outcome skipped = run({"predict", "runs/photos", "photos", "on_error=skip"});
  EXPECT_EQ(skipped.exit_code, 0) << skipped.err;
  expect_parts(skipped.out, {"24 images", "1 skipped, first photos/new.png"});
}

}  // namespace
}  // namespace wellspring::test
