#include "train/step/ceiling_windows.h"

#include "tests/support/temporary_folder.h"
#include "tests/train/training_testing.h"
#include "train/metrics/metrics_log.h"
#include "train/metrics/rates.h"
#include "train/trainer.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace wellspring {
namespace {

using test::in_memory;
using test::Listener;
using test::quick;
using test::slurp;
using test::small_run;
using test::TemporaryFolder;

/// Whatever it costs, at the end of every window that can have one.
TrainerOptions always(TrainerOptions options) {
  options.ceiling_share = 1e9;
  return options;
}

TEST(CeilingWindows, CostAShareOfTheTrainingOrTheAllowance) {
  EXPECT_TRUE(ceiling_affordable(1.9, 0.1, 100, 0.02));
  EXPECT_FALSE(ceiling_affordable(1.9, 0.11, 100, 0.02));
  EXPECT_TRUE(ceiling_affordable(0.15, 0.05, 0.5, 0.02));  // a short run
  EXPECT_FALSE(ceiling_affordable(0.15, 0.06, 0.5, 0.02));
  EXPECT_FALSE(ceiling_affordable(0, 10, 100, 0.02));  // a slow step: not before 500 s
  EXPECT_TRUE(ceiling_affordable(0, 10, 500, 0.02));
}

TEST(CeilingWindows, LastTwentyMillisecondsAndLessThanAWindowOfMetrics) {
  EXPECT_EQ(ceiling_window(0.005, 100), 4u);
  EXPECT_EQ(ceiling_window(0.0051, 100), 4u);
  EXPECT_EQ(ceiling_window(0.0049, 100), 5u);
  EXPECT_EQ(ceiling_window(3, 100), 1u);
  EXPECT_EQ(ceiling_window(1e-5, 100), 99u);
  EXPECT_EQ(ceiling_window(0, 100), 99u);
  EXPECT_EQ(ceiling_window(1e-5, 1), 1u);
}

class CeilingRun : public testing::TestWithParam<const char*> {};

// Weights, optimizer, averages, checkpoint and metrics, but for what is a time.
TEST_P(CeilingRun, HasTheBytesOfARunWithoutOne) {
  const TemporaryFolder with, without;
  const std::vector<std::string> settings = {std::string("train.graph=") + GetParam(),
                                             "train.ema=0.9", "train.log_every=3"};
  Listener a, b;
  Trainer measured(small_run(with.path(), settings), a, always(quick()));
  Trainer plain(small_run(without.path(), settings), b, quick());
  const FinishReport finish = measured.run();
  plain.run();
  EXPECT_GE(finish.share.pairs, 3u);
  EXPECT_EQ(finish.resident.windows, finish.share.pairs);
  EXPECT_EQ(measured.state_bytes(), plain.state_bytes());
  EXPECT_EQ(slurp(with.path() / "checkpoints/step-30/model.safetensors").size(),
            slurp(without.path() / "checkpoints/step-30/model.safetensors").size());
  ASSERT_EQ(a.steps.size(), b.steps.size());
  for (std::size_t i = 0; i < a.steps.size(); ++i) {
    EXPECT_EQ(a.steps[i].step, b.steps[i].step);
    EXPECT_EQ(a.steps[i].loss, b.steps[i].loss) << a.steps[i].step;
    EXPECT_EQ(a.steps[i].gradient_norm, b.steps[i].gradient_norm) << a.steps[i].step;
    EXPECT_EQ(a.steps[i].learning_rate, b.steps[i].learning_rate) << a.steps[i].step;
    EXPECT_EQ(a.steps[i].accuracy, b.steps[i].accuracy) << a.steps[i].step;
    EXPECT_EQ(a.steps[i].clean, b.steps[i].clean) << a.steps[i].step;
  }
  ASSERT_EQ(a.evaluations.size(), b.evaluations.size());
  EXPECT_EQ(a.evaluations.back().results[0].loss, b.evaluations.back().results[0].loss);
}

INSTANTIATE_TEST_SUITE_P(Each, CeilingRun, testing::Values("on", "off"));

TEST(CeilingWindows, AResumedRunThatMeasuresHasTheBytesOfAStraightOneThatDoesNot) {
  const TemporaryFolder straight, broken;
  Listener listener;
  Trainer whole(small_run(straight.path()), listener, quick());
  whole.run();
  {
    const SignalGuard guard;
    Listener stopper;
    stopper.interrupt_at = 12;  // the resumed one has its first whole windows flushed at step 20
    EXPECT_EQ(Trainer(small_run(broken.path()), stopper, always(quick())).run().status,
              RunStatus::interrupted);
  }
  Trainer resumed(small_run(broken.path()), listener, always(quick()));
  EXPECT_GT(resumed.run().share.pairs, 0u);
  EXPECT_EQ(resumed.state_bytes(), whole.state_bytes());
}

TEST(CeilingWindows, GraphCheckComparesAsBeforeAndHasNoCeiling) {
  Listener listener;
  Trainer plain(small_run("unused"), listener, in_memory());
  plain.run();
  Trainer checked(small_run("unused", {"train.graph=check"}), listener, always(in_memory()));
  const FinishReport finish = checked.run();
  EXPECT_EQ(finish.resident.windows, 0u);
  EXPECT_EQ(finish.no_ceiling, "graph check makes every step twice");
  EXPECT_EQ(checked.state_bytes(), plain.state_bytes());
}

TEST(CeilingWindows, MeasureMakesPairsAndNoneWhereThereCanBeNone) {
  Listener listener;
  Trainer trainer(small_run("unused"), listener, always(in_memory()));
  const MeasuredRates rates = trainer.measure(0);
  EXPECT_EQ(rates.share.pairs, kFewestForInterval);
  EXPECT_EQ(rates.as_configured.windows, kFewestForInterval);
  EXPECT_TRUE(rates.as_configured.interval && rates.resident.interval && rates.share.interval);
  Trainer without(small_run("unused"), listener, in_memory());
  EXPECT_THROW(without.measure(0), std::logic_error);
}

// ---------------------------------------------------------------------------------------------
// What is told of it

TEST(Rates, ARateSaysHowSureItIs) {
  EXPECT_EQ(rate_text(summarise_rates("", {4000, 4010, 3990, 3950, 4050, 4020})),
            "4.00 k (95 %: 3.95 k to 4.05 k; median of 6 windows)");
  EXPECT_EQ(rate_text(summarise_rates("", {5000})), "5.00 k (1 window, too few for an interval)");
  EXPECT_EQ(rate_text(summarise_rates("", {5000, 5000})),
            "5.00 k (2 windows, too few for an interval)");
}

FinishReport finish_of(const std::vector<double>& rates, const std::vector<RatePair>& pairs) {
  FinishReport finish;
  ProcessorLoad load;
  load.own = 1;
  load.machine = {1, 0, 2};
  static_cast<MeasuredRates&>(finish) = summarise_pairs(rates, pairs, load);
  finish.step = 60;
  finish.training_seconds = 98;
  finish.ceiling_seconds = 2;
  finish.no_ceiling = "graph check makes every step twice";
  return finish;
}

TEST(Rates, ACeilingStandsBesideThem) {
  using Lines = std::vector<std::pair<std::string, std::string>>;
  const std::vector<double> rates(7, 900);
  EXPECT_EQ(
      ceiling_lines(finish_of(rates, std::vector<RatePair>(6, {900, 1000}))),
      (Lines{{"ceiling",
              "1.00 k (95 %: 1.00 k to 1.00 k; median of 6 windows); the same step on "
              "resident batches (repeat), interleaved with the run's windows (2.0 % of its time)"},
             {"reached", "90.0 % (95 %: 90.0 to 90.0 %)"}}));
  EXPECT_EQ(ceiling_lines(finish_of(rates, std::vector<RatePair>(6, {900, 300}))).at(1).second,
            "inconclusive: the machine was busy (other programs took 1.00 of its 2 processors, "
            "this one 1.00)");
  EXPECT_EQ(ceiling_lines(finish_of(rates, {})),
            (Lines{{"ceiling",
                    "not measured: graph check makes every step "
                    "twice"}}));
  EXPECT_EQ(ceiling_lines(finish_of({}, {})), Lines());
}

}  // namespace
}  // namespace wellspring
