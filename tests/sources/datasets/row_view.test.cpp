#include "sources/datasets/row_view.h"

#include "sources/files/format.h"
#include "sources/overlap.h"
#include "sources/source_spec.h"
#include "tests/support/dataset_fixtures.h"
#include "tests/support/error_testing.h"
#include "tests/support/temporary_folder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace wellspring::test {
namespace {

RowRange hashed(const std::string& text) {
  return RowRange::parse(text, RowOrder::hash);
}
RowRange ordered(const std::string& text) {
  return RowRange::parse(text, RowOrder::order);
}

TEST(RowRange, DividesAnyNumberOfRows) {
  for (const RowOrder by : {RowOrder::hash, RowOrder::order}) {
    for (const std::int64_t size : {0, 1, 2, 7, 100, 1001}) {
      std::vector<std::int64_t> all;
      for (const char* part : {"0%..33.3%", "33.3%..80%", "80%..100%"}) {
        const auto rows = RowRange::parse(part, by).rows(size);
        EXPECT_TRUE(std::ranges::is_sorted(rows));
        all.insert(all.end(), rows.begin(), rows.end());
      }
      std::ranges::sort(all);
      ASSERT_EQ(all, RowRange().rows(size)) << size;
    }
  }
  EXPECT_EQ(ordered("20%..60%").rows(5), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(hashed("3..5").rows(5), (std::vector<std::int64_t>{3, 4}));
  EXPECT_EQ(hashed("3..500").rows(5), (std::vector<std::int64_t>{3, 4}));
}

// Pins the hash, because runs resumed by later versions must have the same rows.
TEST(RowRange, SelectsARandomPartByHash) {
  const auto rows = hashed("0%..1%").rows(500);
  EXPECT_EQ(rows, (std::vector<std::int64_t>{196, 295, 472}));
  // The count is binomial; for 10000 rows at 20 %, six standard deviations are 240.
  EXPECT_NEAR(static_cast<double>(hashed("0%..20%").rows(10'000).size()), 2000, 240);
}

TEST(RowRange, DividesSmallSetsEvenly) {
  EXPECT_EQ(hashed("80%..100%").rows(10), (std::vector<std::int64_t>{0, 6}));
  for (std::int64_t size = 1; size < 500; ++size) {
    const auto held_out = hashed("80%..100%").rows(size);
    EXPECT_NEAR(static_cast<double>(held_out.size()), 0.2 * static_cast<double>(size), 0.5) << size;
  }
  // Not by position: each half of 400 rows has 40 +- 4.0 of the 80 (hypergeometric; 6 sigma).
  const auto part = hashed("80%..100%").rows(400);
  EXPECT_NEAR(static_cast<double>(std::ranges::count_if(part, [](auto row) { return row < 200; })),
              40, 24);
}

TEST(RowRange, RefusesMalformedRanges) {
  for (const auto& [text, why] :
       std::vector<std::pair<const char*, const char*>>{{"80%", "a start and an end"},
                                                        {"0%..80", "one end is a percentage"},
                                                        {"0..80%", "one end is a percentage"},
                                                        {"a%..b%", "must be numbers"},
                                                        {"80%..20%", "must be below its end"},
                                                        {"20%..20%", "must be below its end"},
                                                        {"0%..101%", "must be below its end"},
                                                        {"-5..5", "must be at least 0"},
                                                        {"nan%..5%", "must be below its end"},
                                                        {"0.5..5", "row numbers are integers"}})
    expect_parts(message_of(ErrorKind::config, [&] { hashed(text); }), {text, why});
  EXPECT_EQ(hashed("0%..12.5%").text(), "0%..12.5%");
  EXPECT_EQ(hashed("10 .. 20").text(), "10..20");
}

class RowViews : public ::testing::Test {
 protected:
  RowViews() {
    images_ = test::labelled_noise(2, 20, 6);
    test::write_as_folder(folder_ / "images", images_);
    test::write_as_npy(folder_ / "arrays", images_);
  }
  Mixture source(const std::string& path, const std::string& rows,
                 std::int64_t limit_per_class = 0) const {
    SourceSpec spec;
    spec.name = "real";
    spec.kind = SourceKind::files;
    spec.path = (folder_ / path).string();
    if (path.ends_with(".npy")) spec.params = {{"labels", "y.npy"}};
    spec.rows = rows;
    spec.limit_per_class = limit_per_class;
    Mixture mixture(1);
    mixture.add(make_source(spec, {}), {});
    return mixture;
  }

  test::TemporaryFolder folder_;
  test::LabelledImages images_;
};

// The two parts are disjoint in folders and arrays, even if only one is limited per class.
TEST_F(RowViews, AreDisjoint) {
  for (const std::string path : {"images", "arrays/x.npy"}) {
    const Mixture trained = source(path, "0%..70%", 4), held_out = source(path, "70%..100%");
    const Dataset& a = *trained.source(0).rows();
    const Dataset& b = *held_out.source(0).rows();
    EXPECT_EQ(a.size(), 8);
    EXPECT_GT(b.size(), 3);
    std::set<std::string> places;
    std::vector<std::uint8_t> row(108);
    for (const Dataset* data : {&a, &b}) {
      for (std::int64_t i = 0; i < data->size(); ++i) {
        EXPECT_TRUE(places.insert(data->place(i)).second) << data->place(i);
        data->reader()->read(i, row.data());
        const auto at = std::ranges::find(images_.rgb, row) - images_.rgb.begin();
        EXPECT_EQ(data->label(i), images_.label[static_cast<std::size_t>(at)]);
      }
    }
    EXPECT_EQ(find_overlaps(trained, held_out, 1)[0].rows, 0);
    expect_parts(trained.source(0).summary(), {"rows 0%..70% by hash", "first 4 of each class"});
    const Mixture both = source(path, "60%..100%");
    expect_parts(message_of(ErrorKind::data, [&] { find_overlaps(both, held_out, 1); }),
                 {"is also trained on"});
  }
}

TEST_F(RowViews, RefuseEmptySelections) {
  expect_parts(message_of(ErrorKind::data, [&] { source("images", "0%..0.001%"); }),
               {"rows 0%..0.001% by hash are empty", "40 images"});
  expect_parts(message_of(ErrorKind::data, [&] { source("images", "40..50"); }),
               {"rows 40..50 are empty"});
}

}  // namespace
}  // namespace wellspring::test
