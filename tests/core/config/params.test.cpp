#include "core/config/params.h"

#include "core/config/config.h"
#include "tests/support/error_testing.h"

#include <gtest/gtest.h>

namespace wellspring::test {
namespace {

enum class Law { uniform, gaussian = 7 };

struct Values {
  float sigma = 0.1f;
  double lr = 3e-4;
  int batch = 64;
  std::uint64_t seed = 0;
  std::int64_t offset = -3;
  bool nesterov = true;
  std::string name = "a: b";
  std::vector<double> milestones = {0.5, 0.75};
  Law law = Law::gaussian;
};

ParamTable<Values> make_table() {
  return ParamTable<Values>("optimizer")
      .real("sigma", &Values::sigma, {0, 1}, "px", "width of the blur", "Smith 1999, eq. 3")
      .real("lr", &Values::lr, {0}, "", "learning rate")
      .integer("batch", &Values::batch, {1, 65536}, "", "samples a step")
      .integer("seed", &Values::seed, {}, "", "keys every draw")
      .integer("offset", &Values::offset, {}, "", "added to the id")
      .flag("nesterov", &Values::nesterov, "look ahead")
      .text("name", &Values::name, "of the run")
      .real_list("milestones", &Values::milestones, {0, 1}, "", "parts of the run")
      .choice("law", &Values::law, {{"uniform", Law::uniform}, {"gaussian", Law::gaussian}},
              "law of each value");
}

const ParamTable<Values>& table() {
  static const ParamTable<Values> kTable = make_table();
  return kTable;
}

Values set(const std::string& name, const std::string& text) {
  Values values;
  table().set(values, name, text, {"train.yaml", 12, 3});
  return values;
}

std::string refusal(const std::string& name, const std::string& text) {
  return message_of(ErrorKind::config, [&] { set(name, text); });
}

TEST(ParamTable, TakesDefaultsFromTheStruct) {
  const auto rows = table().rows();
  ASSERT_EQ(rows.size(), 9u);
  EXPECT_EQ(rows[0].default_text, "0.1");
  EXPECT_EQ(rows[0].unit, "px");
  EXPECT_EQ(rows[0].source, "Smith 1999, eq. 3");
  EXPECT_EQ(rows[0].range_text(), "[0, 1]");
  EXPECT_EQ(rows[1].default_text, "0.0003");
  EXPECT_EQ(rows[1].range_text(), ">= 0");
  EXPECT_EQ(rows[2].default_text, "64");
  EXPECT_EQ(rows[2].range_text(), "[1, 65536]");
  EXPECT_EQ(rows[3].range_text(), ">= 0");
  EXPECT_EQ(rows[4].range_text(), "");
  EXPECT_EQ(rows[5].default_text, "true");
  EXPECT_EQ(rows[6].default_text, "\"a: b\"");
  EXPECT_EQ(rows[7].default_text, "[0.5, 0.75]");
  EXPECT_EQ(rows[8].default_text, "gaussian");
  EXPECT_EQ(rows[8].range_text(), "one of uniform, gaussian");
}

TEST(ParamTable, SetsEveryType) {
  EXPECT_EQ(set("sigma", "0.25").sigma, 0.25f);
  EXPECT_EQ(set("sigma", "0").sigma, 0);  // both ends are part of the range
  EXPECT_EQ(set("sigma", "1").sigma, 1);
  EXPECT_EQ(set("batch", "1").batch, 1);
  EXPECT_EQ(set("batch", "65536").batch, 65536);
  EXPECT_EQ(set("lr", "+1e-3").lr, 1e-3);
  EXPECT_EQ(set("lr", "1_000.5").lr, 1000.5);
  EXPECT_EQ(set("lr", ".5").lr, 0.5);
  EXPECT_EQ(set("batch", " 128 ").batch, 128);
  EXPECT_EQ(set("batch", "2.5e3").batch, 2500);
  EXPECT_EQ(set("seed", "1_000_000").seed, 1'000'000u);
  EXPECT_EQ(set("seed", "1e6").seed, 1'000'000u);
  EXPECT_EQ(set("seed", "9223372036854775807").seed, 9223372036854775807u);
  EXPECT_EQ(set("offset", "-9223372036854775808").offset, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(set("offset", "9007199254740993").offset, 9007199254740993);
  EXPECT_FALSE(set("nesterov", "No").nesterov);
  EXPECT_TRUE(set("nesterov", "true").nesterov);
  EXPECT_EQ(set("name", " as it is ").name, " as it is ");
  EXPECT_EQ(set("milestones", "[0, 1e-1,0.5]").milestones, (std::vector<double>{0, 0.1, 0.5}));
  EXPECT_EQ(set("milestones", "0.5").milestones, std::vector<double>{0.5});
  EXPECT_TRUE(set("milestones", "[]").milestones.empty());
  EXPECT_EQ(set("law", "uniform").law, Law::uniform);
}

TEST(ParamTable, RefusesUnknownNames) {
  EXPECT_EQ(refusal("lr_", "1"),
            "train.yaml:12:3: unknown key 'lr_' in optimizer\n  did you mean 'lr'? known: sigma, "
            "lr, batch, seed, offset, nesterov, name, milestones, law");
}

TEST(ParamTable, RefusesMistypedValues) {
  EXPECT_EQ(refusal("batch", "abc"),
            "train.yaml:12:3: 'batch' must be an integer, got 'abc' (samples a step)");
  EXPECT_EQ(refusal("batch", ""),
            "train.yaml:12:3: 'batch' must be an integer, got nothing (samples a step)");
  EXPECT_EQ(refusal("law", "gausian"),
            "train.yaml:12:3: 'law' must be one of uniform, gaussian, got 'gausian' (law of each "
            "value)\n  did you mean 'gaussian'? known: uniform, gaussian");
  EXPECT_EQ(refusal("nesterov", "2"),
            "train.yaml:12:3: 'nesterov' must be true or false, got '2' (look ahead)");
  for (const char* text : {"1.5", "1e-1", "0x10", "1__0", "_1", "1_", "1 2", "--1", "+-1", "1,2"}) {
    expect_parts(refusal("batch", text), {"must be an integer", text});
  }
  for (const char* text : {"", "abc", "1e", "1.2.3", "0.1px", "1e999", "+-1", "1,5"}) {
    EXPECT_NE(refusal("lr", text).find("must be a number"), std::string::npos) << text;
  }
  for (const char* text : {"[1", "1]", "[1,]", "[1,,2]", "[a]", "[", "[[1]]"}) {
    EXPECT_NE(refusal("milestones", text).find("'milestones' must be a list of numbers"),
              std::string::npos)
        << text;
  }
}

TEST(ParamTable, RefusesValuesOutOfRange) {
  EXPECT_EQ(refusal("batch", "0"),
            "train.yaml:12:3: batch = 0 is out of range [1, 65536] (samples a step)");
  EXPECT_EQ(refusal("sigma", "1.0001"),
            "train.yaml:12:3: sigma = 1.0001 is out of range [0, 1] px (width of the blur)");
  EXPECT_EQ(refusal("lr", "-1e-9"),
            "train.yaml:12:3: lr = -1e-9 is out of range >= 0 (learning rate)");
  expect_parts(refusal("milestones", "[0.5, 2]"), {"out of range [0, 1]"});
  expect_parts(refusal("seed", "-1"), {"out of range >= 0"});
  expect_parts(refusal("seed", "9223372036854775808"), {"out of range"});
  expect_parts(refusal("offset", "9007199254740993.0"), {"may not be exact"});
}

// YAML 1.1 reads 010 as 8.
TEST(ParamTable, RefusesLeadingZeros) {
  for (const char* const text : {"010", "-07", "+00", "0_1"})
    expect_parts(refusal("offset", text), {"must be an integer, got"});
  expect_parts(refusal("lr", "00.5"), {"must be a number"});
  EXPECT_EQ(set("lr", "0.5").lr, 0.5);
  EXPECT_EQ(set("offset", "-0").offset, 0);
}

TEST(ParamTable, RefusesNonFiniteValues) {
  for (const char* text : {"inf", "-inf", "nan", "infinity", ".inf", ".nan"}) {
    expect_parts(refusal("lr", text), {"must be a", text});
    expect_parts(refusal("batch", text), {"must be an integer", text});
  }
  EXPECT_EQ(refusal("lr", "nan"),
            "train.yaml:12:3: 'lr' must be a finite number, got 'nan' (learning rate)");
  struct Single {
    float x = 0;
  };
  const auto single = ParamTable<Single>("s").real("x", &Single::x, {}, "", "any float");
  Single values;
  expect_parts(message_of(ErrorKind::config, [&] { single.set(values, "x", "1e39", {}); }),
               {"x = 1e39 is out of range [-3.4"});
  EXPECT_EQ(values.x, 0);
}

TEST(ParamTable, ReadsSettingsAndRequiresRequiredOnes) {
  struct Required {
    std::string generator;
    int size = 32;
  };
  const auto required = ParamTable<Required>("source")
                            .text("generator", &Required::generator, "which generator")
                            .required()
                            .integer("size", &Required::size, {1, 4096}, "px", "side of the image");
  const std::vector<ParamSetting> both = {{"generator", "shapes"}, {"size", "16"}};
  EXPECT_EQ(required.read(both).size, 16);
  EXPECT_EQ(required.read(both).generator, "shapes");
  const std::vector<ParamSetting> one = {{"size", "8"}};
  EXPECT_EQ(message_of(ErrorKind::config,
                       [&] {
                         required.read(one, {"a.yaml", 3, 5});
                       }),
            "a.yaml:3:5: 'generator' is missing in source (which generator)");
  EXPECT_TRUE(required.rows()[0].required);
  EXPECT_EQ(required.rows()[0].default_text, "");
}

TEST(ParamTable, WritesYaml) {
  EXPECT_EQ(table().to_yaml(Values{}, 2),
            "  sigma: 0.1\n  lr: 0.0003\n  batch: 64\n  seed: 0\n  offset: -3\n  nesterov: true\n"
            "  name: \"a: b\"\n  milestones: [0.5, 0.75]\n  law: gaussian\n");
}

TEST(ParamTable, RoundTripsThroughYaml) {
  Values values;
  values.sigma = 1.0f / 3;
  values.lr = 1.0 / 3;
  values.name = "true";
  values.law = Law::uniform;
  values.milestones = {1.0 / 7, 0};
  const auto document = ConfigDocument::parse(table().to_yaml(values), "resolved.yaml");
  const Values again = document.root().read(table());
  document.finish();
  EXPECT_EQ(again.sigma, values.sigma);
  EXPECT_EQ(again.lr, values.lr);
  EXPECT_EQ(again.name, values.name);
  EXPECT_EQ(again.law, values.law);
  EXPECT_EQ(again.milestones, values.milestones);
}

struct Lists {
  std::vector<int> widths = {32, 64};
  std::vector<std::string> names = {"a", "b, c", "true"};
  double depth = 1;
  Law law = Law::uniform;
};

ParamTable<Lists> lists_table() {
  return ParamTable<Lists>("lists")
      .integer_list("widths", &Lists::widths, {1, 4096}, "channels", "of each stage")
      .text_list("names", &Lists::names, "what they are called")
      .real("depth", &Lists::depth, {0, 10}, "", "")
      .choice("law", &Lists::law, {{"uniform", Law::uniform}, {"gaussian", Law::gaussian}}, "")
      .preset("deep", {{"depth", "9"}, {"widths", "[8, 16, 32]"}}, "as Smith 1999 has it")
      .preset("named", {{"names", "[x, \"y, z\"]"}, {"law", "gaussian"}}, "");
}

TEST(ParamTable, ReadsListsOfIntegersAndTexts) {
  const auto table = lists_table();
  Lists lists;
  table.set(lists, "widths", "[1, 2e3, 4_096]", {});
  EXPECT_EQ(lists.widths, (std::vector<int>{1, 2000, 4096}));
  table.set(lists, "widths", "7", {});
  EXPECT_EQ(lists.widths, std::vector<int>{7});
  table.set(lists, "names", R"([plain text, "a, \"b\""])", {});
  EXPECT_EQ(lists.names, (std::vector<std::string>{"plain text", "a, \"b\""}));
  table.set(lists, "names", "[]", {});
  EXPECT_TRUE(lists.names.empty());
  const auto refused = [&](const char* name, const char* text) {
    return message_of(ErrorKind::config, [&] { table.set(lists, name, text, {"a.yaml", 2, 3}); });
  };
  EXPECT_EQ(refused("widths", "[1, 2.5]"),
            "a.yaml:2:3: 'widths' must be a list of integers, got '2.5' (of each stage)");
  EXPECT_EQ(refused("widths", "[0]"),
            "a.yaml:2:3: widths = 0 is out of range [1, 4096] channels (of each stage)");
  for (const char* text : {"[a, \"b]", "[a", "[a, ]", "[[a]]", "[a \"b\"]"}) {
    EXPECT_NE(refused("names", text).find("must be a list of strings"), std::string::npos) << text;
  }
}

TEST(ParamTable, RoundTripsListsThroughYaml) {
  Lists lists;
  lists.names = {"a", "b, c", "true", "", "[x]", "12", "say \"so\""};
  lists.widths.clear();
  const std::string yaml = lists_table().to_yaml(lists);
  const auto document = ConfigDocument::parse(yaml, "resolved.yaml");
  const Lists again = document.root().read(lists_table());
  document.finish();
  EXPECT_EQ(again.names, lists.names) << yaml;
  EXPECT_EQ(again.widths, lists.widths);
  // Parameters of generators and models are first read as settings.
  const Lists settings = lists_table().read(ConfigDocument::parse(yaml, "a").root().settings());
  EXPECT_EQ(settings.names, lists.names);
}

TEST(ParamTable, ReadsSizesAsANumberOrAsHeightAndWidth) {
  struct Sized {
    ImageSize size = 32;
  };
  const auto table = ParamTable<Sized>("data").size("size", &Sized::size, {1, 4096}, "of images");
  const auto read = [&](const std::string& yaml) {
    return ConfigDocument::parse(yaml, "a.yaml").root().read(table).size;
  };
  EXPECT_EQ(table.rows()[0].default_text, "32");
  EXPECT_EQ(read("size: 48"), ImageSize(48, 48));
  EXPECT_EQ(read("size: [32, 48]"), ImageSize(32, 48));
  EXPECT_EQ(read("size: '32, 48'"), ImageSize(32, 48));
  for (const ImageSize size : {ImageSize(32, 48), ImageSize(7)}) {
    const std::string yaml = table.to_yaml({size});
    EXPECT_EQ(yaml, "size: " + size.to_string() + "\n");
    EXPECT_EQ(read(yaml), size);
  }
  const auto refused = [&](const std::string& yaml) {
    return message_of(ErrorKind::config, [&] { read(yaml); });
  };
  for (const char* text : {"[]", "[1, 2, 3]", "[4, x]", "2.5", "32x48", "{a: 1}"})
    expect_parts(refused(std::string("size: ") + text), {"a.yaml:1", "size"});
  expect_parts(refused("size: [1, 2, 3]"), {"must be an integer, or [height, width]"});
  expect_parts(refused("size: [0, 48]"), {"size = 0 is out of range [1, 4096] pixels"});
}

TEST(ParamTable, RefusesRepeatedSettings) {
  const auto read = [](const std::vector<ParamSetting>& settings) {
    return message_of(ErrorKind::config, [&] { lists_table().read(settings); });
  };
  const std::string end = " (only one value can apply)\n  leave one of them out";
  EXPECT_EQ(read({{"depth", "3"}, {"names", "[]"}, {"depth", " 5", {"command line"}}}),
            "command line: depth is given twice, as '3' and as '5'" + end);
  EXPECT_EQ(read({{"preset", "deep"}, {"preset", "named"}}),
            "preset is given twice, as 'deep' and as 'named'" + end);
}

TEST(ParamTable, AppliesPresetsBeforeSettings) {
  const auto read = [](const char* yaml) {
    const auto document = ConfigDocument::parse(yaml, "a.yaml");
    const Lists lists = document.root().read(lists_table());
    document.finish();
    return lists;
  };
  const Lists deep = read("depth: 3\npreset: deep\n");
  EXPECT_EQ(deep.depth, 3);
  EXPECT_EQ(deep.widths, (std::vector<int>{8, 16, 32}));
  EXPECT_EQ(read("preset: named").names, (std::vector<std::string>{"x", "y, z"}));
  const std::vector<ParamSetting> settings = {{"depth", "3"}, {"preset", "deep"}};
  EXPECT_EQ(lists_table().read(settings).depth, 3);
  EXPECT_EQ(lists_table().read(settings).widths.size(), 3u);
  EXPECT_EQ(message_of(ErrorKind::config, [&] { read("preset: dep"); }),
            "a.yaml:1:9: unknown preset 'dep' in lists\n  did you mean 'deep'? known: deep, named");
  EXPECT_NE(message_of(ErrorKind::config,
                       [&] {
                         table().read(std::vector<ParamSetting>{{"preset", "deep"}});
                       })
                .find("unknown key 'preset'"),
            std::string::npos)
      << "a table may have no presets";
}

// Each parameter belongs to one law. With the other law, it may still be set to its default, as in
// resolved configurations; values from presets are ignored.
TEST(ParamTable, RefusesSettingsWithoutEffect) {
  static const auto rows =
      ParamTable<Values>("noise")
          .choice("law", &Values::law, {{"uniform", Law::uniform}, {"gaussian", Law::gaussian}},
                  "law of each value")
          .real("sigma", &Values::sigma, {0, 1}, "", "of the Gaussian")
          .only_where([](const Values& values) { return values.law == Law::gaussian; },
                      "law: gaussian")
          .real_list("milestones", &Values::milestones, {0, 1}, "", "of the uniform law")
          .only_where([](const Values& values) { return values.law == Law::uniform; },
                      "law: uniform")
          .preset("wide", {{"sigma", "0.9"}, {"milestones", "[1]"}}, "for either law");
  const auto read = [](std::vector<ParamSetting> settings) { return rows.read(settings); };
  EXPECT_EQ(rows.rows()[2].effect, "law: gaussian");
  EXPECT_EQ(read({{"sigma", "0.2"}}).sigma, 0.2f);
  const auto refused = [&](std::vector<ParamSetting> settings) {
    return message_of(ErrorKind::config, [&] { read(std::move(settings)); });
  };
  EXPECT_EQ(refused({{"sigma", "0.2", {"a.yaml", 3, 4}}, {"law", "uniform"}}),
            "a.yaml:3:4: sigma = 0.2 has no effect in noise (it applies only with law: gaussian)\n"
            "  remove sigma, or use law: gaussian");
  expect_parts(refused({{"milestones", "[1]"}}), {"it applies only with law: uniform"});
  EXPECT_EQ(read({{"sigma", "0.10"}, {"law", "uniform"}}).sigma, 0.1f);
  EXPECT_EQ(read({{"preset", "wide"}}).sigma, 0.9f);
  EXPECT_EQ(read({{"preset", "wide"}}).milestones, Values{}.milestones);
  EXPECT_EQ(read({{"preset", "wide"}, {"law", "uniform"}}).sigma, Values{}.sigma);
  EXPECT_EQ(read({{"preset", "wide"}, {"law", "uniform"}}).milestones, std::vector<double>{1});
}

TEST(ParamTable, DescribesAndChecksPresets) {
  const std::vector<ParamRow> rows = lists_table().rows();
  EXPECT_EQ(rows[0].name, "preset");
  EXPECT_EQ(rows[0].range_text(), "one of deep, named");
  EXPECT_EQ(rows[0].presets[0].to_string(), "depth: 9, widths: [8, 16, 32]");
  EXPECT_THROW(lists_table().preset("deep", {}, ""), std::logic_error);
  EXPECT_THROW(lists_table().preset("x", {{"depth", "11"}}, ""), Error);
  EXPECT_THROW(lists_table().preset("x", {{"dept", "1"}}, ""), Error);
}

TEST(ParamTable, HasMembersOfABaseClass) {
  struct Base {
    double rate = 0.5;
    std::vector<std::string> files;
  };
  struct Derived : Base {
    int count = 2;
  };
  const auto table = ParamTable<Derived>("derived")
                         .real("rate", &Derived::rate, {0, 1}, "", "of the base class")
                         .text_list("files", &Derived::files, "paths")
                         .paths()
                         .integer("count", &Derived::count, {0, 9}, "", "its own");
  const std::vector<ParamSetting> settings = {
      {"rate", "0.25"}, {"count", "7"}, {"files", "[b/../a.csv, /c]", {"/x/run.yaml", 2, 1}}};
  const Derived values = table.read(settings);
  EXPECT_EQ(values.rate, 0.25);
  EXPECT_EQ(values.count, 7);
  EXPECT_EQ(values.files, (std::vector<std::string>{"/x/a.csv", "/c"}));
}

TEST(ParamTable, RefusesReversedRangeEnds) {
  struct Ends {
    float zoom_low = 0.1f, zoom_high = 0.1f;
    int maps_low = 2, maps_high = 4;
  };
  const auto ends = ParamTable<Ends>("ifs")
                        .real("zoom_low", &Ends::zoom_low, {}, "", "smallest")
                        .real("zoom_high", &Ends::zoom_high, {}, "", "largest")
                        .integer("maps_low", &Ends::maps_low, {}, "", "fewest")
                        .integer("maps_high", &Ends::maps_high, {}, "", "most");
  EXPECT_NO_THROW(ends.expect_ordered({}, {"zoom", "maps"}));
  const auto refused = [&](const Ends& values) {
    return message_of(ErrorKind::config, [&] { ends.expect_ordered(values, {"zoom", "maps"}); });
  };
  EXPECT_EQ(refused({.maps_low = 5}),
            "ifs: maps_low = 5 is larger than maps_high = 4 (values are drawn between the two)\n"
            "  give maps_low: 4 or less, or maps_high: 5 or more");
  expect_parts(refused({.zoom_low = 0.3f}), {"zoom_low = 0.3 is larger than zoom_high = 0.1"});
}

TEST(ParamTable, RefusesRepeatedNamesAndEmptyRanges) {
  EXPECT_THROW(make_table().flag("lr", &Values::nesterov, ""), std::logic_error);
  EXPECT_THROW(make_table().real("new", &Values::lr, {0, {}}, "", ""), std::logic_error);
}

TEST(ConfigLocation, PrintsFileLineAndColumn) {
  EXPECT_EQ((ConfigLocation{"a.yaml", 12, 3}).to_string(), "a.yaml:12:3");
  EXPECT_EQ((ConfigLocation{"command line"}).to_string(), "command line");
  EXPECT_EQ(ConfigLocation{}.prefix(), "");
}

}  // namespace
}  // namespace wellspring::test
