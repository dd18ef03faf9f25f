// Several views of a sample, and self-supervised losses, which compare them.
#include "tests/support/dataset_fixtures.h"
#include "tests/support/rank_group.h"
#include "tests/train/trained_rows.h"
#include "tests/train/training_testing.h"
#include "train/evaluation/evaluation.h"
#include "train/evaluation/features.h"
#include "train/run_samples.h"

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace wellspring::test {
namespace {

/// Augmentations of every stage.
const std::string kAugment =
    "data.augment=[{shift: 0.2}, {flip_x: 0.5}, {brightness: 0.4}, {augmix: 3}, {equalise: "
    "0.5}, {blur: {probability: 0.5}}]";
const std::vector<std::string> kLosses = {"info_nce", "alignment_uniformity", "vicreg"};

std::string head_of(const std::string& loss) {
  return "heads=[{name: pretext, loss: " + loss + ", projection: [16, 8]}]";
}
/// A run with two views and a self-supervised loss.
Settings pretext(const std::string& loss, const Settings& more = {}) {
  return with({kAugment, "data.views=2", head_of(loss), "train.batch=32"}, more);
}

std::string refusal(const Settings& settings) {
  return message_of(ErrorKind::config, [&] { small_run("unused", settings); });
}

/// Rows of the first steps, of all ranks together.
std::vector<std::string> rows_of_ranks(const RunConfig& config, int ranks, int steps) {
  std::vector<std::vector<std::string>> parts(static_cast<std::size_t>(ranks));
  RankGroup(ranks).run([&](Communicator& own) {
    parts[static_cast<std::size_t>(own.rank())] = trained_rows(config, own, steps);
  });
  std::vector<std::string> rows;
  const std::size_t share = static_cast<std::size_t>(config.train.batch / ranks);
  for (std::size_t step = 0; step < static_cast<std::size_t>(steps); ++step)
    for (const auto& part : parts)
      rows.insert(rows.end(), part.begin() + static_cast<std::ptrdiff_t>(step * share),
                  part.begin() + static_cast<std::ptrdiff_t>((step + 1) * share));
  return rows;
}

class Views : public ::testing::Test {
 protected:
  Views() { write_as_npy(folder_.path(), labelled_noise(4, 9, 8)); }

  Settings files(const std::string& storage) const {
    return {"data.sources.1={name: noise, kind: files, weight: 1, ahead: 2, storage: " + storage +
                ", path: " + (folder_ / "x.npy").string() + ", labels: y.npy}",
            "eval.sources=[]"};
  }
  std::vector<Settings> all_sources() const {
    return {{},
            files("resident"),
            files("streamed"),
            {"data.sources=[{name: shapes, kind: generator, generator: gray_scott, "
             "params: {cells: 12, frames: 4, warm_up: 60, stride: 20}}]",
             "eval.sources=[]"}};
  }

  TemporaryFolder folder_;
};

TEST_F(Views, BeginWithTheBytesOfARunWithoutViews) {
  constexpr int kSteps = 7;  // several epochs of the files
  for (const Settings& sources : all_sources()) {
    const Settings settings = with({kAugment, "device=cpu"}, sources);
    const std::vector<std::string> alone =
        trained_rows(small_run("unused", with(settings, {"train.batch=4"})), single_rank(), kSteps);
    for (const int views : {2, 3}) {
      const std::string rows = "train.batch=" + std::to_string(4 * views);
      const RunConfig config =
          small_run("unused", with(settings, {"data.views=" + std::to_string(views), rows}));
      const std::vector<std::string> made = trained_rows(config, single_rank(), kSteps);
      ASSERT_EQ(made.size(), alone.size() * static_cast<std::size_t>(views));
      int equal = 0;
      for (std::size_t row = 0; row < made.size(); ++row) {
        const bool same = made[row] == alone[row / static_cast<std::size_t>(views)];
        if (row % static_cast<std::size_t>(views) == 0) {
          EXPECT_TRUE(same) << row;
        } else {
          equal += same ? 1 : 0;
        }
      }
      EXPECT_LT(equal, kSteps) << "views must differ";
      if (views == 2) {
        EXPECT_EQ(rows_of_ranks(config, 2, kSteps), made);
      }
    }
  }
}

TEST_F(Views, AreExportedInAdjacentRows) {
  const RunConfig config =
      small_run("unused", with({kAugment, "data.views=2", "device=cpu"}, files("streamed")));
  const std::vector<std::string> expected = trained_rows(config, single_rank(), 3);
  for (const std::uint64_t count : {1u, 3u, 8u, 21u}) {
    RunSamples samples(config, {.count = count});
    std::vector<std::string> rows;
    samples.make([&](const HostSamples& made) {
      for (std::int64_t row = 0; row < made.count(); ++row) {
        const Slot& slot = made.slots[static_cast<std::size_t>(row)];
        EXPECT_EQ(slot.ordinal / kViewOrdinals, static_cast<std::uint64_t>(row % 2));
        rows.push_back(row_of(made.rows, row));
      }
    });
    EXPECT_EQ(rows, std::vector(expected.begin(), expected.begin() + std::ptrdiff_t(count)));
  }
}

TEST_F(Views, HaveTheirOwnDenseLabels) {
  const Settings settings = {"data.sources=[{name: shapes, kind: generator, generator: shapes}]",
                             "eval.sources=[]", "data.views=2", "device=cpu"};
  RunSamples samples(small_run("unused", with(settings, {"data.augment=[{flip_x: 0.5}]"})),
                     {.count = 64, .dense = DenseLabels::plane});
  int mirrored = 0;
  samples.make([&](const HostSamples& made) {
    for (std::int64_t row = 0; row + 1 < made.count(); row += 2) {
      EXPECT_EQ(made.rows.label[row], made.rows.label[row + 1]);
      const float* const one = made.rows.plane + row * 64;
      const float* const other = one + 64;
      const bool same = std::equal(one, one + 64, other);
      bool mirror = true;
      for (int i = 0; i < 64; ++i) mirror &= one[i] == other[i / 8 * 8 + 7 - i % 8];
      EXPECT_TRUE(same || mirror) << row;
      mirrored += mirror && !same;
    }
  });
  EXPECT_GT(mirrored, 0);
  expect_parts(message_of(ErrorKind::config,
                          [&] {
                            RunSamples(
                                small_run("unused", with(settings, {"data.augment=[augmix]"})),
                                {.count = 8, .dense = DenseLabels::plane});
                          }),
               {"augment.augmix cannot be used with dense labels"});
}

TEST_F(Views, TrainSupervisedHeadsOnRanks) {
  const RunConfig config = small_run("unused", with({kAugment, "data.views=2"}, {"train.steps=4"}));
  Listener listener;
  Trainer trainer(config, listener, in_memory());
  trainer.run();
  ASSERT_FALSE(listener.evaluations.empty());
  EXPECT_TRUE(listener.evaluations.back().results[0].accuracy.has_value());
  RankGroup(2).run([&](Communicator& own) {
    Listener quiet;
    TrainerOptions options = in_memory();
    options.ranks = &own;
    EXPECT_NO_THROW(Trainer(config, quiet, options).run());
  });
}

TEST_F(Views, RefuseWhatDoesNotFitThem) {
  const Settings two = {kAugment, "data.views=2"};
  expect_parts(refusal({"data.views=2"}),
               {"views: 2, but source 'shapes' is not augmented", "add augment"});
  expect_parts(refusal({kAugment, "data.views=9"}), {"views"});
  expect_parts(refusal(with(two, {"data.mix={mixup: 1}"})),
               {"mix cannot be combined with views", "remove one"});
  expect_parts(refusal(with(two, {"data.sources.0.repeats=2"})),
               {"source 'shapes' has repeats: 2", "remove one"});
  expect_parts(refusal(with(two, {"train.batch=9"})),
               {"batch: 9 with data.views: 2", "multiple of 2"});
  expect_parts(refusal({"data.views=2",
                        "data.sources=[{name: m, kind: generator, generator: "
                        "gaussian_linear}]",
                        "eval.sources=[]", "model={name: mlp}"}),
               {"source 'm' is not augmented", "only images are augmented"});
  // Two ranks of three rows would divide a sample.
  const RunConfig odd = small_run("unused", with(two, {"train.batch=6"}));
  expect_parts(
      message_of(ErrorKind::config,
                 [&] { RankGroup(2).run([&](Communicator& own) { trained_rows(odd, own, 1); }); }),
      {"data.views", "multiple of the number of views and ranks"});
}

TEST(SelfSupervisedRuns, RefuseWhatDoesNotFitThem) {
  expect_parts(refusal({kAugment, head_of("vicreg")}), {"vicreg without views", "data.views: 2"});
  expect_parts(refusal(pretext("info_nce", {"heads.0.projection=[]"})), {"projection is missing"});
  expect_parts(refusal(pretext("info_nce", {"heads.0.uniformity=2"})),
               {"uniformity does not apply to loss info_nce"});
  expect_parts(refusal(pretext("info_nce", {"heads.0.sources=[shapes]"})),
               {"sources does not apply"});
  expect_parts(refusal(pretext("info_nce", {"train.accumulate=2"})), {"train.accumulate: 2"});
  expect_parts(refusal({kAugment, "data.views=2", head_of("info_nce"), "train.batch=2"}),
               {"one sample"});
  expect_parts(refusal(pretext("info_nce", {"data.sources.0.loss_weight=2"})), {"loss_weight 2"});
  expect_parts(refusal(pretext("info_nce", {"eval.every=5", "train.keep_best=loss"})),
               {"keep_best without a supervised head"});
  expect_parts(refusal({"heads=[{name: shapes, projection: [8]}, {name: noise}]"}),
               {"projection does not apply to loss class"});
  const RunConfig config = small_run("unused", pretext("info_nce"));
  expect_parts(
      message_of(
          ErrorKind::config,
          [&] { RankGroup(2).run([&](Communicator& own) { trained_rows(config, own, 1); }); }),
      {"head 'pretext'", "divided among 2 ranks", "use one rank"});
}

TEST(SelfSupervisedRuns, LearnAndShowNoAccuracy) {
  for (const std::string& loss : kLosses)
    for (const char* const precision : {"f32", "bf16"}) {
      SCOPED_TRACE(loss + " " + precision);
      Listener listener;
      Trainer trainer(small_run("unused", pretext(loss, {"train.steps=120", "train.log_every=20",
                                                         std::string("precision=") + precision})),
                      listener, in_memory());
      trainer.run();
      ASSERT_EQ(listener.steps.size(), 6u);
      EXPECT_LT(listener.steps.back().loss, listener.steps.front().loss);
      for (const StepReport& step : listener.steps)
        for (const SourceReport& source : step.sources) {
          EXPECT_FALSE(source.accuracy.has_value());
          for (const HeadReport& head : source.heads) EXPECT_TRUE(head.scores.empty());
        }
      EXPECT_TRUE(listener.evaluations.empty());
    }
}

TEST(SelfSupervisedRuns, EndWithEqualBytesForGraphsThreadsAndResumes) {
  for (const std::string& loss : kLosses) {
    SCOPED_TRACE(loss);
    const auto config = [&](const std::string& folder, const Settings& settings) {
      return small_run(folder, pretext(loss, with({"train.steps=12"}, settings)));
    };
    const auto end_of = [&](const Settings& settings) {
      return end_state(config("unused", settings), in_memory());
    };
    const std::vector<std::uint8_t> expected = end_of({"train.graph=off"});
    EXPECT_EQ(end_of({"train.graph=check"}), expected);
    EXPECT_EQ(end_of({"threads=3"}), expected);
    Listener listener;
    const TemporaryFolder folder;
    {
      Trainer first(config(folder.path(), {"threads=2"}), listener, quick());
      first.train_until(5);
      first.checkpoint();
    }
    Trainer second(config(folder.path(), {}), listener, quick());
    EXPECT_EQ(second.step(), 5u);
    second.run();
    EXPECT_EQ(second.state_bytes(), expected);
  }
}

TEST(SelfSupervisedRuns, GiveFeaturesBeforeTheProjection) {
  const TemporaryFolder folder;
  Listener listener;
  Trainer(small_run(folder.path(), pretext("info_nce", {"train.steps=2"})), listener, quick())
      .run();
  const RunConfig config = small_run(folder.path(), pretext("info_nce"));
  const KnnReport report = evaluate_knn({folder.path(), "", 5}, config, listener);
  ASSERT_EQ(report.results.size(), 2u);
  EXPECT_EQ(report.results[0].samples, 20u);
  const TemporaryFolder out;
  const FeatureReport features = write_features(
      {folder.path(), "", out / "f.npz", FeatureSamples::held_out}, config, listener);
  EXPECT_EQ(features.shape.elements(), 8) << "the width of the network, not of the projection";
  expect_parts(message_of(ErrorKind::config,
                          [&] { evaluate_checkpoint(folder.path(), config, listener, {}); }),
               {"trained without labels", "--knn 20"});
  // A probe uses everything except the head and the projection.
  Listener probe;
  Trainer(small_run("unused", {"init.from=" + folder.path().string(), "train.steps=2",
                               "optimizer.parameters=[{match: '*', frozen: true}, {match: head.*, "
                               "frozen: false}]"}),
          probe, in_memory())
      .run();
  EXPECT_TRUE(probe.evaluations.back().results[0].accuracy.has_value());
}

TEST(SelfSupervisedRuns, ShareNoOutputWithAnotherHead) {
  const RunConfig config = small_run(
      "unused", {kAugment, "data.views=2",
                 "heads=[{name: shapes}, {name: noise}, {name: pretext, loss: vicreg, projection: "
                 "[8]}]"});
  Listener listener;
  expect_parts(message_of(ErrorKind::config, [&] { Trainer(config, listener, in_memory()); }),
               {"an output per pixel or item and a projection have one head"});
}

}  // namespace
}  // namespace wellspring::test
