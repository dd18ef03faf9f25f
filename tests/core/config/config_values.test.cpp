#include "core/config/config_values.h"

#include "core/config/config.h"

#include <gtest/gtest.h>

namespace wellspring {
namespace {

struct Optics {
  double focus = 2;
  std::vector<int> zones = {3, 5};
  std::string lens = "a: b";
  bool shown = true;
};

const ParamTable<Optics>& optics_table() {
  static const auto table = ParamTable<Optics>("optics")
                                .real("focus", &Optics::focus, {}, "mm", "")
                                .integer_list("zones", &Optics::zones, {}, "", "")
                                .text("lens", &Optics::lens, "")
                                .flag("shown", &Optics::shown, "")
                                .may_change();
  return table;
}

std::vector<ConfigEntry> example() {
  ConfigWriter writer;
  writer.value("seed", "7");
  writer.section("bench", [&] {
    writer.section("optics", [&] {
      for (std::size_t i = 0; i < 2; ++i) {
        writer.element(i, [&] {
          writer.table(optics_table(), Optics{}, {"zones"});
          writer.section("odd key:", [&] { writer.lines("x: 1\nz: [1, 2]\n"); });
        });
      }
    });
    writer.value("end", "true");
  });
  return writer.entries();
}

TEST(ConfigWriter, WritesNestedYaml) {
  EXPECT_EQ(config_yaml(example()), R"(seed: 7
bench:
  optics:
    - focus: 2
      lens: "a: b"
      shown: true
      "odd key:":
        x: 1
        z: [1, 2]
    - focus: 2
      lens: "a: b"
      shown: true
      "odd key:":
        x: 1
        z: [1, 2]
  end: true
)");
}

TEST(ConfigWriter, StartsAnElementWithASection) {
  ConfigWriter writer;
  writer.section("a", [&] {
    writer.element(0, [&] {
      writer.section("b", [&] { writer.value("c", "1"); });
      writer.value("d", "2");
    });
  });
  EXPECT_EQ(config_yaml(writer.entries()), "a:\n  - b:\n      c: 1\n    d: 2\n");
}

TEST(ConfigWriter, RoundTripsThroughYaml) {
  const std::vector<ConfigEntry> written = example();
  const std::vector<ConfigEntry> read = config_entries(config_yaml(written), "text");
  ASSERT_EQ(read.size(), written.size());
  for (std::size_t i = 0; i < read.size(); ++i) EXPECT_EQ(read[i].path, written[i].path);
  EXPECT_EQ(read[2].path_text(), "bench.optics[0].lens");
  EXPECT_EQ(read[2].value, "a: b");
}

TEST(ConfigIdentity, OmitsRowsThatMayChange) {
  for (const ConfigEntry& entry : config_identity(example())) EXPECT_NE(entry.path.back(), "shown");
  EXPECT_EQ(config_identity(example()).size() + 2, example().size());
}

TEST(ConfigDifferences, ListPathsAndValues) {
  const std::string there = "seed: 1\ndata:\n  sources:\n    - name: a\n      size: 3\n";
  const std::string here =
      "seed: 2\ndata:\n  sources:\n    - name: a\n      size: 3\n    - name: b\n";
  EXPECT_EQ(config_differences(there, here),
            (std::vector<std::string>{"seed: 1 there, 2 here",
                                      "data.sources[1].name: absent there, b here"}));
  EXPECT_EQ(config_differences(here, there)[1], "data.sources[1].name: b there, absent here");
  EXPECT_TRUE(config_differences(there, there).empty());
  EXPECT_TRUE(config_differences("a: \"x\"\nb: [1, 2]\n", "b: [1,2]\na: x\n").empty())
      << "order and notation must not matter";
  const std::string dotted = "rows:\n  preset: m\nrows.preset: film\n";
  EXPECT_TRUE(config_differences(dotted, dotted).empty()) << "one text in two paths";
}

}  // namespace
}  // namespace wellspring
