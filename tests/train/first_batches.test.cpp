// Pictures of the first batch of each source.
#include "core/picture/png.h"
#include "tests/train/training_testing.h"
#include "train/report/report.h"

#include <filesystem>

namespace wellspring::test {
namespace {

/// The second source starts after half of the 12 steps.
RunConfig late(const std::filesystem::path& folder) {
  std::string text = test::kSmallRun;
  for (const std::string weight : {", weight: 3", ", weight: 1"})
    text.erase(text.find(weight), weight.size());
  text.insert(text.find("eval:"),
              "  schedule:\n"
              "    - {at: 0, weights: {shapes: 1, noise: 0}}\n"
              "    - {at: 50%, weights: {shapes: 1, noise: 0}}\n"
              "    - {at: 100%, weights: {shapes: 1, noise: 1}}\n");
  return RunConfig::parse(text, "late.yaml",
                          std::vector<std::string>{"train.steps=12", "train.checkpoint_every=0",
                                                   "eval.sources=[]", "out=" + folder.string()});
}

std::vector<std::string> pictures(const TemporaryFolder& folder) {
  std::vector<std::string> names;
  for (const std::string& name : folder.names())
    if (name.ends_with(".png")) names.push_back(name);
  return names;
}

TEST(FirstBatches, HaveAPictureOfEverySource) {
  const TemporaryFolder folder;
  Listener listener;
  ASSERT_TRUE(Trainer(late(folder.path()), listener, quick()).run().status == RunStatus::finished);
  const std::vector<std::string> found = pictures(folder);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1], "preview.png");
  EXPECT_TRUE(found[0].starts_with("preview-")) << found[0];
  const int step = std::stoi(found[0].substr(8));
  EXPECT_GE(step, 6);
  EXPECT_LT(step, 12);
  EXPECT_NE(slurp(folder / found[0]), slurp(folder / found[1]));
  const std::string page = slurp(folder / "report.html");
  EXPECT_NE(page.find("at step 0, "), std::string::npos);
  EXPECT_NE(page.find("at step " + std::to_string(step) + ", "), std::string::npos);
}

// A resumed run replaces the pictures of the steps that it repeats. It keeps earlier pictures, and
// files with other names.
TEST(FirstBatches, KeepThePicturesOfStepsBeforeAResume) {
  const TemporaryFolder folder, whole;
  Listener listener;
  ASSERT_TRUE(Trainer(late(whole.path()), listener, quick()).run().status == RunStatus::finished);
  {
    Listener early;
    early.interrupt_at = 4;
    Trainer(late(folder.path()), early, quick()).run();
    clear_interrupt();
  }
  EXPECT_EQ(pictures(folder), std::vector<std::string>{"preview.png"});
  for (const char* stale : {"preview-11.png", "preview-3.png", "preview-007.png"})
    spill(folder / stale, "stale");
  ASSERT_TRUE(Trainer(late(folder.path()), listener, quick()).run().status == RunStatus::finished);
  std::vector<std::string> expected = pictures(whole);
  expected.insert(expected.begin(), {"preview-007.png", "preview-3.png"});
  std::ranges::sort(expected);
  EXPECT_EQ(pictures(folder), expected);
  EXPECT_EQ(slurp(folder / pictures(whole)[0]), slurp(whole / pictures(whole)[0]));
}

TEST(FirstBatches, HaveAPictureOfEvents) {
  const TemporaryFolder folder;
  const std::vector<std::string> settings = {"device=cpu",
                                             "threads=1",
                                             "train.steps=2",
                                             "train.batch=64",
                                             "train.checkpoint_every=0",
                                             "eval.sources=[]",
                                             "out=" + folder.path().string()};
  for (const char* config : {"ginkgo", "gaussian_linear"}) {
    Listener listener;
    Trainer trainer(
        RunConfig::load(std::string(WELLSPRING_SOURCE_DIR "/configs/") + config + ".yaml",
                        settings),
        listener, quick());
    trainer.run();
    EXPECT_EQ(pictures(folder), std::vector<std::string>{"preview.png"}) << config;
    std::filesystem::remove_all(folder.path());
    std::filesystem::create_directory(folder.path());
  }
}

}  // namespace
}  // namespace wellspring::test
