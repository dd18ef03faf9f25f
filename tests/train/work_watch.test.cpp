// Progress of work that takes minutes on large data (listing, decoding, comparing, reading, checking
// and evaluating), each reported until its end.
#include "core/work_watch.h"

#include "tests/support/image_fixtures.h"
#include "tests/train/training_testing.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

namespace wellspring {
namespace {

/// Number of reports about one kind of work, and its last progress.
struct Work {
  int times = 0;
  std::uint64_t done = 0, total = 0;
};

struct Told : TrainObserver {
  std::map<std::string, Work> of;
  bool plan = false;  ///< the plan was reported, so only evaluations follow
  void on_plan(const PlanReport&) override { plan = true; }
  void on_work(const std::string& what, std::uint64_t done, std::uint64_t total) override {
    Work& work = of[what];
    EXPECT_GE(done, work.done) << what;
    EXPECT_TRUE(total == 0 || done <= total) << what << ": " << done << " of " << total;
    EXPECT_EQ(what.starts_with("evaluating"), plan) << what;
    work = {work.times + 1, done, total};
  }
};

Told told(const std::string& storage) {
  const test::TemporaryFolder folder;
  test::write_image_folder(folder.path() / "train", 2, 6, 8, 8);
  test::write_image_folder(folder.path() / "test", 2, 5, 8, 8, 77);
  const RunConfig config = RunConfig::parse(fmt::format(R"(name: told
device: cpu
threads: 1
out: {0}/run
data:
  size: 8
  root: {0}
  sources: [{{name: real, kind: files, path: train, storage: {1}, on_error: skip}}]
eval: {{sources: [{{of: real, path: test, name: unseen}}]}}
model: {{name: mlp, widths: [4]}}
optimizer: {{kind: sgd, lr: 0.01}}
train: {{batch: 4, steps: 2}}
)",
                                                        folder.path().string(), storage),
                                            "told.yaml");
  Told observer;
  Trainer(config, observer, test::quick()).run();
  return observer;
}

TEST(WorkWatch, ReportsWorkBeforeAndBetweenSteps) {
  Told resident = told("resident"), streamed = told("streamed");
  for (Told* run : {&resident, &streamed}) {
    EXPECT_EQ(run->of["listing real"].done, 14u);  // two folders and 12 images
    EXPECT_EQ(run->of["listing real"].times, 3);   // after the root and each folder
    EXPECT_EQ(run->of["listing unseen"].done, 12u);
    for (const auto& [what, total] : std::map<std::string, std::uint64_t>{
             {"decoding real", 12},
             {"decoding unseen", 10},
             {"comparing real", 12},
             {"comparing unseen", 10},
             {run == &resident ? "reading real" : "checking real", 12},
             {run == &resident ? "reading unseen" : "checking unseen", 10},
             {"evaluating unseen", 10}}) {
      EXPECT_GT(run->of[what].times, 1) << what;
      EXPECT_EQ(run->of[what].done, total) << what;
      EXPECT_EQ(run->of[what].total, total) << what;
    }
  }
}

}  // namespace
}  // namespace wellspring
