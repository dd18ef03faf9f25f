#include "train/evaluation/classifier_scores.h"

#include "core/text/measured_text.h"
#include "tests/support/error_testing.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace wellspring::test {
namespace {

HeadSpec head_of(std::size_t classes, LossKind loss = LossKind::class_label) {
  HeadSpec head;
  head.name = "h";
  head.loss = loss;
  head.begin = 1;  // another head has an output before it
  for (std::size_t k = 0; k < classes; ++k) head.classes.push_back("c" + std::to_string(k));
  return head;
}

/// Samples on the host, passed in batches.
struct Samples {
  std::size_t classes;
  std::vector<float> outputs;  ///< with one foreign output before each sample's logits
  std::vector<std::int32_t> label;
  std::vector<float> weight, target;

  void add(const std::vector<float>& logits, std::int32_t label_, float weight_ = 1) {
    outputs.push_back(1e9f);
    outputs.insert(outputs.end(), logits.begin(), logits.end());
    label.push_back(label_);
    weight.push_back(weight_);
  }
  std::int64_t size() const { return static_cast<std::int64_t>(label.size()); }
  void pass(ClassifierScores& scores, std::int64_t batch) {
    for (std::int64_t first = 0; first < size(); first += batch) {
      PredictedRows rows;
      rows.first = static_cast<std::uint64_t>(first);
      rows.count = std::min(batch, size() - first);
      rows.width = static_cast<std::int32_t>(classes) + 1;
      rows.outputs = outputs.data() + first * rows.width;
      rows.truth.label = label.data() + first;
      rows.truth.weight = weight.data() + first;
      rows.truth.layout.targets = target.empty() ? 0 : static_cast<int>(classes);
      rows.truth.target = target.data() + first * rows.truth.layout.targets;
      scores.add(rows);
    }
  }
};

HeadReport report_of(Samples samples, LossKind loss = LossKind::class_label, std::int64_t batch = 4,
                     std::size_t signal = kUsualSignal) {
  MemoryPlan memory(Device::cpu());
  ClassifierScores scores(head_of(samples.classes, loss),
                          static_cast<std::uint64_t>(samples.size()), memory, signal);
  memory.commit();
  HeadReport report{"h", 0, {{"accuracy", 0.125, ""}}};
  for (int turn = 0; turn < 2; ++turn) {  // a second source must not see the first one's samples
    report = {"h", 0, {{"accuracy", 0.125, ""}}};
    scores.clear();
    samples.pass(scores, batch);
    scores.write(report);
  }
  EXPECT_EQ(scores.note(), "");
  return report;
}

std::optional<double> score(const HeadReport& report, const std::string& what) {
  for (const Score& one : report.scores)
    if (one.what == what) return one.value;
  return std::nullopt;
}

// Three classes; no sample has the last one.
TEST(ClassifierScores, CountsByHand) {
  Samples samples{3, {}, {}, {}, {}};
  samples.add({2, 1, 0}, 0);
  samples.add({1, 2, 0}, 0);
  samples.add({0, 3, 0}, 1);
  samples.add({0, 3, 1}, 1);
  samples.add({0, 1, 3}, 1);
  const ClassifierReport report = *report_of(samples).classifier;
  EXPECT_EQ(report.confusion, (std::vector<double>{1, 1, 0, 0, 2, 1, 0, 0, 0}));
  ASSERT_EQ(report.classes.size(), 3u);
  EXPECT_EQ(report.classes[0].samples, 2);
  EXPECT_EQ(report.classes[0].precision, 1.0);
  EXPECT_EQ(report.classes[0].recall, 0.5);
  EXPECT_EQ(report.classes[0].f1, 2.0 / 3);
  EXPECT_EQ(report.classes[0].area, 1.0);
  EXPECT_EQ(report.classes[1].precision, 2.0 / 3);
  EXPECT_EQ(report.classes[1].recall, 2.0 / 3);
  EXPECT_EQ(report.classes[2].samples, 0);
  EXPECT_EQ(report.classes[2].precision, 0.0);
  EXPECT_EQ(report.classes[2].recall, std::nullopt);
  EXPECT_EQ(report.classes[2].area, std::nullopt);
  EXPECT_TRUE(report.roc_curve.empty());
  // Log-odds of class 1: about -1.1, 0.8 for label 0, and about 2.3, 1.9, -2.1 for label 1.
  EXPECT_EQ(report.classes[1].area, 4.0 / 6);
  EXPECT_DOUBLE_EQ(score(report_of(samples), "mean area under the curve").value(), 5.0 / 6);
}

// Two samples of confidence 3/4, one of them right, and two of confidence 0.9, both right:
// |1/2 - 3/4| / 2 + |1 - 0.9| / 2.
TEST(ClassifierScores, GivesTheCalibrationErrorByHand) {
  const auto sure = static_cast<float>(std::log(3)), surer = static_cast<float>(std::log(9));
  Samples samples{2, {}, {}, {}, {}};
  samples.add({sure, 0}, 0);
  samples.add({sure, 0}, 1);
  samples.add({0, surer}, 1);
  samples.add({0, surer}, 1);
  const HeadReport report = report_of(samples);
  // The logits are f32: their relative error of 2^-24 moves a probability by less than that.
  EXPECT_NEAR(score(report, "calibration error").value(), 0.175, 0x1p-22);
  ASSERT_EQ(report.classifier->calibration.size(), 2u);
  EXPECT_EQ(report.classifier->calibration[1].accuracy, 1);
  EXPECT_EQ(report.classifier->calibration[1].share, 0.5);
}

TEST(ClassifierScores, CountsTheFiveLikeliestClasses) {
  Samples samples{6, {}, {}, {}, {}};
  samples.add({5, 4, 3, 2, 1, 0}, 5);  // the last of six
  samples.add({5, 4, 3, 2, 1, 0}, 4);
  samples.add({0, 0, 0, 0, 0, 0}, 5);  // ties go to the first
  samples.add({0, 0, 0, 0, 0, 0}, 4);
  const HeadReport report = report_of(samples);
  EXPECT_EQ(score(report, "top-5 accuracy"), 0.5);
  samples.classes = 6;
  Samples five{5, {}, {}, {}, {}};
  five.add({0, 0, 0, 0, 0}, 4);
  EXPECT_EQ(score(report_of(five), "top-5 accuracy"), std::nullopt);
}

/// A sample of weight n counts like n samples.
TEST(ClassifierScores, WeightsSamplesLikeCopies) {
  std::mt19937 random(3);
  Samples weighted{3, {}, {}, {}, {}}, copied = weighted;
  for (int i = 0; i < 50; ++i) {
    const auto label = static_cast<std::int32_t>(random() % 3);
    std::vector<float> logits;
    for (int k = 0; k < 3; ++k) logits.push_back(static_cast<float>(random() % 8) / 2);
    logits[static_cast<std::size_t>(label)] += 1;
    const unsigned weight = random() % 3 + 1;
    weighted.add(logits, label, static_cast<float>(weight));
    for (unsigned n = 0; n < weight; ++n) copied.add(logits, label);
  }
  const HeadReport one = report_of(weighted), other = report_of(copied);
  for (std::size_t k = 0; k < 3; ++k) {
    const ClassReport &a = one.classifier->classes[k], &b = other.classifier->classes[k];
    EXPECT_EQ(a.samples, b.samples);
    EXPECT_EQ(a.precision, b.precision);
    EXPECT_EQ(a.recall, b.recall);
    EXPECT_EQ(a.f1, b.f1);
    EXPECT_EQ(a.area, b.area);
  }
  EXPECT_EQ(one.classifier->confusion, other.classifier->confusion);
  // The sums have different orders, so 100 rounding errors of f64 are allowed.
  EXPECT_NEAR(*score(one, "calibration error"), *score(other, "calibration error"), 100 * 0x1p-52);
  EXPECT_EQ(score(other, "accuracy"), 0.125) << "without weights, the accuracy stays";
  double right = 0, all = 0;
  for (std::size_t k = 0; k < 3; ++k) {
    right += one.classifier->confusion[4 * k];
    all += one.classifier->classes[k].samples;
  }
  EXPECT_EQ(score(one, "accuracy"), right / all);
}

TEST(ClassifierScores, AgreeWithAllPairsForAnyBatch) {
  std::mt19937 random(5);
  Samples samples{4, {}, {}, {}, {}};
  for (int i = 0; i < 101; ++i) {
    std::vector<float> logits;
    for (int k = 0; k < 4; ++k) logits.push_back(static_cast<float>(random() % 4));
    samples.add(logits, static_cast<std::int32_t>(random() % 4));
  }
  for (const std::int64_t batch : {1, 7, 101, 200}) {
    const ClassifierReport report = *report_of(samples, LossKind::class_label, batch).classifier;
    for (std::size_t k = 0; k < 4; ++k) {
      double won = 0, pairs = 0;
      const auto probability = [&](std::size_t i) {
        std::vector<double> p(4);
        class_probabilities(head_of(4), {samples.outputs.data() + 5 * i + 1, 4}, p);
        return p[k];
      };
      for (std::size_t i = 0; i < 101; ++i)
        for (std::size_t j = 0; j < 101; ++j) {
          if (samples.label[i] != static_cast<int>(k) || samples.label[j] == static_cast<int>(k))
            continue;
          const double difference = probability(i) - probability(j);
          // Logits are integers up to 3, so different probabilities differ by more than 1e-4.
          won += std::abs(difference) < 1e-9 ? 0.5 : difference > 0 ? 1 : 0;
          pairs += 1;
        }
      // Log-odds of equal probabilities may be rounded differently if their logits are permuted.
      EXPECT_NEAR(report.classes[k].area.value(), won / pairs, 0.02) << k;
    }
  }
}

// Probabilities are the sigmoids of the logits; a class is ranked by its own logit alone.
TEST(ClassifierScores, RankTheClassesOfABinaryHeadByTheirOwnLogits) {
  HeadSpec head = head_of(3);
  head.cross_entropy = CrossEntropy::binary;
  std::vector<double> p(3);
  class_probabilities(head, std::vector<float>{0, std::log(3.0f), -std::log(4.0f)}, p);
  EXPECT_NEAR(p[0], 0.5, 1e-7);
  EXPECT_NEAR(p[1], 0.75, 1e-7);
  EXPECT_NEAR(p[2], 0.2, 1e-7);
  Samples samples{3, {}, {}, {}, {}};
  samples.add({1, 0, 0}, 0);  // a softmax would give 0.58, more than in the other samples
  samples.add({2, 9, 0}, 1);
  samples.add({0, 0, 4}, 2);
  MemoryPlan memory(Device::cpu());
  ClassifierScores scores(head, 3, memory);
  memory.commit();
  HeadReport report{"h", 0, {{"accuracy", 0.125, ""}}};
  scores.clear();
  samples.pass(scores, 2);
  scores.write(report);
  // Class 0: the logit 1 of its sample is above one of the two others; softmax would rank it first.
  EXPECT_EQ(report.classifier->classes[0].area, 0.5);
  EXPECT_EQ(report.classifier->classes[1].area, 1.0);
  double error = 0;
  for (const double logit : {1, 9, 4}) error += (1 - 1 / (1 + std::exp(-logit))) / 3;
  EXPECT_NEAR(score(report, "calibration error").value(), error, 1e-6);
}

TEST(ClassifierScores, HaveACurveAndRejectionsForTwoClasses) {
  Samples samples{2, {}, {}, {}, {}};
  for (int i = 0; i < 10; ++i) samples.add({0, static_cast<float>(i)}, 1);
  for (int i = 0; i < 4; ++i) samples.add({0, 2.5f * static_cast<float>(i) + 0.2f}, 0);
  const HeadReport report = report_of(samples);
  EXPECT_EQ(report.classifier->roc_curve.front(), std::pair(0.0, 0.0));
  EXPECT_EQ(report.classifier->roc_curve.back(), std::pair(1.0, 1.0));
  EXPECT_TRUE(score(report, "area under the curve"));
  EXPECT_EQ(report.classifier->classes[1].area, score(report, "area under the curve"));
  EXPECT_EQ(report.classifier->classes[0].area, score(report, "area under the curve"));
  EXPECT_EQ(score(report, "background rejection at 30 %"), 4.0) << "one of four is above 7";
  EXPECT_EQ(score(report, "background rejection at 50 %"), 2.0) << "5.2 and 7.7 are above 5";
  Samples perfect{2, {}, {}, {}, {}};
  perfect.add({0, 1}, 1);
  perfect.add({0, -1}, 0);
  EXPECT_EQ(score(report_of(perfect), "background rejection at 30 %"), std::nullopt) << "no limit";
}

// The other class as signal: same area, the curve mirrored, rejections counted on the other side.
TEST(ClassifierScores, FollowTheSignalOfTwoClasses) {
  Samples samples{2, {}, {}, {}, {}};
  for (int i = 0; i < 10; ++i) samples.add({0, static_cast<float>(i)}, 1);
  for (int i = 0; i < 4; ++i) samples.add({0, 2.5f * static_cast<float>(i) + 0.2f}, 0);
  for (const LossKind loss : {LossKind::class_label, LossKind::soft_label}) {
    samples.target.clear();
    for (const std::int32_t label : samples.label)
      samples.target.insert(samples.target.end(), {label == 0 ? 1.f : 0.f, label == 0 ? 0.f : 1.f});
    const HeadReport usual = report_of(samples, loss), other = report_of(samples, loss, 4, 0);
    EXPECT_EQ(score(usual, "area under the curve"), score(other, "area under the curve"));
    // The second of four signal samples is at -2.7, below three of ten others (0, -1 and -2).
    EXPECT_EQ(score(other, "background rejection at 30 %"), 1 / 0.3);
    EXPECT_EQ(score(other, "background rejection at 50 %"), 1 / 0.3);
    for (const HeadReport* report : {&usual, &other})
      for (const Score& one : report->scores) {
        const bool either = one.what.find("area") == 0 || one.what.find("background") == 0;
        EXPECT_EQ(one.signal, !either ? "" : report == &usual ? "c1" : "c0") << one.what;
      }
    const auto &points = usual.classifier->roc_curve, &mirrored = other.classifier->roc_curve;
    ASSERT_EQ(points.size(), mirrored.size());
    for (std::size_t i = 0; i < points.size(); ++i) {
      EXPECT_DOUBLE_EQ(points[i].first, 1 - mirrored[points.size() - 1 - i].second);
      EXPECT_DOUBLE_EQ(points[i].second, 1 - mirrored[points.size() - 1 - i].first);
    }
  }
}

// A very confident network: all probabilities of class 1 round to 1, but their log-odds do not.
TEST(ClassifierScores, RankSaturatedProbabilities) {
  Samples samples{2, {}, {}, {}, {}};
  samples.add({0, 200}, 1);
  samples.add({0, 100}, 0);
  EXPECT_EQ(score(report_of(samples), "area under the curve"), 1.0);
}

TEST(ClassifierScores, ReadSoftAndSeveralLabels) {
  Samples soft{2, {}, {}, {}, {}};
  soft.add({1, 0}, -1);
  soft.add({0, 1}, -1);
  soft.target = {0.9f, 0.1f, 0.6f, 0.4f};
  EXPECT_EQ(report_of(soft, LossKind::soft_label).classifier->confusion,
            (std::vector<double>{1, 1, 0, 0}));

  Samples several{2, {}, {}, {}, {}};
  several.add({1, 1}, -1);
  several.add({-1, 2}, -1);
  several.add({-2, -1}, -1);
  several.target = {1, 1, 0, 1, 1, 0};
  const HeadReport report = report_of(several, LossKind::multi_label);
  EXPECT_TRUE(report.classifier->confusion.empty());
  EXPECT_EQ(report.classifier->classes[0].samples, 2);
  EXPECT_EQ(report.classifier->classes[0].precision, 1.0);
  EXPECT_EQ(report.classifier->classes[0].recall, 0.5);
  EXPECT_EQ(report.classifier->classes[0].area, 0.5);
  EXPECT_EQ(report.classifier->classes[1].f1, 1.0);
  EXPECT_EQ(report.classifier->classes[1].area, 1.0);
  EXPECT_EQ(score(report, "mean area under the curve"), 0.75);
  EXPECT_EQ(score(report, "accuracy"), 0.125);
}

TEST(ClassifierScores, LeaveOutTheRankingAboveTheLimit) {
  Samples samples{2, {}, {}, {}, {}};
  for (int i = 0; i < 100; ++i) samples.add({0, static_cast<float>(i)}, i % 2);
  MemoryPlan memory(Device::cpu());
  ClassifierScores scores(head_of(2), 100, memory, kUsualSignal, 1000);
  memory.commit();
  scores.clear();
  samples.pass(scores, 16);
  HeadReport report{"h", 0, {}};
  scores.write(report);
  EXPECT_EQ(score(report, "area under the curve"), std::nullopt);
  EXPECT_TRUE(score(report, "calibration error"));
  EXPECT_EQ(report.classifier->classes[0].recall, 0.02);
  expect_parts(scores.note(), {"head 'h': no ROC curve", "100 samples", "1000 B", "fewer samples"});
}

}  // namespace
}  // namespace wellspring::test
