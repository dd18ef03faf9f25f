#include "train/evaluation/signal_class.h"

#include "tests/train/training_testing.h"
#include "train/evaluation/evaluation.h"

#include <map>
#include <string>
#include <vector>

namespace wellspring::test {
namespace {

HeadSpec head(const std::string& name, std::vector<std::string> classes,
              LossKind loss = LossKind::class_label) {
  HeadSpec spec;
  spec.name = name;
  spec.loss = loss;
  spec.classes = std::move(classes);
  return spec;
}

/// Two heads with a signal, and one of each kind without.
std::vector<HeadSpec> heads() {
  return {head("jet", {"quark", "gluon"}), head("tags", {"b", "c"}, LossKind::multi_label),
          head("charge", {"1", "0"}, LossKind::soft_label), head("digit", {"0", "1", "2"}),
          head("mass", {}, LossKind::regression)};
}

std::vector<std::size_t> of(const std::vector<std::string>& wanted) {
  return signal_classes(wanted, heads());
}

std::string refused(const std::vector<std::string>& wanted, const std::vector<HeadSpec>& all) {
  return message_of(ErrorKind::config, [&] { signal_classes(wanted, all); });
}

TEST(SignalClass, IsNamedOrNumbered) {
  using List = std::vector<std::size_t>;
  EXPECT_EQ(of({}), (List{1, 1, 1, 1, 1}));
  EXPECT_EQ(of({"quark"}), (List{0, 1, 1, 1, 1}));
  EXPECT_EQ(of({"jet/quark", "charge/1"}), (List{0, 1, 0, 1, 1}));
  EXPECT_EQ(of({"jet/0"}), (List{0, 1, 1, 1, 1}));
  // In every head: the class named 0, else the class of that index.
  EXPECT_EQ(of({"0"}), (List{0, 1, 1, 1, 1}));
  EXPECT_EQ(of({"1"}), (List{1, 1, 0, 1, 1}));
}

TEST(SignalClass, RefusesUnknownAndRepeatedNames) {
  expect_parts(refused({"gluonn"}, {head("jet", {"quark", "gluon"})}),
               {"eval.signal", "'gluonn'", "did you mean 'gluon'?"});
  expect_parts(refused({"jet/qark"}, heads()), {"'jet/qark'", "did you mean 'jet/quark'?"});
  EXPECT_NE(refused({"digit/2"}, heads()), "");
  EXPECT_NE(refused({"b"}, heads()), "") << "labels of multi_label are independent";
  expect_parts(refused({"gluon", "jet/quark"}, heads()),
               {"'gluon' and 'jet/quark'", "head 'jet'", "HEAD/CLASS"});
  expect_parts(refused({"2"}, {heads()[3], heads()[4]}),
               {"no head has a signal '2'", "two classes", "remove eval.signal"});
}

/// The scores of head `noise`, and the signal that they name.
std::map<std::string, double> scores_of(const EvaluationReport& report, const std::string& signal) {
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

// Two heads, of which one has two classes.
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
    scores_of(listener.evaluations.back(), "uniform");
  }
  Listener listener;
  Trainer trainer(config("1"), listener, quick());
  EXPECT_EQ(trainer.step(), 12u);
  const FinishReport finish = trainer.run();
  for (const std::string& note : trainer.plan().notes)
    EXPECT_EQ(note.find("starts again"), std::string::npos) << note;
  const auto usual = scores_of(*finish.evaluation, "gaussian");
  expect_parts(slurp(folder / "report.html"),
               {"ROC curve (signal: gaussian)", "(signal: gaussian)"});
  expect_parts(slurp(folder / "metrics.jsonl"),
               {R"("signal":"uniform")", R"("signal":"gaussian")"});

  const auto again = [&](const std::string& signal) {
    return evaluate_checkpoint(folder.path(), config(signal), listener, folder / (signal + ".csv"));
  };
  EXPECT_EQ(scores_of(again("gaussian"), "gaussian"), usual);
  const auto other = scores_of(again("uniform"), "uniform");
  EXPECT_EQ(other.at("area under the curve"), usual.at("area under the curve"));
  EXPECT_NE(other, usual) << "rejections";
  EXPECT_EQ(slurp(folder / "uniform.csv"), slurp(folder / "gaussian.csv"));
  expect_parts(message_of(ErrorKind::config, [&] { again("gausian"); }),
               {"'gausian'", "did you mean 'gaussian'?"});
}

}  // namespace
}  // namespace wellspring::test
