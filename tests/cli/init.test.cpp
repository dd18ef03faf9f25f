// `wellspring init`: the file it writes, and the command line.
#include "tests/cli/command.h"
#include "tests/support/dataset_fixtures.h"
#include "tests/support/error_testing.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace wellspring::test {
namespace {

class Init : public testing::Test {
 protected:
  Init() { write_as_folder(folder_ / "my photos", labelled_noise(3, 10, 16)); }
  Outcome run(const std::vector<std::string>& arguments) const {
    return wellspring(arguments, folder_.path());
  }
  TemporaryFolder folder_;
};

TEST_F(Init, WritesAConfigurationThatTrains) {
  const Outcome outcome = run({"init", "my photos/"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(outcome.out, "my_photos.yaml: 30 images of 3 classes, 16x16, from my photos\n");
  const Outcome trained =
      run({"train", "my_photos.yaml", "train.steps=2", "train.batch=4", "device=cpu"});
  EXPECT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_TRUE(std::filesystem::exists(folder_ / "runs/my_photos/report.html"));
}

// The commands are in comments; one of them spans two lines.
TEST_F(Init, SuggestsPretraining) {
  ASSERT_EQ(run({"init", "my photos", "--out", "my run.yaml"}).exit_code, 0);
  const std::string text = slurp(folder_ / "my run.yaml");
  std::string commands = text.substr(text.find("fine-tuning:\n") + 13);
  const std::string steps = "train.steps=2000 eval.every=500";
  for (const std::string& part : {std::string("# "), steps})
    for (std::size_t at; (at = commands.find(part)) != std::string::npos;)
      commands.erase(at, part.size());
  spill(folder_ / "commands", "wellspring() { '" + wellspring_path() +
                                  "' \"$@\" train.steps=2 train.batch=4 device=cpu "
                                  "eval.samples=8; }\nset -e\n" +
                                  commands);
  const Outcome outcome = shell("source ./commands", folder_.path());
  EXPECT_EQ(outcome.exit_code, 0) << commands << outcome.err;
  expect_parts(outcome.out, {"weights from runs/pretrained: loaded", "reset head.weight",
                             "held out, my_photos"});
}

TEST_F(Init, OverwritesNothing) {
  spill(folder_ / "run.yaml", "mine");
  const Outcome outcome = run({"init", "my photos", "--out", "run.yaml"});
  EXPECT_EQ(outcome.exit_code, 2);
  expect_parts(outcome.err, {"run.yaml: the file exists", "--out"});
  EXPECT_EQ(slurp(folder_ / "run.yaml"), "mine");
}

TEST_F(Init, WritesNothingForDataThatItRefuses) {
  const Outcome missing = run({"init", "our photos"});
  EXPECT_EQ(missing.exit_code, 3);
  expect_parts(missing.err, {"our photos", "did you mean 'my photos'"});
  EXPECT_EQ(run({"init", "my photos", "resize=three"}).exit_code, 2);
  expect_parts(run({"init", "my photos", "rezise=8"}).err, {"did you mean 'resize'"});
  expect_parts(run({"init", "my photos", "resize"}).err, {"'resize' is not key=value"});
  expect_parts(run({"init", "b\xff"}).err, {"b\\xff: the path is not UTF-8", "symbolic link"});
  EXPECT_EQ(run({"init", "my photos", "--out", "no/run.yaml"}).exit_code, 1);
  EXPECT_EQ(folder_.names(), std::vector<std::string>{"my photos"});
}

TEST_F(Init, KeepsGivenKeys) {
  ASSERT_EQ(run({"init", "my photos", "resize=8", "--out", "run.yaml"}).exit_code, 0);
  expect_parts(slurp(folder_ / "run.yaml"), {"resize: 8  # as given to init\n", "size: 8 "});
}

}  // namespace
}  // namespace wellspring::test
