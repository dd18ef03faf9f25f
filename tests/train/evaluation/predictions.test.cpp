// Prediction files of evaluations and of unlabelled data, read back with the project's readers.
#include "core/io/bytes.h"
#include "core/io/hdf5.h"
#include "core/io/npy.h"
#include "export/export.h"
#include "tests/support/dataset_fixtures.h"
#include "tests/support/file_size_limit.h"
#include "tests/support/npz_fixtures.h"
#include "tests/train/training_testing.h"
#include "train/checkpoint/checkpoint.h"
#include "train/evaluation/checkpoint_network.h"
#include "train/evaluation/evaluation.h"
#include "train/evaluation/predict.h"
#include "train/run_samples.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <map>
#include <sstream>

#if defined(__SANITIZE_ADDRESS__)
// libhdf5 does not free a file whose last bytes it cannot write.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:H5";
}
#endif

namespace wellspring::test {
namespace {

namespace fs = std::filesystem;
using Overrides = std::vector<std::string>;

/// Fields without quotes.
std::vector<std::vector<std::string>> read_csv(const fs::path& path) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream text(read_text(path));
  for (std::string line; std::getline(text, line);) {
    EXPECT_TRUE(line.ends_with('\r'));
    line.back() = ',';
    rows.emplace_back();
    for (std::size_t begin = 0; begin < line.size();) {
      const std::size_t end = line.find(',', begin);
      rows.back().push_back(line.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return rows;
}

const Score& score_named(const HeadReport& head, const std::string& what) {
  for (const Score& one : head.scores)
    if (one.what == what) return one;
  ADD_FAILURE() << "no " << what;
  return head.scores.front();
}

// Two generators with a classification head each, and a regression that only one of them feeds. 21
// samples of each do not fill the last batch of 8.
struct MixedPredictions : ::testing::Test {
  MixedPredictions() {
    Trainer trainer(run(), listener, quick());
    trainer.run();
  }
  RunConfig run(Overrides overrides = {}) const {
    overrides.insert(overrides.begin(),
                     {"train.steps=8", "eval.samples=21",
                      "heads=[{name: shapes, loss: class}, {name: noise, loss: class}, {name: "
                      "place, loss: regression, targets: [x, scale], sources: [shapes]}]"});
    return small_run(folder / "run", overrides);
  }
  EvaluationReport evaluate(const std::string& name, const Overrides& overrides = {}) {
    return evaluate_checkpoint(folder / "run", run(overrides), listener, folder / name);
  }

  TemporaryFolder folder;
  Listener listener;
};

TEST_F(MixedPredictions, AgreeWithTheScores) {
  const EvaluationReport report = evaluate("p.npz");
  const fs::path file = folder / "p.npz";
  const auto source = npz_values<std::int32_t>(file, "source");
  const auto label = npz_values<std::int64_t>(file, "label");
  const auto predicted = npz_values<std::int64_t>(file, "predicted_shapes");
  const auto scores = npz_values<float>(file, "scores_shapes");
  const auto place = npz_values<float>(file, "prediction_place");
  const auto truth = npz_values<float>(file, "truth_place");
  const auto latents = npz_values<float>(file, "latents");
  ASSERT_EQ(source.size(), 42u);
  ASSERT_EQ(scores.size(), 42u * 4);
  const auto sample = npz_values<std::int64_t>(file, "sample");
  double right = 0, error = 0;
  for (std::size_t i = 0; i < 42; ++i) {
    ASSERT_EQ(source[i], i < 21 ? 0 : 1);
    ASSERT_EQ(sample[i], (std::int64_t{1} << 48) + static_cast<std::int64_t>(i % 21));
    const float* const p = scores.data() + 4 * i;
    EXPECT_NEAR(p[0] + p[1] + p[2] + p[3], 1, 4 * 0x1p-23) << "three sums of rounded values";
    EXPECT_EQ(std::max_element(p, p + 4) - p, predicted[i]);
    if (i >= 21) {
      EXPECT_TRUE(std::isnan(truth[2 * i])) << "noise has no place";
      continue;
    }
    right += predicted[i] == label[i] ? 1 : 0;
    error += std::pow(place[2 * i] - truth[2 * i], 2);
  }
  const HeadReport &shapes = report.results[0].heads[0], &regression = report.results[0].heads[1];
  EXPECT_DOUBLE_EQ(score_named(shapes, "accuracy").value, right / 21);
  // The loss scales errors in f32, which rounds values below 1 by a few times 2^-24.
  EXPECT_NEAR(score_named(regression, "rmse of x").value, std::sqrt(error / 21), 1e-5);
  const double bias = score_named(regression, "bias of x").value;
  EXPECT_NEAR(std::hypot(score_named(regression, "resolution of x").value, bias),
              score_named(regression, "rmse of x").value, 1e-5);
  const auto meta = nlohmann::json::parse(read_npz_text(file, "metadata"));
  EXPECT_EQ(meta["sources"][1]["name"], "noise");
  EXPECT_EQ(meta["heads"][2]["targets"][1]["name"], "scale");
  EXPECT_GT(latents.size(), 42u * 2);
}

TEST_F(MixedPredictions, AreEqualForAnyBatch) {
  const EvaluationReport one = evaluate("a.npz"), other = evaluate("b.npz", {"train.batch=5"});
  for (const char* const name : {"scores_shapes", "prediction_place", "latents", "weight"}) {
    const auto a = npz_values<float>(folder / "a.npz", name),
               b = npz_values<float>(folder / "b.npz", name);
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (std::isnan(a[i])) continue;
      // Matrix products of different sizes may add in a different order.
      ASSERT_NEAR(a[i], b[i], 1e-5) << name;
    }
  }
  EXPECT_EQ(one.results[0].heads[0].classifier->confusion,
            other.results[0].heads[0].classifier->confusion);
}

TEST_F(MixedPredictions, HoldTheSameNumbersInEveryFormat) {
  for (const char* const name : {"p.npz", "p.csv", "p.h5"}) evaluate(name);
  const auto scores = npz_values<float>(folder / "p.npz", "scores_noise");
  const auto predicted = npz_values<std::int64_t>(folder / "p.npz", "predicted_shapes");
  const Hdf5File hdf5(folder / "p.h5");
  const Hdf5Array there = hdf5.array("scores_noise");
  std::vector<float> same(scores.size());
  there.read(0, 42, same.data());
  EXPECT_EQ(same, scores);
  expect_parts(there.text_attribute("columns").value(), {"uniform, gaussian"});
  const auto rows = read_csv(folder / "p.csv");
  ASSERT_EQ(rows.size(), 43u);
  const auto column = [&](const std::string& name) {
    const auto found = std::ranges::find(rows[0], name);
    EXPECT_NE(found, rows[0].end()) << name;
    return static_cast<std::size_t>(found - rows[0].begin());
  };
  const auto classes = config_of_checkpoint(folder / "run").open_held_out().source(0).classes();
  for (std::size_t i = 0; i < 42; ++i) {
    ASSERT_EQ(rows[i + 1].size(), rows[0].size());
    EXPECT_EQ(std::stof(rows[i + 1][column("scores_noise_gaussian")]), scores[2 * i + 1]);
    EXPECT_EQ(rows[i + 1][column("predicted_shapes")],
              classes[static_cast<std::size_t>(predicted[i])]);
    EXPECT_EQ(rows[i + 1][column("truth_place_x")].empty(), i >= 21);
  }
}

TEST_F(MixedPredictions, LeaveNothingOnAFullDisk) {
  for (const std::string name : {"p.npz", "p.csv", "p.h5"}) {
    {
      const FileSizeLimit full(512);
      RunConfig config = run();
      config.evaluation.samples = 2000;
      const std::string message = message_of(ErrorKind::runtime, [&] {
        evaluate_checkpoint(folder / "run", config, listener, folder / name);
      });
      expect_parts(message, {name});
    }
    EXPECT_FALSE(fs::exists(folder / name));
    for (const auto& entry : fs::directory_iterator(folder.path()))
      EXPECT_EQ(entry.path().filename(), "run");
  }
  expect_parts(message_of(ErrorKind::config, [&] { evaluate("p.txt"); }), {"p.txt", ".csv"});
}

// Images in folders of classes, normalised and resized.
struct Predict : ::testing::Test {
  Predict() : images(labelled_noise(3, 12, 12)) { write_as_folder(folder / "photos", images); }
  RunConfig run(Overrides overrides = {}) const {
    overrides.push_back("out=" + (folder / "run").string());
    return RunConfig::parse(
        "name: photos\ndevice: cpu\nthreads: 1\n"
        "data: {size: 8, sources: [{name: photos, kind: files, path: " +
            (folder / "photos").string() +
            ", resize: 8, normalise: {mean: [0.4], std: [0.2]}, augment: "
            "[flip_x]}]}\n"
            "eval: {sources: [{of: photos, name: rest, fraction: 0.4}]}\n"
            "model: {name: cnn, widths: [4], blocks: [0], pool: [1]}\n"
            "train: {batch: 8, steps: 6, ema: 0}\n",
        "photos.yaml", overrides);
  }
  void train(const RunConfig& config) {
    Trainer trainer(config, listener, quick());
    trainer.run();
  }
  PredictReport predicted(const fs::path& data, const fs::path& out,
                          std::vector<ParamSetting> settings = {}) {
    PredictOptions options;
    options.checkpoint = folder / "run";
    options.data = data;
    options.out = out;
    options.settings = std::move(settings);
    options.shown = 3;
    return predict(options, config_of_checkpoint(folder / "run"), listener);
  }

  TemporaryFolder folder;
  LabelledImages images;
  Listener listener;
};

/// The scores of each location.
std::map<std::string, std::vector<float>> scores_by_file(const fs::path& file,
                                                         std::size_t classes) {
  const auto scores = npz_values<float>(file, "scores");
  const NpyArray locations = read_npz(file, "location");
  const auto width = static_cast<std::size_t>(locations.spec.shape[1]);
  std::map<std::string, std::vector<float>> found;
  for (std::size_t i = 0; i * classes < scores.size(); ++i) {
    std::string name(reinterpret_cast<const char*>(locations.data.data()) + i * width, width);
    name.resize(name.find_last_not_of('\0') + 1);
    found[fs::path(name).lexically_normal()] = {
        scores.begin() + static_cast<long>(i * classes),
        scores.begin() + static_cast<long>((i + 1) * classes)};
  }
  return found;
}

TEST_F(Predict, GivesTheScoresOfTheEvaluation) {
  train(run());
  evaluate_checkpoint(folder / "run", config_of_checkpoint(folder / "run"), listener,
                      folder / "held.npz");
  const PredictReport report = predicted(folder / "photos", folder / "all.npz");
  EXPECT_EQ(report.rows, 36u);
  ASSERT_EQ(report.first.size(), 3u);
  expect_parts(report.summary, {"36 images, 8x8"});
  const auto held = scores_by_file(folder / "held.npz", 3);
  auto all = scores_by_file(folder / "all.npz", 3);
  ASSERT_EQ(all.size(), 36u);
  ASSERT_GT(held.size(), 3u);
  for (const auto& [name, scores] : held)
    for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(all[name][k], scores[k], 1e-6) << name;
  EXPECT_EQ(npz_members(folder / "all.npz"),
            (std::vector<std::string>{"source.npy", "sample.npy", "location.npy", "predicted.npy",
                                      "scores.npy", "metadata.npy"}));
}

// A pass through the network has half a batch of rows.
TEST_F(Predict, GivesTheSameScoresAfterAccumulatedGradients) {
  train(run({"train.batch=16", "train.accumulate=2"}));
  predicted(folder / "photos", folder / "halves.npz");
  const auto halves = npz_values<float>(folder / "halves.npz", "scores");
  PredictOptions options;
  options.checkpoint = folder / "run";
  options.data = folder / "photos";
  options.out = folder / "whole.npz";
  const std::vector<std::string> whole = {"train.accumulate=1"};
  predict(options, config_of_checkpoint(folder / "run", whole), listener);
  const auto expected = npz_values<float>(folder / "whole.npz", "scores");
  ASSERT_EQ(halves.size(), expected.size());
  // Matrix products of different sizes may add in a different order.
  for (std::size_t i = 0; i < halves.size(); ++i) EXPECT_NEAR(halves[i], expected[i], 1e-6);
}

TEST_F(Predict, ReadsFlatFoldersAndArchives) {
  train(run());
  fs::create_directory(folder / "flat");
  int count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder / "photos"))
    if (entry.is_regular_file())
      fs::copy_file(entry.path(), folder / "flat" / (std::to_string(count++) + ".png"));
  EXPECT_EQ(predicted(folder / "flat", "").rows, 36u);
  write_as_tar(folder / "photos.tar", images);
  EXPECT_EQ(predicted(folder / "photos.tar", folder / "tar.csv").rows, 36u);
  spill(folder / "flat" / "damaged.png", "no image");
  expect_parts(
      message_of(ErrorKind::data, [&] { predicted(folder / "flat", folder / "none.npz"); }),
      {"damaged.png"});
  EXPECT_FALSE(fs::exists(folder / "none.npz"));
  const PredictReport rest = predicted(folder / "flat", "", {{"on_error", "skip"}});
  EXPECT_EQ(rest.rows, 36u);
  expect_parts(rest.summary, {"1 skipped", "damaged.png"});
  expect_parts(message_of(ErrorKind::data,
                          [&] {
                            predicted(folder / "flat", "", {{"resize", "0"}});
                          }),
               {"image of 12x12 pixels", "the network reads 8x8", "resize"});
}

TEST_F(Predict, IgnoresLabelsInArrays) {
  std::vector<float> x;
  std::vector<std::int64_t> y;
  for (int i = 0; i < 60; ++i) {
    y.push_back(i % 2);
    for (int k = 0; k < 3; ++k)
      x.push_back(500 + 100 * std::sin(static_cast<float>(3 * i + k)) +
                  static_cast<float>(40 * y.back()));
  }
  const auto write = [&](const std::string& name, bool labels) {
    std::vector<std::pair<std::string, std::string>> members = {
        {"x", npy_file({ElementType::f32, {60, 3}}, x)}};
    if (labels) members.emplace_back("label", npy_file({ElementType::i64, {60}}, y));
    if (y[7] < 0)  // weights count for training and evaluation only
      members.emplace_back("weight", npy_file({ElementType::f32, {60}}, std::vector(60, 0.5f)));
    write_compressed_npz(folder / name, members);
  };
  write("a.npz", true);
  write("bare.npz", false);
  // Measured means and deviations (normalise: auto) are in the checkpoint.
  train(RunConfig::parse(
      "name: a\ndevice: cpu\nthreads: 1\ndata: {sources: [{name: real, kind: "
      "files, path: " +
          (folder / "a.npz").string() +
          "}]}\neval: {sources: [{of: real, rows: 50%..100%}]}\n"
          "model: {name: mlp, widths: [8]}\ntrain: {batch: 16, steps: 40}\n",
      "a.yaml", Overrides{"out=" + (folder / "run").string(), "data.sources.0.rows=0%..50%"}));
  evaluate_checkpoint(folder / "run", config_of_checkpoint(folder / "run"), listener,
                      folder / "held.npz");
  predicted(folder / "bare.npz", folder / "bare_out.npz");
  y[7] = -5;  // no label, as written in some files
  write("strange.npz", true);
  predicted(folder / "strange.npz", folder / "out.npz");
  const auto all = npz_values<float>(folder / "out.npz", "scores");
  EXPECT_EQ(npz_values<float>(folder / "bare_out.npz", "scores"), all);
  const auto held = scores_by_file(folder / "held.npz", 2);
  ASSERT_GT(held.size(), 10u);
  for (const auto& [name, scores] : held) {
    const std::size_t row = std::stoul(name.substr(name.rfind(' ')));
    for (std::size_t k = 0; k < 2; ++k) EXPECT_NEAR(all[2 * row + k], scores[k], 1e-6) << name;
  }
}

TEST_F(Predict, NamesOtherColumns) {
  const auto write = [&](const std::string& name, std::int64_t columns) {
    std::vector<float> x;
    for (std::int64_t i = 0; i < 20 * columns; ++i) x.push_back(std::sin(static_cast<float>(i)));
    std::vector<std::int64_t> y;
    for (std::int64_t i = 0; i < 20; ++i) y.push_back(i % 3);
    write_compressed_npz(folder / name, {{"x", npy_file({ElementType::f32, {20, columns}}, x)},
                                         {"label", npy_file({ElementType::i64, {20}}, y)}});
  };
  write("five.npz", 5);
  write("six.npz", 6);
  const RunConfig config = RunConfig::parse(
      "name: a\ndevice: cpu\nthreads: 1\ndata: {sources: [{name: real, kind: files, path: " +
          (folder / "five.npz").string() +
          "}]}\neval: {sources: [{of: real, fraction: 0.3}]}\n"
          "model: {name: mlp, widths: [8]}\ntrain: {batch: 4, steps: 4}\n",
      "a.yaml", Overrides{"out=" + (folder / "run").string()});
  train(config);
  EXPECT_EQ(predicted(folder / "five.npz", "").rows, 20u);
  EXPECT_TRUE(predicted(folder / "five.npz", "").notes.empty());
  const auto message = [&](const fs::path& data) {
    return message_of(ErrorKind::data, [&] { predicted(data, ""); });
  };
  expect_parts(message(folder / "six.npz"),
               {"six.npz", "event of 6 features", "network reads an event of 5 features"});
  expect_parts(message(folder / "photos"), {"photos", "image 12x12x3", "event of 5 features"});
  RunSamples scaled(config, {.count = 8});
  export_samples(scaled, folder / "scaled.npz", {});
  const std::vector<std::string> notes = predicted(folder / "scaled.npz", "").notes;
  ASSERT_EQ(notes.size(), 1u);
  expect_parts(notes[0], {"scaled.npz", "normalised again"});
}

TEST_F(MixedPredictions, RefuseInfiniteOutputs) {
  // The length of the header, the header, then the weights. In f32, all bits set is a NaN.
  std::string bytes = read_text(find_model_file(folder / "run"));
  const std::size_t weights = 8 + number_at<std::uint64_t>(bytes_of(bytes), 0);
  std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(weights), bytes.end(), '\xff');
  bytes.replace(bytes.find("\"digest\""), 8, "\"edited\"");
  spill(folder / "nan.safetensors", bytes);
  const auto evaluated = [&] {
    evaluate_checkpoint(folder / "nan.safetensors", run(), listener, folder / "nan.npz");
  };
  expect_parts(message_of(ErrorKind::data, evaluated),
               {"source 'shapes', sample 0", "output of the network is", "nan"});
  EXPECT_FALSE(fs::exists(folder / "nan.npz"));
}

TEST_F(Predict, HoldTheTargetsOfSoftLabels) {
  std::vector<float> x, target;
  for (int i = 0; i < 20; ++i) {
    x.insert(x.end(), {std::sin(static_cast<float>(i)), std::cos(static_cast<float>(i))});
    target.insert(target.end(), {static_cast<float>(i) / 32, 1 - static_cast<float>(i) / 32});
  }
  write_compressed_npz(folder / "soft.npz",
                       {{"x", npy_file({ElementType::f32, {20, 2}}, x)},
                        {"target", npy_file({ElementType::f32, {20, 2}}, target)}});
  const RunConfig config = RunConfig::parse(
      "name: a\ndevice: cpu\nthreads: 1\ndata: {sources: [{name: real, kind: files, path: " +
          (folder / "soft.npz").string() +
          "}]}\neval: {sources: [{of: real, rows: 0%..100%}]}\n"
          "heads: [{name: real, loss: soft_label}]\n"
          "model: {name: mlp, widths: [8]}\ntrain: {batch: 4, steps: 4}\n",
      "a.yaml",
      Overrides{"out=" + (folder / "run").string(), "data.sources.0.rows=0..4",
                "data.sources.0.rows_by=order", "data.sources.0.classes=2",
                "eval.sources.0.rows=4..20"});
  train(config);
  const EvaluationReport report =
      evaluate_checkpoint(folder / "run", config, listener, folder / "held.npz");
  EXPECT_FALSE(report.results[0].trained_on.has_value()) << "not compared";
  EXPECT_EQ(npz_values<float>(folder / "held.npz", "truth"),
            std::vector<float>(target.begin() + 8, target.end()));
}

TEST_F(Predict, WritesTheProbabilitiesOfABinaryHead) {
  train(small_run(folder / "run", {"train.steps=4", "loss.kind=binary_cross_entropy"}));
  evaluate_checkpoint(folder / "run", small_run("unused"), listener, folder / "p.npz");
  const std::vector<float> scores = npz_values<float>(folder / "p.npz", "scores_shapes");
  double largest = 0;
  for (std::size_t row = 0; row < 40; ++row) {
    double sum = 0;
    for (std::size_t k = 0; k < 4; ++k) sum += static_cast<double>(scores[4 * row + k]);
    largest = std::max(largest, std::abs(sum - 1));
  }
  EXPECT_EQ(scores.size(), 160u);
  EXPECT_GT(largest, 0.01) << "softmax probabilities add up to 1";
  expect_parts(read_npz_text(folder / "p.npz", "metadata"), {"\"cross_entropy\": \"binary\""});
  expect_parts(message_of(ErrorKind::config,
                          [&] {
                            config_of_checkpoint(
                                folder / "run", Overrides{"heads=[{name: shapes}, {name: noise}]"});
                          }),
               {"heads", "has no effect"});
}

// A network trained on generated samples reads files with the generator's normalisation.
TEST_F(Predict, ReadsFilesLikeAGenerator) {
  train(small_run(folder / "run", {"train.steps=4", "eval.sources=[]"}));
  EXPECT_EQ(predicted(folder / "photos", "", {{"resize", "8"}}).rows, 36u);
  PredictOptions options;
  options.checkpoint = folder / "run";
  options.data = folder / "photos";
  options.like = "shaeps";
  expect_parts(
      message_of(ErrorKind::config,
                 [&] { predict(options, config_of_checkpoint(folder / "run"), listener); }),
      {"no source 'shaeps'", "did you mean 'shapes'"});
}

}  // namespace
}  // namespace wellspring::test
