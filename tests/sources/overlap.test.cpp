#include "sources/overlap.h"

#include "sources/source_spec.h"
#include "tests/sources/fake_source.h"
#include "tests/support/dataset_fixtures.h"
#include "tests/support/error_testing.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

namespace wellspring::test {
namespace {

namespace fs = std::filesystem;

class FindOverlaps : public ::testing::Test {
 protected:
  FindOverlaps() {
    images_ = test::labelled_noise(2, 10, 8);
    test::write_as_folder(folder_ / "train", images_);
  }
  fs::path path(const std::string& name) const { return folder_.path() / name; }

  /// A mixture with one source of files.
  static Mixture files(const std::string& name, const fs::path& path,
                       std::vector<ParamSetting> settings = {}) {
    SourceSpec spec;
    spec.name = name;
    spec.kind = SourceKind::files;
    spec.path = path.string();
    spec.params = std::move(settings);
    Mixture mixture(1);
    mixture.add(make_source(spec, {}), {});
    return mixture;
  }
  Mixture train() const { return files("real", path("train")); }

  test::TemporaryFolder folder_;
  test::LabelledImages images_;
};

TEST_F(FindOverlaps, FindsNoneAmongDifferentImages) {
  test::LabelledImages others = images_;
  for (std::size_t i = 0; i < others.rgb.size(); ++i) {
    others.rgb[i] = test::noise_rgb(8, 8, 50'000 + static_cast<std::uint32_t>(i));
  }
  test::write_as_folder(path("test"), others);
  const Mixture training = train(), held_out = files("test", path("test"));
  const auto overlaps = find_overlaps(training, held_out, 2);
  ASSERT_EQ(overlaps.size(), 1u);
  EXPECT_EQ(overlaps[0].rows, 0);
  EXPECT_EQ(to_string(overlaps[0], training, held_out),
            "held out 'test': none of 20 rows are also in training source 'real'");
}

// The copies have the same pixels, but another format and order.
TEST_F(FindOverlaps, FindsCopiesByTheirPixels) {
  test::LabelledImages some;
  some.side = 8;
  some.classes = images_.classes;
  for (const std::size_t i : {17, 3, 8}) {
    some.rgb.push_back(images_.rgb[i]);
    some.label.push_back(images_.label[i]);
  }
  some.rgb.push_back(test::noise_rgb(8, 8, 50'000));
  some.label.push_back(1);
  test::write_as_npy(path("arrays"), some);
  const Mixture training = train();
  const Mixture held_out = files("test", path("arrays/x.npy"), {{"labels", "y.npy"}});
  const auto overlaps = find_overlaps(training, held_out, 2);
  ASSERT_EQ(overlaps.size(), 1u);
  EXPECT_EQ(overlaps[0].rows, 3);
  expect_parts(to_string(overlaps[0], training, held_out),
               {"held out 'test': 3 of 4 rows are also in training source 'real'",
                "x.npy: row 0 equals", "class1/0017.png"});
}

TEST_F(FindOverlaps, RefusesTheSameFiles) {
  fs::create_directory_symlink(path("train"), path("link"));
  for (const std::string other : {"train", "train/../train/", "link"}) {
    const Mixture training = train(), held_out = files("test", path(other));
    expect_parts(test::message_of(ErrorKind::data, [&] { find_overlaps(training, held_out, 2); }),
                 {"held-out source 'test'", "class0/0000.png is also trained on, in source 'real'",
                  "eval.sources"});
  }
}

TEST_F(FindOverlaps, RefusesTheSameFilesAtAnotherSize) {
  const Mixture training = train();
  for (const ParamSetting& other : {ParamSetting{"resize", "4"}, ParamSetting{"canvas", "16"}}) {
    const Mixture held_out = files("test", path("train"), {other});
    expect_parts(test::message_of(ErrorKind::data, [&] { find_overlaps(training, held_out, 2); }),
                 {"held-out source 'test'", "class0/0000.png is also trained on"});
  }
}

TEST_F(FindOverlaps, ComparesASubsetOfLargeSets) {
  test::write_as_tar(path("copy.tar"), images_);
  const Mixture training = train(), held_out = files("test", path("copy.tar"));
  constexpr std::int64_t kRow = 8 * 8 * 3;
  const auto overlaps = find_overlaps(training, held_out, 2, 7 * kRow);
  ASSERT_EQ(overlaps.size(), 1u);  // compares every third row of both sources
  EXPECT_EQ(overlaps[0].compared, 7);
  EXPECT_EQ(overlaps[0].trained_compared, 7);
  EXPECT_EQ(overlaps[0].rows, 7);
  expect_parts(to_string(overlaps[0], training, held_out),
               {"7 of 20 held-out rows with 7 of 20 training rows"});
}

TEST_F(FindOverlaps, SkipsGeneratorsAndOtherLayouts) {
  test::write_as_folder(path("larger"), test::labelled_noise(1, 2, 9));
  const Mixture training = train();
  EXPECT_TRUE(find_overlaps(training, files("test", path("larger")), 2).empty());
  Mixture made(1);
  made.add(std::make_unique<test::FakeSource>("made", test::FakeSource::Traits{}), {});
  EXPECT_TRUE(find_overlaps(training, made, 2).empty());
  EXPECT_TRUE(find_overlaps(made, training, 2).empty());
}

}  // namespace
}  // namespace wellspring::test
