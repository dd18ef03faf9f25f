#include "train/evaluation/signal_class.h"

#include "tests/train/training_testing.h"
#include "train/evaluation/evaluation.h"

#include <map>
#include <string>
#include <vector>

namespace wellspring::test {
namespace {

HeadSpec head_with(const std::string& name, std::vector<std::string> classes,
                   LossKind loss = LossKind::class_label) {
  HeadSpec spec;
  spec.name = name;
  spec.loss = loss;
  spec.classes = std::move(classes);
  return spec;
}

/// Two heads with a signal, and one of each kind without.
std::vector<HeadSpec> several_heads() {
  return {head_with("jet", {"quark", "gluon"}),
          head_with("tags", {"b", "c"}, LossKind::multi_label),
          head_with("charge", {"1", "0"}, LossKind::soft_label),
          head_with("digit", {"0", "1", "2"}), head_with("mass", {}, LossKind::regression)};
}

std::vector<std::size_t> signals_of(const std::vector<std::string>& wanted) {
  return signal_classes(wanted, several_heads());
}

std::string refused_signal(const std::vector<std::string>& wanted,
                           const std::vector<HeadSpec>& all) {
  return message_of(ErrorKind::config, [&] { signal_classes(wanted, all); });
}

TEST(SignalClass, IsNamedOrNumbered) {
  using List = std::vector<std::size_t>;
  EXPECT_EQ(signals_of({}), (List{1, 1, 1, 1, 1}));
  EXPECT_EQ(signals_of({"quark"}), (List{0, 1, 1, 1, 1}));
  EXPECT_EQ(signals_of({"jet/quark", "charge/1"}), (List{0, 1, 0, 1, 1}));
  EXPECT_EQ(signals_of({"jet/0"}), (List{0, 1, 1, 1, 1}));
  // In every head: the class named 0, or else the class with index 0.
  EXPECT_EQ(signals_of({"0"}), (List{0, 1, 1, 1, 1}));
  EXPECT_EQ(signals_of({"1"}), (List{1, 1, 0, 1, 1}));
}

TEST(SignalClass, RefusesUnknownAndRepeatedNames) {
  expect_parts(refused_signal({"gluonn"}, {head_with("jet", {"quark", "gluon"})}),
               {"eval.signal", "'gluonn'", "did you mean 'gluon'?"});
  expect_parts(refused_signal({"jet/qark"}, several_heads()),
               {"'jet/qark'", "did you mean 'jet/quark'?"});
  EXPECT_NE(refused_signal({"digit/2"}, several_heads()), "");
  EXPECT_NE(refused_signal({"b"}, several_heads()), "") << "labels of multi_label are independent";
  expect_parts(refused_signal({"gluon", "jet/quark"}, several_heads()),
               {"'gluon' and 'jet/quark'", "head 'jet'", "HEAD/CLASS"});
  expect_parts(refused_signal({"2"}, {several_heads()[3], several_heads()[4]}),
               {"no head has a signal '2'", "two classes", "remove eval.signal"});
}

/// The scores of head `noise`, and the signal named in them.
std::map<std::string, double> noise_scores(const EvaluationReport& report,
                                           const std::string& signal) {
  std::map<std::string, double> scores;
  for (const HeadReport& head : report.results.at(1).heads) {
    EXPECT_EQ(head.head, "noise");
    for (const Score& score : head.scores) {
      scores[score.what] = score.value;
      const bool either = score.what.starts_with("area") || score.what.starts_with("background");
      EXPECT_EQ(score.signal, either ? signal : "") << score.what;
    }
  }
  for (const HeadReport& head : report.results.at(0).heads)
    for (const Score& score : head.scores) EXPECT_EQ(score.signal, "") << "four classes";
  return scores;
}

// Two heads; one of them has two classes.
TEST(SignalClass, MayChangeOnResumeAndInEvaluations) {
  const TemporaryFolder folder;
  const auto config = [&](const std::string& signal) {
    return small_run(folder.path(), {"eval.signal=" + signal, "eval.every=5", "train.patience=9",
                                     "train.keep_best=noise.area under the curve"});
  };
  {
    const SignalGuard guard;
    Listener listener;
    listener.interrupt_at = 12;
    Trainer(config("noise/uniform"), listener, quick()).run();
    ASSERT_EQ(listener.evaluations.size(), 2u);
    noise_scores(listener.evaluations.back(), "uniform");
  }
  Listener listener;
  Trainer trainer(config("1"), listener, quick());
  EXPECT_EQ(trainer.step(), 12u);
  const FinishReport finish = trainer.run();
  for (const std::string& note : trainer.plan().notes)
    EXPECT_EQ(note.find("starts again"), std::string::npos) << note;
  const auto usual = noise_scores(*finish.evaluation, "gaussian");
  expect_parts(slurp(folder / "report.html"),
               {"ROC curve (signal: gaussian)", "(signal: gaussian)"});
  expect_parts(slurp(folder / "metrics.jsonl"),
               {R"("signal":"uniform")", R"("signal":"gaussian")"});

  const auto again = [&](const std::string& signal) {
    return evaluate_checkpoint(folder.path(), config(signal), listener, folder / (signal + ".csv"));
  };
  EXPECT_EQ(noise_scores(again("gaussian"), "gaussian"), usual);
  const auto other = noise_scores(again("uniform"), "uniform");
  EXPECT_EQ(other.at("area under the curve"), usual.at("area under the curve"));
  EXPECT_NE(other, usual) << "rejections";
  EXPECT_EQ(slurp(folder / "uniform.csv"), slurp(folder / "gaussian.csv"));
  expect_parts(message_of(ErrorKind::config, [&] { again("gausian"); }),
               {"'gausian'", "did you mean 'gaussian'?"});
}

}  // namespace
}  // namespace wellspring::test
