// Configurations written by `wellspring init`: their contents for each kind of data, and training
// with them.
#include "train/suggested_config.h"

#include "core/io/hdf5.h"
#include "core/io/npy.h"
#include "export/export.h"
#include "export/sample_reader.h"
#include "tests/support/dataset_fixtures.h"
#include "tests/support/npz_fixtures.h"
#include "tests/train/training_testing.h"

#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace wellspring::test {
namespace {

namespace fs = std::filesystem;
using Shape = std::vector<std::int64_t>;

template <class T>
std::vector<T> spread_values(std::size_t count, double low, double high) {
  std::vector<T> all(count);
  for (std::size_t i = 0; i < count; ++i)  // equally spaced, in a scattered order
    all[i] = static_cast<T>(low + (high - low) * static_cast<double>(i * 7919 % 1000) / 999);
  return all;
}

std::vector<std::int64_t> classes_of(std::int64_t rows, std::int64_t classes) {
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < rows; ++i) labels.push_back(i % classes);
  return labels;
}

class SuggestedConfig : public testing::Test {
 protected:
  fs::path path(const std::string& name) const { return folder_ / name; }

  /// The configuration for the data, after two steps of training with it.
  RunConfig config_of(const fs::path& data, const std::vector<ParamSetting>& given = {}) const {
    text_ = suggested_config(survey_data(data, given), "run.yaml");
    RunConfig config = RunConfig::parse(text_, "run.yaml", kQuick);
    Listener listener;
    Trainer(config, listener, in_memory()).run();
    EXPECT_EQ(listener.evaluations.size(), config.evaluation.sources.size()) << text_;
    return RunConfig::parse(text_, "run.yaml");
  }
  std::string refused(const fs::path& data) const {
    return message_of(ErrorKind::data, [&] { survey_data(data, {}); });
  }
  static std::string setting(const std::vector<ParamSetting>& settings, const std::string& name) {
    for (const ParamSetting& one : settings)
      if (one.name == name) return one.value;
    return "";
  }
  static std::string key(const RunConfig& config, const std::string& name) {
    return setting(config.data.sources.at(0).spec.params, name);
  }
  static std::string held_out_key(const RunConfig& config, const std::string& name) {
    return setting(config.evaluation.sources.at(0).params, name);
  }
  template <class T>
  void write_npy(const std::string& name, const ArraySpec& spec, const std::vector<T>& all) const {
    spill(path(name), npy_header(spec) + std::string(text_of(bytes_of(all))));
  }
  void export_to(const std::string& name, const std::string& generator, int size,
                 std::uint64_t count) const {
    GeneratorReader reader(make_generator(generator, size, {}), {1, 0, count});
    export_samples(reader, path(name), {});
  }

  inline static const std::vector<std::string> kQuick = {"device=cpu", "threads=1", "train.steps=2",
                                                         "train.batch=4", "eval.every=0"};
  TemporaryFolder folder_;
  mutable std::string text_;
};

TEST_F(SuggestedConfig, ReadsFoldersOfSmallImages) {
  write_as_folder(path("set"), labelled_noise(3, 20, 28));
  const RunConfig config = config_of(path("set"));
  EXPECT_EQ(config.data.size, 28);
  EXPECT_EQ(config.data.sources[0].spec.name, "set");
  EXPECT_TRUE(config.data.sources[0].spec.params.empty()) << text_;
  EXPECT_EQ(config.data.sources[0].spec.rows, "0%..80%");
  EXPECT_EQ(config.model.name, "cnn");
  // 28 can be halved twice.
  EXPECT_EQ(setting(config.model.params, "pool"), "[1, 1, 0]");
  // Noise from 0 to 255: per channel, the mean of 3 * 20 * 784 values is 0.5 to within 0.004, three
  // standard errors of 0.29 / sqrt(47,000) = 0.0013.
  EXPECT_NEAR(config.data.sources[0].augmentations.normalisation.mean.at(0), 0.5, 0.004);
  // 48 rows: the batch is the largest power of two below 48.
  EXPECT_EQ(config.train.batch, 32);
  EXPECT_EQ(config.train.steps, 100);
  expect_parts(text_, {"# the size of the images", "3 classes: class0, class1, class2"});
}

TEST_F(SuggestedConfig, ResizesLargeImagesOfDifferentSizes) {
  write_image_folder(path("photos"), 2, 6, 120, 100);
  write_bytes(path("photos/class0/tall.jpg"), encode_jpeg(noise_rgb(130, 300, 1), 130, 300));
  const RunConfig config = config_of(path("photos"));
  EXPECT_EQ(config.data.size, 96);  // the largest multiple of 32 below 100
  EXPECT_EQ(key(config, "resize"), "96");
  EXPECT_EQ(config.model.name, "resnet18");
  expect_parts(text_, {"the median shorter side is 100 pixels", "sizes differ"});
}

TEST_F(SuggestedConfig, ConvertsColoursAndSkipsDamage) {
  write_as_folder(path("set"), labelled_noise(2, 6, 16));
  const Bytes rgb = noise_rgb(16, 16, 1);
  write_bytes(path("set/class0/cmyk.jpg"), encode_jpeg(rgb, 16, 16, JpegKind::cmyk));
  Bytes damaged = encode_jpeg(rgb, 16, 16);
  damaged.resize(damaged.size() / 2);
  write_bytes(path("set/class1/cut.jpg"), damaged);
  const RunConfig config = config_of(path("set"));
  EXPECT_EQ(key(config, "on_convert"), "convert");
  EXPECT_EQ(key(config, "on_error"), "skip");
  expect_parts(text_, {"# 1 of 14 images is not 8-bit RGB, such as ", "class0/cmyk.jpg",
                       "# 1 of 14 images is damaged, such as ", "class1/cut.jpg"});
  const RunConfig as_given = config_of(path("set"), {{"resize", "8", {}}, {"exif", "ignore", {}}});
  EXPECT_EQ(as_given.data.size, 8);
  EXPECT_EQ(key(as_given, "exif"), "ignore");
}

TEST_F(SuggestedConfig, FindsSplits) {
  write_as_folder(path("set/train"), labelled_noise(2, 6, 16));
  LabelledImages other = labelled_noise(2, 4, 16);
  for (Bytes& image : other.rgb) image[0] ^= 1;
  write_as_folder(path("set/val"), other);
  const RunConfig config = config_of(path("set"));
  EXPECT_EQ(key(config, "split"), "train");
  EXPECT_EQ(held_out_key(config, "split"), "val");
  EXPECT_EQ(config.data.sources[0].spec.rows, "");
  // A test set without classes of its own is not held out.
  fs::rename(path("set/val"), path("set/test"));
  fs::remove_all(path("set/test/class1"));
  EXPECT_EQ(config_of(path("set")).data.sources[0].spec.rows, "0%..80%");
  // A class called train is not a split.
  fs::remove_all(path("set/test"));
  write_as_folder(path("cars"), labelled_noise(2, 6, 16));
  fs::rename(path("cars/class0"), path("cars/train"));
  EXPECT_EQ(key(config_of(path("cars")), "split"), "");
}

TEST_F(SuggestedConfig, FindsNestedClassesAndArchives) {
  write_as_folder(path("set/a/deep"), labelled_noise(1, 8, 16));
  write_as_folder(path("set/b"), labelled_noise(2, 8, 16));
  EXPECT_EQ(key(config_of(path("set")), "subfolders"), "include");
  write_as_zip(path("set.zip"), labelled_noise(2, 8, 16));
  EXPECT_EQ(config_of(path("set.zip")).data.size, 16);
  write_as_tar(path("pets-train.tar"), labelled_noise(2, 8, 16));
  LabelledImages other = labelled_noise(2, 4, 16);
  for (Bytes& image : other.rgb) image[0] ^= 1;
  write_as_tar(path("pets-test.tar"), other);
  EXPECT_EQ(config_of(path("pets-train.tar")).evaluation.sources.at(0).path,
            path("pets-test.tar").string());
}

TEST_F(SuggestedConfig, ReadsCifar) {
  write_as_cifar(path("cifar"), labelled_noise(2, 20, 32));
  RunConfig config = config_of(path("cifar"));
  EXPECT_EQ(key(config, "split"), "train");
  EXPECT_EQ(config.data.size, 32);
  EXPECT_EQ(config.data.sources[0].spec.rows, "0%..80%");
  LabelledImages other = labelled_noise(2, 6, 32);
  for (Bytes& image : other.rgb) image[0] ^= 1;
  write_as_cifar(path("other"), other, 1);
  fs::rename(path("other/data_batch_1.bin"), path("cifar/test_batch.bin"));
  config = config_of(path("cifar"));
  EXPECT_EQ(held_out_key(config, "split"), "test");
}

TEST_F(SuggestedConfig, ReadsEventsAndTheirLabels) {
  write_npy("x.npy", {ElementType::f64, {60, 3}}, spread_values<double>(180, -1, 1000));
  write_npy("y.npy", {ElementType::i64, {60}}, classes_of(60, 4));
  const RunConfig config = config_of(path("x.npy"));
  EXPECT_EQ(key(config, "labels"), "y.npy");
  EXPECT_EQ(config.model.name, "mlp");
  EXPECT_EQ(config.data.sources[0].augmentations.normalisation.choice,
            Normalisation::Choice::automatic);
  EXPECT_EQ(config.heads.at(0).loss, LossKind::class_label);
}

TEST_F(SuggestedConfig, ReadsRealNumbersAsRegressionTargets) {
  NpzWriter file(path("set.npz"));
  const auto x = spread_values<float>(120, 0, 1), y = spread_values<float>(40, 100, 200);
  file.add("features", {ElementType::f32, {40, 3}}, std::as_bytes(std::span(x)));
  file.add("energy", {ElementType::f32, {40}}, std::as_bytes(std::span(y)));
  file.commit();
  const RunConfig config = config_of(path("set.npz"));
  EXPECT_EQ(key(config, "array"), "features");
  EXPECT_EQ(key(config, "latents"), "[energy]");
  EXPECT_EQ(config.heads.at(0).targets, std::vector<std::string>{"energy"});
}

TEST_F(SuggestedConfig, ReadsPlanarImagesWithOneHotLabels) {
  write_npy("photos.npy", {ElementType::f32, {30, 3, 16, 16}},
            spread_values<float>(std::size_t{30} * 768, -1, 1));
  std::vector<float> hot(90);
  for (std::size_t i = 0; i < 30; ++i) hot[3 * i + i % 3] = 1;
  write_npy("photos_labels.npy", {ElementType::f32, {30, 3}}, hot);
  RunConfig config = config_of(path("photos.npy"));
  EXPECT_EQ(key(config, "range"), "-1..1");
  EXPECT_EQ(key(config, "labels"), "photos_labels.npy");
  EXPECT_EQ(config.data.size, 16);
  // Real numbers in three dimensions are images if they are square.
  write_npy("photos.npy", {ElementType::f32, {30, 16, 16}},
            spread_values<float>(std::size_t{30} * 256, 0, 1));
  config = config_of(path("photos.npy"));
  EXPECT_EQ(key(config, "range"), "0..1");
  write_npy("photos.npy", {ElementType::f32, {30, 16, 2}},
            spread_values<float>(std::size_t{30} * 32, 0, 1));
  expect_parts(refused(path("photos.npy")), {"sequences or padded sets"});
}

// As in keras' mnist.npz. The held-out rows do not contain the last class.
TEST_F(SuggestedConfig, PairsArraysOfTrainingAndTest) {
  NpzWriter file(path("mnist.npz"));
  const auto x = spread_values<std::uint8_t>(std::size_t{40} * 64, 0, 255),
             other = spread_values<std::uint8_t>(std::size_t{12} * 64, 0, 200);
  const auto y = classes_of(40, 3), other_y = classes_of(12, 2);
  file.add("x_test", {ElementType::u8, {12, 8, 8}}, std::as_bytes(std::span(other)));
  file.add("x_train", {ElementType::u8, {40, 8, 8}}, std::as_bytes(std::span(x)));
  file.add("y_test", {ElementType::i64, {12}}, std::as_bytes(std::span(other_y)));
  file.add("y_train", {ElementType::i64, {40}}, std::as_bytes(std::span(y)));
  file.commit();
  const RunConfig config = config_of(path("mnist.npz"));
  EXPECT_EQ(key(config, "array"), "x_train");
  EXPECT_EQ(key(config, "classes"), "3");
  EXPECT_EQ(held_out_key(config, "array"), "x_test");
  EXPECT_EQ(held_out_key(config, "labels"), "y_test");
}

TEST_F(SuggestedConfig, PairsTargetsOfTrainingAndTest) {
  for (const std::int64_t columns : {1, 2}) {
    const std::string name = "targets" + std::to_string(columns) + ".npz";
    NpzWriter file(path(name));
    for (const auto& [part, rows] : {std::pair{"train", 60}, std::pair{"test", 20}}) {
      const auto x = spread_values<float>(static_cast<std::size_t>(rows) * 3, 0, 1);
      const auto y = spread_values<float>(static_cast<std::size_t>(rows * columns), 0, 2);
      file.add(std::string("x_") + part, {ElementType::f32, {rows, 3}},
               std::as_bytes(std::span(x)));
      file.add(std::string("y_") + part, {ElementType::f32, {rows, columns}},
               std::as_bytes(std::span(y)));
    }
    file.commit();
    const RunConfig config = config_of(path(name));
    EXPECT_EQ(held_out_key(config, "array"), "x_test");
    EXPECT_EQ(held_out_key(config, "latents"), "[y_train=y_test]");
    EXPECT_EQ(held_out_key(config_of(path(name), {{"latents", "[y_train]"}}), "array"), "x_test");
  }
}

TEST_F(SuggestedConfig, RefusesLabelsOfOtherRows) {
  const auto x = spread_values<float>(180, 0, 1);
  for (const auto& [rows, other] : {std::pair{59, 60}, std::pair{60, 59}}) {
    NpzWriter file(path("set.npz"));
    file.add("x_train", {ElementType::f32, {60, 3}}, std::as_bytes(std::span(x)));
    file.add("x_test", {ElementType::f32, {60, 3}}, std::as_bytes(std::span(x)));
    const auto whole = classes_of(60, 3);
    file.add("y_train", {ElementType::i64, {rows}},
             std::as_bytes(std::span(whole).first(static_cast<std::size_t>(rows))));
    file.add("y_test", {ElementType::i64, {other}},
             std::as_bytes(std::span(whole).first(static_cast<std::size_t>(other))));
    file.commit();
    expect_parts(refused(path("set.npz")), {rows == 59 ? "y_train" : "y_test", "59 rows", "60"});
  }
}

TEST_F(SuggestedConfig, ReadsExports) {
  export_to("jets.npz", "lund_shower", 1, 40);
  EXPECT_EQ(config_of(path("jets.npz")).model.name, "deepset");
  export_to("shapes.h5", "shapes", 16, 40);
  const RunConfig images = config_of(path("shapes.h5"));
  EXPECT_EQ(images.data.size, 16);
  EXPECT_EQ(images.model.name, "cnn");
  export_to("train.npz", "gaussian_linear", 1, 40);  // one class and latents
  export_to("test.npz", "ee_mumu", 1, 10);
  fs::remove(path("test.npz"));
  const RunConfig regression = config_of(path("train.npz"));
  EXPECT_EQ(regression.heads.at(0).loss, LossKind::regression);
}

// The paths below need quotes in YAML.
TEST_F(SuggestedConfig, QuotesNames) {
  for (const std::string name : {"two words", "key: value", "-dash", "größe", "#1", "[a, b]", "007",
                                 "it's \"so\"", "new\nline", "true"}) {
    write_as_folder(path(name), labelled_noise(2, 6, 16));
    fs::rename(path(name) / "class0", path(name) / name);
    const RunConfig config = config_of(path(name));
    EXPECT_EQ(config.data.sources[0].spec.path, path(name).string());
    EXPECT_EQ(config_of(path(name).string() + "/").data.sources[0].spec.path, path(name).string());
  }
}

TEST_F(SuggestedConfig, ReadsTheFormatThatIsGiven) {
  write_as_tar(path("set.bundle"), labelled_noise(2, 8, 16));
  EXPECT_EQ(config_of(path("set.bundle"), {{"format", "tar", {}}}).data.sources[0].spec.format,
            "tar");
}

TEST_F(SuggestedConfig, TakesFewWholeNumbersAsClasses) {
  write_npy("x.npy", {ElementType::f32, {60, 3}}, spread_values<float>(180, 0, 1));
  const auto floats = [&](std::int64_t classes) {
    const auto whole = classes_of(60, classes);
    write_npy("y.npy", {ElementType::f64, {60}}, std::vector<double>(whole.begin(), whole.end()));
    return config_of(path("x.npy"));
  };
  EXPECT_EQ(floats(6).heads.at(0).loss, LossKind::class_label);
  expect_parts(text_, {"labels: y.npy", "for a regression: init with latents=[y.npy]"});
  EXPECT_EQ(floats(7).heads.at(0).loss, LossKind::regression) << "fewer than 10 rows per class";
  // As many integers as rows.
  write_npy("y.npy", {ElementType::i64, {60}}, classes_of(60, 31));
  expect_parts(refused(path("x.npy")),
               {"y.npy has 31 different integers in 60 rows", "labels=y.npy, or latents=[y.npy]"});
  EXPECT_EQ(config_of(path("x.npy"), {{"labels", "y.npy", {}}}).heads.at(0).loss,
            LossKind::class_label);
  EXPECT_EQ(config_of(path("x.npy"), {{"latents", "[y.npy]", {}}}).heads.at(0).loss,
            LossKind::regression);
  write_npy("y.npy", {ElementType::i64, {60}}, classes_of(60, 30));
  EXPECT_EQ(config_of(path("x.npy")).heads.at(0).loss, LossKind::class_label);
}

TEST_F(SuggestedConfig, NamesTheSignalOfTwoClasses) {
  write_npy("x.npy", {ElementType::f32, {60, 3}}, spread_values<float>(180, 0, 1));
  write_npy("y.npy", {ElementType::i64, {60}}, classes_of(60, 2));
  spill(path("names.txt"), "quark\ngluon, or b\n");
  const RunConfig config = config_of(path("x.npy"), {{"class_names", "names.txt", {}}});
  EXPECT_EQ(config.evaluation.signal, std::vector<std::string>{"gluon, or b"}) << text_;
  expect_parts(text_, {"background rejections; otherwise quark"});
}

TEST_F(SuggestedConfig, RefusesValuesThatAreNotFinite) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  auto x = spread_values<float>(180, 0, 1);
  write_npy("y.npy", {ElementType::i64, {60}}, classes_of(60, 4));
  x[17 * 3 + 1] = x[17 * 3 + 2] = nan;
  x[40 * 3] = std::numeric_limits<float>::infinity();
  write_npy("x.npy", {ElementType::f32, {60, 3}}, x);
  expect_parts(refused(path("x.npy")),
               {"x.npy is NaN or infinite (as f32) in 2 of 60 rows, first in row 17", "isfinite"});
  write_npy("x.npy", {ElementType::f32, {60, 3}}, spread_values<float>(180, 0, 1));
  std::vector<double> targets = spread_values<double>(60, 0, 1);
  targets[59] = 1e300;  // beyond f32
  write_npy("y.npy", {ElementType::f64, {60}}, targets);
  expect_parts(refused(path("x.npy")), {"y.npy is NaN or infinite", "1 of 60 rows", "row 59"});
  // Held-out arrays of the same file.
  NpzWriter file(path("set.npz"));
  const auto y = classes_of(60, 3);
  for (const char* const part : {"train", "val"}) {
    const std::string end = std::string("_") + part;
    x[40 * 3] = 0;
    if (part == std::string("train")) x[17 * 3 + 1] = x[17 * 3 + 2] = 0;
    if (part == std::string("val")) x[3] = nan;
    file.add("x" + end, {ElementType::f32, {60, 3}}, std::as_bytes(std::span(x)));
    file.add("y" + end, {ElementType::i64, {60}}, std::as_bytes(std::span(y)));
  }
  file.commit();
  expect_parts(refused(path("set.npz")), {"'x_val' is NaN or infinite", "1 of 60 rows", "row 1"});
}

TEST_F(SuggestedConfig, RefusesStringsAndStandardisedImages) {
  write_npy("x.npy", {ElementType::f32, {3, 2}}, spread_values<float>(6, 0, 1));
  spill(path("y.npy"), npy_strings("cat"));
  expect_parts(refused(path("x.npy")), {"y.npy", "strings", "np.unique(y, return_inverse=True)"});
  write_npy("x.npy", {ElementType::f32, {30, 16, 16, 3}},
            spread_values<float>(std::size_t{30} * 768, -2.1, 2.6));
  write_npy("y.npy", {ElementType::i64, {30}}, classes_of(30, 3));
  expect_parts(refused(path("x.npy")),
               {"x.npy is an array of F32 [30, 16, 16, 3]", "from -2.1 to 2.6",
                "0 to 1, -1 to 1 or 0 to 255", "x * std + mean", "data.normalise"});
}

TEST_F(SuggestedConfig, RefusesDataWithoutLabels) {
  write_npy("x.npy", {ElementType::f32, {60, 3}}, spread_values<float>(180, 0, 1));
  expect_parts(refused(path("x.npy")), {"x.npy: all 60 rows have the class '0'", "labels=NAME",
                                        "latents=[NAME]", "NAME_labels.npy"});
  write_as_folder(path("one"), labelled_noise(1, 6, 16));
  expect_parts(refused(path("one")), {"all 6 rows have the class 'class0'", "FOLDER/CLASS/NAME"});
}

TEST_F(SuggestedConfig, RefusesWhatCannotBeRead) {
  expect_parts(refused(path("missing")), {"missing: no such file"});
  fs::create_directory(path("empty"));
  expect_parts(refused(path("empty")), {"no images", "arrange the images as"});
  fs::create_directory(path("arrays"));
  write_npy("arrays/x.npy", {ElementType::f32, {6, 3}}, spread_values<float>(18, 0, 1));
  expect_parts(refused(path("arrays")), {"a folder of arrays", "wellspring init", "arrays/x.npy"});
  write_as_folder(path("set"), labelled_noise(2, 3, 16));
  spill(path("set/class0/a.bmp"), "BM");
  expect_parts(refused(path("set")), {"a.bmp: a BMP image", "mogrify -format png"});
  spill(path("set.npz"), "\xff\xd8\xff\xe0");
  expect_parts(refused(path("set.npz")), {"not a NumPy archive", "a JPEG image"});
}

}  // namespace
}  // namespace wellspring::test
