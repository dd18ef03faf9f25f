// Whole runs with several ranks: the same samples, evaluations and files as a run with one rank, and the
// same weights up to rounding.
#include "core/signals.h"
#include "tests/train/linear_bound.h"
#include "tests/train/several_ranks.h"
#include "tests/train/trained_rows.h"
#include "train/evaluation/evaluation.h"
#include "train/metrics/metrics_log.h"

#include <array>
#include <atomic>
#include <cmath>

namespace wellspring::test {
namespace {

/// A point from which a run continues.
struct RowsFrom {
  std::size_t step = 0;
  ResumeChoice checkpoint = {};
};

/// Compares the rows of several ranks, in the order of the global batch, with the rows of a single
/// rank from step 0.
void expect_rows_of_a_single_rank(const RunConfig& run, const std::vector<int>& numbers,
                                  const RowsFrom& from = {}) {
  constexpr std::size_t kSteps = 14;
  const auto batch = static_cast<std::size_t>(run.train.batch);
  std::vector<std::string> whole = trained_rows(run, single_rank(), kSteps);
  whole.erase(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(from.step * batch));
  const std::size_t steps = kSteps - from.step;
  for (const int ranks : numbers) {
    SCOPED_TRACE(testing::Message() << run.name << ", " << ranks << " ranks");
    const std::size_t rows = batch / static_cast<std::size_t>(ranks);
    std::vector<std::string> all(whole.size());
    run_ranks(ranks, [&](Communicator& communicator) {
      const std::vector<std::string> own =
          trained_rows(run, communicator, static_cast<int>(steps), from.checkpoint);
      ASSERT_EQ(own.size(), steps * rows);
      for (std::size_t i = 0; i < own.size(); ++i)
        all[i / rows * batch + static_cast<std::size_t>(communicator.rank()) * rows + i % rows] =
            own[i];
    });
    EXPECT_EQ(all, whole);
  }
}

// Four ranks need a batch that gives each an even number of rows, because mixing works on pairs.
TEST_F(Ranks, TrainOnTheRowsOfASingleRank) {
  for (const char* text : kRuns)
    expect_rows_of_a_single_rank(config(text, {"train.batch=24"}), {2, 3, 4});
}

// 4 ranks begin, 2 continue, and then any number. Both checkpoints are in the middle of an epoch of
// the files; the first one is also in the middle of a window of metrics.
TEST_F(Ranks, ContinueWithTheRowsOfASingleRank) {
  for (const char* text : kRuns) {
    const Settings settings = {"train.batch=24", "eval.sources=[]"};
    const auto checkpoint = [&](const std::string& out, int step) {
      return ResumeChoice::parse(
          (folder / out / fmt::format("checkpoints/step-{}", step)).string());
    };
    const RunConfig run = config(text, settings);
    train(config(text, settings, "four"), 4, quick());
    expect_rows_of_a_single_rank(run, {1, 2, 3}, {6, checkpoint("four", 6)});
    train(config(text, settings, "two"), 2, quick(checkpoint("four", 6)));
    expect_rows_of_a_single_rank(run, {1, 3, 4}, {12, checkpoint("two", 12)});
    for (const char* out : {"four", "two"}) fs::remove_all(folder / out);
  }
}

// There are fewer shards than ranks.
TEST_F(Ranks, ShareASingleShard) {
  write_as_shard(folder / "only.tar", labelled_noise(4, 7, 8));
  const std::string path = "data.sources.1.path=" + (folder / "only.tar").string();
  expect_rows_of_a_single_rank(
      config(kPictures, {path, "data.sources.1.format=webdataset", "eval.sources=[{of: shapes}]"}),
      {3});
}

/// A linear classifier of mixed images, trained by plain gradient descent.
const Settings kLinear = {"model={name: mlp, widths: []}",
                          "optimizer={kind: sgd, momentum: 0, lr: 0.01, weight_decay: 0}",
                          "train.clip=0",
                          "train.ema=0",
                          "train.batch=24",
                          "train.steps=8",
                          "train.checkpoint_every=3",
                          "train.log_every=1"};

// The bound follows from linear_bound.h. The weights stay within 1.5 times their last sizes.
TEST_F(Ranks, AgreeWithASingleRankWithinTheRoundingOfSums) {
  const auto end_of = [&](int ranks, const std::string& out, const TrainerOptions& options) {
    RankEnds ends = train(config(kPictures, kLinear, out), ranks, options);
    return std::pair(std::move(ends), weights_of(folder / out / "checkpoints/step-8"));
  };
  const auto [one, expected] = end_of(1, "one", quick());
  LinearSizes sizes(trained_rows(config(kPictures, kLinear), single_rank(), 8), expected);
  sizes.weights *= 1.5;
  const LinearBound step_bound(sizes, 24, 4);
  std::vector<double> losses;  // largest differences, by step
  double bound = 0;            // largest difference of weights
  for (const StepReport& step : one.listeners[0].steps) {
    losses.push_back(step_bound.loss(bound));
    bound = step_bound.weights(bound, double{step.learning_rate});
  }
  ASSERT_EQ(losses.size(), 8u);
  for (const int ranks : {2, 3, 4}) {
    SCOPED_TRACE(testing::Message() << ranks << " ranks");
    const auto [ends, weights] = end_of(ranks, fmt::format("by {}", ranks), quick());
    for (std::size_t step = 0; step < losses.size(); ++step)
      for (const Listener& listener : ends.listeners)
        EXPECT_NEAR(listener.steps.at(step).loss, one.listeners[0].steps[step].loss, losses[step])
            << step;
    EXPECT_LE(largest_difference(weights, expected), bound);
  }
  // Steps 1 to 3 on the first number of ranks, 4 to 6 on the second, 7 and 8 on the third.
  for (const std::array<int, 3>& chain : {std::array{4, 2, 3}, std::array{2, 3, 1}}) {
    std::string out = fmt::format("by {}", chain[0]);
    for (std::size_t i = 1; i < chain.size(); ++i) {
      SCOPED_TRACE(testing::Message() << out << ", then " << chain[i]);
      const fs::path from = folder / out / fmt::format("checkpoints/step-{}", 3 * i);
      out = fmt::format("{}, then {}", out, chain[i]);
      const auto [ends, weights] = end_of(chain[i], out, quick(ResumeChoice::parse(from.string())));
      EXPECT_LE(largest_difference(weights, expected), bound);
    }
  }
  const std::vector<float> before = weights_of(folder / "one/checkpoints/step-6");
  EXPECT_GT(largest_difference(before, expected), 4 * bound) << "the bound must mean something";
}

// A second run, which also compares recorded and eager steps, has identical bits. Metrics refer to
// the global batch.
TEST_F(Ranks, GiveEqualBitsAgain) {
  for (const char* text : kRuns) {
    SCOPED_TRACE(text);
    const RankEnds one = train(config(text), 1), first = train(config(text), 3);
    const RankEnds again = train(config(text, {"train.graph=check"}), 3);
    EXPECT_EQ(first.states, again.states);
    for (const Listener& listener : first.listeners) {
      ASSERT_EQ(listener.steps.size(), one.listeners[0].steps.size());
      for (std::size_t i = 0; i < listener.steps.size(); ++i) {
        const StepReport &step = listener.steps[i], &alone = one.listeners[0].steps[i];
        EXPECT_EQ(step.loss, first.listeners[0].steps[i].loss);
        EXPECT_EQ(step.gradient_norm, first.listeners[0].steps[i].gradient_norm);
        EXPECT_EQ(step.overflow.samples, alone.overflow.samples);
        EXPECT_EQ(step.overflow.items, alone.overflow.items);
        for (std::size_t k = 0; k < step.sources.size(); ++k)
          EXPECT_EQ(step.sources[k].samples, alone.sources[k].samples);
      }
    }
    if (text == kSets) {
      EXPECT_GT(one.listeners[0].steps.back().overflow.items, 0u);
    }
  }
}

void expect_same_counts(const EvaluationReport& report, const EvaluationReport& expected) {
  ASSERT_EQ(report.results.size(), expected.results.size());
  for (std::size_t i = 0; i < report.results.size(); ++i) {
    const EvaluationResult &result = report.results[i], &other = expected.results[i];
    EXPECT_EQ(result.samples, other.samples);
    EXPECT_EQ(result.accuracy, other.accuracy);
    // f64 sums of losses, which are computed to 32 u from logits that differ by rounding.
    EXPECT_NEAR(result.loss, other.loss, 1e-5 * (1 + std::abs(other.loss)));
    for (std::size_t h = 0; h < result.heads.size(); ++h) {
      const auto &classifier = result.heads[h].classifier, &same = other.heads[h].classifier;
      ASSERT_EQ(classifier.has_value(), same.has_value());
      if (!classifier) continue;
      EXPECT_EQ(classifier->confusion, same->confusion);
      for (std::size_t k = 0; k < classifier->classes.size(); ++k) {
        EXPECT_EQ(classifier->classes[k].samples, same->classes[k].samples);
        EXPECT_EQ(classifier->classes[k].area, same->classes[k].area);
      }
    }
  }
}

/// Compares each rank's last evaluation with the evaluation of a single process that reads the
/// checkpoint.
void expect_same_evaluation(const RankEnds& ends, const RunConfig& run) {
  Listener listener;
  const EvaluationReport expected = evaluate_checkpoint(run.folder(), run, listener);
  for (const FinishReport& finish : ends.finishes) expect_same_counts(*finish.evaluation, expected);
}

// 20 and 40 samples cannot be divided by 3.
TEST_F(Ranks, EvaluateAllSamples) {
  for (const char* text : kRuns)
    for (const int ranks : {2, 3}) {
      SCOPED_TRACE(testing::Message() << ranks << " ranks: " << text);
      const RunConfig run = config(text, {}, fmt::format("{:.8} {}", text, ranks));
      const RankEnds ends = train(run, ranks, quick());
      expect_same_evaluation(ends, run);
      for (const Listener& other : ends.listeners) EXPECT_EQ(other.evaluations.size(), 3u);
      EXPECT_EQ(read_metrics(run.folder()).evaluations.size(), 3u);
      EXPECT_EQ(read_metrics(run.folder()).steps.size(), 4u);  // rank 0 alone has written
    }
}

// Each rank has seen different rows. The checkpoint has the statistics of rank 0.
TEST_F(Ranks, EvaluateTheRunningStatisticsOfRankZero) {
  const RunConfig run =
      config(kPictures, {"model={name: resnet20}", "train.steps=2", "train.checkpoint_every=2"},
             "statistics");
  const RankEnds ends = train(run, 2, quick());
  EXPECT_NE(ends.states[0], ends.states[1]);
  expect_same_evaluation(ends, run);
}

// A checkpoint in the middle of a window of metrics and, in one run, of a frozen phase.
TEST_F(Ranks, ResumeWithAnyNumberOfRanks) {
  for (const char* text : kRuns) {
    const RankEnds straight = train(config(text, {}, "straight"), 3, quick());
    const fs::path end = folder / "straight/checkpoints/step-14";
    for (const int ranks : {3, 2, 1}) {
      SCOPED_TRACE(testing::Message() << "resumed with " << ranks << " ranks: " << text);
      const std::string out = fmt::format("on {}", ranks);
      const RankEnds ends =
          train(config(text, {}, out), ranks,
                quick(ResumeChoice::parse((folder / "straight/checkpoints/step-6").string())));
      const fs::path resumed = folder / out / "checkpoints/step-14";
      for (const FinishReport& finish : ends.finishes) EXPECT_EQ(finish.step, 14u);
      const std::vector<StepReport> steps = ends.listeners[0].steps;
      ASSERT_EQ(steps.size(), 3u);
      const StepReport& window = steps.front();  // steps 4 to 8; 4 and 5 are older
      const StepReport& same = straight.listeners[0].steps[1];
      EXPECT_EQ(window.window, 4u);
      EXPECT_EQ(window.overflow.items, same.overflow.items);
      for (std::size_t k = 0; k < window.sources.size(); ++k)
        EXPECT_EQ(window.sources[k].samples, same.sources[k].samples);
      // Two steps from the same weights: sums of fewer than 2^10 terms of order 1 in f32.
      if (ranks == 3) {
        EXPECT_EQ(window.loss, same.loss);
        for (const char* name : {"model.safetensors", "state.safetensors"})
          EXPECT_EQ(slurp(resumed / name), slurp(end / name)) << name;
      } else {
        EXPECT_NEAR(window.loss, same.loss, 2 * 0x1p10 * kRounding);
      }
      fs::remove_all(folder / out);
    }
    fs::remove_all(folder / "straight");
  }
}

TEST_F(Ranks, StopAtTheSameStep) {
  const auto expect_together = [&](const RankEnds& ends, RunStatus status) {
    for (const FinishReport& finish : ends.finishes) {
      EXPECT_EQ(finish.status, status);
      EXPECT_EQ(finish.step, ends.finishes[0].step);
    }
    EXPECT_LT(ends.finishes[0].step, 4000u);
  };
  const Settings endless = {"train.steps=4000", "train.checkpoint_every=0", "eval.every=2"};
  const auto with = [&](const std::string& setting) {
    Settings all = endless;
    all.push_back(setting);
    return all;
  };
  {
    const SignalGuard guard;  // clears the request
    RankEnds ends(3);
    RankGroup(3).run([&](Communicator& communicator) {
      const auto rank = static_cast<std::size_t>(communicator.rank());
      if (rank == 1) ends.listeners[rank].interrupt_at = 8;
      TrainerOptions options = in_memory();
      options.ranks = &communicator;
      ends.finishes[rank] =
          Trainer(config(kPictures, endless), ends.listeners[rank], options).run();
    });
    expect_together(ends, RunStatus::interrupted);
  }
  expect_together(train(config(kPictures, with("train.max_time=0.05 s"), "time"), 3, quick()),
                  RunStatus::out_of_time);
  Settings patient = with("train.keep_best=shapes.accuracy");
  patient.insert(patient.end(), {"train.patience=2", "optimizer.lr=1e-9"});
  const RankEnds ends = train(config(kPictures, patient, "patience"), 3, quick());
  expect_together(ends, RunStatus::out_of_patience);
  EXPECT_TRUE(fs::exists(folder / "patience/checkpoints/best"));
}

/// Wants a checkpoint after the third step.
struct Wishful : Listener {
  bool wants_checkpoint() override { return ++asked == 4; }
  int asked = 0;
};

TEST_F(Ranks, WriteTheCheckpointThatTheObserverOfRankZeroWants) {
  const Settings rare = {"train.checkpoint_every=0"};
  const RankEnds plain = train(config(kPictures, rare, "plain"), 2, quick());
  RankGroup(2).run([&](Communicator& communicator) {
    Wishful listener;
    TrainerOptions options = quick();
    options.ranks = &communicator;
    RunConfig run = config(kPictures, rare, "asked");
    run.node = {run.out, communicator.rank(), 2};
    Trainer trainer(run, listener, options);
    trainer.run();
    EXPECT_EQ(listener.asked, communicator.rank() == 0 ? 15 : 0);  // 14 steps, and that step again
    ASSERT_EQ(listener.checkpoints.size(), 2u);
    EXPECT_EQ(listener.checkpoints[0].step, 3u);
    EXPECT_EQ(listener.checkpoints[1].step, 14u);
    EXPECT_EQ(trainer.state_bytes(), plain.states[static_cast<std::size_t>(communicator.rank())]);
  });
  EXPECT_TRUE(fs::exists(folder / "asked/checkpoints/step-3"));
}

TEST_F(Ranks, FindAFinishedRun) {
  train(config(kPictures, {}, "done"), 2, quick());
  for (const FinishReport& finish : train(config(kPictures, {}, "done"), 2, quick()).finishes)
    EXPECT_EQ(finish.status, RunStatus::already_finished);
}

// Damage that only one rank notices: the one whose share contains the image.
TEST_F(Ranks, EndWithTheMessageOfTheRankThatFails) {
  std::atomic<int> others = 0;
  const std::string message = message_of(ErrorKind::data, [&] {
    RankGroup(3).run([&](Communicator& communicator) {
      Listener listener;
      TrainerOptions options = quick();
      options.ranks = &communicator;
      try {
        Trainer trainer(config(kPictures, {"eval.sources=[]"}, "damaged"), listener, options);
        communicator.barrier();
        if (communicator.rank() == 0)
          for (const auto& entry : fs::recursive_directory_iterator(folder / "photos"))
            if (entry.is_regular_file()) fs::resize_file(entry.path(), entry.file_size() - 20);
        communicator.barrier();
        trainer.run();
      } catch (const RankEnded& error) {
        expect_parts(error.what(), {"rank", "has failed: step", "photos"});
        ++others;
        throw;
      }
    });
  });
  expect_parts(message, {"step", "photos"});
  EXPECT_LE(others, 2);
}

// One image of the unshuffled photos per step; the sixth is damaged, and repaired after the error.
TEST_F(Ranks, SaveTheirProgressBeforeDamagedDataAndContinue) {
  const Settings in_order = {"eval.sources=[]", "data.sources.1.shuffle=false"};
  std::vector<fs::path> photos;
  for (const auto& entry : fs::recursive_directory_iterator(folder / "photos"))
    if (entry.is_regular_file()) photos.push_back(entry.path());
  std::ranges::sort(photos);
  train(config(kPictures, in_order, "whole"), 3, quick());
  const std::string good = slurp(photos.at(5));
  fs::resize_file(photos[5], good.size() - 20);
  const std::string message =
      message_of(ErrorKind::data, [&] { train(config(kPictures, in_order, "late"), 3, quick()); });
  const fs::path saved = folder / "late/checkpoints/step-5";
  expect_parts(message,
               {"step 5", photos[5].filename().string(), "progress is saved in " + saved.string()});
  EXPECT_TRUE(fs::exists(saved));
  write_bytes(photos[5], Bytes(good.begin(), good.end()));
  for (const FinishReport& finish : train(config(kPictures, in_order, "late"), 3, quick()).finishes)
    EXPECT_EQ(finish.status, RunStatus::finished);
  EXPECT_EQ(weights_of(folder / "late/checkpoints/step-14"),
            weights_of(folder / "whole/checkpoints/step-14"));
}

TEST_F(Ranks, RefuseAnotherConfigurationAndBatchesThatCannotBeDivided) {
  const auto refusal = [&](const char* text, const Settings& of_all, const Settings& of_last) {
    return message_of(ErrorKind::config, [&] {
      RankGroup(2).run([&](Communicator& communicator) {
        Listener listener;
        TrainerOptions options = in_memory();
        options.ranks = &communicator;
        Settings settings = of_all;
        if (communicator.rank() == 1)
          settings.insert(settings.end(), of_last.begin(), of_last.end());
        Trainer(config(text, settings), listener, options).run();
      });
    });
  };
  expect_parts(
      refusal(kPictures, {}, {"optimizer.lr=0.02"}),
      {"rank 1 has a different configuration from rank 0", "optimizer.lr: 0.01 there, 0.02"});
  expect_parts(refusal(kSpectra, {"train.batch=9"}, {}),
               {"a batch of 9 rows cannot be divided among 2 ranks", "train.batch: 8 or 10"});
  expect_parts(refusal(kPictures, {"train.batch=6"}, {}),
               {"a batch of 6 rows cannot be divided among 2 ranks", "a multiple of 2", "data.mix",
                "train.batch: 4 or 8"});
  expect_parts(refusal(kSpectra, {"train.batch=40", "train.accumulate=2"}, {}),
               {"a multiple of 16", "train.accumulate", "train.batch: 32 or 64"});
}

}  // namespace
}  // namespace wellspring::test
