// Messages of `train` about common mistakes, and the layout of its output.
#include "core/text/progress.h"
#include "tests/cli/command.h"
#include "tests/support/error_testing.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace wellspring::test {
namespace {

namespace fs = std::filesystem;

class Messages : public testing::Test {
 protected:
  Messages() {
    spill(folder() / "small.yaml", R"(device: cpu
threads: 1
data: {size: 8, sources: [{name: shapes, generator: shapes}]}
model: {name: mlp, widths: [8]}
train: {batch: 8, steps: 12, log_every: 5}
)");
  }
  fs::path folder() const { return folder_.path(); }
  Outcome run(std::vector<std::string> arguments,
              const Process::Environment& environment = {}) const {
    return wellspring(std::move(arguments), folder(), environment);
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(Messages, ExplainsOptionsThatAreSettings) {
  const auto refused = [&](const std::vector<std::string>& words) {
    std::vector<std::string> arguments = {"train", "small.yaml"};
    arguments.insert(arguments.end(), words.begin(), words.end());
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.out;
    return outcome.err;
  };
  expect_parts(refused({"--steps", "5"}),
               {"unknown option --steps", "settings are key=value: train.steps=5"});
  expect_parts(refused({"--batch-size=64"}), {"settings are key=value: train.batch=64"});
  expect_parts(refused({"--device", "cpu"}), {"settings are key=value: device=cpu"});
  expect_parts(refused({"--out"}), {"settings are key=value: out=VALUE"});
  expect_parts(refused({"train.batch_size=4"}), {"unknown key 'batch_size'", "use train.batch"});
  expect_parts(refused({"train.epochs=4"}), {"steps: 12 and epochs: 4", "remove one of the two"});
  expect_parts(refused({"--epochs", "4"}), {"settings are key=value: train.epochs=4"});
  expect_parts(refused({"train.early_stopping=4"}), {"use train.patience"});
  expect_parts(refused({"train.lr=4"}), {"unknown key 'lr'", "use optimizer.lr"});
}

TEST_F(Messages, FindsAConfigurationByItsShortName) {
  fs::create_directory(folder() / "configs");
  fs::copy_file(folder() / "small.yaml", folder() / "configs/other.yaml");
  expect_parts(run({"train", "other"}).err, {"did you mean configs/other.yaml?"});
  fs::create_directory(folder() / "photos");
  expect_parts(run({"train", "photos"}).err, {"photos: is a folder", "wellspring init FOLDER"});
  spill(folder() / "photos.yaml", "");
  expect_parts(run({"train", "photos"}).err, {"did you mean photos.yaml?"});
  const Outcome missing = run({"train"});
  EXPECT_EQ(missing.exit_code, 2);
  expect_parts(missing.err, {"'config' is missing (configuration file (YAML)", "quickstart.yaml"});
}

TEST_F(Messages, SaysHowLongARunMeasuresItsRate) {
  const Outcome outcome = run({"train", "small.yaml", "train.steps=4"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  expect_parts(outcome.out, {"samples/s        not measured: needs a window of 5 steps"});
}

TEST_F(Messages, PrintsManyScoresAsATable) {
  spill(folder() / "many.yaml", R"(device: cpu
threads: 1
data: {sources: [{name: g, generator: gaussian_linear}]}
model: {name: mlp, widths: [8]}
heads:
  - {name: mean, loss: regression, targets: [theta0, theta1, theta2, theta3]}
eval: {samples: 64, sources: [{of: g}]}
train: {batch: 8, steps: 4}
)");
  const Outcome outcome = run({"train", "many.yaml"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  expect_parts(outcome.out, {"held out, g: rmse of theta0 ", ", ...; loss ", "            rmse ",
                             "\n    theta0  "});
}

// The terminal of script(1) has 80 columns.
TEST_F(Messages, FitsTheTerminal) {
  for (const char* const words : {"list", "describe config.train", "describe shapes"}) {
    const Outcome outcome = shell("TERM=xterm script -qec \"stty cols 80; '" + wellspring_path() +
                                      "' " + words + "\" /dev/null",
                                  folder(), {{"NO_COLOR", "1"}});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);)
      EXPECT_LE(columns_of(line), 81u) << words << ": " << line;  // with the carriage return
  }
}

}  // namespace
}  // namespace wellspring::test
