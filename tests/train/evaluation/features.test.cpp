// Features of trained networks, and the evaluation by nearest neighbours.
#include "train/evaluation/features.h"

#include "core/io/hdf5.h"
#include "core/io/npy.h"
#include "core/io/safetensors.h"
#include "tests/support/npz_fixtures.h"
#include "tests/support/torch_formula.h"
#include "tests/train/training_testing.h"
#include "train/checkpoint/checkpoint.h"
#include "train/evaluation/checkpoint_network.h"
#include "train/evaluation/evaluation.h"
#include "train/evaluation/nearest_neighbours.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <numeric>
#include <span>

namespace wellspring::test {
namespace {

namespace fs = std::filesystem;

std::vector<float> tensor(const SafetensorsFile& file, const std::string& name) {
  const TensorInfo& info = file.tensor(name);
  std::vector<float> values(info.bytes / sizeof(float));
  file.read(info, std::as_writable_bytes(std::span(values)));
  return values;
}

class Features : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    trained_ = std::make_unique<TemporaryFolder>();
    Listener listener;
    Trainer(small_run(trained_->path(), {"train.steps=8", "eval.samples=21"}), listener,
            test::quick())
        .run();
  }
  static void TearDownTestSuite() { trained_.reset(); }

  RunConfig config(std::vector<std::string> overrides = {}) const {
    return config_of_checkpoint(trained_->path(), overrides);
  }
  FeatureReport write(const std::string& name, const std::string& layer = "",
                      const std::vector<std::string>& overrides = {},
                      FeatureSamples samples = FeatureSamples::held_out) {
    return write_features({trained_->path(), layer, folder_ / name, samples}, config(overrides),
                          listener_);
  }

  static inline std::unique_ptr<TemporaryFolder> trained_;
  TemporaryFolder folder_;
  Listener listener_;
};

TEST_F(Features, AreTheInputOfTheOutputLayer) {
  const FeatureReport report = write("f.npz");
  EXPECT_EQ(report.samples, 42u);
  EXPECT_EQ(report.shape, (TensorShape{1, 1, 8}));
  evaluate_checkpoint(trained_->path(), config(), listener_, folder_ / "p.npz");
  const auto features = npz_values<float>(folder_ / "f.npz", "features");
  const auto scores = npz_values<float>(folder_ / "p.npz", "scores_shapes");
  const SafetensorsFile model(find_model_file(trained_->path()));
  const auto weight = tensor(model, "head.weight"), bias = tensor(model, "head.bias");
  ASSERT_EQ(features.size(), 42u * 8);
  for (std::size_t i = 0; i < 42; ++i) {
    double p[4], sum = 0;  // the first four rows of the layer belong to `shapes`
    for (std::size_t k = 0; k < 4; ++k) {
      double logit = bias[k];
      for (std::size_t j = 0; j < 8; ++j)
        logit += static_cast<double>(weight[8 * k + j]) * features[8 * i + j];
      sum += p[k] = std::exp(logit);
    }
    // A logit is a sum of 9 terms below 10, so its error is at most 9 * 10 * 2^-24; a probability's
    // error is smaller.
    for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(scores[4 * i + k], p[k] / sum, 90 * 0x1p-24);
  }
  for (const char* name : {"source", "sample", "label", "weight", "latents"})
    EXPECT_EQ(read_npz(folder_ / "f.npz", name).data, read_npz(folder_ / "p.npz", name).data)
        << name;
  const auto metadata = nlohmann::json::parse(read_npz_text(folder_ / "f.npz", "metadata"));
  EXPECT_EQ(metadata["layer"], "");
}

// Matrix products of different sizes may add in a different order: sums of at most 72 products of
// values below 10, through five layers.
TEST_F(Features, AreEqualForAnyBatch) {
  write("a.npz", "stage1");
  write("b.npz", "stage1");
  EXPECT_EQ(slurp(folder_ / "a.npz"), slurp(folder_ / "b.npz"));
  const auto a = npz_values<float>(folder_ / "a.npz", "features");
  const std::vector<std::vector<std::string>> batches = {{"train.batch=5"},
                                                         {"train.batch=16", "train.accumulate=2"}};
  for (const std::vector<std::string>& batch : batches) {
    write("c.npz", "stage1", batch);
    const auto c = npz_values<float>(folder_ / "c.npz", "features");
    ASSERT_EQ(a.size(), c.size());
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], c[i], 5 * 72 * 10 * 0x1p-24);
  }
}

TEST_F(Features, HaveTheShapeOfTheLayer) {
  EXPECT_EQ(write("f.npz", "stage0.stem.conv").shape, (TensorShape{8, 8, 4}));
  EXPECT_EQ(read_npz(folder_ / "f.npz", "features").spec.shape,
            (std::vector<std::int64_t>{42, 8, 8, 4}));
  EXPECT_EQ(write("g.h5", "head").shape, (TensorShape{1, 1, 6}));
  expect_parts(message_of(ErrorKind::config, [&] { write("f.npz", "stage9.stem.conv"); }),
               {"model cnn: it has no layer 'stage9.stem.conv'", "wellspring describe cnn",
                "stage0.stem.conv"});
  expect_parts(message_of(ErrorKind::config, [&] { write("f.csv"); }),
               {"cannot write features to", ".npz, .h5 or .hdf5"});
}

TEST_F(Features, AreEqualInBothFormats) {
  write("f.npz", "stage1");
  write("f.h5", "stage1");
  const Hdf5File hdf5(folder_ / "f.h5");
  const auto expect_equal = [&]<class T>(const std::string& name, T /*type of the numbers*/) {
    SCOPED_TRACE(name);
    const Hdf5Array array = hdf5.array(name);
    ASSERT_EQ(array.shape(), read_npz(folder_ / "f.npz", name).spec.shape);
    const std::vector<T> expected = npz_values<T>(folder_ / "f.npz", name);
    std::vector<T> values(expected.size());
    array.read(0, 42, values.data());
    EXPECT_EQ(values, expected);
  };
  for (const char* const name : {"features", "weight"}) expect_equal(name, float{});
  for (const char* const name : {"sample", "label"}) expect_equal(name, std::int64_t{});
  EXPECT_EQ(nlohmann::json::parse(hdf5.text("metadata")),
            nlohmann::json::parse(read_npz_text(folder_ / "f.npz", "metadata")));
}

// A part ends with its activation: no value is negative, and some are positive.
TEST_F(Features, IncludeTheActivationOfAPart) {
  write("f.npz", "stage1");
  const auto values = npz_values<float>(folder_ / "f.npz", "features");
  EXPECT_GE(*std::ranges::min_element(values), 0);
  EXPECT_GT(*std::ranges::max_element(values), 0);
  write("g.npz", "stage0.stem.conv");
  const auto before = npz_values<float>(folder_ / "g.npz", "features");
  EXPECT_LT(*std::ranges::min_element(before), 0);
}

// Without a norm, the activation follows the pooling.
TEST_F(Features, IncludeThePoolingOfAPart) {
  const TemporaryFolder run;
  const std::vector<std::string> settings = {
      "train.steps=2", "eval.samples=5",
      "model={name: cnn, widths: [4, 8], blocks: [0, 0], pool: [1, 1], norm: none}"};
  Trainer(small_run(run.path(), settings), listener_, test::quick()).run();
  write_features({run.path(), "stage0", folder_ / "f.npz", FeatureSamples::held_out},
                 config_of_checkpoint(run.path()), listener_);
  const NpyArray features = read_npz(folder_ / "f.npz", "features");
  EXPECT_EQ(std::vector(features.spec.shape.begin() + 1, features.spec.shape.end()),
            (std::vector<std::int64_t>{4, 4, 4}));
  for (const float value : npz_values<float>(folder_ / "f.npz", "features")) EXPECT_GE(value, 0);
}

TEST_F(Features, DoNotCallTrainingSamplesHeldOut) {
  write("t.npz", "", {}, FeatureSamples::training);
  write("f.npz");
  const auto trained = npz_values<std::int64_t>(folder_ / "t.npz", "sample");
  const auto held_out = npz_values<std::int64_t>(folder_ / "f.npz", "sample");
  EXPECT_EQ(trained[0], held_out[20] + 1);
}

TEST_F(Features, AcceptDataWithOtherClasses) {
  RunConfig other = small_run("unused", {"data.sources=[{name: fractals, kind: generator, "
                                         "generator: ifs}]",
                                         "eval.sources=[{of: fractals}]"});
  write_features({trained_->path(), "", folder_ / "f.npz", FeatureSamples::held_out}, other,
                 listener_);
  EXPECT_EQ(npz_values<float>(folder_ / "f.npz", "features").size(), 20u * 8);
}

TEST_F(Features, HaveARowPerItemOfASet) {
  const TemporaryFolder run;
  Trainer(small_run(run.path(), {"data.sources=[{name: jets, kind: generator, generator: ginkgo}]",
                                 "eval.sources=[{of: jets}]", "train.steps=2",
                                 "model={name: transformer, width: 16, depth: 1, heads: 2}"}),
          listener_, test::quick())
      .run();
  const FeatureReport report =
      write_features({run.path(), "block0", folder_ / "f.npz", FeatureSamples::held_out},
                     config_of_checkpoint(run.path()), listener_);
  EXPECT_EQ(report.shape.height, 1);
  EXPECT_EQ(report.shape.channels, 16);
  EXPECT_EQ(read_npz(folder_ / "f.npz", "features").spec.shape,
            (std::vector<std::int64_t>{20, report.shape.width, 16}));
}

TEST_F(Features, ClassifyByNearestNeighbours) {
  const KnnReport report =
      evaluate_knn({trained_->path(), "", 5}, config({"eval.samples=150"}), listener_);
  ASSERT_EQ(report.results.size(), 2u);
  EXPECT_EQ(report.results[0].samples, 150u);
  EXPECT_EQ(report.results[0].bank, 150u);
  EXPECT_GE(report.results[0].accuracy, 0);
  EXPECT_LE(report.results[0].accuracy, 1);
  expect_parts(message_of(ErrorKind::config,
                          [&] {
                            evaluate_knn({trained_->path(), "", 22}, config(), listener_);
                          }),
               {"--knn 22", "21 training samples"});
  expect_parts(
      message_of(ErrorKind::config,
                 [&] {
                   evaluate_knn({trained_->path(), "", 2}, config({"eval.sources=[]"}), listener_);
                 }),
      {"eval.sources is empty"});
}

/// The classifier straight from its definition, in double precision.
std::vector<std::int32_t> classify_plainly(std::span<const float> samples,
                                           std::span<const float> bank,
                                           const std::vector<std::int32_t>& labels,
                                           std::size_t width, std::size_t k, double temperature,
                                           std::size_t classes) {
  const auto dot = [&](const float* a, const float* b) {
    double sum = 0;
    for (std::size_t j = 0; j < width; ++j) sum += static_cast<double>(a[j]) * b[j];
    return sum;
  };
  std::vector<std::int32_t> found;
  for (const float* x = samples.data(); x != samples.data() + samples.size(); x += width) {
    std::vector<double> similarity;
    for (const float* b = bank.data(); b != bank.data() + bank.size(); b += width)
      similarity.push_back(dot(x, b) / std::sqrt(dot(x, x) * dot(b, b)));
    std::vector<std::size_t> order(labels.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return similarity[i]; });
    std::vector<double> votes(classes);
    for (std::size_t n = 0; n < k; ++n)
      votes[static_cast<std::size_t>(labels[order[n]])] +=
          std::exp(similarity[order[n]] / temperature);
    found.push_back(static_cast<std::int32_t>(std::ranges::max_element(votes) - votes.begin()));
  }
  return found;
}

// 3,000 samples take two blocks of the bank, the second partly empty; 150 queries take two blocks.
// The votes of random features differ by far more than rounding, so the classes agree.
TEST(NearestNeighbours, EqualTheDefinition) {
  constexpr std::size_t kWidth = 6, kBank = 3000, kSamples = 150, kClasses = 7;
  const auto floats = [](const char* name, std::size_t count) {
    const std::vector<double> values = formula(name, count);
    return std::vector<float>(values.begin(), values.end());
  };
  const std::vector<float> bank = floats("bank", kBank * kWidth);
  const std::vector<float> samples = floats("samples", kSamples * kWidth);
  std::vector<std::int32_t> labels;
  for (const double value : formula("labels", kBank))
    labels.push_back(static_cast<std::int32_t>((value + 1) / 2 * kClasses));
  for (const int k : {1, 20, 200}) {
    NearestNeighbours neighbours({.width = kWidth, .classes = kClasses, .neighbours = k}, bank,
                                 labels);
    EXPECT_EQ(neighbours.classify(samples),
              classify_plainly(samples, bank, labels, kWidth, static_cast<std::size_t>(k), 0.07,
                               kClasses))
        << k;
  }
}

TEST(NearestNeighbours, TakeTheFirstOfEquallySimilarSamples) {
  const std::vector<float> bank = {1, 0, 0, 1,
                                   1, 0, 1, 0};  // all products with the sample are exact
  NearestNeighbours neighbours({.width = 2, .classes = 3, .neighbours = 1}, bank, {1, 0, 2, 0});
  EXPECT_EQ(neighbours.classify(std::vector<float>{2, 0}), std::vector<std::int32_t>{1});
}

TEST(NearestNeighbours, WeighNeighboursByTheirSimilarity) {
  // One neighbour of class 1 at the sample itself, and two of class 0 at 60 degrees: exp(1 / T)
  // against 2 exp(0.5 / T). The two are equal at T = 0.5 / log 2 = 0.72.
  const std::vector<float> bank = {0.5f, 0.8660254f, 1, 0, 0.5f, -0.8660254f};
  const std::vector<std::int32_t> labels = {0, 1, 0};
  const std::vector<float> sample = {3, 0};
  for (const auto& [temperature, expected] : {std::pair{0.6, 1}, std::pair{0.9, 0}}) {
    NearestNeighbours neighbours(
        {.width = 2, .classes = 2, .neighbours = 3, .temperature = temperature}, bank, labels);
    EXPECT_EQ(neighbours.classify(sample), std::vector<std::int32_t>{expected}) << temperature;
  }
}

}  // namespace
}  // namespace wellspring::test
