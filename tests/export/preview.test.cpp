// Pictures of samples: headings, names and histograms.
#include "export/preview.h"

#include "core/picture/drawing.h"
#include "export/histogram_sheet.h"
#include "export/picture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace wellspring {
namespace {

SampleOrigin origin_of(const std::string& name, std::vector<std::string> classes) {
  SampleOrigin origin;
  origin.name = name;
  origin.info.classes = std::move(classes);
  return origin;
}

/// Number of pixels in a rectangle that differ from the paper colour.
int drawn_in(const RgbImage& image, int left, int right, int top = 0, int bottom = 1 << 20) {
  int drawn = 0;
  for (int y = top; y < std::min(bottom, image.height); ++y)
    for (int x = left; x < right; ++x) {
      const std::size_t p = 3 * (static_cast<std::size_t>(y) * image.width + x);
      drawn += std::equal(kPaper.begin(), kPaper.end(), &image.pixels[p]) ? 0 : 1;
    }
  return drawn;
}

/// Number of pixels set by drawing `words`.
int dots_of(const std::string& words, int scale) {
  RgbImage image{400, 40, std::vector<std::uint8_t>(3 * 400 * 40, 255)};
  draw_text(image, 0, 0, words, kInk, scale);
  return drawn_in(image, 0, 400);
}

/// One white image of 8x8 pixels with its label.
struct OneImage {
  std::vector<float> x = std::vector<float>(8 * 8 * 3, 1.f);
  std::int32_t label = 0;
  Slot slot;

  HostSamples samples() {
    HostSamples all;
    all.rows.size = 1;
    all.rows.layout = SampleLayout::image(8, 8, 3);
    all.rows.x = x.data();
    all.rows.label = &label;
    all.slots = {&slot, 1};
    return all;
  }
};

// The image is narrower than its title. Even so, every pixel of title, remark, parameters and name
// must be drawn, and the margin must stay empty.
TEST(Preview, WrapsTheHeadingOfOneImage) {
  OneImage one;
  const std::string title = "a_name_that_is_as_long_as_some_are",
                    remark = "seed 12345   ids 0 to 0",
                    line = "first: 0.25   second: [1, 2, 3]   third: a word   fourth: 1e-05";
  const RgbImage image = preview({title, remark, line},
                                 {origin_of("o", {"striped_hyena_of_the_desert"})}, one.samples())
                             .image;
  int expected = dots_of("striped_hyena_of_the_desert", 1);
  for (const char c : title) expected += dots_of({c}, 2);
  for (const char c : remark + line) expected += dots_of({c}, 1);
  EXPECT_EQ(drawn_in(image, 0, image.width), expected);
  EXPECT_EQ(drawn_in(image, image.width - kMargin, image.width), 0);
}

TEST(Preview, NumbersNamesThatTheFontCannotShow) {
  OneImage one;
  one.label = 2;
  const std::vector<SampleOrigin> animals = {
      origin_of("o", {"Hörnchen", "Ärger", "猫", "Hornchen", "кот", "Arger"})};
  const Preview picture = preview({"t", "", ""}, animals, one.samples());
  EXPECT_EQ(drawn_in(picture.image, 0, picture.image.width), dots_of("t", 2) + dots_of("#2", 1));
  const std::vector<std::string> legend = {
      "pictures can only show Latin letters: #0 is 'Hörnchen', #1 is 'Ärger', #2 is '猫', #4 is "
      "'кот'"};
  EXPECT_EQ(picture.legend, legend);
  EXPECT_EQ(picture_legend(animals), legend);
  EXPECT_TRUE(picture_legend({origin_of("o", {"Öl", "Straße", "a"})}).empty());

  const PictureNames names({origin_of("фото", {"Öl"}), origin_of("photos", {"猫"})});
  EXPECT_EQ(names.of(0, 0), "source 0: Ol");
  EXPECT_EQ(names.of(1, 0), "photos: #0");
  EXPECT_EQ(names.of(1, 7), "photos: 7") << "this label has no class";
  EXPECT_EQ(names.legend(), std::vector<std::string>{
                                "pictures can only show Latin letters: in photos, #0 is '猫'"});
}

TEST(Preview, LimitsItsLegend) {
  std::vector<std::string> classes;
  for (int i = 0; i < 1000; ++i) classes.push_back("猫" + std::to_string(i));
  const std::vector<std::string> legend = picture_legend({origin_of("o", classes)});
  ASSERT_EQ(legend.size(), 1u);
  EXPECT_TRUE(legend[0].ends_with("#39 is '猫39', and 960 more")) << legend[0];
}

/// Events with one feature each.
struct Events {
  std::vector<float> x, weight;
  std::vector<std::int32_t> label, count;
  std::vector<Slot> slots;
  SampleLayout layout = SampleLayout::event(1);

  void add(std::int32_t of, std::vector<float> values, float with = 1) {
    if (layout.kind == SampleKind::set) {
      count.push_back(static_cast<std::int32_t>(values.size()));
      values.resize(static_cast<std::size_t>(layout.items), 0.f);
    }
    x.insert(x.end(), values.begin(), values.end());
    label.push_back(of);
    weight.push_back(with);
    slots.emplace_back();
  }
  HostSamples samples() {
    HostSamples all;
    all.rows.size = static_cast<std::int64_t>(label.size());
    all.rows.layout = layout;
    all.rows.x = x.data();
    all.rows.label = label.data();
    all.rows.weight = weight.data();
    if (!count.empty()) all.rows.count = count.data();
    all.slots = slots;
    return all;
  }
};

TEST(HistogramSheet, SumsWeightsAndVariances) {
  SampleOrigin origin = origin_of("o", {"a", "b"});
  origin.has_range = true;
  origin.info.low = 0;
  origin.info.high = 50;  // gives bins of width 1
  const std::vector<SampleOrigin> origins = {origin};
  Events events;
  events.add(0, {3.5f});
  events.add(0, {3.6f}, 2);
  events.add(1, {3.5f});
  events.add(1, {99});  // must be counted in the last bin
  events.add(7, {-1});  // labels beyond the classes count as the last class
  events.add(0, {std::numeric_limits<float>::quiet_NaN()});
  HistogramSheet sheet(origins, events.layout);
  sheet.add(events.samples());
  const auto& lines = sheet.bins().at(0);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0][3].sum, 3);
  EXPECT_EQ(lines[0][3].variance, 1 + 4);
  EXPECT_EQ(lines[1][3].sum, 1);
  EXPECT_EQ(lines[1].back().sum, 1);
  EXPECT_EQ(lines[1].front().sum, 1);
}

// Three items of a set in one bin count as one entry of weight 3, with variance 9, not 3. Without a
// known range, the sheet keeps samples until it can determine one.
TEST(HistogramSheet, CountsItemsOfASetAsOneEntry) {
  const std::vector<SampleOrigin> origins = {origin_of("o", {"a"})};
  Events sets;
  sets.layout = SampleLayout::set(4, 1);
  sets.add(0, {0, 0, 0, 50});
  sets.add(0, {0});
  sets.add(0, {});
  HistogramSheet sheet(origins, sets.layout);
  sheet.add(sets.samples());
  const auto& bins = sheet.bins().at(0).at(0);
  EXPECT_EQ(bins.front().sum, 4);
  EXPECT_EQ(bins.front().variance, 9 + 1);
  EXPECT_EQ(bins.back().sum, 1);
  EXPECT_EQ(bins.back().variance, 1);
}

// A long legend wraps into more rows, and the right margin stays empty.
TEST(HistogramSheet, FitsALegendOfSixteenClasses) {
  const auto picture = [](int classes) {
    std::vector<std::string> names;
    for (int c = 0; c < classes; ++c) names.push_back("class number " + std::to_string(c));
    const std::vector<SampleOrigin> origins = {origin_of("o", names)};
    Events events;
    for (int c = 0; c < classes; ++c)
      for (const float value : {0.f, 1.f, static_cast<float>(c) / 16}) events.add(c, {value});
    return preview({"t", "", ""}, origins, events.samples()).image;
  };
  const RgbImage two = picture(2), sixteen = picture(16);
  EXPECT_EQ(two.width, sixteen.width);
  EXPECT_GT(sixteen.height, two.height);
  EXPECT_EQ(drawn_in(sixteen, sixteen.width - 4, sixteen.width), 0);
  // The numbers of the vertical axis must be between the margin and the panel.
  const int legend = sixteen.height - two.height;
  EXPECT_GT(drawn_in(two, kMargin, kMargin + 48, two.height / 3), 30);
  EXPECT_GE(legend, 14);
}

// 6480 panels would need about 10^9 pixels.
TEST(HistogramSheet, DrawsOnlyTheFirstOfManyFeatures) {
  const auto height = [](std::size_t features) {
    Events events;
    events.layout = SampleLayout::event(static_cast<int>(features));
    events.add(0, std::vector<float>(features, 0.5f));
    return preview({"t", "", ""}, {origin_of("o", {"c"})}, events.samples()).image.height;
  };
  EXPECT_EQ(height(6480), height(36));
}

}  // namespace
}  // namespace wellspring
